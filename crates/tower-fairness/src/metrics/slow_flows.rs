//! What becomes of slow flows, by names of our own: neither the proposal nor Kubernetes tells them
//! apart. Levels without queues have none, nor have profiles that treat all flows alike.

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
        "Requests of slow flows that wait because slow flows hold as many seats as they may.",
        rows(|slow, _| slow.held_back.into()),
    )?;
    families.gauges(
        "evenkeel_fairness_slow_flow_seats",
        "Seats that slow flows hold.",
        rows(|slow, _| slow.seats_in_use as f64),
    )?;
    families.gauges(
        "evenkeel_fairness_slow_flow_limit_seats",
        "Most seats that slow flows may hold now: all of the level's while no other flow is active.",
        rows(|slow, limit| slow.cap.unwrap_or(limit).into()),
    )
}
