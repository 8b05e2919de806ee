//! Cluster IPs, families and the family policy of a Service: their consistency, and what an update
//! may change.
//!
//! Source: `ValidateServiceClusterIPsRelatedFields` and what follows it in
//! `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::facts::{
    cluster_ip, cluster_ips, families, family_policy, is_external_name, is_headless,
};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path, Shown},
    kinds::{
        metadata::invalid,
        names::{legacy_ip, sloppy_ip},
        read::at,
    },
};

pub(super) const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
pub(super) const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// `spec.` and the name.
pub(crate) fn spec(name: &str) -> Path {
    Path::root("spec").child(name)
}

/// The list at that field; `null` if it is empty, as Kubernetes prints it.
pub(crate) fn shown<'a>(service: &'a Value, name: &str) -> &'a Value {
    let value = at(service, &["spec", name]);
    if value.as_array().is_some_and(Vec::is_empty) { &Value::Null } else { value }
}

pub(crate) fn validate(service: &Value, old: Option<&Value>) -> Errors {
    if is_external_name(service) {
        return Errors::new();
    }
    let mut errors = first_matches(service);
    errors.extend(known(service));
    let wrong_ips = valid_ips(service, old);
    let stop = !wrong_ips.is_empty();
    errors.extend(wrong_ips);
    let ips = cluster_ips(service);
    let ips_error =
        |text: &str| FieldError::invalid(spec("clusterIPs"), shown(service, "clusterIPs"), text);
    if ips.len() > 2 {
        errors.push(ips_error("may only hold up to 2 values"));
    }
    if stop {
        return errors;
    }
    if ips.len() > 1 && ips.iter().map(|ip| family_of(ip)).collect::<BTreeSet<_>>().len() < 2 {
        errors.push(ips_error("may specify no more than one IP for each IP family"));
    }
    if !is_headless(service) {
        errors.extend(ips_fit_families(service));
    }
    errors
}

/// The family of a valid address.
pub(crate) fn family_of(ip: &str) -> &'static str {
    match sloppy_ip(ip) {
        Some(ip) if ip.is_ipv6() => "IPv6",
        _ => "IPv4",
    }
}

fn first_matches(service: &Value) -> Errors {
    let (one, all) = (cluster_ip(service), cluster_ips(service));
    let error = |text: &str| {
        vec![FieldError::invalid(spec("clusterIPs"), shown(service, "clusterIPs"), text)]
    };
    match (one, all.first()) {
        ("", None) => Errors::new(),
        ("", Some(_)) => error("must be empty when `clusterIP` is not specified"),
        (_, None) => vec![FieldError::required(spec("clusterIPs"), "")],
        (one, Some(first)) if one != *first => error("first value must match `clusterIP`"),
        _ => Errors::new(),
    }
}

fn known(service: &Value) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (i, family) in families(service).into_iter().enumerate() {
        let path = spec("ipFamilies").index(i);
        if !FAMILIES.contains(&family) {
            errors.push(FieldError::not_supported(path.clone(), &json!(family), &FAMILIES));
        }
        if !seen.insert(family) {
            errors.push(FieldError::duplicate(path, &json!(family)));
        }
    }
    if let Some(policy) = family_policy(service)
        && !POLICIES.contains(&policy)
    {
        errors.push(FieldError::not_supported(spec("ipFamilyPolicy"), &json!(policy), &POLICIES));
    }
    errors
}

fn valid_ips(service: &Value, old: Option<&Value>) -> Errors {
    let ips = cluster_ips(service);
    let old: BTreeSet<&str> = old.map(cluster_ips).into_iter().flatten().collect();
    let path = spec("clusterIPs");
    let mut errors = Errors::new();
    for (i, ip) in ips.iter().enumerate() {
        if i == 0 && *ip == "None" {
            if ips.len() > 1 {
                let text = "'None' must be the first and only value";
                errors.push(FieldError::invalid(path.clone(), &json!(ips), text));
            }
        } else if !old.contains(ip) {
            errors.extend(invalid(&path.index(i), ip, legacy_ip(ip)));
        }
    }
    errors
}

fn ips_fit_families(service: &Value) -> Errors {
    let pairs = cluster_ips(service).into_iter().zip(families(service)).enumerate();
    let unfit =
        pairs.filter(|(_, (ip, family))| FAMILIES.contains(family) && family_of(ip) != *family);
    unfit
        .map(|(i, (ip, family))| {
            let text = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            FieldError::invalid(spec("clusterIPs").index(i), &json!(ip), text)
        })
        .collect()
}

/// The first address is immutable; the second may be added, and removed if the policy says so.
pub(super) fn validate_update(new: &Value, old: &Value) -> Errors {
    if is_external_name(new) || is_external_name(old) {
        return Errors::new();
    }
    let mut errors = Errors::new();
    if !(is_headless(old) && is_headless(new)) {
        errors.extend(changed_ips(new, old));
    }
    if !is_headless(old) && !is_headless(new) {
        errors.extend(changed_families(new, old));
    }
    errors
}

fn changed_ips(new: &Value, old: &Value) -> Errors {
    let (is, was) = (cluster_ips(new), cluster_ips(old));
    let shown = Shown::new(shown(new, "clusterIPs").to_string());
    let error = |i: usize, text: &str| FieldError {
        path: spec("clusterIPs").index(i),
        type_: FieldErrorType::Invalid(shown.text()),
        detail: text.to_owned(),
    };
    let mut errors = Errors::new();
    if is.len() == was.len() {
        let differ = (0..is.len()).filter(|&i| is[i] != was[i]);
        errors.extend(differ.map(|i| error(i, "may not change once set")));
        return errors;
    }
    if is.is_empty() {
        errors.push(error(0, "primary clusterIP can not be unset"));
    } else if !was.is_empty() && is[0] != was[0] {
        errors.push(error(0, "may not change once set"));
    }
    if was.len() > is.len() && is.len() == 1 {
        errors.extend(must_be_single_stack(new, "clusterIP"));
    }
    errors
}

fn changed_families(new: &Value, old: &Value) -> Errors {
    let (is, was) = (families(new), families(old));
    // Kubernetes shows the cluster IPs here if the number of families changed.
    let error = |name: &str, text: &str| {
        FieldError::invalid(spec("ipFamilies").index(0), shown(new, name), text)
    };
    let mut errors = Errors::new();
    if is.len() == was.len() {
        // Kubernetes reports it for each; the texts are equal, and listed once.
        if is != was {
            errors.push(error("ipFamilies", "may not change once set"));
        }
        return errors;
    }
    if was.len() > is.len() && cluster_ips(new).is_empty() {
        errors.push(error("ipFamilies", "primary ipFamily can not be unset"));
    }
    if !is.is_empty() && !was.is_empty() && is[0] != was[0] {
        errors.push(error("clusterIPs", "may not change once set"));
    }
    if was.len() > is.len() && is.len() == 1 {
        errors.extend(must_be_single_stack(new, "ipFamily"));
    }
    errors
}

fn must_be_single_stack(service: &Value, what: &str) -> Option<FieldError> {
    if family_policy(service) == Some("SingleStack") {
        return None;
    }
    let text = format!("must be set to 'SingleStack' when releasing the secondary {what}");
    Some(FieldError::invalid(spec("ipFamilyPolicy"), shown(service, "ipFamilyPolicy"), text))
}
