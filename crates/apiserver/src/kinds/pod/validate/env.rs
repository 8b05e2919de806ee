//! Environment variables and the sources of their values.

use std::collections::BTreeMap;

use evenkeel_model::quantity::Amount;
use serde_json::{Value, json};

use super::checks::{invalid, no_backsteps};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{list, quantity, shown_quantity, text},
    },
};

const POD_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.host",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.phase",
    "status.podIP",
    "status.podIPs",
];

const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The pod fields available to files in a volume.
pub(super) const VOLUME_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// `env` and `envFrom` of a container.
pub(super) fn validate(errors: &mut Errors, container: &Value, path: &Path) {
    for (i, variable) in list(container, &["env"]).iter().enumerate() {
        let path = path.child("env").index(i);
        match text(variable, &["name"]) {
            "" => errors.push(FieldError::required(path.child("name"), "")),
            name => invalid(errors, name, &path.child("name"), names::relaxed_env_var_name(name)),
        }
        value_from(errors, variable, &path.child("valueFrom"));
    }
    let path = path.child("envFrom");
    for (i, source) in list(container, &["envFrom"]).iter().enumerate() {
        env_from(errors, source, &path.index(i), &path);
    }
}

/// Variables from a file must name a volume of this pod, of type emptyDir.
pub(super) fn file_volumes<'a>(errors: &mut Errors, spec: &'a Value, path: &Path) {
    // Of several with the same name, the last counts.
    let named = |volume: &'a Value| (text(volume, &["name"]), volume);
    let volumes: BTreeMap<&str, &Value> = list(spec, &["volumes"]).iter().map(named).collect();
    for name in ["initContainers", "containers", "ephemeralContainers"] {
        for (i, container) in list(spec, &[name]).iter().enumerate() {
            for (j, variable) in list(container, &["env"]).iter().enumerate() {
                let path = path.child(name).index(i).child("env").index(j).child("valueFrom");
                file_volume(
                    errors,
                    &volumes,
                    &variable["valueFrom"]["fileKeyRef"],
                    &path.child("fileKeyRef"),
                );
            }
        }
    }
}

fn file_volume(
    errors: &mut Errors,
    volumes: &BTreeMap<&str, &Value>,
    reference: &Value,
    path: &Path,
) {
    if !reference.is_object() {
        return;
    }
    let name = text(reference, &["volumeName"]);
    let path = path.child("volumeName");
    match volumes.get(name) {
        None => errors.push(FieldError::not_found(path, &json!(name))),
        Some(volume) if !volume["emptyDir"].is_object() => {
            let message = "referenced volume must be of type emptyDir";
            errors.push(FieldError::invalid(path, &json!(name), message));
        }
        Some(_) => {}
    }
}

fn value_from(errors: &mut Errors, variable: &Value, path: &Path) {
    let source = &variable["valueFrom"];
    if !source.is_object() {
        return;
    }
    let mut sources = 0;
    let mut given = |name: &str| {
        let is_given = source[name].is_object();
        sources += usize::from(is_given);
        is_given
    };
    if given("fieldRef") {
        field_selector(errors, &source["fieldRef"], ENV_FIELDS, &path.child("fieldRef"));
    }
    if given("resourceFieldRef") {
        let path = path.child("resourceFieldRef");
        resource_selector(errors, &source["resourceFieldRef"], false, &path);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if given(name) {
            key_selector(errors, &source[name], &path.child(name));
        }
    }
    if given("fileKeyRef") {
        file_selector(errors, &source["fileKeyRef"], &path.child("fileKeyRef"));
    }
    let message = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !text(variable, &["value"]).is_empty() => {
            "may not be specified when `value` is not empty"
        }
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path.clone(), &json!(""), message));
}

fn env_from(errors: &mut Errors, source: &Value, path: &Path, list_path: &Path) {
    let prefix = text(source, &["prefix"]);
    if !prefix.is_empty() {
        invalid(errors, prefix, &path.child("prefix"), names::relaxed_env_var_name(prefix));
    }
    let given = ["configMapRef", "secretRef"].map(|name| source[name].is_object());
    for (name, _) in
        ["configMapRef", "secretRef"].into_iter().zip(given).filter(|(_, given)| *given)
    {
        let path = path.child(name).child("name");
        match text(source, &[name, "name"]) {
            "" => errors.push(FieldError::required(path, "")),
            name => invalid(errors, name, &path, names::dns1123_subdomain(name)),
        }
    }
    let message = match given {
        [false, false] => "must specify one of: `configMapRef` or `secretRef`",
        [true, true] => "may not have more than one field specified at a time",
        _ => return,
    };
    errors.push(FieldError::invalid(list_path.clone(), &json!(""), message));
}

