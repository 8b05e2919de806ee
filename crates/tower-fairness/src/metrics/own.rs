//! Metrics that neither the proposal nor Kubernetes has: responses that continue without seats.

use std::fmt;

use super::{
    families::{Families, Labels},
    snapshot::Snapshot,
};

pub(super) fn encode(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    families.gauges(
        "evenkeel_fairness_current_detached_requests",
        "Number of requests that exceeded the response hold, lost their seats and are still running.",
        snapshot
            .schemas()
            .map(|(level, schema, stats)| (labels(level, schema), stats.detached as f64)),
    )?;
    families.counters(
        "evenkeel_fairness_detached_requests",
        "Number of requests that exceeded the response hold and lost their seats.",
        snapshot
            .schemas()
            .map(|(level, schema, stats)| (labels(level, schema), stats.detached_total)),
    )?;
    families.gauges(
        "evenkeel_fairness_max_detached_requests",
        "Maximum number of requests of a priority level that can run without seats.",
        [([], f64::from(snapshot.max_detached))],
    )
}

fn labels<'s>(level: &'s str, schema: &'s str) -> Labels<'s, 2> {
    [("priority_level", level), ("flow_schema", schema)]
}
