//! Volumes of a pod: each has one source and a unique name.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::quantity::Amount;
use serde_json::{Value, json};

use super::{
    PodContext,
    checks::{descending_path, id_range, invalid, no_backsteps, one_of},
    env,
};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{list, number, quantity, text},
    },
};

/// All sources, in the order in which they are checked: the first one counts, others are one too
/// many.
const SOURCES: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// The valid volumes, by name; the others are in the errors.
pub(super) fn validate<'a>(
    errors: &mut Errors,
    spec: &'a Value,
    context: PodContext<'_>,
    path: &Path,
) -> BTreeMap<&'a str, &'a Value> {
    let volumes = list(spec, &["volumes"]);
    let created: BTreeSet<String> = volumes
        .iter()
        .filter(|volume| volume["ephemeral"].is_object() && !context.pod_name.is_empty())
        .map(|volume| format!("{}-{}", context.pod_name, text(volume, &["name"])))
        .collect();
    let mut sound = BTreeMap::new();
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let before = errors.len();
        source(errors, volume, context, &path);
        let name = text(volume, &["name"]);
        match name {
            "" => errors.push(FieldError::required(path.child("name"), "")),
            name => invalid(errors, name, &path.child("name"), names::dns1123_label(name)),
        }
        if sound.contains_key(name) {
            errors.push(FieldError::duplicate(path.child("name"), &json!(name)));
        }
        if errors.len() == before {
            sound.insert(name, volume);
        }
        let claim = text(volume, &["persistentVolumeClaim", "claimName"]);
        if created.contains(claim) {
            let path = path.child("persistentVolumeClaim").child("claimName");
            let message = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(FieldError::invalid(path, &json!(claim), message));
        }
    }
    sound
}

fn source(errors: &mut Errors, volume: &Value, context: PodContext<'_>, path: &Path) {
    let mut given = SOURCES.iter().filter(|name| volume[**name].is_object());
    let Some(first) = given.next() else {
        return errors.push(FieldError::required(path.clone(), "must specify a volume type"));
    };
    one_source(errors, first, &volume[*first], path);
    if *first == "ephemeral" {
        claim_name(errors, volume, context, path);
    }
    for other in given {
        let message = "may not specify more than 1 volume type";
        errors.push(FieldError::forbidden(path.child(other), message));
    }
}

fn one_source(errors: &mut Errors, name: &str, source: &Value, path: &Path) {
    let path = &path.child(if name == "gcePersistentDisk" { "persistentDisk" } else { name });
    match name {
        "emptyDir" => empty_dir(errors, source, path),
        "hostPath" => host_path(errors, source, path),
        "secret" => keyed(errors, source, "secretName", path),
        "configMap" => keyed(errors, source, "name", path),
        "downwardAPI" => downward(errors, source, path),
        "projected" => projected(errors, source, path),
        "csi" => csi(errors, source, path),
        "ephemeral" if !source["volumeClaimTemplate"].is_object() => {
            errors.push(FieldError::required(path.child("volumeClaimTemplate"), ""));
        }
        "image" => image(errors, source, path),
        "nfs" => nfs(errors, source, path),
        _ => {
            for field in needed(name) {
                if text(source, &[field]).is_empty() {
                    errors.push(FieldError::required(path.child(field), ""));
                }
            }
        }
    }
}

/// The required fields of a remote source.
fn needed(source: &str) -> &'static [&'static str] {
    match source {
        "persistentVolumeClaim" => &["claimName"],
        "gitRepo" => &["repository"],
        "gcePersistentDisk" => &["pdName"],
        "awsElasticBlockStore" | "cinder" | "portworxVolume" => &["volumeID"],
        "iscsi" => &["targetPortal", "iqn"],
        "glusterfs" => &["endpoints", "path"],
        "rbd" => &["image"],
        "flexVolume" => &["driver"],
        "azureFile" => &["secretName", "shareName"],
        "vsphereVolume" => &["volumePath"],
        "photonPersistentDisk" => &["pdID"],
        "azureDisk" => &["diskName", "diskURI"],
        "scaleIO" => &["gateway", "system", "volumeName"],
        _ => &[],
    }
}

