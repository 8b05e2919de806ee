//! Probes and lifecycle hooks.

use serde_json::{Value, json};

use super::checks::{invalid, nonnegative, number_invalid};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{list, number, text},
    },
};

/// The hooks and the three probes of a container.
pub(super) fn validate(errors: &mut Errors, spec: &Value, container: &Value, path: &Path) {
    let grace = number(spec, &["terminationGracePeriodSeconds"]);
    let lifecycle = &container["lifecycle"];
    if lifecycle.is_object() {
        let path = path.child("lifecycle");
        for hook in ["postStart", "preStop"].into_iter().filter(|hook| lifecycle[*hook].is_object())
        {
            handler(errors, &lifecycle[hook], grace, &path.child(hook));
        }
        stop_signal(errors, spec, lifecycle, &path.child("stopSignal"));
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[name].is_object() {
            probe(errors, &container[name], name, grace, &path.child(name));
        }
    }
}

fn probe(errors: &mut Errors, probe: &Value, name: &str, grace: Option<i64>, path: &Path) {
    handler(errors, probe, grace, path);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        nonnegative(errors, number(probe, &[field]).unwrap_or_default(), &path.child(field));
    }
    let own_grace = number(probe, &["terminationGracePeriodSeconds"]);
    let grace_path = path.child("terminationGracePeriodSeconds");
    if let Some(seconds) = own_grace.filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(
            grace_path.clone(),
            &json!(seconds),
            "must be greater than 0",
        ));
    }
    let successes = number(probe, &["successThreshold"]).unwrap_or_default();
    match (name, own_grace) {
        ("readinessProbe", Some(seconds)) => {
            let message = "must not be set for readinessProbes";
            errors.push(FieldError::invalid(grace_path, &json!(seconds), message));
        }
        ("readinessProbe", None) => {}
        _ if successes != 1 => {
            let path = path.child("successThreshold");
            errors.push(FieldError::invalid(path, &json!(successes), "must be 1"));
        }
        _ => {}
    }
}

/// Exactly one handler is required.
fn handler(errors: &mut Errors, handler: &Value, grace: Option<i64>, path: &Path) {
    let given = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut given = given.into_iter().filter(|name| handler[*name].is_object());
    let Some(first) = given.next() else {
        return errors.push(FieldError::required(path.clone(), "must specify a handler type"));
    };
    action(errors, first, &handler[first], grace, &path.child(first));
    for other in given {
        let message = "may not specify more than 1 handler type";
        errors.push(FieldError::forbidden(path.child(other), message));
    }
}

fn action(errors: &mut Errors, name: &str, action: &Value, grace: Option<i64>, path: &Path) {
    match name {
        "exec" if list(action, &["command"]).is_empty() => {
            errors.push(FieldError::required(path.child("command"), ""));
        }
        "httpGet" => http_get(errors, action, path),
        "tcpSocket" | "grpc" => port(errors, &action["port"], &path.child("port")),
        "sleep" => sleep(errors, number(action, &["seconds"]).unwrap_or_default(), grace, path),
        _ => {}
    }
}

fn http_get(errors: &mut Errors, action: &Value, path: &Path) {
    if text(action, &["path"]).is_empty() {
        errors.push(FieldError::required(path.child("path"), ""));
    }
    port(errors, &action["port"], &path.child("port"));
    let scheme = text(action, &["scheme"]);
    if !["HTTP", "HTTPS"].contains(&scheme) {
        let path = path.child("scheme");
        errors.push(FieldError::not_supported(path, &json!(scheme), &["HTTP", "HTTPS"]));
    }
    for header in list(action, &["httpHeaders"]) {
        let name = text(header, &["name"]);
        invalid(errors, name, &path.child("httpHeaders"), names::http_header_name(name));
    }
}

/// A number, or the name of a container port.
fn port(errors: &mut Errors, port: &Value, path: &Path) {
    match port.as_str() {
        Some(name) => invalid(errors, name, path, names::port_name(name)),
        None => {
            let port = port.as_i64().unwrap_or_default();
            number_invalid(errors, port, path, names::port_number(port));
        }
    }
}

fn sleep(errors: &mut Errors, seconds: i64, grace: Option<i64>, path: &Path) {
    let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) else { return };
    let message =
        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
    errors.push(FieldError::invalid(path.clone(), &json!(seconds), message));
}

fn stop_signal(errors: &mut Errors, spec: &Value, lifecycle: &Value, path: &Path) {
    let Some(signal) = lifecycle["stopSignal"].as_str() else { return };
    if !spec["os"].is_object() {
        let message = "may not be set for containers with empty `spec.os.name`";
        return errors.push(FieldError::forbidden(path.clone(), message));
    }
    if text(spec, &["os", "name"]) == "windows" && !["SIGKILL", "SIGTERM"].contains(&signal) {
        let supported = ["SIGKILL", "SIGTERM"];
        errors.push(FieldError::not_supported(path.clone(), &json!(signal), &supported));
    }
}
