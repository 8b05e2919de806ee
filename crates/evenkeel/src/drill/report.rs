//! What a drill showed: computed from the recorded requests. Pure.
//!
//! Figures about the outage are of the requests sent in it, whenever their outcome was known. A
//! Service has converged with the first request after the last that failed or reached the lost zone.
//! Loads are of the requests since then, against the fair share of before, as in `plan`: 200 % is
//! twice the load. O(requests).

mod convergence;
mod load;
mod windows;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;

pub(super) use self::{
    load::{EndpointLoad, Load},
    windows::Window,
};
use super::{
    recording::{Outcome, Recording, Sample},
    subject::{Drilled, Forecast, Subject},
};

/// When what happened, since the first request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timeline {
    pub lost: Duration,
    /// When the Nodes were given back.
    pub restored: Duration,
    /// When that was found to have its effect.
    pub back: Option<Duration>,
    pub end: Duration,
    /// It ended early.
    pub interrupted: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub zone: Arc<str>,
    /// In contrast to a forecast.
    pub measured: bool,
    pub interrupted: bool,
    /// The Nodes that were lost.
    pub nodes: Vec<Arc<str>>,
    pub timeline: Seconds,
    /// Requests sent before the outage, in it, and after it.
    pub before: Counts,
    pub outage: Counts,
    pub after: Counts,
    /// Requests that were due while too many waited for an answer.
    pub unsent: usize,
    /// From the outage on, until the last Service had converged; `null`: one had not.
    pub converged_seconds: Option<f64>,
    /// From giving the Nodes back on; `null`: not in time.
    pub back_seconds: Option<f64>,
    /// Of the outage.
    pub failures: Vec<FailureCount>,
    pub clients: Vec<ClientReport>,
    pub services: Vec<ServiceReport>,
    pub windows: Vec<Window>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seconds {
    pub lost: f64,
    pub restored: f64,
    pub back: Option<f64>,
    pub end: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    pub requests: usize,
    pub answered: usize,
    pub failed: usize,
    /// `null`: no request was sent.
    pub success_rate: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailureCount {
    pub problem: &'static str,
    pub requests: usize,
}

/// A Node that sent requests, with all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientReport {
    pub node: Arc<str>,
    pub zone: Arc<str>,
    #[serde(flatten)]
    pub counts: Counts,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceReport {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub before: Counts,
    pub outage: Counts,
    pub after: Counts,
    /// From the outage on; `null`: not before its end.
    pub converged_seconds: Option<f64>,
    pub load: Load,
    /// Of `plan`, for the policy in force with the zone lost.
    pub forecast: Option<Forecast>,
}

pub(super) fn report(subject: &Subject, times: Timeline, recording: &Recording) -> Report {
    let mut samples = recording.samples.clone();
    samples.sort_by_key(|sample| sample.sent);
    let by_service = by_service(&samples, subject.services.len());
    let services: Vec<ServiceReport> = subject
        .services
        .iter()
        .zip(&by_service)
        .map(|(service, samples)| of_service(subject, service, times, samples, recording))
        .collect();
    let all: Vec<&Sample> = samples.iter().collect();
    let [before, outage, after] = phases(times, &all).map(Counts::of);
    let converged: Option<Vec<f64>> = services.iter().map(|one| one.converged_seconds).collect();
    Report {
        zone: Arc::clone(&subject.zone),
        measured: true,
        interrupted: times.interrupted,
        nodes: subject.lost.clone(),
        timeline: Seconds::of(times),
        before,
        outage,
        after,
        unsent: recording.unsent,
        converged_seconds: converged.map(|all| all.into_iter().fold(0.0, f64::max)),
        back_seconds: times.back.map(|back| seconds(back.saturating_sub(times.restored))),
        failures: failures(phases(times, &all)[1]),
        clients: clients(subject, &samples),
        windows: windows::windows(&all, recording, seconds(times.end)),
        services,
    }
}

fn of_service(
    subject: &Subject,
    service: &Drilled,
    times: Timeline,
    samples: &[&Sample],
    recording: &Recording,
) -> ServiceReport {
    let parts = phases(times, samples);
    let [before, outage, after] = parts.map(Counts::of);
    let converged = convergence::converged(parts[1], recording, &subject.zone);
    let since = converged.map(|at| at.unwrap_or(times.lost));
    ServiceReport {
        namespace: Arc::clone(&service.key.namespace),
        service: Arc::clone(&service.key.name),
        before,
        outage,
        after,
        converged_seconds: since.map(|at| seconds(at.saturating_sub(times.lost))),
        load: load::load(subject, service, parts[1], samples, since, recording),
        forecast: service.forecast.clone(),
    }
}

fn by_service(samples: &[Sample], n: usize) -> Vec<Vec<&Sample>> {
    let mut by_service = vec![Vec::new(); n];
    for sample in samples {
        if let Some(of_service) = by_service.get_mut(sample.service) {
            of_service.push(sample);
        }
    }
    by_service
}

/// Before the outage, in it, after it; `samples` are sorted by when they were sent.
fn phases<'s, 'a>(times: Timeline, samples: &'s [&'a Sample]) -> [&'s [&'a Sample]; 3] {
    let until = |at: Duration| samples.partition_point(|sample| sample.sent < at);
    let (lost, restored) = (until(times.lost), until(times.restored.max(times.lost)));
    [&samples[..lost], &samples[lost..restored], &samples[restored..]]
}

