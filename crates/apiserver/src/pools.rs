//! The addresses and node ports that Services hold.
//!
//! They live in memory only and are rebuilt from the stored Services at the start ([`Pools::restore`]).
//! A write of a Service calls [`Pools::reserve`] after defaulting and *before* `prepare_*` and
//! `validate_*`, as Kubernetes does. The [`Reservation`] goes with the write to the writer, which
//! calls [`Pools::committed`] with what the Service held before and holds after, and only then drops
//! it: so what is held follows from what is stored, whoever wrote it and whether or not he is still
//! there. Every step is O(log n) in the number of runs of neighbouring addresses, also when a range is
//! full. [`repair`] compares the two all the same.

mod families;
mod holdings;
mod numbers;
mod range;
pub(crate) mod repair;
mod runs;
mod taking;
#[cfg(test)]
mod tests;

use std::{net::IpAddr, sync::Arc};

use parking_lot::Mutex;
use serde_json::Value;

pub(crate) use self::holdings::{Claims, Holdings};
use self::{
    numbers::Numbers,
    range::{Addresses, Ports},
    taking::Taking,
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
    ranges: Vec<IpRange>,
    node_ports: (u16, u16),
}

/// What one write has taken, until it is decided.
#[derive(Debug)]
#[must_use = "dropping it gives back what was taken"]
pub(crate) struct Reservation {
    pools: Arc<Pools>,
    dry_run: bool,
    taken: Holdings,
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
            pool.number(ip).into_iter().for_each(|number| pool.numbers.hold(number));
        }
        let families = addresses.iter().map(Addresses::family).collect();
        let state = State { addresses, ports: Ports::new(node_ports), reserved };
        Pools { state: Mutex::new(state), families, ranges: ranges.to_vec(), node_ports }
    }

    /// The address that the Service `kubernetes` in `default` has.
    pub(crate) fn kubernetes_ip(&self) -> Option<IpAddr> {
        self.state.lock().reserved
    }

    /// Takes note of a stored Service. Two with one address both keep it.
    pub(crate) fn restore(&self, held: &Holdings) {
        self.state.lock().each(held, Numbers::hold);
    }

    /// A Service has changed, come or gone; `before` and `after` are all that it held and holds.
    pub(crate) fn committed(&self, before: &Holdings, after: &Holdings) {
        let mut state = self.state.lock();
        state.each(after, Numbers::hold);
        state.each(before, Numbers::let_go);
    }

    /// How much writes under way have taken.
    #[cfg(test)]
    pub(crate) fn n_pending(&self) -> usize {
        let state = self.state.lock();
        let ips: usize = state.addresses.iter().map(|pool| pool.numbers.n_pending()).sum();
        ips + state.ports.numbers.n_pending()
    }

    /// Gives the new version its families, addresses and node ports. A dry run shows some and takes
    /// nothing. `random` gives a number below its argument.
    pub(crate) fn reserve(
        self: &Arc<Pools>,
        new: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
        random: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Reservation, PoolError> {
        if let Some(old) = old {
            carry_allocated(new, old);
        }
        align_cluster_ips(new, old);
        families::settle(new, old, &self.families).map_err(PoolError::Invalid)?;
        let mut state = self.state.lock();
        let mut taking = Taking { state: &mut state, dry_run, random, taken: Holdings::default() };
        let done = match old {
            None => taking.create(new),
            Some(old) => taking.update(new, old),
        };
        let Taking { taken, .. } = taking;
        drop(state);
        // On an error the drop of the reservation gives back what was taken before it.
        let reservation = Reservation { pools: Arc::clone(self), dry_run, taken };
        done.map(|()| reservation)
    }
}

// === impl Reservation ===

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.dry_run {
            self.pools.state.lock().each(&self.taken, Numbers::give_back);
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

    fn each(&mut self, held: &Holdings, act: impl Fn(&mut Numbers, u64)) {
        for &ip in &held.ips {
            if let Some(pool) = self.addresses_of(ip)
                && let Some(number) = pool.number(ip)
            {
                act(&mut pool.numbers, number);
            }
        }
        for &port in &held.ports {
            if let Some(number) = self.ports.number(port) {
                act(&mut self.ports.numbers, number);
            }
        }
    }
}
