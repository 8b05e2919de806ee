//! Requests and limits of containers.

use std::collections::BTreeSet;

use evenkeel_model::quantity::Quantity;
use serde_json::{Value, json};

use super::{Scope, checks::invalid};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path, Shown},
    kinds::{
        names,
        read::{entries, list, quantity, shown_quantity, text},
    },
};

/// Unqualified resource names that are standard, though not for containers.
const STANDARD: &[&str] = &[
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];

/// Standard resources that are not counted in whole numbers.
const MEASURED: [&str; 11] = [
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "storage",
];

/// A pod's resource claims, which its containers may name.
#[derive(Debug)]
pub(super) struct Claims<'a> {
    names: BTreeSet<&'a str>,
    /// The error for a name that is not among them.
    expected: Shown,
}

impl<'a> Claims<'a> {
    pub(super) fn of(spec: &'a Value) -> Claims<'a> {
        let claims = list(spec, &["resourceClaims"]);
        let mut names: Vec<&str> = claims.iter().map(|claim| text(claim, &["name"])).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        let list = match names.is_empty() {
            true => " which is empty".to_owned(),
            false => format!(": {}", names.join(", ")),
        };
        let expected = format!("must be one of the names in pod.spec.resourceClaims{list}");
        Claims { names: names.into_iter().collect(), expected: Shown::new(expected) }
    }
}

type NameCheck = fn(&mut Errors, &str, &Path);

pub(super) fn of_container(errors: &mut Errors, scope: &Scope<'_>, container: &Value, path: &Path) {
    requirements(errors, &container["resources"], container_resource, path);
    claims(errors, &scope.claims, &container["resources"], &path.child("claims"));
}

pub(super) fn of_pod(errors: &mut Errors, scope: &Scope<'_>, path: &Path) {
    let resources = &scope.spec["resources"];
    if !resources.is_object() {
        return;
    }
    if resources["claims"].is_array() {
        let message = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(path.child("claims"), message));
    }
    requirements(errors, resources, pod_resource, path);
}

pub(super) fn overhead(errors: &mut Errors, overhead: &Value, path: &Path) {
    if overhead.is_object() {
        requirements(errors, &json!({"limits": overhead}), container_resource, path);
    }
}

fn requirements(errors: &mut Errors, resources: &Value, name_check: NameCheck, path: &Path) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    for (name, amount) in entries(resources, &["limits"]) {
        let path = limits.key(name);
        name_check(errors, name, &path);
        amount_value(errors, name, amount, &path);
        huge_pages(errors, name, amount, &path);
    }
    for (name, amount) in entries(resources, &["requests"]) {
        let path = requests.key(name);
        name_check(errors, name, &path);
        amount_value(errors, name, amount, &path);
        within_limit(errors, name, amount, &resources["limits"][name], &requests, &limits);
        huge_pages(errors, name, amount, &path);
    }
    let any = |fits: fn(&str) -> bool| {
        let mut given = entries(resources, &["limits"]).chain(entries(resources, &["requests"]));
        given.any(|(name, _)| fits(name))
    };
    if any(is_huge) && !any(|name| matches!(name, "cpu" | "memory")) {
        errors.push(FieldError::forbidden(path.clone(), "HugePages require cpu or memory"));
    }
}

fn within_limit(
    errors: &mut Errors,
    name: &str,
    amount: &Value,
    limit: &Value,
    requests: &Path,
    limits: &Path,
) {
    let overcommits = is_native(name) && !is_huge(name);
    let shown = shown_quantity(limit);
    let Some(limit) = quantity(limit) else {
        if !overcommits {
            let message = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(limits.clone(), message));
        }
        return;
    };
    let Some(quantity) = quantity(amount) else { return };
    let message = if quantity != limit && !overcommits {
        format!("must be equal to {name} limit of {shown}")
    } else if quantity > limit {
        format!("must be less than or equal to {name} limit of {shown}")
    } else {
        return;
    };
    errors.push(FieldError::invalid(requests.clone(), &json!(shown_quantity(amount)), message));
}

fn amount_value(errors: &mut Errors, name: &str, amount: &Value, path: &Path) {
    let Some(quantity) = quantity(amount) else { return };
    let shown = json!(shown_quantity(amount));
    if quantity.is_negative() {
        let message = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.clone(), &shown, message));
    }
    if is_extended(name) && !quantity.is_whole() {
        errors.push(FieldError::invalid(path.clone(), &shown, "must be an integer"));
    }
}

