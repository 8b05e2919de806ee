//! `list_width.jsonl`: the seats that a server counts for a request
//! (`apiserver_flowcontrol_work_estimated_seats`), with so many objects of that size stored, so many
//! watches open, and a level that allows a request so many seats.
//!
//! The objects are ConfigMaps, and changes are of Deployments: an estimate depends on the numbers only.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    client::{Client, LEVELS, SCHEMAS, schema},
    id, text,
};
use crate::{
    Report,
    apiserver::http::Answer,
    report::{Verdict, diff},
};

const FILE: &str = "list_width.jsonl over HTTP";
const OBJECTS: &str = "/api/v1/namespaces/default/configmaps";
const CHANGED: &str = "/apis/apps/v1/namespaces/default/deployments";
const WATCHED: &str = "/apis/apps/v1/deployments?watch=true";
const USER: &str = "sizer";
/// Shares of the default levels, and the seats of the server.
const OTHERS: f64 = 245.0;
const SEATS: f64 = 600.0;
const MOST_OBJECTS: u64 = 5_000;
const MOST_WATCHES: u64 = 250;
const MOST_SEATS: u64 = 50;
/// Of a ConfigMap without data, as stored; estimates are of hundreds of kilobytes.
const EMPTY: u64 = 150;

/// What a group of cases shares.
type Stored = (u64, u64);

pub(super) fn can_be_sent(case: &Value) -> bool {
    let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let has_switches = [
        "request_info_present",
        "size_based_list_cost",
        "watch_list_enabled",
        "consistent_read_from_cache",
    ]
    .iter()
    .all(|switch| case[switch] == true);
    let stats = &case["stats"];
    let (objects, size) = stored(case);
    has_switches
        && stats["error"] == ""
        && objects <= MOST_OBJECTS
        && (objects == 0 || size > EMPTY)
        && number(&case["interested_watches"]) <= MOST_WATCHES
        && number(&case["priority_level_max_seats"]) <= MOST_SEATS
        && text(case, "subresource").is_empty()
        && method(case).is_some()
}

pub(super) fn run(cases: &[Value], report: &mut Report) -> Result<(), String> {
    let mut groups = BTreeMap::<Stored, Vec<&Value>>::new();
    for case in cases.iter().filter(|case| can_be_sent(case)) {
        groups.entry(stored(case)).or_default().push(case);
    }
    let mut client = Client::start()?;
    for ((objects, size), mut own) in groups {
        // A single case is not worth thousands of objects.
        if objects > 0 && own.len() < 3 {
            continue;
        }
        if objects > 0 {
            client = Client::start()?;
            fill(&client, objects, size)?;
        }
        let number = |case: &Value, field: &str| case[field].as_u64().unwrap_or_default();
        own.sort_by_key(|case| {
            (number(case, "priority_level_max_seats"), number(case, "interested_watches"))
        });
        group(&client, &own, report)?;
    }
    Ok(())
}

/// Cases with the same objects, by the seats of the level and then by watches.
fn group(client: &Client, cases: &[&Value], report: &mut Report) -> Result<(), String> {
    let mut level = None;
    let mut watches: Vec<Answer> = Vec::new();
    for (round, case) in cases.iter().enumerate() {
        let most = case["priority_level_max_seats"].as_u64().unwrap_or_default();
        if level != Some(most) {
            client.put(LEVELS, &level_of(most))?;
            client.put(SCHEMAS, &schema(USER, USER, USER, 3))?;
            client.settle(round)?;
            (level, watches) = (Some(most), Vec::new());
        }
        let wanted = case["interested_watches"].as_u64().unwrap_or_default();
        while (watches.len() as u64) < wanted {
            watches.push(client.send(&client.message("GET", WATCHED, None))?);
        }
        let before = seats(client)?;
        let message = client.message(method(case).unwrap_or_default(), &target(case), None);
        client.send(&client.as_user(message, USER, &[]))?;
        let got = json!({"max_seats": seats(client)? - before});
        let wanted = json!({"max_seats": case["expect"]["max_seats"]});
        let diffs = diff("", &wanted, &got);
        let verdict = match diffs.is_empty() {
            true => Verdict::Passed,
            false => Verdict::Failed(diffs.join("\n")),
        };
        report.count(FILE, &id(case), verdict);
    }
    Ok(())
}

fn stored(case: &Value) -> Stored {
    let number = |field: &str| case["stats"][field].as_u64().unwrap_or_default();
    (number("object_count"), number("average_object_size_bytes"))
}

fn fill(client: &Client, objects: u64, size: u64) -> Result<(), String> {
    let data = "x".repeat(usize::try_from(size - EMPTY).unwrap_or_default());
    let object = |i: u64| {
        let object = json!({"metadata": {"name": format!("c{i:04}")}, "data": {"a": data}});
        client.message("POST", OBJECTS, Some(&object))
    };
    client.send_each((0..objects).map(object))
}

/// A level that allows a request so many seats; 0: it has no queues, and no such limit.
fn level_of(most: u64) -> Value {
    let nominal = (most as f64 / 0.15).floor().max(1.0);
    let shares = (nominal * OTHERS / (SEATS - nominal)).floor().max(1.0);
    let response = match most {
        0 => json!({"type": "Reject"}),
        _ => {
            json!({"type": "Queue", "queuing": {"queues": 8, "handSize": 1, "queueLengthLimit": 50}})
        }
    };
    json!({"metadata": {"name": USER}, "spec": {"type": "Limited", "limited": {
        "nominalConcurrencyShares": shares as u64, "limitResponse": response}}})
}

/// All seats that were estimated for the user's requests.
fn seats(client: &Client) -> Result<u64, String> {
    let (_, body) = client.ask("GET", "/metrics", None)?;
    let text = String::from_utf8_lossy(&body);
    let is_sum = |line: &&str| {
        line.starts_with("apiserver_flowcontrol_work_estimated_seats_sum{")
            && line.contains(&format!("flow_schema=\"{USER}\""))
    };
    let sums = text.lines().filter(is_sum).filter_map(|line| line.rsplit(' ').next());
    Ok(sums.filter_map(|sum| sum.parse::<f64>().ok()).sum::<f64>() as u64)
}

fn method(case: &Value) -> Option<&'static str> {
    Some(match text(case, "verb") {
        "get" | "list" | "watch" => "GET",
        "create" => "POST",
        "update" => "PUT",
        "patch" => "PATCH",
        "delete" | "deletecollection" => "DELETE",
        _ => return None,
    })
}

fn target(case: &Value) -> String {
    let (verb, name) = (text(case, "verb"), text(case, "name"));
    let mut query: Vec<(String, String)> = case["query"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    let path = match verb {
        "list" | "watch" => OBJECTS.to_owned(),
        "create" | "deletecollection" => CHANGED.to_owned(),
        _ => format!("{CHANGED}/web"),
    };
    if verb == "watch" {
        query.push(("watch".to_owned(), "true".to_owned()));
    }
    if !name.is_empty() && !query.iter().any(|(name, _)| name == "fieldSelector") {
        query.push(("fieldSelector".to_owned(), format!("metadata.name={name}")));
    }
    let encode = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    format!("{path}?{}", pairs.join("&"))
}
