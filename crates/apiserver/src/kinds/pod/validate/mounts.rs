//! Mounts of a pod's volumes in a container: as directories, or as block devices.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Scope,
    checks::{descending_path, no_backsteps},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::read::{flag, list, text},
};

/// `volumeMounts` and `volumeDevices` of a container.
pub(super) fn validate(errors: &mut Errors, scope: &Scope<'_>, container: &Value, path: &Path) {
    mounts(errors, scope, container, &path.child("volumeMounts"));
    devices(errors, scope, container, &path.child("volumeDevices"));
}

/// The values of one field in a list.
fn said<'a>(list: &'a [Value], field: &str) -> BTreeSet<&'a str> {
    list.iter().map(|item| text(item, &[field])).collect()
}

fn mounts(errors: &mut Errors, scope: &Scope<'_>, container: &Value, list_path: &Path) {
    let devices = list(container, &["volumeDevices"]);
    let (devices, device_paths) = (said(devices, "name"), said(devices, "devicePath"));
    let mut seen = BTreeSet::new();
    for (i, mount) in list(container, &["volumeMounts"]).iter().enumerate() {
        let path = list_path.index(i);
        let (name, target) = (text(mount, &["name"]), text(mount, &["mountPath"]));
        if name.is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        }
        if !scope.volumes.contains_key(name) {
            errors.push(FieldError::not_found(path.child("name"), &json!(name)));
        }
        if target.is_empty() {
            errors.push(FieldError::required(path.child("mountPath"), ""));
        }
        if !seen.insert(target) {
            errors.push(FieldError::invalid(
                path.child("mountPath"),
                &json!(target),
                "must be unique",
            ));
        }
        if devices.contains(name) {
            let message = "must not already exist in volumeDevices";
            errors.push(FieldError::invalid(path.child("name"), &json!(name), message));
        }
        if device_paths.contains(target) {
            let message = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(path.child("mountPath"), &json!(target), message));
        }
        sub_paths(errors, mount, &path, list_path);
        propagation(errors, container, mount, &list_path.child("mountPropagation"));
        recursive_read_only(errors, mount, &list_path.child("recursiveReadOnly"));
    }
}

/// The paths in these errors lack the index, as in Kubernetes.
fn sub_paths(errors: &mut Errors, mount: &Value, path: &Path, list_path: &Path) {
    let (plain, expanded) = (text(mount, &["subPath"]), text(mount, &["subPathExpr"]));
    if !plain.is_empty() {
        descending_path(errors, plain, &list_path.child("subPath"));
    }
    if expanded.is_empty() {
        return;
    }
    if !plain.is_empty() {
        let message = "subPathExpr and subPath are mutually exclusive";
        errors.push(FieldError::invalid(path.child("subPathExpr"), &json!(expanded), message));
    }
    descending_path(errors, expanded, &list_path.child("subPathExpr"));
}

fn propagation(errors: &mut Errors, container: &Value, mount: &Value, path: &Path) {
    let Some(mode) = mount["mountPropagation"].as_str() else { return };
    let supported = ["Bidirectional", "HostToContainer", "None"];
    if !supported.contains(&mode) {
        errors.push(FieldError::not_supported(path.clone(), &json!(mode), &supported));
    }
    if mode == "Bidirectional" && !flag(container, &["securityContext", "privileged"]) {
        let message = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path.clone(), message));
    }
}

fn recursive_read_only(errors: &mut Errors, mount: &Value, path: &Path) {
    match mount["recursiveReadOnly"].as_str() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !flag(mount, &["readOnly"]) {
                let message = "may only be specified when readOnly is true";
                errors.push(FieldError::forbidden(path.clone(), message));
            }
            if mount["mountPropagation"].as_str().is_some_and(|mode| mode != "None") {
                let message =
                    "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(path.clone(), message));
            }
        }
        Some(other) => {
            let supported = ["Disabled", "Enabled", "IfPossible"];
            errors.push(FieldError::not_supported(path.clone(), &json!(other), &supported));
        }
    }
}

fn devices(errors: &mut Errors, scope: &Scope<'_>, container: &Value, list_path: &Path) {
    let mounts = list(container, &["volumeMounts"]);
    let (mounts, mount_paths) = (said(mounts, "name"), said(mounts, "mountPath"));
    let (mut names, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for (i, device) in list(container, &["volumeDevices"]).iter().enumerate() {
        let path = list_path.index(i);
        let (name, target) = (text(device, &["name"]), text(device, &["devicePath"]));
        device_name(errors, scope, name, &path.child("name"), &names);
        let path = path.child("devicePath");
        if target.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
        }
        if targets.contains(target) {
            errors.push(FieldError::invalid(path.clone(), &json!(target), "must be unique"));
        }
        let mut backsteps = Errors::new();
        no_backsteps(&mut backsteps, target, &path);
        if backsteps.is_empty() {
            targets.insert(target);
        } else {
            let message = "can not contain backsteps ('..')";
            errors.push(FieldError::invalid(path.clone(), &json!(target), message));
        }
        if mounts.contains(name) {
            let message = "must not already exist in volumeMounts";
            let path = list_path.index(i).child("name");
            errors.push(FieldError::invalid(path, &json!(name), message));
        }
        if mount_paths.contains(target) {
            let message = "must not already exist as a path in volumeMounts";
            errors.push(FieldError::invalid(path, &json!(target), message));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}

fn device_name(
    errors: &mut Errors,
    scope: &Scope<'_>,
    name: &str,
    path: &Path,
    seen: &BTreeSet<&str>,
) {
    if name.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    }
    if seen.contains(name) {
        errors.push(FieldError::invalid(path.clone(), &json!(name), "must be unique"));
    }
    match scope.volumes.get(name) {
        None => errors.push(FieldError::not_found(path.clone(), &json!(name))),
        Some(volume)
            if volume["persistentVolumeClaim"].is_object() || volume["ephemeral"].is_object() => {}
        Some(_) => {
            let message = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            errors.push(FieldError::invalid(path.clone(), &json!(name), message));
        }
    }
}
