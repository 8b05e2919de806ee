//! Allocation for one write: takes what its Service needs and does not have yet.
//!
//! Source: `pkg/registry/core/service/storage/alloc.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use serde_json::{Value, json};

use super::{
    PoolError, State,
    families::is_unchanged_preference,
    holdings::Holdings,
    numbers::{Random, Refused},
};
use crate::{
    invalid::{FieldError, Path},
    kinds::{
        names::sloppy_ip,
        read::{entry, text},
        service::{
            cluster_ips, families, has_node_ports, health_check_port, is_external_name,
            needs_health_check, node_ports, shown, spec, wants_node_ports,
        },
    },
};

/// First node port shown by a dry run.
const DRY_RUN_PORT: i64 = 32_768;

pub(super) struct Taking<'a> {
    pub(super) state: &'a mut State,
    pub(super) dry_run: bool,
    pub(super) random: Random<'a>,
    /// Held by the write until it is decided.
    pub(super) taken: Holdings,
}

// === impl Taking ===

impl Taking<'_> {
    pub(super) fn create(&mut self, new: &mut Value) -> Result<(), PoolError> {
        if !is_external_name(new) {
            self.take_ips(new)?;
        }
        if has_node_ports(new) {
            self.take_node_ports(new)?;
        }
        if needs_health_check(new) {
            self.take_health_check_port(new)?;
        }
        Ok(())
    }

    pub(super) fn update(&mut self, new: &mut Value, old: &Value) -> Result<(), PoolError> {
        self.update_ips(new, old)?;
        if has_node_ports(new) {
            self.update_node_ports(new, old)?;
        }
        if needs_health_check(new) && !needs_health_check(old) {
            self.take_health_check_port(new)?;
        }
        Ok(())
    }

    fn update_ips(&mut self, new: &mut Value, old: &Value) -> Result<(), PoolError> {
        if is_unchanged_preference(new, old) {
            return Ok(());
        }
        if is_external_name(old) {
            return if is_external_name(new) { Ok(()) } else { self.take_ips(new) };
        }
        if cluster_ips(old).first() == Some(&"None") || is_external_name(new) {
            return Ok(());
        }
        match (families(old).len(), families(new).len()) {
            (1, 2) => self.take_ips_from(new, 1),
            _ => Ok(()),
        }
    }

    fn take_ips(&mut self, new: &mut Value) -> Result<(), PoolError> {
        if cluster_ips(new).first() == Some(&"None") {
            return Ok(());
        }
        self.take_ips_from(new, 0)
    }

    /// An address for each family from this one on: the requested one, or any.
    fn take_ips_from(&mut self, new: &mut Value, first: usize) -> Result<(), PoolError> {
        let families: Vec<String> = families(new).into_iter().map(str::to_owned).collect();
        let mut ips: Vec<String> = cluster_ips(new).into_iter().map(str::to_owned).collect();
        ips.resize(ips.len().max(families.len()), String::new());
        *entry(new, &["spec", "clusterIPs"]) = json!(ips);
        for (i, family) in families.iter().enumerate().skip(first) {
            ips[i] = self.take_ip(new, family, &ips[i])?;
        }
        if let (0, Some(ip)) = (first, ips.first()) {
            *entry(new, &["spec", "clusterIP"]) = json!(ip);
        }
        *entry(new, &["spec", "clusterIPs"]) = json!(ips);
        Ok(())
    }

    fn take_ip(&mut self, new: &Value, family: &str, wanted: &str) -> Result<String, PoolError> {
        let name = text(new, &["metadata", "name"]);
        if wanted.is_empty() {
            let full = || {
                PoolError::Internal(format!(
                    "failed to allocate a serviceIP for Service {name:?}: range is full"
                ))
            };
            return self.take_any_ip(family).map(|ip| ip.to_string()).ok_or_else(full);
        }
        let Some(ip) = sloppy_ip(wanted) else {
            return Err(PoolError::Internal(format!("failed to parse service IP {wanted:?}")));
        };
        let is_kubernetes =
            name == "kubernetes" && text(new, &["metadata", "namespace"]) == "default";
        self.take_this_ip(family, ip, is_kubernetes).map_err(|why| {
            let text = format!("failed to allocate IP {wanted}: {why}");
            let error = FieldError::invalid(spec("clusterIPs"), shown(new, "clusterIPs"), text);
            PoolError::Invalid(vec![error])
        })?;
        Ok(wanted.to_owned())
    }

    /// A dry run does not look for a free address; it shows the network address.
    fn take_any_ip(&mut self, family: &str) -> Option<IpAddr> {
        let pool = self.state.addresses(family)?;
        if self.dry_run {
            return Some(pool.network());
        }
        let ip = pool.take_any(self.random)?;
        self.taken.ips.push(ip);
        Some(ip)
    }

    fn take_this_ip(
        &mut self,
        family: &str,
        ip: IpAddr,
        is_kubernetes: bool,
    ) -> Result<(), String> {
        let outside = "the provided network does not match the current range";
        let reserved = self.state.reserved;
        let pool = self.state.addresses(family).ok_or(outside)?;
        if self.dry_run {
            return match pool.holds(ip) {
                true => Ok(()),
                false => Err(format!(
                    "the provided IP ({ip}) is not in the valid range. The range of valid IPs is {pool}"
                )),
            };
        }
        if is_kubernetes && reserved == Some(ip) {
            return Ok(());
        }
        pool.take(ip).map_err(|why| match why {
            Refused::Outside => outside.to_owned(),
            Refused::Taken => "provided IP is already allocated".to_owned(),
        })?;
        self.taken.ips.push(ip);
        Ok(())
    }

    /// One node port per port number: TCP and UDP with the same number share it.
    fn take_node_ports(&mut self, new: &mut Value) -> Result<(), PoolError> {
        let wants = wants_node_ports(new);
        let mut given: BTreeMap<i64, i64> = BTreeMap::new();
        let mut ports = owned_ports(new);
        // Of several node ports for one number, the first counts.
        let named = ports.iter().rev().map(numbers).filter(|(_, node)| *node != 0);
        let named: BTreeMap<i64, i64> = named.collect();
        for (i, port) in ports.iter_mut().enumerate() {
            let (number, node) = numbers(port);
            if node == 0 && !wants {
                continue;
            }
            let path = spec("ports").index(i).child("nodePort");
            match given.get(&number) {
                Some(&shared) if node == 0 => set_node_port(port, shared),
                Some(&shared) if node != shared => self.take_this_port(node, path)?,
                Some(_) => {}
                None => {
                    let taken = match named.get(&number) {
                        Some(&named) => self.take_this_port(named, path).map(|()| named)?,
                        None => self.take_any_node_port()?,
                    };
                    set_node_port(port, taken);
                    given.insert(number, taken);
                }
            }
        }
        *entry(new, &["spec", "ports"]) = Value::Array(ports);
        Ok(())
    }

    fn update_node_ports(&mut self, new: &mut Value, old: &Value) -> Result<(), PoolError> {
        let wants = wants_node_ports(new);
        let held = if has_node_ports(old) { node_ports(old) } else { Vec::new() };
        // Those already held, and those taken here.
        let mut own: BTreeSet<i64> = held.iter().copied().collect();
        let mut ports = owned_ports(new);
        let mut seen: BTreeSet<(String, i64)> = BTreeSet::new();
        for (i, port) in ports.iter_mut().enumerate() {
            let (_, mut node) = numbers(port);
            if node == 0 && !wants {
                continue;
            }
            if node == 0 {
                node = self.take_any_node_port()?;
                set_node_port(port, node);
            } else if !own.contains(&node) {
                self.take_this_port(node, spec("ports").index(i).child("nodePort"))?;
                own.insert(node);
            }
            let this = (text(port, &["protocol"]).to_owned(), node);
            if !seen.insert(this) {
                let protocol = text(port, &["protocol"]);
                return Err(PoolError::Plain(format!("duplicate nodePort: {{{protocol} {node}}}")));
            }
        }
        *entry(new, &["spec", "ports"]) = Value::Array(ports);
        Ok(())
    }

    fn take_health_check_port(&mut self, new: &mut Value) -> Result<(), PoolError> {
        let asked = health_check_port(new);
        if asked != 0 {
            return self.try_port(asked).map_err(|why| {
                PoolError::Internal(format!(
                    "failed to allocate requested HealthCheck NodePort {asked}: {why}"
                ))
            });
        }
        let Some(port) = self.take_any_port() else {
            let text = "failed to allocate a HealthCheck NodePort 0: range is full";
            return Err(PoolError::Internal(text.to_owned()));
        };
        *entry(new, &["spec", "healthCheckNodePort"]) = json!(port);
        Ok(())
    }

    fn take_this_port(&mut self, port: i64, path: Path) -> Result<(), PoolError> {
        self.try_port(port)
            .map_err(|why| PoolError::Invalid(vec![FieldError::invalid(path, &json!(port), why)]))
    }

    fn take_any_node_port(&mut self) -> Result<i64, PoolError> {
        let full =
            || PoolError::Internal("failed to allocate a nodePort: range is full".to_owned());
        self.take_any_port().ok_or_else(full)
    }

    /// A dry run only checks whether the port is in use.
    fn try_port(&mut self, port: i64) -> Result<(), String> {
        let taken = || "provided port is already allocated".to_owned();
        let pool = &mut self.state.ports;
        if self.dry_run {
            if pool.is_taken(port) || self.taken.ports.contains(&port) {
                return Err(taken());
            }
        } else {
            pool.take(port).map_err(|why| match why {
                Refused::Taken => taken(),
                Refused::Outside => format!(
                    "provided port is not in the valid range. The range of valid ports is {pool}"
                ),
            })?;
        }
        self.taken.ports.push(port);
        Ok(())
    }

    /// A dry run shows numbers that are not allocated.
    fn take_any_port(&mut self) -> Option<i64> {
        let port = match self.dry_run {
            true => self.taken.ports.iter().max().unwrap_or(&DRY_RUN_PORT) + 1,
            false => self.state.ports.take_any(self.random)?,
        };
        self.taken.ports.push(port);
        Some(port)
    }
}

fn owned_ports(service: &Value) -> Vec<Value> {
    crate::kinds::read::list(service, &["spec", "ports"]).to_vec()
}

/// The port and its node port, 0 if it has none.
fn numbers(port: &Value) -> (i64, i64) {
    let number = |name: &str| port[name].as_i64().unwrap_or_default();
    (number("port"), number("nodePort"))
}

fn set_node_port(port: &mut Value, number: i64) {
    *entry(port, &["nodePort"]) = json!(number);
}
