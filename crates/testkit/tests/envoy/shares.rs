//! Predicted shares against measured ones, within 3 points.

use std::{num::NonZeroU32, sync::Arc};

use evenkeel_locality::predict::{
    Balancing, DEFAULT_PANIC_THRESHOLD, Member, Pick, Prediction, predict, predict_aggregate,
};
use evenkeel_model::mesh::{EndpointHealth, Group, LoadAssignment, MeshEndpoint, Tags};
use evenkeel_testkit::envoy::{Answers, Envoy, Requests, Server};
use serde_json::{Value, json};

use crate::bootstrap::{bootstrap, cluster, listener, load_assignment};

/// More than five standard deviations of a share fit into [`POINTS`].
const REQUESTS: usize = 8_000;
const POINTS: f64 = 0.03;

/// Name, factor, flags, groups. A group `0 a 900 HUX` has priority 0, zone `a`, weight 900 (`-`: none),
/// and one healthy, one unhealthy and one draining endpoint; `D` is degraded.
type Row = (&'static str, u32, &'static str, &'static [&'static str]);

#[test]
fn priorities_take_what_is_predicted() {
    check(&[
        ("at-the-threshold", 200, "", &["0 a - HU", "1 b - HH"]),
        ("below-the-threshold", 200, "", &["0 a - HUU", "1 b - HH"]),
        ("three", 140, "", &["0 a - HHHUUUUUUU", "1 b - HUUU", "2 c - HHH"]),
        ("gap", 200, "", &["0 a - HHHUUUUUUU", "4 b - HH"]),
        ("draining", 100, "", &["0 a - HHUXXX", "1 b - HH"]),
        ("degraded", 100, "", &["0 a - HDDDUU"]),
    ]);
}

#[test]
fn groups_take_what_is_predicted() {
    check(&[
        ("half-a-node", 140, "weighted", &["0 n 900 HU", "0 z 90 HH", "0 r 10 HH"]),
        ("without-weight", 200, "weighted", &["0 a 900 HUUU", "0 b 90 UUUU", "1 c - HH"]),
        ("one-without-weight", 140, "weighted", &["0 a 9 HU", "0 b - HH"]),
        ("degraded-groups", 100, "weighted", &["0 a 90 HDDD", "0 b 10 DDDU"]),
        ("random", 140, "weighted random", &["0 a 9 HU", "0 b 3 HHH"]),
    ]);
}

#[test]
fn panic_is_as_predicted() {
    check(&[
        ("one-panics", 140, "", &["0 a - HUUUUUUUUU", "1 b - HHUU"]),
        ("total", 140, "", &["0 a - HUUUU", "1 b - UXU"]),
        ("groups-in-panic", 200, "weighted", &["0 a 90 HUUU", "0 b 10 UUUU"]),
        ("off", 140, "panic0", &["0 a - HUUUUUUUUU", "1 b - HUUU"]),
        ("all-dead", 140, "panic0", &["0 a - UU", "1 b - U"]),
        ("rounds-to-nothing", 1, "", &["0 a - UU", "1 b - HU"]),
        ("rounds-to-nothing-in-a-gap", 1, "", &["2 a - HU"]),
    ]);
}

#[test]
fn hashing_is_as_predicted() {
    check(&[
        ("half", 140, "weighted hash", &["0 a 900 HU", "0 b 90 HH", "0 c 10 HH"]),
        ("panic", 200, "weighted hash", &["0 a 90 HUUU", "0 b 10 UUUU"]),
        ("no-weights", 200, "weighted hash", &["0 a 900 UU", "1 b - HH"]),
        ("some-weights", 140, "weighted hash", &["0 a 9 HUU", "0 b - HH"]),
        ("degraded-hash", 140, "hash", &["0 a - DD", "1 b - UU"]),
    ]);
}

/// Members by factor, flags and groups.
type Members = &'static [(u32, &'static str, &'static [&'static str])];

#[test]
fn aggregates_are_as_predicted() {
    let rows: &[(&str, Members)] = &[
        ("member-panics", &[(140, "", &["0 a - HHHHUUUUUU"]), (140, "", &["0 b - HH"])]),
        ("all-dead", &[(140, "", &["0 a - UUUUUU"]), (140, "", &["0 b - UU"])]),
        ("mixed", &[(140, "panic0", &["0 a - HUUUUUUUUU"]), (140, "", &["0 b - HUUUU"])]),
        ("degraded", &[(100, "", &["0 a - HDDU"]), (100, "", &["0 b - HUUU"])]),
        ("empty", &[(140, "", &[]), (140, "", &["0 b - HU"])]),
        ("two", &[(140, "", &["0 a - HUUU", "1 b - HUUU"]), (140, "", &["0 c - HH"])]),
    ];
    let servers = servers();
    let (mut clusters, mut built) = (Vec::new(), Vec::new());
    for (name, members) in rows {
        let mut rest = &servers[..];
        let mut names = Vec::new();
        let mut assignments = Vec::new();
        for (index, (factor, flags, groups)) in members.iter().enumerate() {
            let assignment = assignment(*factor, groups, &mut rest);
            names.push(format!("{name}-{index}"));
            clusters.push(cluster_of(&names[index], flags, &assignment));
            assignments.push((assignment, balancing(flags)));
        }
        clusters.push(aggregate(name, &names));
        built.push((*name, assignments));
    }
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    let envoy = Envoy::start(&bootstrap(&[listener(&names)], &clusters));
    for (name, assignments) in &built {
        let members = assignments.iter();
        let members: Vec<Member<'_>> =
            members.map(|(assignment, b)| Member { assignment, balancing: *b }).collect();
        let aggregate = predict_aggregate(&members, DEFAULT_PANIC_THRESHOLD);
        let answers = send(&envoy, name);
        for ((assignment, _), member) in assignments.iter().zip(&aggregate.members) {
            compare(name, &servers, assignment, member, &answers);
        }
        near(name, "errors", answers.share_of_status(503), aggregate.errors);
    }
}

