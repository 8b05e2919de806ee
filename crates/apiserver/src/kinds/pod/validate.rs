//! Validation of pod specs, in Kubernetes' order and wording. Source: `ValidatePodSpec` in
//! `pkg/apis/core/validation/validation.go`.

mod checks;
mod containers;
mod env;
mod mounts;
mod probes;
mod resources;
mod scheduling;
mod security;
mod volumes;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::checks::{address, filled, number_invalid, texts};
pub(crate) use self::{
    checks::{invalid, nonnegative, one_of},
    resources::quota_resource,
    scheduling::{label_selector, labels, tolerations},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{entries, flag, list, number, text},
    },
};

/// The context of a spec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodContext<'a> {
    /// In a pod itself, not in a template.
    pub(crate) in_pod: bool,
    /// The name of that pod, if it has one.
    pub(crate) pod_name: &'a str,
}

/// Shared by the checks of one spec.
#[derive(Debug)]
struct Scope<'a> {
    context: PodContext<'a>,
    spec: &'a Value,
    /// Valid volumes, by name: others count as missing.
    volumes: BTreeMap<&'a str, &'a Value>,
    claims: resources::Claims<'a>,
}

/// The spec of a pod template, and its annotations.
pub(crate) fn template(template: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    labels(&mut errors, &template["metadata"]["labels"], &path.child("labels"));
    annotation_keys(&mut errors, &template["metadata"]["annotations"], &path.child("annotations"));
    annotations(&mut errors, template, &path.child("annotations"));
    let context = PodContext { in_pod: false, pod_name: "" };
    errors.extend(spec(&template["spec"], context, &path.child("spec")));
    if !list(template, &["spec", "ephemeralContainers"]).is_empty() {
        let path = path.child("spec").child("ephemeralContainers");
        errors
            .push(FieldError::forbidden(path, "ephemeral containers not allowed in pod template"));
    }
    errors
}

/// A pod without the common metadata: its annotations, its spec, and pod-only rules.
pub(crate) fn pod(pod: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::root("spec");
    annotations(&mut errors, pod, &Path::root("metadata").child("annotations"));
    let context = PodContext { in_pod: true, pod_name: text(pod, &["metadata", "name"]) };
    errors.extend(spec(&pod["spec"], context, &path));
    token_without_account(&mut errors, &pod["spec"], &path.child("volumes"));
    if let Some(seconds) = number(pod, &["spec", "terminationGracePeriodSeconds"]) {
        nonnegative(&mut errors, seconds, &path.child("terminationGracePeriodSeconds"));
    }
    for name in ["containers", "initContainers"] {
        for (i, container) in list(pod, &["spec", name]).iter().enumerate() {
            image_without_blanks(&mut errors, container, &path.child(name).index(i));
        }
    }
    errors
}

/// A spec, of a pod or a template.
pub(crate) fn spec(spec: &Value, context: PodContext<'_>, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let volumes = volumes::validate(&mut errors, spec, context, &path.child("volumes"));
    resources::pod_claims(&mut errors, spec, &path.child("resourceClaims"));
    let scope = Scope { context, spec, volumes, claims: resources::Claims::of(spec) };
    containers::validate(&mut errors, &scope, path);
    resources::of_pod(&mut errors, &scope, &path.child("resources"));
    host_network(&mut errors, &scope, &path.child("containers"));
    policies(&mut errors, spec, path);
    labels(&mut errors, &spec["nodeSelector"], &path.child("nodeSelector"));
    security::of_pod(&mut errors, spec, &path.child("securityContext"));
    if flag(spec, &["hostPID"]) && flag(spec, &["shareProcessNamespace"]) {
        let message = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(
            path.child("shareProcessNamespace"),
            &json!(true),
            message,
        ));
    }
    scheduling::affinity(&mut errors, &spec["affinity"], &path.child("affinity"));
    dns_config(&mut errors, spec, &path.child("dnsConfig"));
    scheduling::gates(&mut errors, spec, path);
    scheduling::spread(&mut errors, spec, &path.child("topologySpreadConstraints"));
    host_users(&mut errors, spec, path);
    hostname_override(&mut errors, spec, path);
    identity(&mut errors, spec, path);
    tolerations(&mut errors, list(spec, &["tolerations"]), &path.child("tolerations"));
    host_aliases(&mut errors, spec, &path.child("hostAliases"));
    last_names(&mut errors, spec, path);
    resources::overhead(&mut errors, &spec["overhead"], &path.child("overhead"));
    operating_system(&mut errors, spec, &path.child("os"));
    env::file_volumes(&mut errors, spec, path);
    errors
}

