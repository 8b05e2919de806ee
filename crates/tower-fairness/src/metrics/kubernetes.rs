//! The metrics of today's Kubernetes, by its names and labels.

use std::fmt;

use evenkeel_fairness::{
    dispatcher::LevelLimits,
    queues::stats::{Histogram, RejectReason, SchemaStats, Utilization},
};

use super::{
    families::{Buckets, Families, Labels},
    snapshot::{Bounds, Queues, Snapshot},
};
use crate::{in_flight, watch_counts::WatchCount};

const PREFIX: &str = "apiserver_flowcontrol_";

pub(super) fn encode(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    counts(snapshot, families)?;
    durations(snapshot, families)?;
    sizes(snapshot, families)?;
    virtual_time(snapshot, families)?;
    limits(snapshot, families)?;
    utilizations(snapshot, families)
}

fn counts(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let rejected = snapshot.schemas().flat_map(|(level, schema, stats)| {
        let [queue_full, concurrency_limit, time_out, cancelled] = stats.rejected;
        let row =
            |reason: RejectReason, count| (labels(level, schema, "reason", reason.code()), count);
        [
            row(RejectReason::ConcurrencyLimit, concurrency_limit),
            row(RejectReason::QueueFull, queue_full),
            // A client that went away is a time-out there.
            row(RejectReason::TimeOut, time_out + cancelled),
        ]
    });
    families.counters(&named("rejected_requests"), "Number of requests rejected.", rejected)?;
    families.counters(
        &named("dispatched_requests"),
        "Number of requests dispatched.",
        by_schema(snapshot, |stats| stats.dispatched),
    )?;
    families.counters(
        &named("request_dispatch_no_accommodation"),
        "Number of times a dispatch attempt resulted in a non-accommodation because of too few free seats.",
        by_schema(snapshot, |stats| stats.not_accommodated),
    )?;
    type Row = (&'static str, &'static str, fn(&SchemaStats) -> u64);
    let gauges: [Row; 4] = [
        ("current_inqueue_requests", "Number of requests waiting in queues.", |stats| {
            stats.waiting
        }),
        ("current_inqueue_seats", "Number of seats requested by waiting requests.", |stats| {
            stats.seats_waiting
        }),
        ("current_executing_requests", "Number of requests that occupy seats.", |stats| {
            stats.executing
        }),
        ("current_executing_seats", "Number of seats in use.", |stats| stats.seats_executing),
    ];
    for (name, help, of) in gauges {
        families.gauges(&named(name), help, by_schema(snapshot, |stats| of(stats) as f64))?;
    }
    Ok(())
}

