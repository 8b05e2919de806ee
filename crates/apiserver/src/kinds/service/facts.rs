//! Properties of a Service, derived from its fields.

use serde_json::Value;

use crate::kinds::read::{at, list, text};

pub(crate) const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
pub(crate) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
pub(crate) const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

pub(crate) fn service_type(service: &Value) -> &str {
    text(service, &["spec", "type"])
}

pub(crate) fn cluster_ip(service: &Value) -> &str {
    text(service, &["spec", "clusterIP"])
}

pub(crate) fn cluster_ips(service: &Value) -> Vec<&str> {
    strings(service, "clusterIPs")
}

pub(crate) fn families(service: &Value) -> Vec<&str> {
    strings(service, "ipFamilies")
}

pub(crate) fn external_ips(service: &Value) -> Vec<&str> {
    strings(service, "externalIPs")
}

pub(crate) fn strings<'a>(service: &'a Value, name: &str) -> Vec<&'a str> {
    let values = list(service, &["spec", name]);
    values.iter().map(|value| value.as_str().unwrap_or_default()).collect()
}

/// `None`: unspecified, which differs from `""`.
pub(crate) fn family_policy(service: &Value) -> Option<&str> {
    at(service, &["spec", "ipFamilyPolicy"]).as_str()
}

pub(crate) fn is_external_name(service: &Value) -> bool {
    service_type(service) == "ExternalName"
}

pub(crate) fn is_load_balancer(service: &Value) -> bool {
    service_type(service) == "LoadBalancer"
}

pub(crate) fn is_headless(service: &Value) -> bool {
    cluster_ips(service) == ["None"]
}

/// By its type; a LoadBalancer may opt out.
pub(crate) fn has_node_ports(service: &Value) -> bool {
    matches!(service_type(service), "NodePort" | "LoadBalancer")
}

/// Whether ports without a node port get one.
pub(crate) fn wants_node_ports(service: &Value) -> bool {
    let told_off = at(service, &["spec", "allocateLoadBalancerNodePorts"]).as_bool() == Some(false);
    has_node_ports(service) && !(is_load_balancer(service) && told_off)
}

pub(crate) fn is_externally_accessible(service: &Value) -> bool {
    has_node_ports(service)
        || service_type(service) == "ClusterIP" && !external_ips(service).is_empty()
}

/// Whether load balancers must be able to check which nodes have endpoints.
pub(crate) fn needs_health_check(service: &Value) -> bool {
    is_load_balancer(service) && text(service, &["spec", "externalTrafficPolicy"]) == "Local"
}

pub(crate) fn annotation<'a>(service: &'a Value, name: &str) -> Option<&'a str> {
    at(service, &["metadata", "annotations", name]).as_str()
}

pub(crate) fn ports(service: &Value) -> &[Value] {
    list(service, &["spec", "ports"])
}

/// The node ports that are set, in order.
pub(crate) fn node_ports(service: &Value) -> Vec<i64> {
    let numbers = ports(service).iter().filter_map(|port| port["nodePort"].as_i64());
    numbers.filter(|&number| number != 0).collect()
}

pub(crate) fn health_check_port(service: &Value) -> i64 {
    at(service, &["spec", "healthCheckNodePort"]).as_i64().unwrap_or_default()
}