// === parts of a spec ===

fn policies(errors: &mut Errors, spec: &Value, path: &Path) {
    let restart = ["Always", "OnFailure", "Never"];
    one_of(errors, text(spec, &["restartPolicy"]), &path.child("restartPolicy"), &restart);
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(errors, text(spec, &["dnsPolicy"]), &path.child("dnsPolicy"), &dns);
}

fn host_network(errors: &mut Errors, scope: &Scope<'_>, path: &Path) {
    if !flag(scope.spec, &["hostNetwork"]) {
        return;
    }
    for (i, container) in list(scope.spec, &["containers"]).iter().enumerate() {
        for (j, port) in list(container, &["ports"]).iter().enumerate() {
            let host = number(port, &["hostPort"]).unwrap_or_default();
            let own = number(port, &["containerPort"]).unwrap_or_default();
            if (scope.context.in_pod || host != 0) && host != own {
                let path = path.index(i).child("ports").index(j).child("hostPort");
                let message = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(path, &json!(host), message));
            }
        }
    }
}

fn dns_config(errors: &mut Errors, spec: &Value, path: &Path) {
    let config = &spec["dnsConfig"];
    let nameservers = list(config, &["nameservers"]);
    if text(spec, &["dnsPolicy"]) == "None" {
        if !config.is_object() {
            let message = "must provide `dnsConfig` when `dnsPolicy` is None";
            return errors.push(FieldError::required(path.clone(), message));
        }
        if nameservers.is_empty() {
            let message = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return errors.push(FieldError::required(path.child("nameservers"), message));
        }
    }
    if nameservers.len() > 3 {
        let message = "must not have more than 3 nameservers";
        errors.push(FieldError::invalid(
            path.child("nameservers"),
            &config["nameservers"],
            message,
        ));
    }
    for (i, server) in nameservers.iter().enumerate() {
        address(errors, server.as_str().unwrap_or_default(), &path.child("nameservers").index(i));
    }
    dns_searches(errors, config, &path.child("searches"));
    for (i, option) in list(config, &["options"]).iter().enumerate() {
        if text(option, &["name"]).is_empty() {
            errors.push(FieldError::required(path.child("options").index(i), "must not be empty"));
        }
    }
}

fn dns_searches(errors: &mut Errors, config: &Value, path: &Path) {
    let searches: Vec<&str> = texts(config, "searches");
    if searches.len() > 32 {
        let message = "must not have more than 32 search paths";
        errors.push(FieldError::invalid(path.clone(), &config["searches"], message));
    }
    if searches.join(" ").len() > 2048 {
        let message =
            "must not have more than 2048 characters (including spaces) in the search list";
        errors.push(FieldError::invalid(path.clone(), &config["searches"], message));
    }
    for (i, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        let wrong = names::dns1123_subdomain_with_underscore(search);
        invalid(errors, search, &path.index(i), wrong);
    }
}

