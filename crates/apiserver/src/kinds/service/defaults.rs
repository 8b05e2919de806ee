//! Defaults of a Service, and fields dropped when its type changes.
//!
//! Sources: `SetDefaults_Service` in `pkg/apis/core/v1/defaults.go`, and `strategy.go` and
//! `storage/storage.go` in `pkg/registry/core/service`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::facts::{
    cluster_ip, cluster_ips, families, family_policy, has_node_ports, health_check_port,
    is_external_name, is_externally_accessible, is_load_balancer, needs_health_check, node_ports,
    service_type, wants_node_ports,
};
use crate::kinds::read::{at, carry_over, entry, remove, text};

/// Default timeout of session affinity, in seconds.
const AFFINITY_SECONDS: i64 = 10_800;

pub(super) fn default(service: &mut Value) {
    affinity(service);
    if service_type(service).is_empty() {
        *entry(service, &["spec", "type"]) = json!("ClusterIP");
    }
    if let Some(ports) = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut) {
        ports.iter_mut().for_each(default_port);
    }
    let policy = text(service, &["spec", "externalTrafficPolicy"]);
    if policy.is_empty() && is_externally_accessible(service) {
        *entry(service, &["spec", "externalTrafficPolicy"]) = json!("Cluster");
    }
    let typed = matches!(service_type(service), "ClusterIP" | "NodePort" | "LoadBalancer");
    if typed && at(service, &["spec", "internalTrafficPolicy"]).is_null() {
        *entry(service, &["spec", "internalTrafficPolicy"]) = json!("Cluster");
    }
    if is_load_balancer(service) {
        default_load_balancer(service);
    }
}

fn affinity(service: &mut Value) {
    if text(service, &["spec", "sessionAffinity"]).is_empty() {
        *entry(service, &["spec", "sessionAffinity"]) = json!("None");
    }
    let timeout = ["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"];
    match text(service, &["spec", "sessionAffinity"]) {
        "None" => drop(remove(service, &timeout[..2])),
        "ClientIP" if at(service, &timeout).is_null() => {
            *entry(service, &timeout) = json!(AFFINITY_SECONDS);
        }
        _ => {}
    }
}

fn default_port(port: &mut Value) {
    if text(port, &["protocol"]).is_empty() {
        *entry(port, &["protocol"]) = json!("TCP");
    }
    let target = &port["targetPort"];
    if target.is_null() || *target == json!(0) || *target == json!("") {
        *entry(port, &["targetPort"]) = json!(port["port"].as_i64().unwrap_or_default());
    }
}

fn default_load_balancer(service: &mut Value) {
    if at(service, &["spec", "allocateLoadBalancerNodePorts"]).is_null() {
        *entry(service, &["spec", "allocateLoadBalancerNodePorts"]) = json!(true);
    }
    let ingress = service.pointer_mut("/status/loadBalancer/ingress").and_then(Value::as_array_mut);
    for ingress in ingress.into_iter().flatten() {
        if !text(ingress, &["ip"]).is_empty() && ingress["ipMode"].is_null() {
            *entry(ingress, &["ipMode"]) = json!("VIP");
        }
    }
}

/// An ExternalName Service has no internal traffic policy. Kubernetes hides a stored policy from
/// readers; here it is not stored. An invalid policy is kept, to be rejected.
pub(super) fn drop_policy_of_external_name(service: &mut Value) {
    let known = ["Cluster", "Local"].contains(&text(service, &["spec", "internalTrafficPolicy"]));
    if is_external_name(service) && known {
        remove(service, &["spec", "internalTrafficPolicy"]);
    }
}

