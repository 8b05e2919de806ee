//! The metrics of today's Kubernetes, by its names and labels.

use std::fmt;

use evenkeel_fairness::{
    dispatcher::LevelLimits,
    queues::stats::{Histogram, Refusal, SchemaStats, Utilization},
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
        let [queue_full, concurrency_limit, time_out, cancelled] = stats.refused;
        let row =
            |refusal: Refusal, count| (labels(level, schema, "reason", refusal.code()), count);
        [
            row(Refusal::ConcurrencyLimit, concurrency_limit),
            row(Refusal::QueueFull, queue_full),
            // A client that went away is a time-out there.
            row(Refusal::TimeOut, time_out + cancelled),
        ]
    });
    families.counters(&named("rejected_requests"), "Requests that were not served.", rejected)?;
    families.counters(
        &named("dispatched_requests"),
        "Requests that got their seats.",
        by_schema(snapshot, |stats| stats.dispatched),
    )?;
    families.counters(
        &named("request_dispatch_no_accommodation"),
        "How often the next request did not fit into the free seats.",
        by_schema(snapshot, |stats| stats.not_accommodated),
    )?;
    type Row = (&'static str, &'static str, fn(&SchemaStats) -> u64);
    let gauges: [Row; 4] = [
        ("current_inqueue_requests", "Requests that wait.", |stats| stats.waiting),
        ("current_inqueue_seats", "Seats that waiting requests will take.", |stats| {
            stats.seats_waiting
        }),
        ("current_executing_requests", "Requests that hold seats.", |stats| stats.executing),
        ("current_executing_seats", "Seats in use.", |stats| stats.seats_executing),
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
        "How long requests waited.",
        rows("execute", [("false", |stats| &stats.wait_refused), ("true", |stats| &stats.wait)]),
    )?;
    families.histograms(
        &named("request_execution_seconds"),
        "How long requests held their seats, watches until they were set up.",
        rows(
            "type",
            [("regular", |stats| &stats.execution), ("watch", |stats| &stats.execution_watch)],
        ),
    )
}

fn sizes(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    families.histograms(
        &named("request_queue_length_after_enqueue"),
        "How many waited in its queue once a request had joined.",
        by_schema(snapshot, |stats| Buckets::of(&stats.queue_length, 1.0)),
    )?;
    families.histograms(
        &named("work_estimated_seats"),
        "How many seats requests were estimated at.",
        by_schema(snapshot, |stats| Buckets::of(&stats.seats, 1.0)),
    )?;
    let watches = snapshot.watch_counts.iter().map(|WatchCount { level, schema, counts }| {
        let labels = [("priority_level", &**level), ("flow_schema", &**schema)];
        (labels, Buckets::of(counts, 1.0))
    });
    families.histograms(
        &named("watch_count_samples"),
        "How many watches were told of what a request changed.",
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
        "How often the progress meter was wound back.",
        epochs,
    )?;
    let r = snapshot.queues().map(|(snapshot, queues)| (level(&*snapshot.name), queues.r));
    families.gauges(&named("current_r"), "The progress meter R at the last change.", r)?;
    let at_dispatch = snapshot
        .queues()
        .map(|(snapshot, _)| (level(&*snapshot.name), snapshot.stats.dispatch_r.seat_seconds()));
    families.gauges(&named("dispatch_r"), "R at the last dispatch.", at_dispatch)?;
    let latest = snapshot
        .queues()
        .map(|(snapshot, _)| (level(&*snapshot.name), snapshot.stats.latest_start.seat_seconds()));
    families.gauges(&named("latest_s"), "S of the request dispatched last.", latest)?;
    let bounds = |of: fn(Queues) -> Option<Bounds>| {
        snapshot.queues().filter_map(move |(snapshot, queues)| Some((&*snapshot.name, of(queues)?)))
    };
    let rows = |(name, bounds): (_, Bounds)| {
        let labels = |bound| [("priority_level", name), ("bound", bound)];
        [(labels("max"), bounds.max), (labels("min"), bounds.min)]
    };
    families.gauges(
        &named("next_s_bounds"),
        "Least and greatest S of the requests that are next in their queues.",
        bounds(|queues| queues.next_start).flat_map(rows),
    )?;
    families.gauges(
        &named("next_discounted_s_bounds"),
        "The same less the work that is estimated to be in progress.",
        bounds(|queues| queues.next_discounted).flat_map(rows),
    )
}

fn limits(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    type Row = (&'static str, &'static str, fn(&LevelLimits) -> f64);
    let gauges: [Row; 9] = [
        ("nominal_limit_seats", "Seats by configuration.", |l| l.limits.nominal.into()),
        ("lower_limit_seats", "Seats that others can't borrow.", |l| l.limits.min.into()),
        ("upper_limit_seats", "Seats with all that may be borrowed.", |l| l.limits.max.into()),
        ("current_limit_seats", "Seats that may be used now.", |l| l.limits.current.into()),
        (
            "demand_seats_high_watermark",
            "Most seats wanted at once in the last period of adjustment.",
            |l| l.need.high_watermark.into(),
        ),
        ("demand_seats_average", "Seats wanted in that period, on average.", |l| l.need.average),
        ("demand_seats_stdev", "Standard deviation of that.", |l| l.need.stdev),
        ("demand_seats_smoothed", "Seats wanted, falling slowly.", |l| l.need.smoothed),
        ("target_seats", "What the current limit is to be proportional to.", |l| l.need.target),
    ];
    for (name, help, of) in gauges {
        let rows = snapshot.limits.iter().map(|l| ([("priority_level", &*l.level)], of(l)));
        families.gauges(&named(name), help, rows)?;
    }
    let fair = [([], snapshot.fair_fraction)];
    families.gauges::<0>(
        &named("seat_fair_frac"),
        "The fraction of its target that each level got.",
        fair,
    )
}

/// Of these a nanosecond is an observation.
fn utilizations(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let level = |name| ("priority_level", name);
    let seats = snapshot.levels.iter().map(|snapshot| {
        let labels = [("phase", "executing"), level(&*snapshot.name)];
        (labels, Buckets::weighted(&snapshot.stats.seats))
    });
    families.histograms(
        &named("priority_level_seat_utilization"),
        "Seats in use as a fraction of the nominal limit.",
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
        "Requests as a fraction of the most that may run or wait.",
        requests,
    )?;
    let demand = snapshot
        .levels
        .iter()
        .map(|snapshot| ([level(&*snapshot.name)], Buckets::weighted(&snapshot.stats.demand)));
    families.histograms(
        &named("demand_seats"),
        "Seats wanted as a fraction of the nominal limit.",
        demand,
    )?;
    let in_flight = snapshot.in_flight.iter().map(|(phase, kind, reading)| {
        let labels = [("phase", *phase), ("request_kind", *kind)];
        let bounds = in_flight::BOUNDS.iter().copied();
        (labels, Buckets::new(bounds, &reading.nanos, reading.sum))
    });
    families.histograms(
        &named("read_vs_write_current_requests"),
        "Requests of the whole server as a fraction of the most that may run or wait.",
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
