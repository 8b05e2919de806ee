//! Validation of EndpointSlices.
//!
//! Source: `pkg/apis/discovery/validation/validation.go`. Declarative validation errors of the type
//! are reported last, with a bare "Required value" and a changed address type as `null`.

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        addresses::{endpoint_ip, fully_qualified_domain},
        metadata::{self, invalid},
        names::{
            dns1123_label, dns1123_subdomain, ip, label_value, legacy_ip, qualified_name, sloppy_ip,
        },
        read::{at, entries, list, text},
        service::protocol,
    },
};

const ENDPOINTS_MOST: usize = 1000;
const ADDRESSES_MOST: usize = 100;
const PORTS_MOST: usize = 20_000;
const HINTS_MOST: usize = 8;
const TOPOLOGY_MOST: usize = 16;
const ADDRESS_TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];

pub(super) fn validate(slice: &Value, old: Option<&Value>) -> Errors {
    let endpoints = list(slice, &["endpoints"]);
    let unchanged = old.is_some_and(|old| list(old, &["endpoints"]) == endpoints);
    let address_type = text(slice, &["addressType"]);
    let changed = old.is_some_and(|old| text(old, &["addressType"]) != address_type);
    let mut errors = ports(list(slice, &["ports"]));
    if !unchanged {
        errors.extend(all_endpoints(endpoints, address_type));
    }
    match known_type(address_type) {
        // An unknown type violates a declarative rule, unless the error is the change itself.
        Some(error) if changed && !address_type.is_empty() => errors.insert(0, error),
        other => errors.extend(other),
    }
    if changed {
        errors.push(FieldError::immutable(Path::root("addressType"), &Value::Null));
    }
    if !unchanged {
        errors.extend(numbers_of_addresses(endpoints));
    }
    errors
}

fn known_type(address_type: &str) -> Option<FieldError> {
    let path = Path::root("addressType");
    match address_type {
        "" => Some(FieldError::required(path, "")),
        known if ADDRESS_TYPES.contains(&known) => None,
        other => Some(FieldError::not_supported(path, &json!(other), &ADDRESS_TYPES)),
    }
}

fn numbers_of_addresses(endpoints: &[Value]) -> Errors {
    let mut errors = Errors::new();
    for (i, endpoint) in endpoints.iter().enumerate() {
        let path = Path::root("endpoints").index(i).child("addresses");
        match list(endpoint, &["addresses"]).len() {
            0 => errors.push(FieldError::required(path, "")),
            n if n > ADDRESSES_MOST => errors.push(FieldError::too_many(path, n, ADDRESSES_MOST)),
            _ => {}
        }
    }
    errors
}

fn ports(ports: &[Value]) -> Errors {
    let path = Path::root("ports");
    if ports.len() > PORTS_MOST {
        return vec![FieldError::too_many(path, ports.len(), PORTS_MOST)];
    }
    let mut errors = Errors::new();
    let mut seen = std::collections::BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = text(port, &["name"]);
        if !name.is_empty() {
            errors.extend(invalid(&path.child("name"), name, dns1123_label(name)));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(path.child("name"), &json!(name)));
        }
        errors.extend(port_protocol(port, path.child("protocol")));
        if let Some(app) = port["appProtocol"].as_str() {
            errors.extend(invalid(&path.child("appProtocol"), app, qualified_name(app)));
        }
    }
    errors
}

/// An empty protocol is set, and unknown.
fn port_protocol(port: &Value, path: Path) -> Option<FieldError> {
    match port["protocol"].as_str() {
        Some("") => Some(FieldError::not_supported(path, &json!(""), &["SCTP", "TCP", "UDP"])),
        Some(said) => protocol(said, path),
        None => Some(FieldError::required(path, "")),
    }
}

fn all_endpoints(endpoints: &[Value], address_type: &str) -> Errors {
    let path = Path::root("endpoints");
    if endpoints.len() > ENDPOINTS_MOST {
        return vec![FieldError::too_many(path, endpoints.len(), ENDPOINTS_MOST)];
    }
    let paths = endpoints.iter().enumerate();
    paths.flat_map(|(i, endpoint)| one_endpoint(endpoint, address_type, &path.index(i))).collect()
}

fn one_endpoint(endpoint: &Value, address_type: &str, path: &Path) -> Errors {
    let mut errors = addresses(endpoint, address_type, &path.child("addresses"));
    if let Some(node) = endpoint["nodeName"].as_str() {
        errors.extend(invalid(&path.child("nodeName"), node, dns1123_subdomain(node)));
    }
    let topology = at(endpoint, &["deprecatedTopology"]);
    let topology_path = path.child("deprecatedTopology");
    let labels = entries(topology, &[]).count();
    if labels > TOPOLOGY_MOST {
        errors.push(FieldError::too_many(topology_path.clone(), labels, TOPOLOGY_MOST));
    }
    errors.extend(metadata::labels(topology, &topology_path));
    if let Some(host) = endpoint["hostname"].as_str() {
        errors.extend(invalid(&path.child("hostname"), host, dns1123_label(host)));
    }
    errors.extend(hints(&endpoint["hints"], &path.child("hints")));
    errors
}

/// An address of the other family is reported at the list, not at its index.
fn addresses(endpoint: &Value, address_type: &str, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for (i, address) in list(endpoint, &["addresses"]).iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        let wrong = match address_type {
            "IPv4" => legacy_ip(address),
            "IPv6" => ip(address),
            "FQDN" => {
                errors.extend(fully_qualified_domain(address, &path.index(i)));
                continue;
            }
            _ => continue,
        };
        if !wrong.is_empty() {
            errors.extend(invalid(&path.index(i), address, wrong));
            continue;
        }
        if sloppy_ip(address).is_some_and(|ip| ip.is_ipv4() != (address_type == "IPv4")) {
            let text = format!("must be an {address_type} address");
            errors.push(FieldError::invalid(path.clone(), &json!(address), text));
        }
        errors.extend(endpoint_ip(address, &path.index(i)));
    }
    errors
}

fn hints(hints: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for (name, check) in
        [("forZones", label_value as fn(&str) -> Vec<String>), ("forNodes", dns1123_subdomain)]
    {
        let path = path.child(name);
        let given = list(hints, &[name]);
        if given.len() > HINTS_MOST {
            errors.push(FieldError::too_many(path, given.len(), HINTS_MOST));
            return errors;
        }
        let mut seen = std::collections::BTreeSet::new();
        for (i, hint) in given.iter().enumerate() {
            let path = path.index(i).child("name");
            let name = text(hint, &["name"]);
            if !seen.insert(name) {
                errors.push(FieldError::duplicate(path.clone(), &json!(name)));
            }
            errors.extend(invalid(&path, name, check(name)));
        }
    }
    errors
}