/// Drops fields that the new type does not use, unless the client also changed them: a change is
/// kept and rejected.
pub(super) fn drop_what_the_type_lost(new: &mut Value, old: &Value) {
    if !is_external_name(old) && is_external_name(new) {
        drop_addresses(new, old);
    }
    let held: BTreeSet<i64> = node_ports(old).into_iter().collect();
    let kept = |number: &i64| held.contains(number);
    if has_node_ports(old) && !has_node_ports(new) && node_ports(new).iter().all(kept) {
        let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten() {
            remove(port, &["nodePort"]);
        }
    }
    let same_check = health_check_port(old) == health_check_port(new);
    if needs_health_check(old) && !needs_health_check(new) && same_check {
        remove(new, &["spec", "healthCheckNodePort"]);
    }
    if is_load_balancer(old) && !is_load_balancer(new) {
        for name in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            drop_if_same(new, old, name);
        }
    }
    if is_externally_accessible(old) && !is_externally_accessible(new) {
        drop_if_same(new, old, "externalTrafficPolicy");
    }
    if !is_load_balancer(new) {
        remove(new, &["status", "loadBalancer"]);
    }
}

fn drop_addresses(new: &mut Value, old: &Value) {
    if cluster_ip(old) == cluster_ip(new) && cluster_ips(old) == cluster_ips(new) {
        remove(new, &["spec", "clusterIP"]);
        remove(new, &["spec", "clusterIPs"]);
    }
    if families(old) == families(new) {
        remove(new, &["spec", "ipFamilies"]);
    }
    if family_policy(old).unwrap_or_default() == family_policy(new).unwrap_or_default() {
        remove(new, &["spec", "ipFamilyPolicy"]);
    }
}

fn drop_if_same(new: &mut Value, old: &Value, name: &str) {
    if at(new, &["spec", name]) == at(old, &["spec", name]) {
        remove(new, &["spec", name]);
    }
}

/// Restores allocated values that an update does not mention, so that a client may send the
/// manifest again that it created the Service from.
pub(crate) fn carry_allocated(new: &mut Value, old: &Value) {
    if !is_external_name(old) && !is_external_name(new) {
        if cluster_ip(new).is_empty() {
            carry_over(new, old, &["spec", "clusterIP"]);
        }
        if cluster_ips(new).is_empty() && !cluster_ips(old).is_empty() {
            carry_over(new, old, &["spec", "clusterIPs"]);
        }
    }
    if wants_node_ports(old) && wants_node_ports(new) {
        carry_node_ports(new, old);
    }
    if needs_health_check(old) && needs_health_check(new) && health_check_port(new) == 0 {
        carry_over(new, old, &["spec", "healthCheckNodePort"]);
    }
}

/// Ports are matched by name; a number that the update uses elsewhere is not restored.
fn carry_node_ports(new: &mut Value, old: &Value) {
    let used: BTreeSet<i64> = node_ports(new).into_iter().collect();
    let by_name: BTreeMap<&str, i64> = super::facts::ports(old)
        .iter()
        .map(|port| (text(port, &["name"]), port["nodePort"].as_i64().unwrap_or_default()))
        .collect();
    let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let known = by_name.get(text(port, &["name"])).copied().unwrap_or_default();
        let unset = port["nodePort"].as_i64().unwrap_or_default() == 0;
        if unset && known != 0 && !used.contains(&known) {
            *entry(port, &["nodePort"]) = json!(known);
        }
    }
}

/// Aligns `clusterIPs` with `clusterIP`, for clients that know only the latter.
pub(crate) fn align_cluster_ips(new: &mut Value, old: Option<&Value>) {
    let Some(old) = old else {
        if !cluster_ip(new).is_empty() && cluster_ips(new).is_empty() {
            *entry(new, &["spec", "clusterIPs"]) = json!([cluster_ip(new)]);
        }
        return;
    };
    let same_one = cluster_ip(old) == cluster_ip(new);
    if same_one && cluster_ips(new).is_empty() && !cluster_ips(old).is_empty() {
        carry_over(new, old, &["spec", "clusterIPs"]);
    }
    if same_one || cluster_ips(old) != cluster_ips(new) {
        return;
    }
    if cluster_ip(new).is_empty() {
        remove(new, &["spec", "clusterIPs"]);
    } else {
        *entry(new, &["spec", "clusterIPs"]) = json!([cluster_ip(new)]);
    }
}
