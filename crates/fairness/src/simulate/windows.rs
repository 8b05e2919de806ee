//! Flows over time: seats and waiting times, window by window.
//!
//! Requests are dispatched in the order of time, so only the waiting times of one window are kept for
//! each flow: when the next begins, they are summed up as quantiles. Bound: [`MAX_POINTS`] points in
//! all, [`MAX_KEPT`] waiting times for each flow; O(1) for each request and O(windows it lasts).

use super::{FlowSeries, Random, Scenario, measure::quantile};
use crate::{Time, time::nanos};

/// How many windows there are, where flows are not too many.
const WINDOWS: u64 = 100;
/// How many windows all flows have together.
const MAX_POINTS: u64 = 1_000_000;
/// Quantiles of up to this number of waiting times per window are exact; of more, estimated from a
/// sample of this size.
const MAX_KEPT: usize = 4096;

#[derive(Debug)]
pub(super) struct Windows {
    length: u64,
    flows: Vec<FlowWindows>,
    random: Random,
}

#[derive(Debug)]
struct FlowWindows {
    /// Seat-nanoseconds by window.
    seats: Vec<u64>,
    /// Quantiles of the waiting time by window, up to the one before the current.
    waits: Vec<Option<(u64, u64)>>,
    /// Waiting times in the current window, and how many there were.
    kept: Vec<u64>,
    seen: u64,
}

impl Windows {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let n_flows = scenario.flows.len();
        let n = (MAX_POINTS / (n_flows as u64).max(1)).clamp(1, WINDOWS);
        let duration = nanos(scenario.duration);
        let length = duration.div_ceil(n).max(1);
        let flow = || FlowWindows {
            seats: vec![0; duration.div_ceil(length) as usize],
            waits: Vec::new(),
            kept: Vec::new(),
            seen: 0,
        };
        Windows {
            length,
            flows: std::iter::repeat_with(flow).take(n_flows).collect(),
            random: Random::new(scenario.seed, u64::MAX - 1),
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.length as f64 / 1e9
    }

    /// Called in the order of time.
    pub(super) fn dispatched(&mut self, now: Time, flow: u32, wait: u64) {
        let flow = &mut self.flows[flow as usize];
        flow.close_until((now.0 / self.length) as usize);
        flow.seen += 1;
        if flow.kept.len() < MAX_KEPT {
            flow.kept.push(wait);
        } else if let Some(kept) = flow.kept.get_mut(self.random.below(flow.seen) as usize) {
            *kept = wait;
        }
    }

    pub(super) fn occupied(&mut self, flow: u32, seats: u32, from: Time, until: Time) {
        spread(&mut self.flows[flow as usize].seats, self.length, seats, from, until);
    }

    pub(super) fn series(&self, end: Time) -> Vec<FlowSeries> {
        self.flows.iter().map(|flow| flow.series(self.length, end)).collect()
    }
}

impl FlowWindows {
    /// Sums up the windows before this one.
    fn close_until(&mut self, window: usize) {
        if self.waits.len() < window {
            self.waits.push(quantiles(&self.kept));
            self.waits.resize(window, None);
            self.kept.clear();
            self.seen = 0;
        }
    }

    fn series(&self, length: u64, end: Time) -> FlowSeries {
        let mean = |(window, seat_nanos): (u64, &u64)| {
            *seat_nanos as f64 / (end.0 - window * length).min(length) as f64
        };
        let mut waits = self.waits.clone();
        waits.push(quantiles(&self.kept));
        waits.resize(self.seats.len(), None);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        FlowSeries {
            seats: (0..).zip(&self.seats).map(mean).collect(),
            wait_p50: waits.iter().map(|waits| waits.map(|(p50, _)| seconds(p50))).collect(),
            wait_p99: waits.iter().map(|waits| waits.map(|(_, p99)| seconds(p99))).collect(),
        }
    }
}

/// p50 and p99.
fn quantiles(waits: &[u64]) -> Option<(u64, u64)> {
    let mut waits = waits.to_vec();
    Some((quantile(&mut waits, 0.5)?, quantile(&mut waits, 0.99)?))
}

/// Adds seat-nanoseconds to the parts of time that an interval covers.
pub(super) fn spread(parts: &mut [u64], length: u64, seats: u32, from: Time, until: Time) {
    let mut at = from.0;
    while at < until.0 {
        let number = at / length;
        let next = ((number + 1) * length).min(until.0);
        parts[number as usize] += (next - at).saturating_mul(seats.into());
        at = next;
    }
}
