//! The pool values held by Services.

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::kinds::{
    names::sloppy_ip,
    service::{
        cluster_ips, has_node_ports, health_check_port, is_external_name, needs_health_check,
        node_ports,
    },
};

/// Addresses and ports, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(super) ips: Vec<IpAddr>,
    pub(super) ports: Vec<i64>,
}

/// A stored Service as seen by the pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) uid: String,
    /// As written in the Service.
    pub(super) ips: Vec<String>,
    pub(super) ports: Vec<i64>,
}

/// The rest of a stored Service is skipped, however deep it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stored {
    metadata: Metadata,
    spec: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    uid: String,
}

// === impl Holdings ===

impl Holdings {
    /// Everything that a Service holds.
    #[cfg(test)]
    pub(crate) fn of(service: &Value) -> Holdings {
        Claims::of(service).holdings()
    }

    /// Everything that a stored Service holds. `encoded` is as in `store::Object`.
    pub(crate) fn stored(encoded: &[u8]) -> Holdings {
        Claims::stored(encoded).unwrap_or_default().holdings()
    }
}

// === impl Claims ===

impl Claims {
    fn of(service: &Value) -> Claims {
        // An ExternalName Service may list node ports without holding them.
        let mut ports = if has_node_ports(service) { node_ports(service) } else { Vec::new() };
        if needs_health_check(service) && health_check_port(service) != 0 {
            ports.push(health_check_port(service));
        }
        // TCP and UDP share a node port.
        ports.sort_unstable();
        ports.dedup();
        let ips = match is_external_name(service) {
            true => Vec::new(),
            false => cluster_ips(service).into_iter().filter(|ip| *ip != "None").collect(),
        };
        let ips = ips.into_iter().map(str::to_owned).collect();
        Claims { uid: String::new(), ips, ports }
    }

    /// `None` if it can't be read.
    pub(crate) fn stored(encoded: &[u8]) -> Option<Claims> {
        const START: &[u8] = br#"{"metadata":{"#;
        let text = [START, encoded].concat();
        let Stored { metadata, spec } = serde_json::from_slice(&text).ok()?;
        Some(Claims { uid: metadata.uid, ..Claims::of(&json!({"spec": spec})) })
    }

    pub(super) fn holdings(&self) -> Holdings {
        let mut ips: Vec<IpAddr> = self.ips.iter().filter_map(|ip| sloppy_ip(ip)).collect();
        ips.sort_unstable();
        ips.dedup();
        Holdings { ips, ports: self.ports.clone() }
    }
}
