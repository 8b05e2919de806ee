//! Builders for Services.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{
    AddressType, Exposure, Frontends, Protocol, Service, ServiceKey, ServicePort, TargetPort,
    TrafficPolicy, label,
};

/// A Service of family IPv4 with one port and no preferences.
pub fn service(name: &str) -> Service {
    Service {
        key: ServiceKey::new("default", name),
        uid: format!("uid-{name}").into(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        selector: Some([(Arc::from("app"), Arc::from(name))].into()),
        opted_in: false,
        ports: vec![ServicePort {
            name: "http".into(),
            port: 80,
            target: TargetPort::Number(8080),
            protocol: Protocol::Tcp,
            app_protocol: None,
            node_port: None,
        }],
        families: vec![AddressType::IPv4],
        headless: false,
        cluster_ip_none: false,
        external_name: false,
        publish_not_ready: false,
        traffic_distribution: None,
        exposure: Exposure::default(),
        frontends: Frontends::default(),
        deleting: false,
    }
}

pub trait ServiceExt: Sized {
    fn annotated(self, name: &str, value: &str) -> Self;
    /// `spec.trafficDistribution`.
    fn distribution(self, value: &str) -> Self;
    fn internal(self, policy: TrafficPolicy) -> Self;
    /// Makes it reachable from outside.
    fn external(self, policy: TrafficPolicy) -> Self;
    fn dual_stack(self) -> Self;

    /// `service.kubernetes.io/topology-mode: Auto`, what KEP-2433 calls `PreferZone`.
    fn auto(self) -> Self {
        self.annotated(label::TOPOLOGY_MODE, "Auto")
    }
}

impl ServiceExt for Service {
    fn annotated(mut self, name: &str, value: &str) -> Self {
        self.annotations.insert(name.into(), value.into());
        self
    }

    fn distribution(mut self, value: &str) -> Self {
        self.traffic_distribution = Some(value.into());
        self
    }

    fn internal(mut self, policy: TrafficPolicy) -> Self {
        self.exposure.internal = policy;
        self
    }

    fn external(mut self, policy: TrafficPolicy) -> Self {
        self.exposure.external = Some(policy);
        self
    }

    fn dual_stack(mut self) -> Self {
        self.families = vec![AddressType::IPv4, AddressType::IPv6];
        self
    }
}
