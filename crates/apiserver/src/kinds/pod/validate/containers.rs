//! Containers: rules for all of them, and restrictions on init and ephemeral ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Scope,
    checks::{invalid, number_invalid, one_of},
    env, image_without_blanks, mounts, probes, resources, security,
};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{list, number, text},
    },
};

/// Fields that an ephemeral container may not have, in declaration order.
const NOT_EPHEMERAL: &[&str] = &[
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// All three lists of containers.
pub(super) fn validate(errors: &mut Errors, scope: &Scope<'_>, path: &Path) {
    regular(errors, scope, &path.child("containers"));
    init(errors, scope, &path.child("initContainers"));
    ephemeral(errors, scope, &path.child("ephemeralContainers"));
}

fn regular(errors: &mut Errors, scope: &Scope<'_>, path: &Path) {
    let containers = list(scope.spec, &["containers"]);
    if containers.is_empty() {
        return errors.push(FieldError::required(path.clone(), ""));
    }
    let mut seen = BTreeSet::new();
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        common(errors, scope, container, &path);
        unique(errors, text(container, &["name"]), &path, &mut seen);
        probes::validate(errors, scope.spec, container, &path);
        restart_rules(errors, container, &path);
    }
    host_ports(errors, containers.iter().enumerate(), path);
}

fn init(errors: &mut Errors, scope: &Scope<'_>, path: &Path) {
    let mut seen = names_in(scope.spec, "containers");
    for (i, container) in list(scope.spec, &["initContainers"]).iter().enumerate() {
        let at = path.index(i);
        common(errors, scope, container, &at);
        restart_rules(errors, container, &at);
        match text(container, &["name"]) {
            "" if !seen.contains("") => {}
            name => unique(errors, name, &at, &mut seen),
        }
        host_ports(errors, std::iter::once((0, container)), path);
        let stays = text(container, &["restartPolicy"]) == "Always";
        if stays {
            probes::validate(errors, scope.spec, container, &at);
        } else {
            not_before_start(errors, container, &at);
            no_restart_on_resize(errors, container, &at.child("resizePolicy"));
        }
    }
}

/// Fields that make sense only for a container that keeps running.
fn not_before_start(errors: &mut Errors, container: &Value, path: &Path) {
    for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container[name].is_object() {
            let message = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(path.child(name), message));
        }
    }
}

fn no_restart_on_resize(errors: &mut Errors, container: &Value, path: &Path) {
    for (i, policy) in list(container, &["resizePolicy"]).iter().enumerate() {
        if text(policy, &["restartPolicy"]) == "RestartContainer" {
            let message = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            let path = path.index(i).child("restartPolicy");
            errors.push(FieldError::invalid(path, &policy["restartPolicy"], message));
        }
    }
}

fn ephemeral(errors: &mut Errors, scope: &Scope<'_>, path: &Path) {
    let mut others = names_in(scope.spec, "containers");
    others.append(&mut names_in(scope.spec, "initContainers"));
    let mut seen = others.clone();
    for (i, container) in list(scope.spec, &["ephemeralContainers"]).iter().enumerate() {
        let path = path.index(i);
        common(errors, scope, container, &path);
        image_without_blanks(errors, container, &path);
        unique(errors, text(container, &["name"]), &path, &mut seen);
        let target = text(container, &["targetContainerName"]);
        if !target.is_empty() && !others.contains(target) {
            errors.push(FieldError::not_found(path.child("targetContainerName"), &json!(target)));
        }
        not_ephemeral(errors, container, &path);
    }
}

fn not_ephemeral(errors: &mut Errors, container: &Value, path: &Path) {
    let message = "cannot be set for an Ephemeral Container";
    let is_set = |value: &Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        other => !other.is_null(),
    };
    for name in NOT_EPHEMERAL.iter().filter(|name| is_set(&container[**name])) {
        errors.push(FieldError::forbidden(path.child(name), message));
    }
    for (i, mount) in list(container, &["volumeMounts"]).iter().enumerate() {
        for name in ["subPath", "subPathExpr"] {
            if !text(mount, &[name]).is_empty() {
                let path = path.child("volumeMounts").index(i).child(name);
                errors.push(FieldError::forbidden(path, message));
            }
        }
    }
}

/// Rules for every container.
fn common(errors: &mut Errors, scope: &Scope<'_>, container: &Value, path: &Path) {
    match text(container, &["name"]) {
        "" => errors.push(FieldError::required(path.child("name"), "")),
        name => invalid(errors, name, &path.child("name"), names::dns1123_label(name)),
    }
    if text(container, &["image"]).is_empty() {
        errors.push(FieldError::required(path.child("image"), ""));
    }
    let policy = text(container, &["terminationMessagePolicy"]);
    let policies = ["File", "FallbackToLogsOnError"];
    one_of(errors, policy, &path.child("terminationMessagePolicy"), &policies);
    ports(errors, container, &path.child("ports"));
    env::validate(errors, container, path);
    mounts::validate(errors, scope, container, path);
    let policy = text(container, &["imagePullPolicy"]);
    one_of(errors, policy, &path.child("imagePullPolicy"), &["Always", "IfNotPresent", "Never"]);
    resources::of_container(errors, scope, container, &path.child("resources"));
    resize_policy(errors, scope.spec, container, &path.child("resizePolicy"));
    security::of_container(errors, scope.spec, container, &path.child("securityContext"));
}

