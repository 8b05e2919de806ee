//! Warnings to a client that writes a Service.
//!
//! Source: `GetWarningsForService` in `pkg/api/service/warnings.go`.

use serde_json::Value;

use super::{
    facts::{
        TOPOLOGY_HINTS, TOPOLOGY_MODE, annotation, cluster_ip, cluster_ips, external_ips,
        is_external_name, service_type, strings,
    },
    families::spec,
};
use crate::kinds::{
    addresses::{cidr_warnings, ip_warnings},
    read::text,
};

pub(super) fn warnings(service: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if annotation(service, TOPOLOGY_HINTS).is_some() {
        warnings.push(format!(
            "annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
        ));
    }
    if !matches!(cluster_ip(service), "" | "None") {
        warnings.extend(odd_ips("clusterIPs", &cluster_ips(service)));
    }
    let headless = service_type(service) == "ClusterIP" && cluster_ip(service) == "None";
    if headless {
        warnings.extend(ignored_when_headless(service));
    }
    let externals = external_ips(service);
    warnings.extend(odd_ips("externalIPs", &externals));
    if !externals.is_empty() && !headless && !is_external_name(service) {
        warnings.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        );
    }
    let balancer = text(service, &["spec", "loadBalancerIP"]);
    warnings.extend(ip_warnings(&spec("loadBalancerIP"), balancer));
    for (i, range) in strings(service, "loadBalancerSourceRanges").into_iter().enumerate() {
        warnings.extend(cidr_warnings(&spec("loadBalancerSourceRanges").index(i), range));
    }
    warnings.extend(ignored_by_type(service));
    if text(service, &["spec", "trafficDistribution"]) == "PreferClose" {
        warnings.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
    warnings
}

fn odd_ips(name: &str, ips: &[&str]) -> Vec<String> {
    let ips = ips.iter().enumerate();
    ips.filter_map(|(i, ip)| ip_warnings(&spec(name).index(i), ip)).collect()
}

fn ignored_when_headless(service: &Value) -> Vec<String> {
    let ignored = [
        ("loadBalancerIP", !text(service, &["spec", "loadBalancerIP"]).is_empty()),
        ("externalIPs", !external_ips(service).is_empty()),
        ("SessionAffinity", text(service, &["spec", "sessionAffinity"]) != "None"),
    ];
    let ignored = ignored.into_iter().filter(|(_, set)| *set);
    ignored.map(|(name, _)| format!("spec.{name} is ignored for headless services")).collect()
}

fn ignored_by_type(service: &Value) -> Option<String> {
    match is_external_name(service) {
        true if !external_ips(service).is_empty() => {
            Some("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned())
        }
        false if !text(service, &["spec", "externalName"]).is_empty() => {
            Some("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned())
        }
        _ => None,
    }
}
