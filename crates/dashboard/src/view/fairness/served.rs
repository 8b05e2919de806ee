//! What each rule let through and what was rejected, since the server started and in the last seconds.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    figures::{counted, duration, rate, seconds},
    history::Since,
    metrics::{Counts, Metrics},
};
use crate::view::words::{Number, shown};

const MOST_RULES: usize = 50;
const MOST_REJECTIONS: usize = 40;

/// Of metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// Over which time rates are.
    pub over: String,
    /// Those through which requests came in that time.
    pub rules: Vec<RuleRow>,
    pub rules_left_out: usize,
    pub rejections: Vec<Rejection>,
    pub rejections_left_out: usize,
}

/// A FlowSchema in its level.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleRow {
    pub schema: String,
    pub level: String,
    pub served: Number,
    /// How long those that were served had waited on average.
    pub mean_wait: Number,
    pub rejected: Number,
    #[serde(skip)]
    rank: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejection {
    pub level: String,
    pub reason: String,
    /// Since the server started.
    pub total: Number,
    pub rate: Number,
    pub advice: &'static str,
}

pub(super) fn served(metrics: &Metrics, since: Option<&Since>) -> Served {
    let mut rules: Vec<RuleRow> =
        metrics.schemas.iter().filter_map(|(key, counts)| rule(key, counts, since?)).collect();
    rules.sort_by(|a, b| {
        b.rank.total_cmp(&a.rank).then_with(|| (&a.level, &a.schema).cmp(&(&b.level, &b.schema)))
    });
    let all = rules.len();
    rules.truncate(MOST_RULES);
    let mut rejections = rejections(metrics, since);
    let all_rejections = rejections.len();
    rejections.truncate(MOST_REJECTIONS);
    Served {
        over: since.map_or_else(
            || "rates are unknown until counters are read again".to_owned(),
            |since| format!("rates are measured over the last {}", duration(since.seconds.round())),
        ),
        rules_left_out: all - rules.len(),
        rules,
        rejections_left_out: all_rejections - rejections.len(),
        rejections,
    }
}

/// Requests that were rejected in the time that rates are over; `None`: unknown.
pub(super) fn rejected(metrics: &Metrics, since: &Since) -> Option<f64> {
    let growths = metrics.schemas.iter().map(|(key, counts)| rejected_of(key, counts, since));
    growths.reduce(|a, b| Some(a? + b?)).unwrap_or(Some(0.0))
}

/// `None`: no request came.
fn rule(key: &(String, String), counts: &Counts, since: &Since) -> Option<RuleRow> {
    let growth = |of: fn(&Counts) -> Option<f64>| since.growth(key, counts, of);
    let dispatched = growth(|counts| counts.dispatched);
    let rejected = rejected_of(key, counts, since);
    let rank = dispatched.unwrap_or(0.0) + rejected.unwrap_or(0.0);
    if rank <= 0.0 {
        return None;
    }
    let waits = growth(|counts| counts.waits).filter(|n| *n > 0.0);
    let mean = growth(|counts| counts.wait_seconds).zip(waits).map(|(sum, n)| sum / n);
    let (level, schema) = key;
    Some(RuleRow {
        schema: shown(schema),
        level: shown(level),
        served: rate(dispatched.map(|n| n / since.seconds)),
        mean_wait: seconds(mean),
        rejected: rate(rejected.map(|n| n / since.seconds)),
        rank,
    })
}

fn rejected_of(key: &(String, String), counts: &Counts, since: &Since) -> Option<f64> {
    let all = |counts: &Counts| Some(counts.rejected.values().sum());
    since.growth(key, counts, all)
}

/// By level and reason; those with most first.
fn rejections(metrics: &Metrics, since: Option<&Since>) -> Vec<Rejection> {
    // The total, and its growth.
    type Sums = (f64, Option<f64>);
    let mut sums: BTreeMap<(&str, &str), Sums> = BTreeMap::new();
    for (key, counts) in &metrics.schemas {
        for (reason, total) in counts.rejected.iter().filter(|(_, total)| **total > 0.0) {
            // A reason that was not there before had no rejection.
            let of = |counts: &Counts| Some(counts.rejected.get(reason).copied().unwrap_or(0.0));
            let growth = since.and_then(|since| since.growth(key, counts, of));
            let sum = sums.entry((&key.0, reason)).or_insert((0.0, Some(0.0)));
            *sum = (sum.0 + total, sum.1.zip(growth).map(|(a, b)| a + b));
        }
    }
    let mut rows: Vec<((&str, &str), Sums)> = sums.into_iter().collect();
    let grown = |sums: &Sums| sums.1.unwrap_or(0.0);
    rows.sort_by(|(_, a), (_, b)| grown(b).total_cmp(&grown(a)).then(b.0.total_cmp(&a.0)));
    let row = |((level, reason), (total, growth)): ((&str, &str), Sums)| Rejection {
        level: shown(level),
        reason: shown(reason),
        total: counted(Some(total)),
        rate: rate(growth.zip(since).map(|(growth, since)| growth / since.seconds)),
        advice: advice(reason),
    };
    rows.into_iter().map(row).collect()
}

fn advice(reason: &str) -> &'static str {
    match reason {
        "queue-full" => {
            "The queues of a flow were full. Its clients should send less and wait as Retry-After says; \
             a distinguisherMethod in the FlowSchema keeps flows apart, a higher queueLengthLimit lets more wait."
        }
        "concurrency-limit" => {
            "All seats were taken and the level does not queue. Give it more nominalConcurrencyShares, \
             or a limitResponse of type Queue."
        }
        "time-out" => {
            "Requests waited too long, or their clients gave up. Give the level more \
             nominalConcurrencyShares, or find out why its requests take long."
        }
        "cancelled" => "Clients gave up while their requests waited.",
        _ => "",
    }
}
