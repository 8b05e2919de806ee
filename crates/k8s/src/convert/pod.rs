//! Pods.

use std::net::IpAddr;

use evenkeel_model::{ContainerPort, Pod, PodPhase, Topology};
use k8s_openapi::api::core::v1 as core;

use crate::convert::{
    FieldError,
    field::{self, PortFacts},
    metadata::Meta,
    parse_ip,
};

/// A Pod, as far as it can become an endpoint.
pub fn pod(topology: &mut Topology, pod: &core::Pod) -> Result<Pod, FieldError> {
    from_facts(topology, pod)
}

/// What is read of a Pod.
pub(crate) trait PodFacts {
    type Container: ContainerFacts;

    fn meta(&self) -> Meta<'_>;
    fn node_name(&self) -> Option<&str>;
    fn hostname(&self) -> Option<&str>;
    fn subdomain(&self) -> Option<&str>;
    fn containers(&self) -> &[Self::Container];
    fn init_containers(&self) -> &[Self::Container];
    /// The node selector is there and not empty.
    fn selects_nodes(&self) -> bool;
    /// Of each term of the required node affinity, whether it has expressions over labels.
    fn required_terms(&self) -> impl Iterator<Item = bool>;
    /// Kind and name of each.
    fn owners(&self) -> impl Iterator<Item = (&str, &str)>;
    fn phase(&self) -> Option<&str>;
    fn pod_ip(&self) -> Option<&str>;
    fn pod_ips(&self) -> impl Iterator<Item = &str>;
    /// The first condition of the type counts, as in Kubernetes.
    fn ready(&self) -> Option<ConditionNote<'_>>;
    fn scheduled(&self) -> Option<ConditionNote<'_>>;
    /// Of the whole Pod, as when it was evicted.
    fn reason(&self) -> Option<&str>;
    fn message(&self) -> Option<&str>;
    /// Containers that wait, those of init first.
    fn waiting(&self) -> impl Iterator<Item = WaitingFacts<'_>>;
}

/// A condition of a Pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionNote<'a> {
    /// `None`: unknown.
    pub(crate) holds: Option<bool>,
    pub(crate) message: &'a str,
}

/// What a container waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingFacts<'a> {
    pub(crate) container: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

/// What is read of a container.
pub(crate) trait ContainerFacts {
    fn restart_policy(&self) -> Option<&str>;
    fn ports(&self) -> impl Iterator<Item = PortFacts<'_>>;
}

pub(crate) fn from_facts(topology: &mut Topology, pod: &impl PodFacts) -> Result<Pod, FieldError> {
    let meta = pod.meta();
    let node = pod.node_name().filter(|name| !name.is_empty());
    Ok(Pod {
        namespace: field::text(meta.namespace),
        name: field::text(meta.name),
        uid: field::text(meta.uid),
        ips: ips(pod)?,
        node: node.map(|name| topology.nodes.intern(name)),
        phase: phase(pod.phase()),
        ready: pod.ready().is_some_and(|ready| ready.holds == Some(true)),
        terminating: meta.deleting,
        hostname: field::non_empty(pod.hostname()),
        subdomain: field::non_empty(pod.subdomain()),
        ports: ports(pod)?,
        // A DaemonSet binds each of its Pods to one node by the node's name (`matchFields`): that
        // places the Pod, but does not keep its siblings from any node.
        confined: pod.selects_nodes() || pod.required_terms().any(|by_label| by_label),
        daemon_set: pod.owners().any(|(kind, _)| kind == "DaemonSet"),
    })
}

/// Older kubelets fill in only `podIP`.
fn ips(pod: &impl PodFacts) -> Result<Vec<IpAddr>, FieldError> {
    let listed = pod.pod_ips().enumerate();
    let listed: Vec<IpAddr> = listed
        .map(|(index, text)| ip(text, || format!("status.podIPs[{index}].ip")))
        .collect::<Result<_, _>>()?;
    let single = pod.pod_ip().filter(|ip| listed.is_empty() && !ip.is_empty());
    match single {
        None => Ok(listed),
        Some(text) => Ok(vec![ip(text, || "status.podIP".into())?]),
    }
}

fn ip(text: &str, path: impl FnOnce() -> String) -> Result<IpAddr, FieldError> {
    parse_ip(text).ok_or_else(|| FieldError::unexpected(path(), text, "an IP address"))
}