fn durations(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    type Pair = (&'static str, fn(&SchemaStats) -> &Histogram);
    let rows = |label, pair: [Pair; 2]| {
        snapshot.schemas().flat_map(move |(level, schema, stats)| {
            pair.map(|(value, of)| {
                (labels(level, schema, label, value), Buckets::seconds(of(stats)))
            })
        })
    };
    families.histograms(
        &named("request_wait_duration_seconds"),
        "Time that requests waited in queues, in seconds.",
        rows("execute", [("false", |stats| &stats.wait_rejected), ("true", |stats| &stats.wait)]),
    )?;
    families.histograms(
        &named("request_execution_seconds"),
        "Time that requests occupied seats, in seconds; of watches, until they were established.",
        rows(
            "type",
            [("regular", |stats| &stats.execution), ("watch", |stats| &stats.execution_watch)],
        ),
    )
}

fn sizes(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    families.histograms(
        &named("request_queue_length_after_enqueue"),
        "Length of a queue after a request was added.",
        by_schema(snapshot, |stats| Buckets::of(&stats.queue_length, 1.0)),
    )?;
    families.histograms(
        &named("work_estimated_seats"),
        "Estimated number of seats per request.",
        by_schema(snapshot, |stats| Buckets::of(&stats.seats, 1.0)),
    )?;
    let watches = snapshot.watch_counts.iter().map(|WatchCount { level, schema, counts }| {
        let labels = [("priority_level", &**level), ("flow_schema", &**schema)];
        (labels, Buckets::of(counts, 1.0))
    });
    families.histograms(
        &named("watch_count_samples"),
        "Number of watches notified of the change made by a request.",
        watches,
    )
}

/// Levels without queues have none.
fn virtual_time(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let level = |name| [("priority_level", name)];
    let epochs = snapshot.queues().map(|(snapshot, _)| {
        ([("priority_level", &*snapshot.name), ("success", "true")], snapshot.stats.epochs)
    });
    families.counters(
        &named("epoch_advance"),
        "Number of times the progress meter was reset.",
        epochs,
    )?;
    let r = snapshot.queues().map(|(snapshot, queues)| (level(&*snapshot.name), queues.r));
    families.gauges(&named("current_r"), "Progress meter R at the last change.", r)?;
    let at_dispatch = snapshot
        .queues()
        .map(|(snapshot, _)| (level(&*snapshot.name), snapshot.stats.dispatch_r.seat_seconds()));
    families.gauges(&named("dispatch_r"), "Progress meter R at the last dispatch.", at_dispatch)?;
    let latest = snapshot
        .queues()
        .map(|(snapshot, _)| (level(&*snapshot.name), snapshot.stats.latest_start.seat_seconds()));
    families.gauges(
        &named("latest_s"),
        "Virtual start time S of the request dispatched last.",
        latest,
    )?;
    let bounds = |of: fn(Queues) -> Option<Bounds>| {
        snapshot.queues().filter_map(move |(snapshot, queues)| Some((&*snapshot.name, of(queues)?)))
    };
    let rows = |(name, bounds): (_, Bounds)| {
        let labels = |bound| [("priority_level", name), ("bound", bound)];
        [(labels("max"), bounds.max), (labels("min"), bounds.min)]
    };
    families.gauges(
        &named("next_s_bounds"),
        "Minimum and maximum virtual start time S of the first requests in all queues.",
        bounds(|queues| queues.next_start).flat_map(rows),
    )?;
    families.gauges(
        &named("next_discounted_s_bounds"),
        "Minimum and maximum virtual start time S of the first requests in all queues, minus the estimated work in progress.",
        bounds(|queues| queues.next_discounted).flat_map(rows),
    )
}

fn limits(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    type Row = (&'static str, &'static str, fn(&LevelLimits) -> f64);
    let gauges: [Row; 9] = [
        ("nominal_limit_seats", "Nominal number of seats of the priority level.", |l| {
            l.limits.nominal.into()
        }),
        ("lower_limit_seats", "Minimum number of seats, after lending the maximum.", |l| {
            l.limits.min.into()
        }),
        ("upper_limit_seats", "Maximum number of seats, after borrowing the maximum.", |l| {
            l.limits.max.into()
        }),
        ("current_limit_seats", "Current limit on the number of seats.", |l| {
            l.limits.current.into()
        }),
        (
            "demand_seats_high_watermark",
            "Maximum seat demand in the last adjustment period.",
            |l| l.need.high_watermark.into(),
        ),
        ("demand_seats_average", "Average seat demand in the last adjustment period.", |l| {
            l.need.average
        }),
        (
            "demand_seats_stdev",
            "Standard deviation of the seat demand in the last adjustment period.",
            |l| l.need.stdev,
        ),
        ("demand_seats_smoothed", "Smoothed seat demand.", |l| l.need.smoothed),
        (
            "target_seats",
            "Target number of seats that the current limit is proportional to.",
            |l| l.need.target,
        ),
    ];
    for (name, help, of) in gauges {
        let rows = snapshot.limits.iter().map(|l| ([("priority_level", &*l.level)], of(l)));
        families.gauges(&named(name), help, rows)?;
    }
    let fair = [([], snapshot.fair_fraction)];
    families.gauges::<0>(
        &named("seat_fair_frac"),
        "Fair fraction of the target seats that each priority level gets.",
        fair,
    )
}

/// Each nanosecond is an observation.
fn utilizations(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let level = |name| ("priority_level", name);
    let seats = snapshot.levels.iter().map(|snapshot| {
        let labels = [("phase", "executing"), level(&*snapshot.name)];
        (labels, Buckets::weighted(&snapshot.stats.seats))
    });
    families.histograms(
        &named("priority_level_seat_utilization"),
        "Seats in use as a fraction of the nominal limit, sampled every nanosecond.",
        seats,
    )?;
    let requests = snapshot.levels.iter().flat_map(|snapshot| {
        let row = |phase, of: &Utilization| {
            ([("phase", phase), level(&*snapshot.name)], Buckets::weighted(of))
        };
        [row("executing", &snapshot.stats.executing), row("waiting", &snapshot.stats.waiting)]
    });
    families.histograms(
        &named("priority_level_request_utilization"),
        "Requests as a fraction of the maximum that can run or wait, sampled every nanosecond.",
        requests,
    )?;
    let demand = snapshot
        .levels
        .iter()
        .map(|snapshot| ([level(&*snapshot.name)], Buckets::weighted(&snapshot.stats.demand)));
    families.histograms(
        &named("demand_seats"),
        "Seat demand as a fraction of the nominal limit, sampled every nanosecond.",
        demand,
    )?;
    let in_flight = snapshot.in_flight.iter().map(|(phase, kind, reading)| {
        let labels = [("phase", *phase), ("request_kind", *kind)];
        let bounds = in_flight::BOUNDS.iter().copied();
        (labels, Buckets::new(bounds, &reading.nanos, reading.sum))
    });
    families.histograms(
        &named("read_vs_write_current_requests"),
        "Requests of the whole server as a fraction of the maximum that can run or wait, sampled every nanosecond.",
        in_flight,
    )
}

fn named(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn labels<'s>(
    level: &'s str,
    schema: &'s str,
    name: &'static str,
    value: &'s str,
) -> Labels<'s, 3> {
    [("priority_level", level), ("flow_schema", schema), (name, value)]
}

fn by_schema<T>(
    snapshot: &Snapshot,
    of: impl Fn(&SchemaStats) -> T,
) -> impl Iterator<Item = (Labels<'_, 2>, T)> {
    snapshot.schemas().map(move |(level, schema, stats)| {
        ([("priority_level", level), ("flow_schema", schema)], of(stats))
    })
}
