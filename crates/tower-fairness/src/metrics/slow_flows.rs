//! Metrics of slow flows, which neither the proposal nor Kubernetes has. Levels without queues have
//! none, nor have profiles that treat all flows alike.

use std::fmt;

use evenkeel_fairness::queues::SlowFlowsDump;

use super::{families::Families, snapshot::Snapshot};

pub(super) fn encode(snapshot: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let rows = |of: fn(&SlowFlowsDump, u32) -> f64| {
        snapshot.levels.iter().filter_map(move |level| {
            let value = of(level.slow_flows.as_ref()?, level.limit);
            Some(([("priority_level", &*level.name)], value))
        })
    };
    families.gauges(
        "evenkeel_fairness_held_back_requests",
        "Number of waiting requests of slow flows that are held back because slow flows reached their seat limit.",
        rows(|slow, _| slow.held_back.into()),
    )?;
    families.gauges(
        "evenkeel_fairness_slow_flow_seats",
        "Number of seats occupied by slow flows.",
        rows(|slow, _| slow.seats_in_use as f64),
    )?;
    families.gauges(
        "evenkeel_fairness_slow_flow_limit_seats",
        "Current limit on the number of seats for slow flows: all seats of the priority level while no other flow is active.",
        rows(|slow, limit| slow.cap.unwrap_or(limit).into()),
    )
}