fn phase(name: Option<&str>) -> PodPhase {
    match name {
        None | Some("" | "Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) => PodPhase::Unknown,
    }
}

/// Named ports in the order in which Kubernetes looks a named target port up.
fn ports<P: PodFacts>(pod: &P) -> Result<Vec<ContainerPort>, FieldError> {
    let containers = pod.containers().iter().enumerate();
    let containers = containers.map(|(index, container)| ("containers", index, container));
    let init = pod.init_containers().iter().enumerate();
    let sidecars = init
        .filter(|(_, container)| container.restart_policy() == Some("Always"))
        .map(|(index, container)| ("initContainers", index, container));
    let mut ports = Vec::new();
    for (list, index, container) in containers.chain(sidecars) {
        for (nth, port) in container.ports().enumerate() {
            let path = |name| move || format!("spec.{list}[{index}].ports[{nth}].{name}");
            let Some(name) = field::non_empty(port.name) else {
                continue;
            };
            ports.push(ContainerPort {
                name,
                port: field::port(port.number.unwrap_or_default(), path("containerPort"))?,
                protocol: field::protocol(port.protocol, path("protocol"))?,
            });
        }
    }
    Ok(ports)
}

// === impl PodFacts, ContainerFacts ===

impl PodFacts for core::Pod {
    type Container = core::Container;

    fn meta(&self) -> Meta<'_> {
        Meta::from(&self.metadata)
    }

    fn node_name(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref()
    }

    fn hostname(&self) -> Option<&str> {
        self.spec.as_ref()?.hostname.as_deref()
    }

    fn subdomain(&self) -> Option<&str> {
        self.spec.as_ref()?.subdomain.as_deref()
    }

    fn containers(&self) -> &[core::Container] {
        self.spec.as_ref().map_or(&[], |spec| &spec.containers)
    }

    fn init_containers(&self) -> &[core::Container] {
        let spec = self.spec.as_ref();
        spec.and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default()
    }

    fn selects_nodes(&self) -> bool {
        let selector = self.spec.as_ref().and_then(|spec| spec.node_selector.as_ref());
        selector.is_some_and(|selector| !selector.is_empty())
    }

    fn required_terms(&self) -> impl Iterator<Item = bool> {
        let affinity = self.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
        let affinity = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
        let required =
            affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        let terms = required.into_iter().flat_map(|required| &required.node_selector_terms);
        terms.map(|term| term.match_expressions.as_ref().is_some_and(|list| !list.is_empty()))
    }

    fn owners(&self) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.metadata.owner_references.iter().flatten();
        owners.map(|owner| (&*owner.kind, &*owner.name))
    }

    fn phase(&self) -> Option<&str> {
        self.status.as_ref()?.phase.as_deref()
    }

    fn pod_ip(&self) -> Option<&str> {
        self.status.as_ref()?.pod_ip.as_deref()
    }

    fn pod_ips(&self) -> impl Iterator<Item = &str> {
        let ips = self.status.iter().flat_map(|status| &status.pod_ips).flatten();
        ips.map(|given| given.ip.as_str())
    }

    fn ready(&self) -> Option<ConditionNote<'_>> {
        condition(self, "Ready")
    }

    fn scheduled(&self) -> Option<ConditionNote<'_>> {
        condition(self, "PodScheduled")
    }

    fn reason(&self) -> Option<&str> {
        self.status.as_ref()?.reason.as_deref()
    }

    fn message(&self) -> Option<&str> {
        self.status.as_ref()?.message.as_deref()
    }

    fn waiting(&self) -> impl Iterator<Item = WaitingFacts<'_>> {
        let init = self.status.iter().flat_map(|status| &status.init_container_statuses);
        let usual = self.status.iter().flat_map(|status| &status.container_statuses);
        init.chain(usual).flatten().filter_map(|container| {
            let waiting = container.state.as_ref()?.waiting.as_ref()?;
            Some(WaitingFacts {
                container: &container.name,
                reason: waiting.reason.as_deref()?,
                message: waiting.message.as_deref().unwrap_or_default(),
            })
        })
    }
}

fn condition<'a>(pod: &'a core::Pod, kind: &str) -> Option<ConditionNote<'a>> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let given = conditions.find(|condition| condition.type_ == kind)?;
    Some(ConditionNote {
        holds: match given.status.as_str() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        },
        message: given.message.as_deref().unwrap_or_default(),
    })
}

impl ContainerFacts for core::Container {
    fn restart_policy(&self) -> Option<&str> {
        self.restart_policy.as_deref()
    }

    fn ports(&self) -> impl Iterator<Item = PortFacts<'_>> {
        self.ports.iter().flatten().map(|given| PortFacts {
            name: given.name.as_deref(),
            number: Some(given.container_port.into()),
            protocol: given.protocol.as_deref(),
        })
    }
}
