//! How traffic is divided over priorities: steps 1 and 2 at the head of `predict`.

use super::count::{Counts, Level};

/// The load of each level, in their order.
pub(super) struct Loads {
    pub(super) levels: Vec<Load>,
    /// What all can take together, in percent, before the limit of 100.
    pub(super) total: u32,
    /// Load follows the number of endpoints.
    pub(super) total_panic: bool,
}

/// Percent of all traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// For healthy endpoints, or for all of them in panic.
    pub(super) healthy: u32,
    pub(super) degraded: u32,
    /// What healthy endpoints can take.
    pub(super) availability: u32,
    pub(super) panic: bool,
}

impl Load {
    pub(super) fn sum(&self) -> u32 {
        self.healthy + self.degraded
    }
}

/// Divides 100 % over priorities in order. There is at least one level.
pub(super) fn divide(levels: &[Level], panic_threshold: u8) -> Loads {
    let healthy: Vec<u32> = levels.iter().map(|l| available(l, l.counts.healthy)).collect();
    let degraded: Vec<u32> = levels.iter().map(|l| available(l, l.counts.degraded)).collect();
    let total: u64 = healthy.iter().chain(&degraded).map(|&a| u64::from(a)).sum();
    let total = u32::try_from(total.min(100)).unwrap_or(100);
    let panics = |level: &Level| total < 100 && is_in_panic(&level.counts, panic_threshold);
    let mut loads: Vec<Load> = levels
        .iter()
        .zip(&healthy)
        .map(|(level, &availability)| Load {
            availability,
            panic: panics(level),
            ..Load::default()
        })
        .collect();
    let total_panic = loads.iter().all(|load| load.panic);
    if total_panic {
        by_endpoints(levels, &mut loads);
    } else if total == 0 {
        // Nothing says where traffic could go, and Envoy stays with its first priority.
        loads[0].healthy = 100;
    } else {
        by_availability(&healthy, &degraded, total, &mut loads);
    }
    Loads { levels: loads, total, total_panic }
}

/// Percent of all traffic that `usable` endpoints of a level can take.
fn available(level: &Level, usable: u64) -> u32 {
    let scaled = u64::from(level.factor).saturating_mul(usable);
    let percent = scaled.checked_div(level.counts.endpoints).unwrap_or(0);
    u32::try_from(percent.min(100)).unwrap_or(100)
}

/// A level without endpoints is in panic, unless panic is switched off.
fn is_in_panic(counts: &Counts, threshold: u8) -> bool {
    let threshold = u64::from(threshold.min(100));
    let usable = counts.healthy + counts.degraded;
    threshold > 0 && (counts.endpoints == 0 || 100 * usable < threshold * counts.endpoints)
}

fn by_availability(healthy: &[u32], degraded: &[u32], total: u32, loads: &mut [Load]) {
    let mut left = 100;
    let mut take = |availability: u32| {
        let part = (availability * 100 / total).min(left);
        left -= part;
        part
    };
    for (load, &availability) in loads.iter_mut().zip(healthy) {
        load.healthy = take(availability);
    }
    for (load, &availability) in loads.iter_mut().zip(degraded) {
        load.degraded = take(availability);
    }
    let first = |list: &[u32]| list.iter().position(|&availability| availability > 0);
    match (first(healthy), first(degraded)) {
        (Some(index), _) => loads[index].healthy += left,
        (None, Some(index)) => loads[index].degraded += left,
        (None, None) => {}
    }
}

fn by_endpoints(levels: &[Level], loads: &mut [Load]) {
    let all: u64 = levels.iter().map(|level| level.counts.all()).sum();
    let mut left = 100;
    for (load, level) in loads.iter_mut().zip(levels) {
        let part = (100 * level.counts.all()).checked_div(all).unwrap_or(0);
        load.healthy = u32::try_from(part).unwrap_or(100);
        left -= load.healthy;
    }
    let first = levels.iter().position(|level| level.counts.all() > 0).unwrap_or(0);
    loads[first].healthy += left;
}