fn empty_dir(errors: &mut Errors, source: &Value, path: &Path) {
    if quantity(&source["sizeLimit"]).is_some_and(Amount::is_negative) {
        let message = "SizeLimit field must be a valid resource quantity";
        errors.push(FieldError::forbidden(path.child("sizeLimit"), message));
    }
}

fn host_path(errors: &mut Errors, source: &Value, path: &Path) {
    let target = text(source, &["path"]);
    if target.is_empty() {
        return errors.push(FieldError::required(path.child("path"), ""));
    }
    no_backsteps(errors, target, &path.child("path"));
    let supported = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    if let Some(kind) = source["type"].as_str().filter(|kind| !supported.contains(kind)) {
        errors.push(FieldError::not_supported(path.child("type"), &json!(kind), &supported));
    }
}

fn nfs(errors: &mut Errors, source: &Value, path: &Path) {
    for field in ["server", "path"] {
        if text(source, &[field]).is_empty() {
            errors.push(FieldError::required(path.child(field), ""));
        }
    }
    if !text(source, &["path"]).starts_with('/') {
        let message = "must be an absolute path";
        errors.push(FieldError::invalid(
            path.child("path"),
            &json!(text(source, &["path"])),
            message,
        ));
    }
}

/// A ConfigMap or a Secret: its name, and files for some of its keys.
fn keyed(errors: &mut Errors, source: &Value, name: &str, path: &Path) {
    if text(source, &[name]).is_empty() {
        errors.push(FieldError::required(path.child(name), ""));
    }
    mode(errors, source, "defaultMode", path);
    id_range(errors, source, "defaultUser", path);
    for (i, item) in list(source, &["items"]).iter().enumerate() {
        key_to_path(errors, item, &path.child("items").index(i));
    }
}

fn key_to_path(errors: &mut Errors, item: &Value, path: &Path) {
    for field in ["key", "path"] {
        if text(item, &[field]).is_empty() {
            errors.push(FieldError::required(path.child(field), ""));
        }
    }
    local_path(errors, text(item, &["path"]), &path.child("path"));
    mode(errors, item, "mode", path);
    id_range(errors, item, "user", path);
}

/// A relative path without names beginning with `..`, which the node uses itself.
fn local_path(errors: &mut Errors, target: &str, path: &Path) {
    descending_path(errors, target, path);
    if target.starts_with("..") && !target.starts_with("../") {
        let message = "must not start with '..'";
        errors.push(FieldError::invalid(path.clone(), &json!(target), message));
    }
}

fn mode(errors: &mut Errors, value: &Value, name: &str, path: &Path) {
    if let Some(bits) = number(value, &[name]).filter(|bits| !(0..=0o777).contains(bits)) {
        errors.push(FieldError::invalid(path.child(name), &json!(bits), MODE));
    }
}

/// The paths in these errors lack the index, as in Kubernetes.
fn downward(errors: &mut Errors, source: &Value, path: &Path) {
    mode(errors, source, "defaultMode", path);
    id_range(errors, source, "defaultUser", path);
    for file in list(source, &["items"]) {
        downward_file(errors, file, path);
    }
}

fn downward_file(errors: &mut Errors, file: &Value, path: &Path) {
    let target = text(file, &["path"]);
    if target.is_empty() {
        errors.push(FieldError::required(path.child("path"), ""));
    }
    local_path(errors, target, &path.child("path"));
    match (file["fieldRef"].is_object(), file["resourceFieldRef"].is_object()) {
        (true, both) => {
            let path_ = path.child("fieldRef");
            env::field_selector(errors, &file["fieldRef"], env::VOLUME_FIELDS, &path_);
            if both {
                let message = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path.clone(), &json!("resource"), message));
            }
        }
        (false, true) => {
            let path = path.child("resourceFieldRef");
            env::resource_selector(errors, &file["resourceFieldRef"], true, &path);
        }
        (false, false) => {
            let message = "one of fieldRef and resourceFieldRef is required";
            errors.push(FieldError::required(path.clone(), message));
        }
    }
    mode(errors, file, "mode", path);
    id_range(errors, file, "user", path);
}

