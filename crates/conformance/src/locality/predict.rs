//! `envoy_truth.jsonl` and `aggregate_truth.jsonl`: predicted shares against those that a real Envoy
//! gave, and against the formula of the recording.

use std::{
    collections::BTreeMap,
    net::{Ipv6Addr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
};

use evenkeel_locality::predict::{
    Balancing, DEFAULT_PANIC_THRESHOLD, Member, Pick, Prediction, PriorityShare, ShareReason,
    predict, predict_aggregate,
};
use evenkeel_model::mesh::{EndpointHealth, Group, LoadAssignment, MeshEndpoint, Tags};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::diff;

type Shares = BTreeMap<String, f64>;

#[derive(Deserialize)]
pub(super) struct Case {
    input: ClusterCase,
    measured: Measured,
    predicted: Predicted,
    samples: u32,
}

#[derive(Deserialize)]
pub(super) struct AggregateCase {
    members_in_order: Vec<ClusterCase>,
    measured: Shares,
    samples: u32,
}

#[derive(Deserialize)]
struct ClusterCase {
    #[serde(default)]
    name: String,
    overprovisioning_factor: Option<NonZeroU32>,
    healthy_panic_threshold: Option<u8>,
    locality_weighted: bool,
    lb_policy: Option<String>,
    localities: Vec<GroupCase>,
}

#[derive(Deserialize)]
struct GroupCase {
    priority: u32,
    zone: Option<Arc<str>>,
    sub_zone: Arc<str>,
    weight: Option<NonZeroU32>,
    endpoints: Vec<EndpointCase>,
}

#[derive(Deserialize)]
struct EndpointCase {
    name: String,
    health: String,
    weight: Option<NonZeroU32>,
}

#[derive(Deserialize)]
struct Measured {
    #[serde(flatten)]
    shares: AllShares,
}

#[derive(Deserialize)]
struct Predicted {
    #[serde(flatten)]
    shares: AllShares,
    priority_load: Value,
    priority_availability: Value,
    panic: Value,
}

#[derive(Default, Deserialize)]
struct AllShares {
    by_priority: Shares,
    by_locality: Shares,
    by_endpoint: Shares,
    errors: f64,
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let assignment = case.input.assignment();
    let balancing = case.input.balancing();
    let prediction = predict(&assignment, &balancing);
    let ours = AllShares::of(&case.input, &prediction);
    let mut diffs = case.compare_with_measured(&ours, balancing.pick);
    let AllShares { by_priority, by_locality, by_endpoint, errors } = &case.predicted.shares;
    diffs.extend(compare("predicted.by_priority", by_priority, &ours.by_priority, as_written));
    diffs.extend(compare("predicted.by_locality", by_locality, &ours.by_locality, as_written));
    diffs.extend(compare("predicted.by_endpoint", by_endpoint, &ours.by_endpoint, as_written));
    diffs.extend(diff("predicted.errors", &json!(errors), &json!(ours.errors)));
    let loads = list(&prediction, |p| json!(p.map_or(0, |p| p.load)));
    diffs.extend(diff("priority_load", &case.predicted.priority_load, &loads));
    let availability = list(&prediction, |p| json!(p.map_or(0, |p| p.availability)));
    diffs.extend(diff(
        "priority_availability",
        &case.predicted.priority_availability,
        &availability,
    ));
    let in_gap = is_short(&prediction) && balancing.panic_threshold > 0;
    let panic = list(&prediction, |p| json!(p.map_or(in_gap, |p| p.panic)));
    diffs.extend(diff("panic", &case.predicted.panic, &panic));
    diffs
}

pub(super) fn run_aggregate(case: &AggregateCase) -> Vec<String> {
    let assignments: Vec<_> = case.members_in_order.iter().map(ClusterCase::assignment).collect();
    let members = case.members_in_order.iter().zip(&assignments);
    let members = members.map(|(cluster, assignment)| {
        let balancing = cluster.balancing();
        Member { assignment, balancing }
    });
    let members: Vec<Member<'_>> = members.collect();
    let aggregate = predict_aggregate(&members, DEFAULT_PANIC_THRESHOLD);

    let mut ours = Shares::from([("error 503".to_owned(), aggregate.errors)]);
    for (cluster, member) in case.members_in_order.iter().zip(&aggregate.members) {
        // The recording has shares of a member, or of each of its endpoints.
        let own = format!("{}:", cluster.name);
        if !case.measured.keys().any(|key| key.starts_with(&own)) {
            ours.insert(cluster.name.clone(), member.share());
            continue;
        }
        let by_endpoint = AllShares::of(cluster, member).by_endpoint;
        ours.extend(by_endpoint.into_iter().map(|(name, share)| (format!("{own}{name}"), share)));
    }
    // What the recording leaves out was 0.
    let mut measured = case.measured.clone();
    for key in ours.keys() {
        measured.entry(key.clone()).or_insert(0.0);
    }
    compare("measured", &measured, &ours, |m, p| is_likely(m, p, case.samples))
}

/// One value for each number up to the last priority, also for those without groups.
fn list(prediction: &Prediction, value: impl Fn(Option<&PriorityShare>) -> Value) -> Value {
    let last = prediction.priorities.last().map_or(0, |p| p.priority);
    let at = |n| prediction.priorities.iter().find(|p| p.priority == n);
    (0..=last).map(|n| value(at(n))).collect()
}

/// All priorities together can't take all traffic.
fn is_short(prediction: &Prediction) -> bool {
    let short =
        |r: &ShareReason| matches!(r, ShareReason::TotalPanic | ShareReason::LoadsScaledUp { .. });
    prediction.reasons.iter().any(short)
}

/// Equal keys, and values that agree.
fn compare(
    path: &str,
    expected: &Shares,
    ours: &Shares,
    agree: impl Fn(f64, f64) -> bool,
) -> Vec<String> {
    let all: BTreeMap<&String, (Option<&f64>, Option<&f64>)> = expected
        .keys()
        .chain(ours.keys())
        .map(|key| (key, (expected.get(key), ours.get(key))))
        .collect();
    let differs = |pair: &(Option<&f64>, Option<&f64>)| match *pair {
        (Some(expected), Some(ours)) => !agree(*expected, *ours),
        _ => true,
    };
    let differing = all.into_iter().filter(|(_, pair)| differs(pair));
    differing.map(|(key, (e, o))| format!("{path}.{key}:\n  - {e:?}\n  + {o:?}")).collect()
}

/// The recording has five digits.
fn as_written(expected: f64, ours: f64) -> bool {
    (expected - ours).abs() <= 0.5e-5 + 1e-12
}

/// Within 4.5 standard deviations and 1.5 requests, and exactly 0 where 0 is predicted.
fn is_likely(measured: f64, predicted: f64, samples: u32) -> bool {
    let samples = f64::from(samples);
    let deviation = (samples * predicted * (1.0 - predicted).max(0.0)).sqrt();
    let within = (measured - predicted).abs() * samples <= 4.5 * deviation + 1.5;
    within && (predicted > 0.0 || measured == 0.0)
}

// === impl Case ===

impl Case {
    fn compare_with_measured(&self, ours: &AllShares, pick: Pick) -> Vec<String> {
        let likely = |measured, predicted| is_likely(measured, predicted, self.samples);
        let AllShares { by_priority, by_locality, by_endpoint, errors } = &self.measured.shares;
        let mut diffs = compare("measured.by_priority", by_priority, &ours.by_priority, likely);
        diffs.extend(compare("measured.by_locality", by_locality, &ours.by_locality, likely));
        if pick != Pick::Hashed {
            diffs.extend(compare("measured.by_endpoint", by_endpoint, &ours.by_endpoint, likely));
        }
        if !likely(*errors, ours.errors) {
            diffs.extend(diff("measured.errors", &json!(errors), &json!(ours.errors)));
        }
        diffs
    }
}

// === impl ClusterCase ===

impl ClusterCase {
    fn balancing(&self) -> Balancing {
        Balancing {
            locality_weighted: self.locality_weighted,
            panic_threshold: self.healthy_panic_threshold.unwrap_or(DEFAULT_PANIC_THRESHOLD),
            pick: match self.lb_policy.as_deref() {
                None | Some("ROUND_ROBIN" | "LEAST_REQUEST") => Pick::Weighted,
                Some("RANDOM") => Pick::Uniform,
                Some("RING_HASH" | "MAGLEV") => Pick::Hashed,
                Some(other) => panic!("no load balancer: {other}"),
            },
        }
    }

    fn assignment(&self) -> LoadAssignment {
        let mut address = 0_u128;
        let groups = self.localities.iter().map(|group| Group {
            priority: group.priority,
            weight: group.weight,
            zone: group.zone.clone(),
            sub_zone: Arc::clone(&group.sub_zone),
            endpoints: group
                .endpoints
                .iter()
                .map(|endpoint| {
                    address += 1;
                    Arc::new(endpoint.endpoint(address, group.zone.clone()))
                })
                .collect(),
        });
        let groups = groups.collect();
        LoadAssignment { groups, overprovisioning_factor: self.overprovisioning_factor }
    }
}

impl EndpointCase {
    fn endpoint(&self, address: u128, zone: Option<Arc<str>>) -> MeshEndpoint {
        let health = match &*self.health {
            "HEALTHY" | "UNKNOWN" => EndpointHealth::Healthy,
            "UNHEALTHY" | "TIMEOUT" => EndpointHealth::Unhealthy,
            "DRAINING" => EndpointHealth::Draining,
            "DEGRADED" => EndpointHealth::Degraded,
            other => panic!("no health: {other}"),
        };
        let address = SocketAddr::new(Ipv6Addr::from(address).into(), 80);
        MeshEndpoint { address, zone, tags: Tags::default(), weight: self.weight, health }
    }
}

// === impl AllShares ===

impl AllShares {
    /// Under the keys of the recording, which leaves out what has no endpoints.
    fn of(cluster: &ClusterCase, prediction: &Prediction) -> AllShares {
        let mut all = AllShares { errors: prediction.errors, ..AllShares::default() };
        for (group, shares) in cluster.localities.iter().zip(&prediction.groups) {
            if group.endpoints.is_empty() {
                continue;
            }
            let zone = group.zone.as_deref().unwrap_or_default();
            let places = [zone, &group.sub_zone];
            let places = places.into_iter().filter(|place| !place.is_empty());
            let place: String = places.map(|place| format!("/{place}")).collect();
            let priority = group.priority.to_string();
            *all.by_locality.entry(format!("{priority}{place}")).or_default() += shares.share;
            *all.by_priority.entry(priority).or_default() += shares.share;
            let endpoints = group.endpoints.iter().zip(&shares.endpoints);
            all.by_endpoint.extend(endpoints.map(|(e, share)| (e.name.clone(), *share)));
        }
        all
    }
}
