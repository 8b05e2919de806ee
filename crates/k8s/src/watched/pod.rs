//! Pods of a watch.

use evenkeel_model::{SeenPod, Topology};
use serde::{Deserialize, de::IgnoredAny};

use self::status::{PodCondition, Status};
use super::{
    lenient::{self, Number},
    metadata::{Metadata, Owners},
};
use crate::{
    FieldError,
    convert::{
        field::PortFacts,
        metadata::Meta,
        pod::{ConditionNote, ContainerFacts, PodFacts, WaitingFacts, from_facts},
    },
};

mod status;

/// A Pod, as far as it can become an endpoint, and why it is not ready.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) metadata: Metadata<IgnoredAny, Owners>,
    #[serde(deserialize_with = "lenient::or_default")]
    spec: Spec,
    #[serde(deserialize_with = "lenient::or_default")]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
    hostname: Option<String>,
    subdomain: Option<String>,
    #[serde(deserialize_with = "lenient::list")]
    containers: Vec<Container>,
    #[serde(deserialize_with = "lenient::list")]
    init_containers: Vec<Container>,
    #[serde(rename = "nodeSelector", deserialize_with = "lenient::is_filled")]
    selects_nodes: bool,
    #[serde(deserialize_with = "lenient::or_default")]
    affinity: Affinity,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Container {
    restart_policy: Option<String>,
    #[serde(deserialize_with = "lenient::list")]
    ports: Vec<Port>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    name: Option<String>,
    container_port: Option<Number>,
    protocol: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Affinity {
    #[serde(deserialize_with = "lenient::or_default")]
    node_affinity: NodeAffinity,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NodeAffinity {
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "lenient::or_default"
    )]
    required: NodeSelector,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NodeSelector {
    #[serde(rename = "nodeSelectorTerms", deserialize_with = "lenient::list")]
    terms: Vec<Term>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Term {
    #[serde(rename = "matchExpressions", deserialize_with = "lenient::is_filled")]
    has_expressions: bool,
}

// === impl Pod ===

impl Pod {
    pub fn seen(&self, topology: &mut Topology) -> Result<SeenPod, FieldError> {
        let ready = self.status.ready();
        Ok(SeenPod {
            pod: from_facts(topology, self)?,
            labels: self.metadata.labels.clone(),
            ready_since: ready.and_then(|condition| condition.since),
        })
    }
}

impl PodFacts for Pod {
    type Container = Container;

    fn meta(&self) -> Meta<'_> {
        self.metadata.facts()
    }

    fn node_name(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }

    fn hostname(&self) -> Option<&str> {
        self.spec.hostname.as_deref()
    }

    fn subdomain(&self) -> Option<&str> {
        self.spec.subdomain.as_deref()
    }

    fn containers(&self) -> &[Container] {
        &self.spec.containers
    }

    fn init_containers(&self) -> &[Container] {
        &self.spec.init_containers
    }

    fn selects_nodes(&self) -> bool {
        self.spec.selects_nodes
    }

    fn required_terms(&self) -> impl Iterator<Item = bool> {
        self.spec.affinity.node_affinity.required.terms.iter().map(|term| term.has_expressions)
    }

    fn owners(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.owners.named()
    }

    fn phase(&self) -> Option<&str> {
        self.status.phase.as_deref()
    }

    fn pod_ip(&self) -> Option<&str> {
        self.status.pod_ip.as_deref()
    }

    fn pod_ips(&self) -> impl Iterator<Item = &str> {
        self.status.pod_ips.iter().map(|given| given.ip.as_str())
    }

    fn ready(&self) -> Option<ConditionNote<'_>> {
        self.status.ready().map(PodCondition::note)
    }

    fn scheduled(&self) -> Option<ConditionNote<'_>> {
        self.status.scheduled().map(PodCondition::note)
    }

    fn reason(&self) -> Option<&str> {
        self.status.reason.as_deref()
    }

    fn message(&self) -> Option<&str> {
        self.status.message.as_deref()
    }

    fn waiting(&self) -> impl Iterator<Item = WaitingFacts<'_>> {
        self.status.waiting()
    }
}

// === impl Container ===

impl ContainerFacts for Container {
    fn restart_policy(&self) -> Option<&str> {
        self.restart_policy.as_deref()
    }

    fn ports(&self) -> impl Iterator<Item = PortFacts<'_>> {
        self.ports.iter().map(|given| PortFacts {
            name: given.name.as_deref(),
            number: given.container_port.map(|Number(number)| number),
            protocol: given.protocol.as_deref(),
        })
    }
}