fn failures(samples: &[&Sample]) -> Vec<FailureCount> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for sample in samples {
        if let Outcome::Failed(problem) = sample.outcome {
            *counts.entry(problem).or_default() += 1;
        }
    }
    let count = |(problem, requests)| FailureCount { problem, requests };
    let mut failures: Vec<FailureCount> = counts.into_iter().map(count).collect();
    failures.sort_by_key(|one| std::cmp::Reverse(one.requests));
    failures
}

fn clients(subject: &Subject, samples: &[Sample]) -> Vec<ClientReport> {
    let mut counts = vec![(0, 0); subject.clients.len()];
    for sample in samples {
        if let Some((answered, failed)) = counts.get_mut(sample.client) {
            match sample.outcome {
                Outcome::Answered(_) => *answered += 1,
                Outcome::Failed(_) => *failed += 1,
            }
        }
    }
    let client = |(client, (answered, failed)): (&super::subject::Client, (usize, usize))| {
        let (node, zone) = (Arc::clone(&client.node), Arc::clone(&client.zone));
        ClientReport { node, zone, counts: Counts::new(answered, failed) }
    };
    subject.clients.iter().zip(counts).map(client).collect()
}

/// Rounded to milliseconds: less is not measured.
pub(super) fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e3).round() / 1e3
}

// === impl Counts ===

impl Counts {
    pub(super) fn new(answered: usize, failed: usize) -> Counts {
        let requests = answered + failed;
        let success_rate = (requests > 0).then(|| answered as f64 / requests as f64);
        Counts { requests, answered, failed, success_rate }
    }

    fn of(samples: &[&Sample]) -> Counts {
        let is_answered = |one: &&&Sample| matches!(one.outcome, Outcome::Answered(_));
        let answered = samples.iter().filter(is_answered).count();
        Counts::new(answered, samples.len() - answered)
    }
}

// === impl Seconds ===

impl Seconds {
    fn of(times: Timeline) -> Seconds {
        let Timeline { lost, restored, back, end, interrupted: _ } = times;
        Seconds {
            lost: seconds(lost),
            restored: seconds(restored),
            back: back.map(seconds),
            end: seconds(end),
        }
    }
}

// === impl Report ===

impl Report {
    /// Whether the success rate in the outage is below this many percent. Without requests it is.
    pub(super) fn is_under(&self, percent: f64) -> bool {
        self.outage.success_rate.is_none_or(|rate| rate * 100.0 < percent)
    }
}

#[cfg(test)]
pub(super) mod tests;
