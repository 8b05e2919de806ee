//! The metrics of the proposal of 2019, by its names. Durations are in seconds.

use std::fmt;

use evenkeel_fairness::queues::stats::{FILL_BOUNDS, Refusal, SchemaStats};

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
        "How long requests waited, served or not.",
        durations(|stats| {
            Buckets::seconds(&stats.wait).and(&Buckets::seconds(&stats.wait_refused))
        }),
    )?;
    families.histograms(
        "apiserver_service_duration",
        "How long requests held their seats.",
        durations(|stats| {
            Buckets::seconds(&stats.execution).and(&Buckets::seconds(&stats.execution_watch))
        }),
    )
}

fn requests(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let refused = |stats: &SchemaStats, refusals: [Refusal; 2]| {
        refusals.iter().map(|refusal| stats.refused[*refusal as usize]).sum::<u64>()
    };
    let rejected = snapshot.schemas().flat_map(|(level, schema, stats)| {
        let labels = |when| [("priority", level), ("flow_schema", schema), ("when", when)];
        let arrival = refused(stats, [Refusal::QueueFull, Refusal::ConcurrencyLimit]);
        let timeout = refused(stats, [Refusal::TimeOut, Refusal::Cancelled]);
        [(labels("arrival"), arrival), (labels("timeout"), timeout)]
    });
    families.plain_counters(
        "apiserver_rejected_requests",
        "Requests that were not served.",
        rejected,
    )?;
    families.gauges(
        "apiserver_current_inqueue_requests",
        "Requests that wait.",
        by_schema(snapshot, |stats| stats.waiting as f64),
    )?;
    families.gauges(
        "apiserver_current_executing_requests",
        "Requests that hold seats.",
        by_schema(snapshot, |stats| stats.executing as f64),
    )?;
    families.plain_counters(
        "apiserver_dispatched_requests",
        "Requests that got their seats.",
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
        "How many waited in the queue that a request came to.",
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