fn huge_pages(errors: &mut Errors, name: &str, amount: &Value, path: &Path) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    let Some(quantity) = quantity(amount) else { return };
    let size = Quantity::parse(size)
        .ok()
        .map(Quantity::amount)
        .filter(|size| !size.is_zero() && !size.is_negative() && size.is_whole());
    if size.is_none_or(|size| quantity.units() % size.units() != 0) {
        let shown = shown_quantity(amount);
        let message = format!("{shown} is not positive integer multiple of {name}");
        errors.push(FieldError::invalid(path.clone(), &json!(shown), message));
    }
}

fn claims(errors: &mut Errors, known: &Claims<'_>, resources: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, claim) in list(resources, &["claims"]).iter().enumerate() {
        let path = path.index(i);
        let name = text(claim, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let key = (name, text(claim, &["request"]));
        if !seen.insert(key) {
            errors.push(FieldError::duplicate(path.clone(), &json!(name)));
        }
        if !known.names.contains(name) {
            let mut error = FieldError::not_found(path, &json!(name));
            error.detail = known.expected.text();
            errors.push(error);
        }
    }
}

/// The resource claims of a pod.
pub(super) fn pod_claims(errors: &mut Errors, spec: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, claim) in list(spec, &["resourceClaims"]).iter().enumerate() {
        let path = path.index(i);
        let name = text(claim, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        } else if seen.contains(name) {
            errors.push(FieldError::duplicate(path.child("name"), &json!(name)));
        } else {
            invalid(errors, name, &path.child("name"), names::dns1123_label(name));
            seen.insert(name);
        }
        claim_source(errors, claim, &path);
    }
}

fn claim_source(errors: &mut Errors, claim: &Value, path: &Path) {
    let fields = ["resourceClaimName", "resourceClaimTemplateName"];
    let detail = match fields.map(|name| claim[name].is_string()) {
        [true, true] => {
            "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        }
        [false, false] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        _ => "",
    };
    if !detail.is_empty() {
        let [of_claim, template] = fields.map(|name| &claim[name]);
        let name = json!(text(claim, &["name"]));
        let shown = format!(
            "{{\"Name\":{name},\"ResourceClaimName\":{of_claim},\"ResourceClaimTemplateName\":{template}}}"
        );
        let (path, type_) = (path.clone(), FieldErrorType::Invalid(shown));
        errors.push(FieldError { path, type_, detail: detail.to_owned() });
    }
    for name in fields {
        if let Some(value) = claim[name].as_str() {
            invalid(errors, value, &path.child(name), names::dns1123_subdomain(value));
        }
    }
}

fn container_resource(errors: &mut Errors, name: &str, path: &Path) {
    resource_name(errors, name, path);
    if !name.contains('/') {
        if !["cpu", "memory", "ephemeral-storage"].contains(&name) && !is_huge(name) {
            let message = "must be a standard resource for containers";
            errors.push(FieldError::invalid(path.clone(), &json!(name), message));
        }
    } else if !is_native(name) && !is_extended(name) {
        let message = "doesn't follow extended resource name standard";
        errors.push(FieldError::invalid(path.clone(), &json!(name), message));
    }
}

/// A resource that a quota limits, and its amount.
pub(crate) fn quota_resource(errors: &mut Errors, name: &str, amount: &Value, path: &Path) {
    resource_name(errors, name, path);
    let is_huge = is_huge(name) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !is_huge && (name == "storage" || !STANDARD.contains(&name)) {
        let message = "must be a standard resource for quota";
        errors.push(FieldError::invalid(path.clone(), &json!(name), message));
    }
    amount_value(errors, name, amount, path);
    let is_counted = !name.contains('/') && !is_huge && !MEASURED.contains(&name);
    if is_counted && quantity(amount).is_some_and(|quantity| !quantity.is_whole()) {
        let shown = json!(shown_quantity(amount));
        errors.push(FieldError::invalid(path.clone(), &shown, "must be an integer"));
    }
}

fn pod_resource(errors: &mut Errors, name: &str, path: &Path) {
    let before = errors.len();
    resource_name(errors, name, path);
    if errors.len() == before && !["cpu", "memory"].contains(&name) && !is_huge(name) {
        errors.push(FieldError::not_supported(
            path.clone(),
            &json!(name),
            &["cpu", "hugepages-", "memory"],
        ));
    }
}

fn resource_name(errors: &mut Errors, name: &str, path: &Path) {
    let wrong = names::qualified_name(name);
    if !wrong.is_empty() {
        return invalid(errors, name, path, wrong);
    }
    let quota = is_huge(name) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !STANDARD.contains(&name) && !quota {
        let message = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path.clone(), &json!(name), message));
    }
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    let in_quota = format!("requests.{name}");
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&in_quota).is_empty()
}