/// A field of the pod: by its path, or one label or annotation by `['key']`.
pub(super) fn field_selector(errors: &mut Errors, selector: &Value, allowed: &[&str], path: &Path) {
    let version = text(selector, &["apiVersion"]);
    let field = text(selector, &["fieldPath"]);
    for (name, value) in [("apiVersion", version), ("fieldPath", field)] {
        if value.is_empty() {
            return errors.push(FieldError::required(path.child(name), ""));
        }
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    let subscript = subscript.filter(|(name, _)| !name.is_empty());
    let unknown = match subscript {
        _ if version != "v1" => Some(format!("unsupported pod version: {version}")),
        Some(("metadata.annotations" | "metadata.labels", _)) => None,
        Some(_) => Some(format!("field label does not support subscript: {field}")),
        None if POD_FIELDS.contains(&field) => None,
        None => Some(format!("field label not supported: {field}")),
    };
    if let Some(words) = unknown {
        let message = format!("error converting fieldPath: {words}");
        return errors.push(FieldError::invalid(path.child("fieldPath"), &json!(field), message));
    }
    let field = if field == "spec.host" { "spec.nodeName" } else { field };
    match subscript {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            invalid(errors, &key, path, names::qualified_name(&key));
        }
        Some((_, key)) => invalid(errors, key, path, names::qualified_name(key)),
        None if !allowed.contains(&field) => {
            errors.push(FieldError::not_supported(path.child("fieldPath"), &json!(field), allowed));
        }
        None => {}
    }
}

/// Requests or limits of a container. In a volume, the container must be named.
pub(super) fn resource_selector(
    errors: &mut Errors,
    selector: &Value,
    in_volume: bool,
    path: &Path,
) {
    let resource = text(selector, &["resource"]);
    let huge =
        resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if in_volume && text(selector, &["containerName"]).is_empty() {
        errors.push(FieldError::required(path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(path.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !huge {
        errors.push(FieldError::not_supported(path.child("resource"), &json!(resource), RESOURCES));
    }
    let divisor = quantity(&selector["divisor"]).unwrap_or(Amount::ZERO);
    if divisor.is_zero() {
        return;
    }
    let allowed = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let (allowed, last_word, words) = match resource {
        "limits.cpu" | "requests.cpu" => ("1m, 1", "1m and 1", "cpu"),
        "limits.memory" | "requests.memory" => (allowed, allowed, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (allowed, allowed, "local ephemeral storage")
        }
        _ if huge => (allowed, allowed, "hugepages"),
        _ => return,
    };
    if !allowed.split(", ").any(|one| one == shown_quantity(&selector["divisor"])) {
        let message =
            format!("only divisor's values {last_word} are supported with the {words} resource");
        errors.push(FieldError::invalid(path.child("divisor"), &json!(resource), message));
    }
}

fn key_selector(errors: &mut Errors, selector: &Value, path: &Path) {
    let name = text(selector, &["name"]);
    invalid(errors, name, &path.child("name"), names::dns1123_subdomain(name));
    match text(selector, &["key"]) {
        "" => errors.push(FieldError::required(path.child("key"), "")),
        key => invalid(errors, key, &path.child("key"), names::config_map_key(key)),
    }
}

fn file_selector(errors: &mut Errors, selector: &Value, path: &Path) {
    match text(selector, &["key"]) {
        "" => errors.push(FieldError::required(path.child("key"), "")),
        key => invalid(errors, key, &path.child("key"), names::relaxed_env_var_name(key)),
    }
    match text(selector, &["volumeName"]) {
        "" => errors.push(FieldError::required(path.child("volumeName"), "")),
        name => invalid(errors, name, &path.child("volumeName"), names::dns1123_label(name)),
    }
    match text(selector, &["path"]) {
        "" => errors.push(FieldError::required(path.child("path"), "")),
        target => no_backsteps(errors, target, &path.child("path")),
    }
}
