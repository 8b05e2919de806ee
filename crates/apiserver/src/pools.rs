//! The addresses and node ports that Services hold.
//!
//! They live in memory only and are rebuilt from the stored Services at the start ([`Pools::restore`]).
//! A write of a Service calls [`Pools::reserve`] after defaulting and *before* `prepare_*` and
//! `validate_*`, as Kubernetes does, and then [`Reservation::keep`] once the write is stored. A
//! reservation that is dropped gives back what it took. Every step is O(log n) in the number of
//! runs of neighbouring addresses, also when a range is full.

mod families;
mod range;
mod runs;
mod taking;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use parking_lot::Mutex;
use serde_json::Value;

use self::{
    range::{Addresses, Ports},
    taking::{Holdings, Taking},
};
use crate::{
    invalid::Errors,
    kinds::service::{align_cluster_ips, carry_allocated},
    settings::IpRange,
};

#[derive(Debug)]
pub(crate) struct Pools {
    state: Mutex<State>,
    /// The families of the cluster, the default first.
    families: Vec<&'static str>,
}

/// What one write has taken, and what it will leave behind.
#[derive(Debug)]
#[must_use = "dropping it gives back what was taken"]
pub(crate) struct Reservation<'a> {
    pools: &'a Pools,
    dry_run: bool,
    taken: Holdings,
    surplus: Holdings,
}

/// Why a Service does not get what it needs.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PoolError {
    /// A 422: what was asked for cannot be had.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Invalid(Errors),
    /// A 500 with the reason `InternalError`.
    #[error("Internal error occurred: {0}")]
    Internal(String),
    /// A 500 without a reason.
    #[error("{0}")]
    Plain(String),
}

#[derive(Debug)]
struct State {
    addresses: Vec<Addresses>,
    ports: Ports,
    /// The address of the Service `kubernetes`, which no other may have.
    reserved: Option<IpAddr>,
}

// === impl Pools ===

impl Pools {
    pub(crate) fn new(ranges: &[IpRange], node_ports: (u16, u16)) -> Pools {
        let mut addresses: Vec<Addresses> = ranges.iter().copied().map(Addresses::new).collect();
        let reserved = addresses.first().map(Addresses::first);
        if let (Some(pool), Some(ip)) = (addresses.first_mut(), reserved) {
            // A range without an address has none to reserve.
            pool.take(ip).unwrap_or_default();
        }
        let families = addresses.iter().map(Addresses::family).collect();
        let state = State { addresses, ports: Ports::new(node_ports), reserved };
        Pools { state: Mutex::new(state), families }
    }

    /// The address that the Service `kubernetes` in `default` has.
    pub(crate) fn kubernetes_ip(&self) -> Option<IpAddr> {
        self.state.lock().reserved
    }

    /// Takes note of a stored Service.
    pub(crate) fn restore(&self, service: &Value) {
        let mut state = self.state.lock();
        let held = Holdings::of(service);
        for ip in held.ips {
            // Two Services with one address can only come from elsewhere; both keep it.
            let _ = state.addresses_of(ip).map(|pool| pool.take(ip));
        }
        for port in held.ports {
            let _ = state.ports.take(port);
        }
    }

    /// Gives the new version its families, addresses and node ports. A dry run shows some and takes
    /// nothing. `random` gives a number below its argument.
    pub(crate) fn reserve(
        &self,
        new: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
        random: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Reservation<'_>, PoolError> {
        if let Some(old) = old {
            carry_allocated(new, old);
        }
        align_cluster_ips(new, old);
        families::settle(new, old, &self.families).map_err(PoolError::Invalid)?;
        let mut state = self.state.lock();
        let (taken, surplus) = (Holdings::default(), Holdings::default());
        let mut taking = Taking { state: &mut state, dry_run, random, taken, surplus };
        let done = match old {
            None => taking.create(new),
            Some(old) => taking.update(new, old),
        };
        let Taking { taken, surplus, .. } = taking;
        drop(state);
        // On an error the drop of the reservation gives back what was taken before it.
        let reservation = Reservation { pools: self, dry_run, taken, surplus };
        done.map(|()| reservation)
    }

    /// What a deleted Service held is free again.
    pub(crate) fn release(&self, service: &Value) {
        self.state.lock().give_back(&Holdings::of(service));
    }
}

// === impl Reservation ===

impl Reservation<'_> {
    /// The write is stored: what it took is its own, and what it left is free.
    pub(crate) fn keep(mut self) {
        self.taken = std::mem::take(&mut self.surplus);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.dry_run {
            self.pools.state.lock().give_back(&self.taken);
        }
    }
}

// === impl State ===

impl State {
    fn addresses(&mut self, family: &str) -> Option<&mut Addresses> {
        self.addresses.iter_mut().find(|pool| pool.family() == family)
    }

    fn addresses_of(&mut self, ip: IpAddr) -> Option<&mut Addresses> {
        self.addresses(if ip.is_ipv4() { "IPv4" } else { "IPv6" })
    }

    fn give_back(&mut self, held: &Holdings) {
        for &ip in held.ips.iter().filter(|ip| self.reserved != Some(**ip)).collect::<Vec<_>>() {
            if let Some(pool) = self.addresses_of(ip) {
                pool.give_back(ip);
            }
        }
        for &port in &held.ports {
            self.ports.give_back(port);
        }
    }
}
