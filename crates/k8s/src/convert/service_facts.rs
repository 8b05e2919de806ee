//! What is read of a Service, from wherever it is.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1 as core, apimachinery::pkg::util::intstr::IntOrString};

use crate::convert::metadata::Meta;

pub(crate) trait ServiceFacts {
    fn meta(&self) -> Meta<'_>;
    /// `spec.type`.
    fn kind(&self) -> Option<&str>;
    fn cluster_ip(&self) -> Option<&str>;
    fn ip_families(&self) -> &[String];
    fn selector(&self) -> Option<&BTreeMap<String, String>>;
    fn ports(&self) -> impl Iterator<Item = ServicePortFacts<'_>>;
    fn publish_not_ready(&self) -> bool;
    fn traffic_distribution(&self) -> Option<&str>;
    fn internal_policy(&self) -> Option<&str>;
    fn external_policy(&self) -> Option<&str>;
    /// `spec.clusterIPs`.
    fn cluster_ips(&self) -> &[String];
    fn external_ips(&self) -> &[String];
    fn source_ranges(&self) -> &[String];
    /// `status.loadBalancer.ingress`.
    fn ingress(&self) -> impl Iterator<Item = IngressFacts<'_>>;
    /// `spec.sessionAffinity`.
    fn affinity(&self) -> Option<&str>;
    /// `spec.sessionAffinityConfig.clientIP.timeoutSeconds`.
    fn affinity_timeout(&self) -> Option<i64>;
    /// 0 for none.
    fn health_check_node_port(&self) -> i64;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct IngressFacts<'a> {
    pub(crate) ip: Option<&'a str>,
    pub(crate) ip_mode: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ServicePortFacts<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) number: i64,
    pub(crate) target: Option<TargetPortFacts<'a>>,
    /// 0 for none.
    pub(crate) node_port: i64,
    pub(crate) protocol: Option<&'a str>,
    pub(crate) app_protocol: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum TargetPortFacts<'a> {
    Number(i64),
    Name(&'a str),
}

impl ServiceFacts for core::Service {
    fn meta(&self) -> Meta<'_> {
        Meta::from(&self.metadata)
    }

    fn kind(&self) -> Option<&str> {
        self.spec.as_ref()?.type_.as_deref()
    }

    fn cluster_ip(&self) -> Option<&str> {
        self.spec.as_ref()?.cluster_ip.as_deref()
    }

    fn ip_families(&self) -> &[String] {
        list(self.spec.as_ref().and_then(|spec| spec.ip_families.as_deref()))
    }

    fn selector(&self) -> Option<&BTreeMap<String, String>> {
        self.spec.as_ref()?.selector.as_ref()
    }

    fn ports(&self) -> impl Iterator<Item = ServicePortFacts<'_>> {
        let ports = self.spec.iter().flat_map(|spec| &spec.ports).flatten();
        ports.map(|given| ServicePortFacts {
            name: given.name.as_deref(),
            number: given.port.into(),
            target: given.target_port.as_ref().map(|target| match target {
                IntOrString::Int(number) => TargetPortFacts::Number((*number).into()),
                IntOrString::String(name) => TargetPortFacts::Name(name),
            }),
            node_port: given.node_port.unwrap_or_default().into(),
            protocol: given.protocol.as_deref(),
            app_protocol: given.app_protocol.as_deref(),
        })
    }

    fn publish_not_ready(&self) -> bool {
        let spec = self.spec.as_ref();
        spec.is_some_and(|spec| spec.publish_not_ready_addresses == Some(true))
    }

    fn traffic_distribution(&self) -> Option<&str> {
        self.spec.as_ref()?.traffic_distribution.as_deref()
    }

    fn internal_policy(&self) -> Option<&str> {
        self.spec.as_ref()?.internal_traffic_policy.as_deref()
    }

    fn external_policy(&self) -> Option<&str> {
        self.spec.as_ref()?.external_traffic_policy.as_deref()
    }

    fn cluster_ips(&self) -> &[String] {
        list(self.spec.as_ref().and_then(|spec| spec.cluster_ips.as_deref()))
    }

    fn external_ips(&self) -> &[String] {
        list(self.spec.as_ref().and_then(|spec| spec.external_ips.as_deref()))
    }

    fn source_ranges(&self) -> &[String] {
        list(self.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.as_deref()))
    }

    fn ingress(&self) -> impl Iterator<Item = IngressFacts<'_>> {
        let balancer = self.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let ingress = balancer.into_iter().flat_map(|balancer| &balancer.ingress).flatten();
        ingress.map(|given| IngressFacts {
            ip: given.ip.as_deref(),
            ip_mode: given.ip_mode.as_deref(),
        })
    }

    fn affinity(&self) -> Option<&str> {
        self.spec.as_ref()?.session_affinity.as_deref()
    }

    fn affinity_timeout(&self) -> Option<i64> {
        let config = self.spec.as_ref()?.session_affinity_config.as_ref()?;
        config.client_ip.as_ref()?.timeout_seconds.map(Into::into)
    }

    fn health_check_node_port(&self) -> i64 {
        let spec = self.spec.as_ref();
        spec.and_then(|spec| spec.health_check_node_port).unwrap_or_default().into()
    }
}

fn list(given: Option<&[String]>) -> &[String] {
    given.unwrap_or_default()
}