fn check(rows: &[Row]) {
    let servers = servers();
    let assignments: Vec<LoadAssignment> = rows
        .iter()
        .map(|(_, factor, _, groups)| assignment(*factor, groups, &mut &servers[..]))
        .collect();
    let clusters = rows.iter().zip(&assignments);
    let clusters: Vec<Value> =
        clusters.map(|((name, _, flags, _), all)| cluster_of(name, flags, all)).collect();
    let names: Vec<&str> = rows.iter().map(|(name, ..)| *name).collect();
    let envoy = Envoy::start(&bootstrap(&[listener(&names)], &clusters));
    for ((name, _, flags, _), assignment) in rows.iter().zip(&assignments) {
        let prediction = predict(assignment, &balancing(flags));
        let answers = send(&envoy, name);
        compare(name, &servers, assignment, &prediction, &answers);
        near(name, "errors", answers.share_of_status(503), prediction.errors);
    }
}

fn send(envoy: &Envoy, cluster: &str) -> Answers {
    let requests = Requests::new(REQUESTS).kept_alive().path(&format!("/{cluster}/"));
    let answers = requests.http(envoy.listener("web"));
    assert_eq!(answers.total(), REQUESTS);
    assert!(answers.failures.is_empty(), "{cluster}: {:?}", answers.failures);
    answers
}

fn compare(
    row: &str,
    servers: &[Server],
    assignment: &LoadAssignment,
    prediction: &Prediction,
    answers: &Answers,
) {
    for (group, shares) in assignment.groups.iter().zip(&prediction.groups) {
        for (endpoint, &share) in group.endpoints.iter().zip(&shares.endpoints) {
            let server = servers.iter().find(|s| s.address() == endpoint.address).unwrap();
            near(row, server.name(), answers.share(server.name()), share);
        }
    }
}

fn near(row: &str, of: &str, measured: f64, predicted: f64) {
    let wrong = (measured - predicted).abs() > POINTS || (predicted == 0.0 && measured > 0.0);
    assert!(!wrong, "{row}: share of {of} is {measured}, predicted {predicted}");
}

/// Enough for the longest row. Clusters of different rows share them.
fn servers() -> Vec<Server> {
    (0..18).map(|index| Server::http(&format!("server-{index}"))).collect()
}

/// Takes servers from the front.
fn assignment(factor: u32, groups: &[&str], servers: &mut &[Server]) -> LoadAssignment {
    let groups = groups.iter().map(|text| group(text, servers)).collect();
    LoadAssignment { groups, overprovisioning_factor: NonZeroU32::new(factor) }
}

fn group(text: &str, servers: &mut &[Server]) -> Group {
    let words: Vec<&str> = text.split(' ').collect();
    let [priority, zone, weight, endpoints] = words[..] else { panic!("not a group: {text}") };
    let zone: Option<Arc<str>> = Some(zone.into());
    let endpoints = endpoints.chars().map(|letter| {
        let (server, rest) = servers.split_first().expect("there are enough servers");
        *servers = rest;
        let health = match letter {
            'H' => EndpointHealth::Healthy,
            'U' => EndpointHealth::Unhealthy,
            'X' => EndpointHealth::Draining,
            'D' => EndpointHealth::Degraded,
            other => panic!("no health: {other}"),
        };
        let (address, zone) = (server.address(), zone.clone());
        Arc::new(MeshEndpoint { address, zone, tags: Tags::default(), weight: None, health })
    });
    let endpoints = endpoints.collect();
    let (priority, weight) = (priority.parse().unwrap(), weight.parse().ok());
    Group { priority, weight, zone, sub_zone: "".into(), endpoints }
}

fn balancing(flags: &str) -> Balancing {
    let has = |flag| flags.split(' ').any(|word| word == flag);
    let pick = match (has("hash"), has("random")) {
        (true, _) => Pick::Hashed,
        (_, true) => Pick::Uniform,
        _ => Pick::Weighted,
    };
    let panic_threshold = if has("panic0") { 0 } else { DEFAULT_PANIC_THRESHOLD };
    Balancing { locality_weighted: has("weighted"), panic_threshold, pick }
}

fn cluster_of(name: &str, flags: &str, assignment: &LoadAssignment) -> Value {
    let balancing = balancing(flags);
    let mut cluster = cluster(name, &load_assignment(name, assignment));
    cluster["lb_policy"] = match balancing.pick {
        Pick::Weighted => json!("ROUND_ROBIN"),
        Pick::Uniform => json!("RANDOM"),
        Pick::Hashed => json!("MAGLEV"),
    };
    let common = &mut cluster["common_lb_config"];
    *common = json!({"healthy_panic_threshold": {"value": balancing.panic_threshold}});
    if balancing.locality_weighted {
        common["locality_weighted_lb_config"] = json!({});
    }
    cluster
}

fn aggregate(name: &str, members: &[String]) -> Value {
    let config = "type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig";
    json!({
        "name": name,
        "connect_timeout": "5s",
        "lb_policy": "CLUSTER_PROVIDED",
        "cluster_type": {
            "name": "envoy.clusters.aggregate",
            "typed_config": {"@type": config, "clusters": members},
        },
    })
}
