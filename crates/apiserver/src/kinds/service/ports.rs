//! The ports of a Service.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    facts::{ports, service_type},
    families::spec,
};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    kinds::{
        metadata::invalid,
        names::{dns1123_label, port_name, port_number, qualified_name},
        read::text,
    },
};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Each port on its own, and the uniqueness of their names.
pub(super) fn validate(service: &Value) -> Errors {
    let ports = ports(service);
    let mut seen = BTreeSet::new();
    let mut errors = Errors::new();
    for (i, port) in ports.iter().enumerate() {
        let path = spec("ports").index(i);
        errors.extend(validate_name(port, ports.len() > 1, &mut seen, &path.child("name")));
        errors.extend(validate_numbers(port, &path));
        if let Some(protocol) = port["appProtocol"].as_str() {
            let path = path.child("appProtocol");
            errors.extend(invalid(&path, protocol, qualified_name(protocol)));
        }
    }
    errors
}

fn validate_name<'a>(
    port: &'a Value,
    required: bool,
    seen: &mut BTreeSet<&'a str>,
    path: &Path,
) -> Errors {
    let name = text(port, &["name"]);
    if name.is_empty() {
        let missing = required.then(|| FieldError::required(path.clone(), ""));
        return missing.into_iter().collect();
    }
    let mut errors = invalid(path, name, dns1123_label(name));
    if !seen.insert(name) {
        errors.push(FieldError::duplicate(path.clone(), &json!(name)));
    }
    errors
}

fn validate_numbers(port: &Value, path: &Path) -> Errors {
    let number = port["port"].as_i64().unwrap_or_default();
    let mut errors = wrong_number(&path.child("port"), number);
    errors.extend(protocol(text(port, &["protocol"]), path.child("protocol")));
    errors.extend(target(&port["targetPort"], &path.child("targetPort")));
    errors
}

/// Also for the ports of EndpointSlices.
pub(crate) fn protocol(protocol: &str, path: Path) -> Option<FieldError> {
    match protocol {
        "" => Some(FieldError::required(path, "")),
        known if PROTOCOLS.contains(&known) => None,
        other => Some(FieldError::not_supported(path, &json!(other), &PROTOCOLS)),
    }
}

fn target(target: &Value, path: &Path) -> Errors {
    match target.as_str() {
        Some(name) => invalid(path, name, port_name(name)),
        None => wrong_number(path, target.as_i64().unwrap_or_default()),
    }
}

pub(super) fn wrong_number(path: &Path, number: i64) -> Errors {
    let wrong = port_number(number).into_iter();
    wrong.map(|text| FieldError::invalid(path.clone(), &json!(number), text)).collect()
}

/// Node ports where none are allowed, and duplicate numbers for one protocol.
pub(super) fn validate_uses(service: &Value) -> Errors {
    let mut errors = Errors::new();
    let numbered = |name: &'static str| {
        let paths = ports(service).iter().enumerate();
        paths.map(move |(i, port)| {
            (spec("ports").index(i), port, port[name].as_i64().unwrap_or_default())
        })
    };
    if service_type(service) == "ClusterIP" {
        for (path, _, _) in numbered("nodePort").filter(|(_, _, number)| *number != 0) {
            let text = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(path.child("nodePort"), text));
        }
    }
    let mut seen = BTreeSet::new();
    for (path, port, number) in numbered("nodePort").filter(|(_, _, number)| *number != 0) {
        if !seen.insert((text(port, &["protocol"]), number)) {
            errors.push(FieldError::duplicate(path.child("nodePort"), &json!(number)));
        }
    }
    let mut seen = BTreeSet::new();
    for (path, port, number) in numbered("port") {
        let protocol = text(port, &["protocol"]);
        if !seen.insert((protocol, number)) {
            let type_ = FieldErrorType::Duplicate(printed(protocol, number));
            errors.push(FieldError { path, type_, detail: String::new() });
        }
    }
    errors
}

/// A port with only protocol and number set, as Kubernetes prints its internal type.
fn printed(protocol: &str, number: i64) -> String {
    format!(
        "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
        json!(protocol)
    )
}
