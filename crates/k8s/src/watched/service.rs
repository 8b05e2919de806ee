//! Services of a watch.

use std::collections::BTreeMap;

use evenkeel_model::{Condition, SeenService};
use serde::Deserialize;

use super::{
    annotations::Annotations,
    lenient::{self, Number, NumberOrName},
    metadata::Metadata,
};
use crate::convert::{
    field::{self, ConditionFacts},
    metadata::Meta,
    service::{Read, from_facts},
    service_facts::{IngressFacts, ServiceFacts, ServicePortFacts, TargetPortFacts},
};

/// The conditions this project writes, each also with [`PREFIX`].
const CONDITIONS: [&str; 3] =
    ["TrafficDistributionAccepted", "TrafficDistributionProgrammed", "TrafficDistributionHonored"];
const PREFIX: &str = "evenkeel.dev/";

/// A Service, as far as endpoints and traffic policies need it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Service {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) metadata: Metadata<Annotations>,
    #[serde(deserialize_with = "lenient::or_default")]
    spec: Spec,
    #[serde(deserialize_with = "lenient::or_default")]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(rename = "clusterIP")]
    cluster_ip: Option<String>,
    #[serde(deserialize_with = "lenient::list")]
    ip_families: Vec<String>,
    #[serde(deserialize_with = "lenient::texts")]
    selector: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::list")]
    ports: Vec<Port>,
    publish_not_ready_addresses: Option<bool>,
    traffic_distribution: Option<String>,
    internal_traffic_policy: Option<String>,
    external_traffic_policy: Option<String>,
    #[serde(rename = "clusterIPs", deserialize_with = "lenient::list")]
    cluster_ips: Vec<String>,
    #[serde(rename = "externalIPs", deserialize_with = "lenient::list")]
    external_ips: Vec<String>,
    #[serde(deserialize_with = "lenient::list")]
    load_balancer_source_ranges: Vec<String>,
    session_affinity: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    session_affinity_config: SessionAffinityConfig,
    health_check_node_port: Option<Number>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct SessionAffinityConfig {
    #[serde(rename = "clientIP", deserialize_with = "lenient::or_default")]
    client_ip: ClientIp,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClientIp {
    timeout_seconds: Option<Number>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    name: Option<String>,
    port: Option<Number>,
    target_port: Option<NumberOrName>,
    node_port: Option<Number>,
    protocol: Option<String>,
    app_protocol: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[serde(deserialize_with = "lenient::or_default")]
    load_balancer: LoadBalancer,
    #[serde(deserialize_with = "lenient::list")]
    conditions: Vec<StatusCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LoadBalancer {
    #[serde(deserialize_with = "lenient::list")]
    ingress: Vec<Ingress>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ingress {
    ip: Option<String>,
    ip_mode: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct StatusCondition {
    #[serde(rename = "type", deserialize_with = "lenient::or_default")]
    kind: String,
    #[serde(deserialize_with = "lenient::or_default")]
    status: String,
    reason: Option<String>,
    message: Option<String>,
}

// === impl Service ===

impl Service {
    /// Never fails, so that a Service that can't be planned can be told so in its status: what is
    /// wrong is left out and told in `problem`.
    pub fn seen(&self) -> SeenService {
        let Read { service, problem, frontend_problem } = from_facts(self);
        let conditions = self.status.conditions.iter();
        let ours = conditions.filter(|given| {
            let kind = given.kind.as_str();
            CONDITIONS.contains(&kind.strip_prefix(PREFIX).unwrap_or(kind))
        });
        SeenService {
            service,
            version: self.metadata.version(),
            created: self.metadata.created,
            conditions: ours.map(condition).collect(),
            problem: problem.map(|error| error.to_string().into()),
            frontend_problem: frontend_problem.map(|error| error.to_string().into()),
        }
    }
}

fn condition(given: &StatusCondition) -> Condition {
    let facts = ConditionFacts { kind: &given.kind, status: &given.status };
    Condition {
        kind: given.kind.as_str().into(),
        status: facts.is_true(),
        reason: field::text(given.reason.as_deref()),
        message: field::text(given.message.as_deref()),
    }
}

impl ServiceFacts for Service {
    fn meta(&self) -> Meta<'_> {
        self.metadata.annotated_facts()
    }

    fn kind(&self) -> Option<&str> {
        self.spec.kind.as_deref()
    }

    fn cluster_ip(&self) -> Option<&str> {
        self.spec.cluster_ip.as_deref()
    }

    fn ip_families(&self) -> &[String] {
        &self.spec.ip_families
    }

    fn selector(&self) -> Option<&BTreeMap<String, String>> {
        Some(&self.spec.selector)
    }

    fn ports(&self) -> impl Iterator<Item = ServicePortFacts<'_>> {
        self.spec.ports.iter().map(|given| ServicePortFacts {
            name: given.name.as_deref(),
            number: given.port.unwrap_or_default().0,
            target: given.target_port.as_ref().map(|target| match target {
                NumberOrName::Number(number) => TargetPortFacts::Number(*number),
                NumberOrName::Name(name) => TargetPortFacts::Name(name),
            }),
            node_port: given.node_port.unwrap_or_default().0,
            protocol: given.protocol.as_deref(),
            app_protocol: given.app_protocol.as_deref(),
        })
    }

    fn publish_not_ready(&self) -> bool {
        self.spec.publish_not_ready_addresses == Some(true)
    }

    fn traffic_distribution(&self) -> Option<&str> {
        self.spec.traffic_distribution.as_deref()
    }

    fn internal_policy(&self) -> Option<&str> {
        self.spec.internal_traffic_policy.as_deref()
    }

    fn external_policy(&self) -> Option<&str> {
        self.spec.external_traffic_policy.as_deref()
    }

    fn cluster_ips(&self) -> &[String] {
        &self.spec.cluster_ips
    }

    fn external_ips(&self) -> &[String] {
        &self.spec.external_ips
    }

    fn source_ranges(&self) -> &[String] {
        &self.spec.load_balancer_source_ranges
    }

    fn ingress(&self) -> impl Iterator<Item = IngressFacts<'_>> {
        self.status.load_balancer.ingress.iter().map(|given| IngressFacts {
            ip: given.ip.as_deref(),
            ip_mode: given.ip_mode.as_deref(),
        })
    }

    fn affinity(&self) -> Option<&str> {
        self.spec.session_affinity.as_deref()
    }

    fn affinity_timeout(&self) -> Option<i64> {
        self.spec.session_affinity_config.client_ip.timeout_seconds.map(|Number(seconds)| seconds)
    }

    fn health_check_node_port(&self) -> i64 {
        self.spec.health_check_node_port.unwrap_or_default().0
    }
}
