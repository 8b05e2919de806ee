//! Conflicting container ports.
//!
//! Every conflicting pair is a warning, and no other pair is examined: ports are found by what they
//! conflict over. The number of warnings is bounded, and so is the number of pairs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    invalid::{Path, quoted},
    kinds::read::{list, number, text},
    warnings::Warnings,
};

/// The properties of a port that may conflict with another's.
#[derive(Clone, Copy, Debug)]
struct Port<'a> {
    number: i64,
    protocol: &'a str,
    host: i64,
    ip: &'a str,
}

/// Earlier ports to compare with, each list in order.
#[derive(Debug, Default)]
struct Earlier<'a> {
    /// With the same number and protocol.
    same: BTreeMap<(i64, &'a str), Vec<usize>>,
    /// And the same host port.
    same_host: BTreeMap<(i64, &'a str, i64), Vec<usize>>,
    /// And the same host address.
    same_ip: BTreeMap<(i64, &'a str, i64, &'a str), Vec<usize>>,
}

/// Duplicate number and protocol, with or without host ports.
pub(super) fn clashes(warnings: &mut Warnings, containers: &[(&Value, Path)]) {
    let mut seen: Vec<(Port<'_>, Path)> = Vec::new();
    let mut earlier = Earlier::default();
    for (port, path) in all(containers) {
        let port = Port::of(port);
        for (other, other_path) in earlier.clashing(port).into_iter().map(|at| &seen[at]) {
            let words = port.clash(other);
            warnings.push(format!("{path}: {words} port definition with {other_path}"));
            if warnings.is_full() {
                return;
            }
        }
        earlier.add(port, seen.len());
        seen.push((port, path));
    }
}

/// Duplicate names.
pub(super) fn names(warnings: &mut Warnings, containers: &[(&Value, Path)]) {
    let mut seen: BTreeMap<&str, Path> = BTreeMap::new();
    for (port, path) in all(containers) {
        let name = text(port, &["name"]);
        if name.is_empty() {
            continue;
        }
        match seen.get(name) {
            Some(other) => warnings.push(format!(
                "{path}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                quoted(name)
            )),
            None => drop(seen.insert(name, path)),
        }
    }
}

fn all<'a>(containers: &[(&'a Value, Path)]) -> impl Iterator<Item = (&'a Value, Path)> {
    containers.iter().flat_map(|(container, path)| {
        let path = path.child("ports");
        let ports = list(container, &["ports"]).iter().enumerate();
        ports.map(move |(i, port)| (port, path.index(i)))
    })
}

impl<'a> Port<'a> {
    fn of(port: &'a Value) -> Port<'a> {
        Port {
            number: number(port, &["containerPort"]).unwrap_or_default(),
            protocol: text(port, &["protocol"]),
            host: number(port, &["hostPort"]).unwrap_or_default(),
            ip: text(port, &["hostIP"]),
        }
    }

    /// How it conflicts with another port, given that it does.
    fn clash(&self, other: &Port<'_>) -> &'static str {
        if self.ip == other.ip && self.host == other.host {
            "duplicate"
        } else if self.host == 0 || other.host == 0 {
            "overlapping"
        } else {
            "dangerously ambiguous"
        }
    }
}

impl<'a> Earlier<'a> {
    /// A port without a host port conflicts with all of the same number and protocol. Others
    /// conflict with those, and with ports on the same host port at the same address, or at no
    /// address.
    fn clashing(&self, port: Port<'a>) -> Vec<usize> {
        let Port { number, protocol, host, ip } = port;
        let at = |host: i64, ip: &'a str| self.same_ip.get(&(number, protocol, host, ip));
        let on = |host: i64| self.same_host.get(&(number, protocol, host));
        let found = match (host, ip) {
            (0, _) => [self.same.get(&(number, protocol)), None, None],
            (host, "") => [on(0), on(host), None],
            (host, ip) => [on(0), at(host, ip), at(host, "")],
        };
        let mut found: Vec<usize> = found.into_iter().flatten().flatten().copied().collect();
        found.sort_unstable();
        found
    }

    fn add(&mut self, port: Port<'a>, at: usize) {
        let Port { number, protocol, host, ip } = port;
        self.same.entry((number, protocol)).or_default().push(at);
        self.same_host.entry((number, protocol, host)).or_default().push(at);
        self.same_ip.entry((number, protocol, host, ip)).or_default().push(at);
    }
}