fn ports(errors: &mut Errors, container: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, port) in list(container, &["ports"]).iter().enumerate() {
        let path = path.index(i);
        port_name(errors, text(port, &["name"]), &path.child("name"), &mut seen);
        let own = number(port, &["containerPort"]).unwrap_or_default();
        if own == 0 {
            errors.push(FieldError::required(path.child("containerPort"), ""));
        }
        let host = number(port, &["hostPort"]).unwrap_or_default();
        for (name, number) in [("containerPort", own), ("hostPort", host)] {
            let wrong = if number == 0 { Vec::new() } else { names::port_number(number) };
            number_invalid(errors, number, &path.child(name), wrong);
        }
        one_of(errors, text(port, &["protocol"]), &path.child("protocol"), &["SCTP", "TCP", "UDP"]);
    }
}

fn port_name<'a>(errors: &mut Errors, name: &'a str, path: &Path, seen: &mut BTreeSet<&'a str>) {
    if name.is_empty() {
        return;
    }
    let wrong = names::port_name(name);
    if !wrong.is_empty() {
        invalid(errors, name, path, wrong);
    } else if !seen.insert(name) {
        errors.push(FieldError::duplicate(path.clone(), &json!(name)));
    }
}

/// Host ports must be unique by address, protocol and number.
fn host_ports<'a>(
    errors: &mut Errors,
    containers: impl Iterator<Item = (usize, &'a Value)>,
    path: &Path,
) {
    let mut seen = BTreeSet::new();
    for (i, container) in containers {
        for (j, port) in list(container, &["ports"]).iter().enumerate() {
            let number = number(port, &["hostPort"]).unwrap_or_default();
            if number == 0 {
                continue;
            }
            let (protocol, ip) = (text(port, &["protocol"]), text(port, &["hostIP"]));
            if !seen.insert((protocol, ip, number)) {
                let path = path.index(i).child("ports").index(j).child("hostPort");
                let taken = format!("{protocol}/{ip}/{number}");
                errors.push(FieldError::duplicate(path, &json!(taken)));
            }
        }
    }
}

fn resize_policy(errors: &mut Errors, spec: &Value, container: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, policy) in list(container, &["resizePolicy"]).iter().enumerate() {
        let (name, restart) = (text(policy, &["resourceName"]), text(policy, &["restartPolicy"]));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(path.index(i), &json!(name)));
        }
        one_of(errors, name, path, &["cpu", "memory"]);
        one_of(errors, restart, path, &["NotRequired", "RestartContainer"]);
        if text(spec, &["restartPolicy"]) == "Never" && restart != "NotRequired" {
            let message = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(path.clone(), &json!(restart), message));
        }
    }
}

fn restart_rules(errors: &mut Errors, container: &Value, path: &Path) {
    let rules = list(container, &["restartPolicyRules"]);
    match container["restartPolicy"].as_str() {
        None if rules.is_empty() => return,
        None => {
            let message = "must specify restartPolicy when restart rules are used";
            errors.push(FieldError::required(path.child("restartPolicy"), message));
        }
        Some("Always" | "Never" | "OnFailure") => {}
        Some(other) => {
            let supported = ["Always", "Never", "OnFailure"];
            let path = path.child("restartPolicy");
            errors.push(FieldError::not_supported(path, &json!(other), &supported));
        }
    }
    let path = path.child("restartPolicyRules");
    if rules.len() > 20 {
        errors.push(FieldError::too_many(path.clone(), rules.len(), 20));
    }
    for (i, rule) in rules.iter().enumerate() {
        restart_rule(errors, rule, &path.index(i));
    }
}

fn restart_rule(errors: &mut Errors, rule: &Value, path: &Path) {
    let actions = ["Restart", "RestartAllContainers"];
    if !actions.contains(&text(rule, &["action"])) {
        let action = json!(text(rule, &["action"]));
        errors.push(FieldError::not_supported(path.child("action"), &action, &actions));
    }
    let path = path.child("exitCodes");
    if !rule["exitCodes"].is_object() {
        return errors.push(FieldError::required(path, "must be specified"));
    }
    let operator = text(rule, &["exitCodes", "operator"]);
    if !["In", "NotIn"].contains(&operator) {
        let path = path.child("operator");
        errors.push(FieldError::not_supported(path, &json!(operator), &["In", "NotIn"]));
    }
    let values = list(rule, &["exitCodes", "values"]);
    if values.len() > 255 {
        errors.push(FieldError::too_many(path.child("values"), values.len(), 255));
    }
}

fn unique<'a>(errors: &mut Errors, name: &'a str, path: &Path, seen: &mut BTreeSet<&'a str>) {
    if !seen.insert(name) {
        errors.push(FieldError::duplicate(path.child("name"), &json!(name)));
    }
}

fn names_in<'a>(spec: &'a Value, list_name: &str) -> BTreeSet<&'a str> {
    list(spec, &[list_name]).iter().map(|container| text(container, &["name"])).collect()
}
