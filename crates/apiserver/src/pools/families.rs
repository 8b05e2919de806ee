//! IP families of a Service.
//!
//! Source: `initIPFamilyFields` in `pkg/registry/core/service/storage/alloc.go`.

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError},
    kinds::{
        read::{carry_over, entries, entry},
        service::{
            cluster_ip, cluster_ips, families, family_of, family_policy, is_external_name,
            service_type, shown, spec, validate_families,
        },
    },
};

/// Sets policy and families. `configured`: the families of the cluster, the default first.
pub(super) fn assign(
    new: &mut Value,
    old: Option<&Value>,
    configured: &[&'static str],
) -> Result<(), Errors> {
    if is_external_name(new) || old.is_some_and(|old| is_unchanged_preference(new, old)) {
        return Ok(());
    }
    settle_policy(new, old);
    refuse(validate_families(new, old))?;
    let mut errors = old.map(|old| released(new, old)).unwrap_or_default();
    errors.extend(too_many_for_single_stack(new));
    errors.extend(infer_families(new, configured));
    refuse(errors)?;
    if is_headless_without_selector(new) {
        assign_headless(new, configured);
        return Ok(());
    }
    refuse(not_configured(new, configured))?;
    if families(new).is_empty() {
        *entry(new, &["spec", "ipFamilies"]) = json!([configured.first()]);
    }
    if family_policy(new) != Some("SingleStack") && configured.len() == 2 {
        add_other_family(new);
    }
    Ok(())
}

/// A Service that prefers dual-stack keeps what it has if nothing about it changes, even if the
/// cluster's families did.
pub(super) fn is_unchanged_preference(new: &Value, old: &Value) -> bool {
    let prefers = |policy: Option<&str>| policy.is_none_or(|policy| policy == "PreferDualStack");
    family_policy(new).is_some()
        && service_type(new) == service_type(old)
        && matches!(service_type(new), "ClusterIP" | "NodePort" | "LoadBalancer")
        && prefers(family_policy(new))
        && prefers(family_policy(old))
        && cluster_ips(new) == cluster_ips(old)
        && families(new) == families(old)
}

fn refuse(errors: Errors) -> Result<(), Errors> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn settle_policy(new: &mut Value, old: Option<&Value>) {
    if family_policy(new).is_some() {
        return;
    }
    match old {
        Some(old) if family_policy(old).is_some() => {
            carry_over(new, old, &["spec", "ipFamilyPolicy"]);
        }
        _ => {
            let both = is_headless_without_selector(new);
            let policy = if both { "RequireDualStack" } else { "SingleStack" };
            *entry(new, &["spec", "ipFamilyPolicy"]) = json!(policy);
        }
    }
}

/// A downgrade to one family is unambiguous if only the policy changes; anything else is rejected.
fn released(new: &mut Value, old: &Value) -> Errors {
    if family_policy(new) == Some("SingleStack") {
        let (same_ips, same_families) =
            (cluster_ips(new) == cluster_ips(old), families(new) == families(old));
        for (name, same) in [("clusterIPs", same_ips), ("ipFamilies", same_families)] {
            let values = entry(new, &["spec"]).get_mut(name).and_then(Value::as_array_mut);
            if let (true, Some(values)) = (same, values) {
                values.truncate(1);
            }
        }
        return Errors::new();
    }
    let reduced = |is: usize, was: usize| is != 0 && is < was;
    let found = [
        (
            reduced(cluster_ips(new).len(), cluster_ips(old).len()),
            "must be 'SingleStack' to release the secondary cluster IP",
        ),
        (
            reduced(families(new).len(), families(old).len()),
            "must be 'SingleStack' to release the secondary IP family",
        ),
    ];
    found.into_iter().filter(|(is, _)| *is).map(|(_, text)| policy_error(new, text)).collect()
}

fn policy_error(service: &Value, text: &str) -> FieldError {
    FieldError::invalid(spec("ipFamilyPolicy"), shown(service, "ipFamilyPolicy"), text)
}

fn too_many_for_single_stack(service: &Value) -> Errors {
    if family_policy(service) != Some("SingleStack") {
        return Errors::new();
    }
    let found = [
        (
            cluster_ips(service).len() == 2,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified",
        ),
        (
            families(service).len() == 2,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
        ),
    ];
    found.into_iter().filter(|(is, _)| *is).map(|(_, text)| policy_error(service, text)).collect()
}

/// Families that are not specified follow from the addresses.
fn infer_families(service: &mut Value, configured: &[&str]) -> Errors {
    let mut known: Vec<String> = families(service).into_iter().map(str::to_owned).collect();
    let before = known.len();
    let mut errors = Errors::new();
    for (i, ip) in cluster_ips(service).into_iter().enumerate() {
        if ip == "None" {
            break;
        }
        if i < known.len() {
            continue;
        }
        let family = family_of(ip);
        if configured.contains(&family) {
            known.push(family.to_owned());
        } else {
            let text = format!("{family} is not configured on this cluster");
            let path = spec("clusterIPs").index(i);
            errors.push(FieldError::invalid(path, shown(service, "clusterIPs"), text));
        }
    }
    if known.len() > before {
        *entry(service, &["spec", "ipFamilies"]) = json!(known);
    }
    errors
}

fn is_headless_without_selector(service: &Value) -> bool {
    cluster_ip(service) == "None" && entries(service, &["spec", "selector"]).next().is_none()
}

/// The endpoints of such a Service are unknown, so it may have families that the cluster does not.
fn assign_headless(service: &mut Value, configured: &[&'static str]) {
    if families(service).is_empty() {
        *entry(service, &["spec", "ipFamilies"]) = json!([configured.first()]);
    }
    if family_policy(service) != Some("SingleStack") {
        add_other_family(service);
    }
}

fn add_other_family(service: &mut Value) {
    if let [one] = families(service)[..] {
        let other = if one == "IPv4" { "IPv6" } else { "IPv4" };
        *entry(service, &["spec", "ipFamilies"]) = json!([one, other]);
    }
}

fn not_configured(service: &Value, configured: &[&str]) -> Errors {
    let mut errors = Errors::new();
    if family_policy(service) == Some("RequireDualStack") && configured.len() < 2 {
        let text = "this cluster is not configured for dual-stack services";
        errors.push(policy_error(service, text));
    }
    for (i, family) in families(service).into_iter().enumerate() {
        if !configured.contains(&family) {
            let path = spec("ipFamilies").index(i);
            let text = "not configured on this cluster";
            errors.push(FieldError::invalid(path, &json!(family), text));
        }
    }
    errors
}
