//! Validation of Services.
//!
//! Source: `validateService` and its callers in `pkg/apis/core/validation/validation.go`, in the
//! order in which Kubernetes reports.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    facts::{
        SOURCE_RANGES, TOPOLOGY_HINTS, TOPOLOGY_MODE, annotation, external_ips, health_check_port,
        is_externally_accessible, is_headless, is_load_balancer, needs_health_check, service_type,
        strings,
    },
    families::{self, shown, spec},
    ports,
};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        addresses::endpoint_ip,
        metadata::{self, invalid},
        names::{dns1123_subdomain, legacy_cidr, legacy_ip, qualified_name, sloppy_ip},
        read::{at, list, text},
    },
    settings::Features,
};

const AFFINITIES: [&str; 2] = ["ClientIP", "None"];
const AFFINITY_MOST: i64 = 86_400;
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const TRAFFIC_POLICIES: [&str; 2] = ["Cluster", "Local"];
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

pub(super) fn validate(service: &Value, old: Option<&Value>, features: Features) -> Errors {
    let mut errors = Errors::new();
    errors.extend(topology_annotations(service));
    errors.extend(by_type(service));
    errors.extend(ports::validate(service));
    errors.extend(metadata::labels(at(service, &["spec", "selector"]), &spec("selector")));
    errors.extend(affinity(service));
    errors.extend(families::validate(service, old));
    errors.extend(external_addresses(service, old));
    errors.extend(one_of(service, "type", &TYPES));
    errors.extend(ports::validate_uses(service));
    errors.extend(source_ranges(service, old));
    errors.extend(load_balancer(service));
    errors.extend(load_balancer_class(service));
    errors.extend(external_traffic(service));
    errors.extend(internal_traffic(service));
    errors.extend(distribution(service, old, features));
    errors
}

/// Rules for updates only, then all others.
pub(super) fn validate_update(new: &Value, old: &Value, features: Features) -> Errors {
    let mut errors = families::validate_update(new, old);
    let class = ["spec", "loadBalancerClass"];
    if is_load_balancer(new) && is_load_balancer(old) && at(new, &class) != at(old, &class) {
        let path = spec("loadBalancerClass");
        errors.push(FieldError::invalid(path, at(new, &class), "may not change once set"));
    }
    errors.extend(load_balancer_class(new));
    let both = needs_health_check(new) && needs_health_check(old);
    if both && health_check_port(new) != health_check_port(old) {
        errors.push(FieldError::forbidden(spec("healthCheckNodePort"), "field is immutable"));
    }
    errors.extend(validate(new, Some(old), features));
    errors
}

pub(super) fn validate_status(new: &Value, old: &Value) -> Errors {
    let path = Path::root("status").child("loadBalancer").child("ingress");
    let ingress = list(new, &["status", "loadBalancer", "ingress"]);
    if !is_load_balancer(new) && !ingress.is_empty() {
        let text = "may only be used when `spec.type` is 'LoadBalancer'";
        return vec![FieldError::forbidden(path, text)];
    }
    let known: BTreeSet<&str> = list(old, &["status", "loadBalancer", "ingress"])
        .iter()
        .map(|ingress| text(ingress, &["ip"]))
        .collect();
    let paths = ingress.iter().enumerate();
    paths.flat_map(|(i, ingress)| one_ingress(ingress, &known, &path.index(i))).collect()
}

fn one_ingress(ingress: &Value, known: &BTreeSet<&str>, path: &Path) -> Errors {
    const MODES: [&str; 2] = ["Proxy", "VIP"];
    let (ip, hostname) = (text(ingress, &["ip"]), text(ingress, &["hostname"]));
    let mut errors = Errors::new();
    if !ip.is_empty() && !known.contains(ip) {
        errors.extend(invalid(&path.child("ip"), ip, legacy_ip(ip)));
    }
    let mode = path.child("ipMode");
    errors.extend(match (ingress["ipMode"].as_str(), ip.is_empty()) {
        (None, false) => Some(FieldError::required(mode, "must be specified when `ip` is set")),
        (Some(_), true) => {
            Some(FieldError::forbidden(mode, "may not be specified when `ip` is not set"))
        }
        (Some(other), false) if !MODES.contains(&other) => {
            Some(FieldError::not_supported(mode, &json!(other), &MODES))
        }
        _ => None,
    });
    if !hostname.is_empty() {
        let path = path.child("hostname");
        errors.extend(invalid(&path, hostname, dns1123_subdomain(hostname)));
        if sloppy_ip(hostname).is_some() {
            let text = "must be a DNS name, not an IP address";
            errors.push(FieldError::invalid(path, &json!(hostname), text));
        }
    }
    errors
}