fn host_users(errors: &mut Errors, spec: &Value, path: &Path) {
    if spec["hostUsers"] != json!(false) {
        return;
    }
    let message = "when `hostUsers` is false";
    for (field, shown) in
        [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
    {
        if flag(spec, &[field]) {
            errors.push(FieldError::forbidden(path.child(shown), message));
        }
    }
}

fn hostname_override(errors: &mut Errors, spec: &Value, path: &Path) {
    let Some(name) = spec["hostnameOverride"].as_str() else { return };
    let path = path.child("hostnameOverride");
    if flag(spec, &["setHostnameAsFQDN"]) {
        let message = "may not be specified when setHostnameAsFQDN is true";
        errors.push(FieldError::forbidden(path.clone(), message));
    }
    if flag(spec, &["hostNetwork"]) {
        let message = "may not be specified when hostNetwork is true";
        errors.push(FieldError::forbidden(path.clone(), message));
    }
    if name.len() > 64 {
        errors.push(FieldError::too_long(path.clone(), 64));
    }
    invalid(errors, name, &path, names::dns1123_subdomain(name));
}

/// Service account, node, deadline and host name.
fn identity(errors: &mut Errors, spec: &Value, path: &Path) {
    for name in ["serviceAccountName", "nodeName"] {
        filled(errors, spec, name, path, names::dns1123_subdomain);
    }
    if let Some(seconds) = number(spec, &["activeDeadlineSeconds"]) {
        let wrong = names::in_range(seconds, 1, i64::from(i32::MAX));
        number_invalid(errors, seconds, &path.child("activeDeadlineSeconds"), wrong);
    }
    for name in ["hostname", "subdomain"] {
        filled(errors, spec, name, path, names::dns1123_label);
    }
}

fn host_aliases(errors: &mut Errors, spec: &Value, path: &Path) {
    for (i, alias) in list(spec, &["hostAliases"]).iter().enumerate() {
        address(errors, text(alias, &["ip"]), &path.index(i).child("ip"));
        for (j, name) in texts(alias, "hostnames").into_iter().enumerate() {
            let path = path.index(i).child("hostnames").index(j);
            invalid(errors, name, &path, names::dns1123_subdomain(name));
        }
    }
}

fn last_names(errors: &mut Errors, spec: &Value, path: &Path) {
    filled(errors, spec, "priorityClassName", path, names::dns1123_subdomain);
    if let Some(name) = spec["runtimeClassName"].as_str() {
        invalid(errors, name, &path.child("runtimeClassName"), names::dns1123_subdomain(name));
    }
    if let Some(policy) = spec["preemptionPolicy"].as_str() {
        one_of(errors, policy, &path.child("preemptionPolicy"), &["PreemptLowerPriority", "Never"]);
    }
}

fn operating_system(errors: &mut Errors, spec: &Value, path: &Path) {
    if !spec["os"].is_object() {
        return;
    }
    match text(spec, &["os", "name"]) {
        "" => errors.push(FieldError::required(path.child("name"), "")),
        "linux" | "windows" => {}
        other => {
            errors.push(FieldError::not_supported(
                path.clone(),
                &json!(other),
                &["linux", "windows"],
            ));
        }
    }
}

fn token_without_account(errors: &mut Errors, spec: &Value, path: &Path) {
    if !text(spec, &["serviceAccountName"]).is_empty() {
        return;
    }
    for (i, volume) in list(spec, &["volumes"]).iter().enumerate() {
        for (j, source) in list(volume, &["projected", "sources"]).iter().enumerate() {
            if source["serviceAccountToken"].is_object() {
                let path = path.index(i).child("projected").child("sources").index(j);
                let message = "must not be specified when serviceAccountName is not set";
                errors.push(FieldError::forbidden(path.child("serviceAccountToken"), message));
            }
        }
    }
}

fn image_without_blanks(errors: &mut Errors, container: &Value, path: &Path) {
    let image = text(container, &["image"]);
    if image.trim() != image {
        let message = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(path.child("image"), &container["image"], message));
    }
}

/// Annotations with a meaning for the cluster.
pub(super) fn annotations(errors: &mut Errors, object: &Value, path: &Path) {
    let annotation = |key: &str| object["metadata"]["annotations"][key].as_str();
    let mirror = "kubernetes.io/config.mirror";
    if let Some(value) = annotation(mirror)
        && text(object, &["spec", "nodeName"]).is_empty()
    {
        let message = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(path.key(mirror), &json!(value), message));
    }
    let cost = "controller.kubernetes.io/pod-deletion-cost";
    let is_cost = |text: &str| {
        let plain = !text.starts_with('+')
            && (text == "0" || !text.trim_start_matches('-').starts_with('0'));
        plain && text.parse::<i32>().is_ok()
    };
    if let Some(value) = annotation(cost).filter(|value| !is_cost(value)) {
        errors.push(FieldError::invalid(path.key(cost), &json!(value), "must be a 32bit integer"));
    }
}

fn annotation_keys(errors: &mut Errors, annotations: &Value, path: &Path) {
    let mut size = 0;
    for (key, value) in entries(annotations, &[]) {
        invalid(errors, key, path, names::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 256 * 1024 {
        errors.push(FieldError::too_long(path.clone(), 256 * 1024));
    }
}

#[cfg(test)]
mod tests;
