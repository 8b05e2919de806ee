//! The metrics of the proposal of 2019, by its names. Durations are in seconds.

use std::fmt;

use evenkeel_fairness::queues::stats::{FILL_BOUNDS, RejectReason, SchemaStats};

use super::{
    families::{Buckets, Families, Labels},
    snapshot::Snapshot,
};

pub(super) fn encode(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    requests(snapshot, families)?;
    queue_lengths(snapshot, families)?;
    let durations = |of: fn(&SchemaStats) -> Buckets| by_schema(snapshot, of);
    families.histograms(
        "apiserver_wait_duration",
        "Time that requests waited, including rejected ones, in seconds.",
        durations(|stats| {
            Buckets::seconds(&stats.wait).and(&Buckets::seconds(&stats.wait_rejected))
        }),
    )?;
    families.histograms(
        "apiserver_service_duration",
        "Time that requests occupied seats, in seconds.",
        durations(|stats| {
            Buckets::seconds(&stats.execution).and(&Buckets::seconds(&stats.execution_watch))
        }),
    )
}

fn requests(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let rejected = |stats: &SchemaStats, rejections: [RejectReason; 2]| {
        rejections.iter().map(|reason| stats.rejected[*reason as usize]).sum::<u64>()
    };
    let rejected = snapshot.schemas().flat_map(|(level, schema, stats)| {
        let labels = |when| [("priority", level), ("flow_schema", schema), ("when", when)];
        let arrival = rejected(stats, [RejectReason::QueueFull, RejectReason::ConcurrencyLimit]);
        let timeout = rejected(stats, [RejectReason::TimeOut, RejectReason::Cancelled]);
        [(labels("arrival"), arrival), (labels("timeout"), timeout)]
    });
    families.plain_counters(
        "apiserver_rejected_requests",
        "Number of requests rejected.",
        rejected,
    )?;
    families.gauges(
        "apiserver_current_inqueue_requests",
        "Number of requests waiting in queues.",
        by_schema(snapshot, |stats| stats.waiting as f64),
    )?;
    families.gauges(
        "apiserver_current_executing_requests",
        "Number of requests that occupy seats.",
        by_schema(snapshot, |stats| stats.executing as f64),
    )?;
    families.plain_counters(
        "apiserver_dispatched_requests",
        "Number of requests dispatched.",
        by_schema(snapshot, |stats| stats.dispatched),
    )
}

fn queue_lengths(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let lengths = snapshot.queues().map(|(level, queues)| {
        let limit = f64::from(queues.length_limit);
        let bounds = FILL_BOUNDS.iter().map(|percent| *percent as f64 * limit / 100.0);
        let sum = level.stats.fill_sum as f64;
        ([("priority", &*level.name)], Buckets::new(bounds, &level.stats.fill, sum))
    });
    families.histograms(
        "apiserver_request_queue_length",
        "Length of a queue before a request was added.",
        lengths,
    )
}

fn by_schema<T>(
    snapshot: &Snapshot,
    of: impl Fn(&SchemaStats) -> T,
) -> impl Iterator<Item = (Labels<'_, 2>, T)> {
    snapshot.schemas().map(move |(level, schema, stats)| {
        ([("priority", level), ("flow_schema", schema)], of(stats))
    })
}