fn topology_annotations(service: &Value) -> Option<FieldError> {
    let mode = annotation(service, TOPOLOGY_MODE)?;
    let hints = annotation(service, TOPOLOGY_HINTS)?;
    if mode == hints {
        return None;
    }
    let path = Path::root("metadata").child("annotations").key(TOPOLOGY_MODE);
    let text = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
    Some(FieldError::invalid(path, &json!(mode), text))
}

fn by_type(service: &Value) -> Errors {
    let type_ = service_type(service);
    let mut errors = Errors::new();
    let no_ports = list(service, &["spec", "ports"]).is_empty();
    if no_ports && !is_headless(service) && type_ != "ExternalName" {
        errors.push(FieldError::required(spec("ports"), ""));
    }
    match type_ {
        "LoadBalancer" | "NodePort" if is_headless(service) => {
            let text = format!("may not be set to 'None' for {type_} services");
            let path = spec("clusterIPs").index(0);
            errors.push(FieldError::invalid(path, &json!("None"), text));
        }
        "ExternalName" => errors.extend(external_name(service)),
        _ => {}
    }
    errors
}

fn external_name(service: &Value) -> Errors {
    let set = [
        ("clusterIPs", !strings(service, "clusterIPs").is_empty()),
        ("ipFamilies", !strings(service, "ipFamilies").is_empty()),
        ("ipFamilyPolicy", !shown(service, "ipFamilyPolicy").is_null()),
    ];
    let text_ = "may not be set for ExternalName services";
    let mut errors: Errors = set
        .into_iter()
        .filter(|(_, set)| *set)
        .map(|(name, _)| FieldError::forbidden(spec(name), text_))
        .collect();
    let name = text(service, &["spec", "externalName"]);
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.push(FieldError::required(spec("externalName"), "")),
        name => errors.extend(invalid(&spec("externalName"), name, dns1123_subdomain(name))),
    }
    errors
}

fn affinity(service: &Value) -> Errors {
    let mut errors: Errors = one_of(service, "sessionAffinity", &AFFINITIES).into_iter().collect();
    let path = spec("sessionAffinityConfig");
    let config = at(service, &["spec", "sessionAffinityConfig"]);
    match text(service, &["spec", "sessionAffinity"]) {
        "ClientIP" => errors.extend(affinity_config(config, path)),
        "None" if !config.is_null() => errors
            .push(FieldError::forbidden(path, "must not be set when session affinity is None")),
        _ => {}
    }
    errors
}

fn affinity_config(config: &Value, path: Path) -> Option<FieldError> {
    let needed = "when session affinity type is ClientIP";
    if config.is_null() {
        return Some(FieldError::required(path, needed));
    }
    let path = path.child("clientIP");
    if config["clientIP"].is_null() {
        return Some(FieldError::required(path, needed));
    }
    let path = path.child("timeoutSeconds");
    let timeout = &config["clientIP"]["timeoutSeconds"];
    let Some(seconds) = timeout.as_i64() else {
        return Some(FieldError::required(path, needed));
    };
    let text = format!("must be greater than 0 and less than {AFFINITY_MOST}");
    let fits = (1..=AFFINITY_MOST).contains(&seconds);
    (!fits).then(|| FieldError::invalid(path, timeout, text))
}

fn external_addresses(service: &Value, old: Option<&Value>) -> Errors {
    let known: BTreeSet<&str> = old.map(external_ips).into_iter().flatten().collect();
    let mut errors = Errors::new();
    for (i, ip) in external_ips(service).into_iter().enumerate() {
        let path = spec("externalIPs").index(i);
        let wrong = if known.contains(ip) { Vec::new() } else { legacy_ip(ip) };
        match wrong.is_empty() {
            true => errors.extend(endpoint_ip(ip, &path)),
            false => errors.extend(invalid(&path, ip, wrong)),
        }
    }
    errors
}

/// The field's name in the path has a capital letter in Kubernetes too. Blanks around a range are
/// allowed.
fn source_ranges(service: &Value, old: Option<&Value>) -> Errors {
    let ranges = strings(service, "loadBalancerSourceRanges");
    if ranges.is_empty() {
        return annotated_source_ranges(service, old);
    }
    let path = spec("LoadBalancerSourceRanges");
    let mut errors = Errors::new();
    if !is_load_balancer(service) {
        errors.push(FieldError::forbidden(path.clone(), ONLY_LOAD_BALANCER));
    }
    let known = old.map(|old| strings(old, "loadBalancerSourceRanges")).unwrap_or_default();
    let known: BTreeSet<&str> = known.into_iter().map(str::trim).collect();
    for (i, range) in ranges.into_iter().map(str::trim).enumerate() {
        if !known.contains(range) {
            errors.extend(invalid(&path.index(i), range, legacy_cidr(range)));
        }
    }
    errors
}

