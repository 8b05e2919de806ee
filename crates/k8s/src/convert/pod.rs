//! Pods.

use std::net::IpAddr;

use evenkeel_model::{ContainerPort, Pod, PodPhase, Topology};
use k8s_openapi::api::core::v1 as core;

use crate::convert::{FieldError, field, parse_ip};

/// A Pod, as far as it can become an endpoint.
pub fn pod(topology: &mut Topology, pod: &core::Pod) -> Result<Pod, FieldError> {
    let spec = pod.spec.as_ref();
    let text = |pick: fn(&core::PodSpec) -> &Option<String>| spec.and_then(|s| pick(s).as_deref());
    let node = text(|spec| &spec.node_name).filter(|name| !name.is_empty());
    Ok(Pod {
        namespace: field::text(pod.metadata.namespace.as_deref()),
        name: field::text(pod.metadata.name.as_deref()),
        uid: field::text(pod.metadata.uid.as_deref()),
        ips: ips(pod.status.as_ref())?,
        node: node.map(|name| topology.nodes.intern(name)),
        phase: phase(pod.status.as_ref()),
        ready: is_ready(pod.status.as_ref()),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        hostname: field::non_empty(text(|spec| &spec.hostname)),
        subdomain: field::non_empty(text(|spec| &spec.subdomain)),
        ports: spec.map_or(Ok(Vec::new()), ports)?,
        confined: spec.is_some_and(is_confined),
    })
}

/// Older kubelets fill in only `podIP`.
fn ips(status: Option<&core::PodStatus>) -> Result<Vec<IpAddr>, FieldError> {
    let Some(status) = status else {
        return Ok(Vec::new());
    };
    let listed = status.pod_ips.as_deref().unwrap_or_default();
    if listed.is_empty() {
        let single = status.pod_ip.iter().filter(|ip| !ip.is_empty());
        return single.map(|text| ip(text, || "status.podIP".into())).collect();
    }
    let listed = listed.iter().enumerate();
    listed.map(|(index, item)| ip(&item.ip, || format!("status.podIPs[{index}].ip"))).collect()
}

fn ip(text: &str, path: impl FnOnce() -> String) -> Result<IpAddr, FieldError> {
    parse_ip(text).ok_or_else(|| FieldError::unexpected(path(), text, "an IP address"))
}

fn phase(status: Option<&core::PodStatus>) -> PodPhase {
    match status.and_then(|status| status.phase.as_deref()) {
        None | Some("" | "Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) => PodPhase::Unknown,
    }
}

fn is_ready(status: Option<&core::PodStatus>) -> bool {
    let conditions = status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.flatten().find(|c| c.type_ == "Ready");
    ready.is_some_and(|condition| condition.status == "True")
}

/// Named ports in the order in which Kubernetes looks a named target port up.
fn ports(spec: &core::PodSpec) -> Result<Vec<ContainerPort>, FieldError> {
    let containers = spec.containers.iter().enumerate();
    let containers = containers.map(|(index, container)| ("containers", index, container));
    let init = spec.init_containers.iter().flatten().enumerate();
    let sidecars = init
        .filter(|(_, container)| container.restart_policy.as_deref() == Some("Always"))
        .map(|(index, container)| ("initContainers", index, container));
    let mut ports = Vec::new();
    for (list, index, container) in containers.chain(sidecars) {
        for (nth, port) in container.ports.iter().flatten().enumerate() {
            let path = |name| move || format!("spec.{list}[{index}].ports[{nth}].{name}");
            let Some(name) = field::non_empty(port.name.as_deref()) else {
                continue;
            };
            ports.push(ContainerPort {
                name,
                port: field::port(port.container_port, path("containerPort"))?,
                protocol: field::protocol(port.protocol.as_deref(), path("protocol"))?,
            });
        }
    }
    Ok(ports)
}

/// A DaemonSet binds each of its Pods to one node by the node's name (`matchFields`): that places
/// the Pod, but does not keep its siblings from any node.
fn is_confined(spec: &core::PodSpec) -> bool {
    let selector = spec.node_selector.as_ref();
    let affinity = spec.affinity.as_ref().and_then(|a| a.node_affinity.as_ref());
    let required =
        affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    let by_label = |term: &core::NodeSelectorTerm| {
        term.match_expressions.as_ref().is_some_and(|expressions| !expressions.is_empty())
    };
    selector.is_some_and(|selector| !selector.is_empty())
        || required.is_some_and(|required| required.node_selector_terms.iter().any(by_label))
}
