//! The report of a simulation.

use std::sync::Arc;

use serde::Serialize;

use super::Summary;

/// The result of one configuration. Requests are counted when something happens to them, from the
/// end of the warm-up on; durations are those of requests that arrived from then on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The measured time in seconds.
    pub measured_seconds: f64,
    pub server_seats: u32,
    /// All simulated requests, including those of the warm-up.
    pub requests: u64,
    /// The part of the server's seats that was in use, on average.
    pub in_use: f64,
    /// Over the clients of all levels.
    pub jain: Option<f64>,
    /// Whether quantiles are estimated from a sample, because there were too many requests.
    pub sampled: bool,
    /// In the order of the configuration.
    pub levels: Vec<LevelReport>,
    pub flows: Vec<FlowReport>,
    pub series: Series,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LevelReport {
    pub level: Arc<str>,
    /// Its nominal seats, and its limit at the end; none if the level was removed.
    pub nominal: Option<u32>,
    pub limit_at_end: Option<u32>,
    /// Over the clients that were in this level last.
    pub jain: Option<f64>,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowReport {
    pub flow: String,
    pub clients: u32,
    /// The levels of its requests; several if its clients differ, or the configuration changed.
    pub levels: Vec<Arc<str>>,
    /// Over its clients.
    pub jain: Option<f64>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What is reported of levels and of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    #[serde(flatten)]
    pub counts: Counts,
    pub seat_seconds: f64,
    /// Of all seat-seconds in use.
    pub share: f64,
    /// Completed requests a second.
    pub throughput: f64,
    /// Of those that were served, in seconds.
    pub wait: Summary,
    /// From arrival to the end of the response, in seconds.
    pub latency: Summary,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub arrived: u64,
    pub dispatched: u64,
    pub completed: u64,
    pub queue_full: u64,
    pub concurrency_limit: u64,
    pub timed_out: u64,
}

/// How it went over the whole time, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The length of a step.
    pub step_seconds: f64,
    /// Seats in use by level, in the order of the report: the mean of each step.
    pub seats: Vec<Vec<f64>>,
    /// The length of a window. Quantiles need more requests than a step has.
    pub window_seconds: f64,
    /// By flow, in the order of the report.
    pub flows: Vec<FlowSeries>,
}

/// One flow, window by window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowSeries {
    /// The mean number of seats in use.
    pub seats: Vec<f64>,
    /// Quantiles of the waiting time of the requests that were dispatched in the window, in seconds;
    /// none if none was.
    pub wait_p50: Vec<Option<f64>>,
    pub wait_p99: Vec<Option<f64>>,
}

impl Counts {
    pub fn rejected(&self) -> u64 {
        self.queue_full + self.concurrency_limit + self.timed_out
    }

    /// The fraction of decided requests that were served; 1 if there are none.
    pub fn served(&self) -> f64 {
        match self.dispatched + self.rejected() {
            0 => 1.0,
            known => self.dispatched as f64 / known as f64,
        }
    }

    pub(super) fn plus(self, other: Counts) -> Counts {
        Counts {
            arrived: self.arrived + other.arrived,
            dispatched: self.dispatched + other.dispatched,
            completed: self.completed + other.completed,
            queue_full: self.queue_full + other.queue_full,
            concurrency_limit: self.concurrency_limit + other.concurrency_limit,
            timed_out: self.timed_out + other.timed_out,
        }
    }
}