fn projected(errors: &mut Errors, source: &Value, path: &Path) {
    mode(errors, source, "defaultMode", path);
    id_range(errors, source, "defaultUser", path);
    let mut taken = BTreeSet::new();
    for (i, source) in list(source, &["sources"]).iter().enumerate() {
        let at = path.child("sources").index(i);
        for kind in ["secret", "configMap"].into_iter().filter(|kind| source[*kind].is_object()) {
            if text(source, &[kind, "name"]).is_empty() {
                errors.push(FieldError::required(at.child(kind).child("name"), ""));
            }
            for (j, item) in list(source, &[kind, "items"]).iter().enumerate() {
                key_to_path(errors, item, &at.child(kind).child("items").index(j));
                take(
                    errors,
                    text(item, &["path"]),
                    text(source, &[kind, "name"]),
                    path,
                    &mut taken,
                );
            }
        }
        for file in list(source, &["downwardAPI", "items"]) {
            downward_file(errors, file, &at.child("downwardAPI"));
            let target = text(file, &["path"]);
            take(errors, target, target, path, &mut taken);
        }
        if source["serviceAccountToken"].is_object() {
            token(errors, &source["serviceAccountToken"], &at.child("serviceAccountToken"));
        }
        let kinds = [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ];
        if kinds.iter().filter(|kind| source[**kind].is_object()).count() > 1 {
            let message = "may not specify more than 1 volume type per source";
            errors.push(FieldError::forbidden(at, message));
        }
    }
}

fn take<'a>(
    errors: &mut Errors,
    target: &'a str,
    shown: &str,
    path: &Path,
    taken: &mut BTreeSet<&'a str>,
) {
    if target.is_empty() {
        return;
    }
    if !taken.insert(target) {
        let message = "conflicting duplicate paths";
        errors.push(FieldError::invalid(path.clone(), &json!(shown), message));
    }
}

fn token(errors: &mut Errors, token: &Value, path: &Path) {
    let expires = path.child("expirationSeconds");
    match number(token, &["expirationSeconds"]) {
        None => errors.push(FieldError::required(expires, "")),
        Some(seconds) if seconds < 600 => {
            let message = "may not specify a duration less than 10 minutes";
            errors.push(FieldError::invalid(expires, &json!(seconds), message));
        }
        Some(seconds) if seconds > 1 << 32 => {
            let message = "may not specify a duration larger than 2^32 seconds";
            errors.push(FieldError::invalid(expires, &json!(seconds), message));
        }
        Some(_) => {}
    }
    match text(token, &["path"]) {
        "" => errors.push(FieldError::required(path.child("path"), "")),
        target => local_path(errors, target, &path.child("path")),
    }
}

fn csi(errors: &mut Errors, source: &Value, path: &Path) {
    let driver = text(source, &["driver"]);
    let at = path.child("driver");
    if driver.is_empty() {
        return errors.push(FieldError::required(at, ""));
    }
    if driver.len() > 63 {
        errors.push(FieldError::too_long(at.clone(), 63));
    }
    let lower = driver.to_lowercase();
    invalid(errors, driver, &at, names::dns1123_subdomain(&lower));
}

fn image(errors: &mut Errors, source: &Value, path: &Path) {
    if text(source, &["reference"]).is_empty() {
        errors.push(FieldError::required(path.child("reference"), ""));
    }
    let policy = text(source, &["pullPolicy"]);
    one_of(errors, policy, &path.child("pullPolicy"), &["Always", "IfNotPresent", "Never"]);
}

/// An ephemeral volume creates a claim named after pod and volume.
fn claim_name(errors: &mut Errors, volume: &Value, context: PodContext<'_>, path: &Path) {
    let name = text(volume, &["name"]);
    if context.pod_name.is_empty() || name.is_empty() {
        return;
    }
    let claim = format!("{}-{name}", context.pod_name);
    for words in names::dns1123_subdomain(&claim) {
        let message = format!("PVC name {claim:?}: {words}");
        errors.push(FieldError::invalid(path.child("name"), &json!(name), message));
    }
}
