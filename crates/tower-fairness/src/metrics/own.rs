//! What neither the proposal nor Kubernetes counts: responses that go on without seats.

use std::fmt;

use super::{
    families::{Families, Labels},
    snapshot::Snapshot,
};

pub(super) fn encode(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    families.gauges(
        "evenkeel_fairness_current_detached_requests",
        "Requests that lost their seats to the response hold and still run.",
        snapshot
            .schemas()
            .map(|(level, schema, stats)| (labels(level, schema), stats.detached as f64)),
    )?;
    families.counters(
        "evenkeel_fairness_detached_requests",
        "Requests that lost their seats to the response hold.",
        snapshot
            .schemas()
            .map(|(level, schema, stats)| (labels(level, schema), stats.detached_total)),
    )?;
    families.gauges(
        "evenkeel_fairness_max_detached_requests",
        "How many requests of a priority level may run without seats.",
        [([], f64::from(snapshot.max_detached))],
    )
}

fn labels<'s>(level: &'s str, schema: &'s str) -> Labels<'s, 2> {
    [("priority_level", level), ("flow_schema", schema)]
}
