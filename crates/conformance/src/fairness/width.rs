//! `list_width.jsonl`: how many seats requests take.

use std::collections::BTreeMap;

use evenkeel_fairness::{
    Request, Width,
    width::{Facts, Stored, Switches, estimate, widest},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

#[derive(Deserialize)]
struct Case {
    request_info_present: bool,
    verb: String,
    api_group: String,
    resource: String,
    subresource: String,
    name: String,
    query: BTreeMap<String, String>,
    stats: Stats,
    interested_watches: u32,
    priority_level_max_seats: u32,
    size_based_list_cost: bool,
    watch_list_enabled: bool,
    consistent_read_from_cache: bool,
    expect: Value,
}

#[derive(Deserialize)]
struct Stats {
    object_count: u64,
    average_object_size_bytes: u64,
    error: String,
}

pub(super) fn list_width(case: Value) -> Outcome {
    let case: Case = serde_json::from_value(case)?;
    let width = width(&case);
    let got = json!({
        "initial_seats": width.initial_seats,
        "final_seats": width.final_seats,
        "additional_latency_ns": width.additional_latency.as_nanos() as u64,
        "max_seats": width.max_seats(),
    });
    Ok(diff("", &case.expect, &got))
}

fn width(case: &Case) -> Width {
    let max_seats = Some(case.priority_level_max_seats).filter(|seats| *seats > 0);
    let switches = Switches {
        size_based_lists: case.size_based_list_cost,
        watch_lists: case.watch_list_enabled,
        consistent_reads_from_cache: case.consistent_read_from_cache,
    };
    if !case.request_info_present {
        return widest(max_seats, switches);
    }
    let query: Vec<(&str, &str)> =
        case.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let request = Request {
        verb: &case.verb,
        is_resource: true,
        api_group: &case.api_group,
        resource: &case.resource,
        subresource: &case.subresource,
        name: &case.name,
        ..Request::default()
    };
    let (stored, watches) = (case.stats.stored(), case.interested_watches);
    estimate(&request, &Facts { query: &query, stored, watches, max_seats, switches })
}

impl Stats {
    fn stored(&self) -> Stored {
        match self.error.as_str() {
            "" => Stored::Counted {
                objects: self.object_count,
                average_bytes: self.average_object_size_bytes,
            },
            "not_found" => Stored::Unknown,
            _ => Stored::Stale,
        }
    }
}
