//! An API server on which one user has nearly all seats and queues of a level, and two others wait behind it.

use std::{collections::BTreeMap, fmt::Write as _};

use evenkeel_fairness::dialect::kubernetes;
use jiff::{Timestamp, ToSpan as _};
use serde_json::Value;

pub(crate) const ELEPHANT: &str = "system:serviceaccount:batch:elephant";
const MICE: [&str; 2] = ["system:serviceaccount:shop:web", "system:serviceaccount:shop:cart"];
const LEVEL: &str = "workload-low";
const SCHEMA: &str = "service-accounts";
const NEVER: &str = "0001-01-01T00:00:00Z";

/// Nominal seats and those that a level may use now: one has lent two to another.
const LEVELS: [(&str, u32, u32); 8] = [
    (LEVEL, 8, 6),
    ("workload-high", 12, 14),
    ("system", 9, 9),
    ("node-high", 12, 12),
    ("leader-election", 3, 3),
    ("global-default", 6, 6),
    ("catch-all", 2, 2),
    ("exempt", 0, 0),
];

/// Kubernetes' default FlowSchemas and levels.
pub(crate) fn objects() -> Vec<Value> {
    let kubernetes::Defaults { levels, schemas } = kubernetes::defaults();
    let levels = serde_json::to_value(levels).unwrap();
    let schemas = serde_json::to_value(schemas).unwrap();
    let mut objects = Vec::new();
    for (kind, list) in [("PriorityLevelConfiguration", levels), ("FlowSchema", schemas)] {
        for mut object in list.as_array().unwrap().clone() {
            object["kind"] = kind.into();
            objects.push(object);
        }
    }
    objects
}

/// Dumps and metrics as kube-apiserver writes them.
pub(crate) fn texts() -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("/debug/api_priority_and_fairness/dump_priority_levels", levels()),
        ("/debug/api_priority_and_fairness/dump_queues", queues()),
        ("/debug/api_priority_and_fairness/dump_requests", requests(Timestamp::now())),
        ("/metrics", metrics()),
    ])
}

fn levels() -> String {
    let head = "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests\n";
    let mut text = format!("{head}{LEVEL}, 5, false, false, 12, 6\n");
    for (level, ..) in &LEVELS[1..] {
        writeln!(text, "{level}, 0, true, false, 0, 0").unwrap();
    }
    text
}

/// Index, waiting and executing requests of those that have any.
const BUSY: [(usize, u32, u32); 5] = [(3, 5, 2), (17, 4, 2), (40, 1, 1), (99, 2, 1), (100, 0, 1)];

fn queues() -> String {
    let mut text =
        "PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR\n"
            .to_owned();
    for index in 0..128 {
        let busy = BUSY.iter().find(|(at, ..)| *at == index);
        let (waits, runs) = busy.map_or((0, 0), |(_, waits, runs)| (*waits, *runs));
        writeln!(text, "{LEVEL}, {index}, {waits}, {runs}, {runs}, 0.0ss").unwrap();
    }
    text
}

fn requests(now: Timestamp) -> String {
    let mut text = "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, \
                    InitialSeats, FinalSeats, AdditionalLatency, StartTime\n"
        .to_owned();
    let mut add = |flow: &str, ago: i64, runs: bool| {
        let start = if runs { now.to_string() } else { NEVER.to_owned() };
        let came = now - ago.milliseconds();
        writeln!(text, "{LEVEL}, {SCHEMA}, 0, -1, {flow}, {came}, 1, 0, 0s, {start}").unwrap();
    };
    (0..10).for_each(|i| add(ELEPHANT, 1400 - i, false));
    (0..4).for_each(|_| add(ELEPHANT, 2000, true));
    for mouse in MICE {
        add(mouse, 30, false);
        add(mouse, 5, true);
    }
    text
}

fn metrics() -> String {
    let mut text = String::new();
    for (level, nominal, limit) in LEVELS {
        for (series, seats) in
            [("nominal", nominal), ("lower", 2), ("upper", 20), ("current", limit)]
        {
            let name = format!("apiserver_flowcontrol_{series}_limit_seats");
            writeln!(text, "{name}{{priority_level={level:?}}} {seats}").unwrap();
        }
    }
    let labels = format!("flow_schema={SCHEMA:?},priority_level={LEVEL:?}");
    for (series, more, value) in [
        ("current_executing_seats", "", 6),
        ("dispatched_requests_total", "", 900),
        ("rejected_requests_total", ",reason=\"queue-full\"", 40),
    ] {
        writeln!(text, "apiserver_flowcontrol_{series}{{{labels}{more}}} {value}").unwrap();
    }
    text
}