fn annotated_source_ranges(service: &Value, old: Option<&Value>) -> Errors {
    let Some(ranges) = annotation(service, SOURCE_RANGES) else { return Errors::new() };
    let path = Path::root("metadata").child("annotations").key(SOURCE_RANGES);
    let mut errors = Errors::new();
    if !is_load_balancer(service) {
        errors.push(FieldError::forbidden(path.clone(), ONLY_LOAD_BALANCER));
    }
    let unchanged =
        old.is_some_and(|old| annotation(old, SOURCE_RANGES).unwrap_or_default() == ranges);
    if !unchanged && !ranges.trim().is_empty() {
        for range in ranges.trim().split(',').map(str::trim) {
            errors.extend(invalid(&path, range, legacy_cidr(range)));
        }
    }
    errors
}

fn load_balancer(service: &Value) -> Option<FieldError> {
    let name = "allocateLoadBalancerNodePorts";
    let set = !at(service, &["spec", name]).is_null();
    match (is_load_balancer(service), set) {
        (false, true) => Some(FieldError::forbidden(spec(name), ONLY_LOAD_BALANCER)),
        (true, false) => Some(FieldError::required(Path::root(name), "")),
        _ => None,
    }
}

fn load_balancer_class(service: &Value) -> Errors {
    let path = spec("loadBalancerClass");
    let Some(class) = at(service, &["spec", "loadBalancerClass"]).as_str() else {
        return Errors::new();
    };
    match is_load_balancer(service) {
        true => invalid(&path, class, qualified_name(class)),
        false => vec![FieldError::forbidden(path, ONLY_LOAD_BALANCER)],
    }
}

fn external_traffic(service: &Value) -> Errors {
    let mut errors = Errors::new();
    let name = "externalTrafficPolicy";
    if is_externally_accessible(service) {
        errors.extend(one_of(service, name, &TRAFFIC_POLICIES));
    } else if !text(service, &["spec", name]).is_empty() {
        let text = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(spec(name), at(service, &["spec", name]), text));
    }
    let path = spec("healthCheckNodePort");
    let port = health_check_port(service);
    match (needs_health_check(service), port) {
        (true, 0) => errors.push(FieldError::required(path, "")),
        (true, _) => errors.extend(ports::wrong_number(&path, port)),
        (false, 0) => {}
        (false, _) => errors.push(FieldError::invalid(
            path,
            &json!(port),
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        )),
    }
    errors
}

fn internal_traffic(service: &Value) -> Option<FieldError> {
    let path = spec("internalTrafficPolicy");
    match at(service, &["spec", "internalTrafficPolicy"]).as_str() {
        None => matches!(service_type(service), "ClusterIP" | "NodePort" | "LoadBalancer")
            .then(|| FieldError::required(path, "")),
        Some(policy) if TRAFFIC_POLICIES.contains(&policy) => None,
        Some(policy) => Some(FieldError::not_supported(path, &json!(policy), &TRAFFIC_POLICIES)),
    }
}

/// With the gate `TrafficDistributionDomains` also values that name a domain. A value that was stored
/// stays valid when the gate is turned off.
fn distribution(service: &Value, old: Option<&Value>, features: Features) -> Option<FieldError> {
    let path = ["spec", "trafficDistribution"];
    let value = at(service, &path);
    let is_own = |value: &str| value.contains('/') && qualified_name(value).is_empty();
    let is_known = |value: &str| {
        DISTRIBUTIONS.contains(&value) || (features.traffic_distribution_domains && is_own(value))
    };
    let unknown = value.as_str().is_some_and(|value| !is_known(value));
    let is_new = old.is_none_or(|old| at(old, &path) != value);
    (unknown && is_new)
        .then(|| FieldError::not_supported(spec("trafficDistribution"), value, &DISTRIBUTIONS))
}

/// A required string with one of these values.
fn one_of(service: &Value, name: &str, known: &[&str]) -> Option<FieldError> {
    match text(service, &["spec", name]) {
        "" => Some(FieldError::required(spec(name), "")),
        value if known.contains(&value) => None,
        value => Some(FieldError::not_supported(spec(name), &json!(value), known)),
    }
}
