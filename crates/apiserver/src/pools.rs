//! The addresses and node ports allocated to Services.
//!
//! They are kept in memory only and rebuilt from the stored Services at startup
//! ([`Pools::restore`]). A write of a Service calls [`Pools::reserve`] after defaulting and
//! *before* `prepare_*` and `validate_*`, as in Kubernetes. The [`Reservation`] goes with the write
//! to the writer, which calls [`Pools::committed`] with what the Service held before and holds
//! after, and only then drops it: so allocations follow from the stored objects, whether or not the
//! client is still connected. Every step is O(log n) in the number of runs of neighbouring
//! addresses, also if a range is full. [`repair`] compares the two nevertheless.

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
    writer::OnDecided,
};

#[derive(Debug)]
pub(crate) struct Pools {
    state: Mutex<State>,
    /// The families of the cluster, the default first.
    families: Vec<&'static str>,
    ranges: Vec<IpRange>,
    node_ports: (u16, u16),
}

/// The values taken by one write, until it is decided.
#[derive(Debug)]
#[must_use = "dropping it gives back what was taken"]
pub(crate) struct Reservation {
    pools: Arc<Pools>,
    dry_run: bool,
    taken: Holdings,
}

/// Why an allocation fails.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PoolError {
    /// A 422: the requested value is not available.
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
    /// The address of the Service `kubernetes`, reserved for it.
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

    /// The address of the Service `kubernetes` in `default`.
    pub(crate) fn kubernetes_ip(&self) -> Option<IpAddr> {
        self.state.lock().reserved
    }

    /// Records a stored Service. Two with the same address both keep it.
    pub(crate) fn restore(&self, held: &Holdings) {
        self.state.lock().each(held, Numbers::hold);
    }

    /// A Service was created, changed or deleted; `before` and `after` are everything that it held
    /// and holds.
    pub(crate) fn committed(&self, before: &Holdings, after: &Holdings) {
        let mut state = self.state.lock();
        state.each(after, Numbers::hold);
        state.each(before, Numbers::let_go);
    }

    /// What becomes of the values of a Service when its write is decided: it follows from the two
    /// encoded versions, which are parsed here, not in the writer's thread.
    pub(crate) fn on_decided(
        self: Arc<Pools>,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        reservation: Option<Reservation>,
    ) -> OnDecided {
        let [before, after] =
            [before, after].map(|version| version.map(Holdings::stored).unwrap_or_default());
        Box::new(move |answer| {
            if answer.is_ok() && before != after {
                self.committed(&before, &after);
            }
            // Last: what was reserved is then held by the Service, or released.
            drop(reservation);
        })
    }

    /// The number of values taken by writes in progress.
    #[cfg(test)]
    pub(crate) fn n_pending(&self) -> usize {
        let state = self.state.lock();
        let ips: usize = state.addresses.iter().map(|pool| pool.numbers.n_pending()).sum();
        ips + state.ports.numbers.n_pending()
    }

    /// Assigns families, addresses and node ports to the new version. A dry run assigns some
    /// without taking them. `random` returns a number below its argument.
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
        families::assign(new, old, &self.families).map_err(PoolError::Invalid)?;
        let mut state = self.state.lock();
        let mut taking = Taking { state: &mut state, dry_run, random, taken: Holdings::default() };
        let done = match old {
            None => taking.create(new),
            Some(old) => taking.update(new, old),
        };
        let Taking { taken, .. } = taking;
        drop(state);
        // On an error, dropping the reservation releases everything taken so far.
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
