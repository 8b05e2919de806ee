//! Topology spread constraints, compared with counting by hand.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{asks, node, place, pod};

const ZONE: &str = "topology.kubernetes.io/zone";

fn constraint(max_skew: i64, min_domains: Option<i64>, when: &str) -> Value {
    let mut one = json!({
        "topologyKey": ZONE, "maxSkew": max_skew, "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    if let Some(least) = min_domains {
        one["minDomains"] = least.into();
    }
    json!({"topologySpreadConstraints": [one]})
}

/// The zones that can take one more: afterwards no counted zone may be more than `max_skew` above
/// any other.
fn allowed(
    there: &[(usize, bool)],
    n_zones: usize,
    max_skew: i64,
    min_domains: Option<i64>,
) -> BTreeSet<usize> {
    let count = |zone: usize| {
        i64::try_from(there.iter().filter(|(at, matches)| *at == zone && *matches).count())
            .expect("few")
    };
    let too_few = min_domains.is_some_and(|least| i64::try_from(n_zones).expect("few") < least);
    let fits = |zone: &usize| {
        let after = count(*zone) + 1;
        let others = (0..n_zones).all(|other| after - count(other) <= max_skew);
        others && (!too_few || after <= max_skew)
    };
    (0..n_zones).filter(fits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_hard_constraint_allows_what_counting_allows(
        n_zones in 1_usize..4,
        there in prop::collection::vec((0_usize..4, any::<bool>()), 0..10),
        max_skew in 1_i64..4,
        min_domains in prop::option::of(1_i64..5),
    ) {
        let there: Vec<(usize, bool)> = there.into_iter().map(|(zone, web)| (zone % n_zones, web)).collect();
        let zones: Vec<String> = (0..n_zones).map(|zone| format!("z{zone}")).collect();
        let mut found = BTreeSet::new();
        for only in 0..n_zones {
            let mut objects: Vec<Value> = zones.iter().map(|zone| node(zone, zone)).collect();
            for object in &mut objects {
                object["status"]["allocatable"]["pods"] = "100".into();
                // The others count, but are cordoned, so that the result is about this one.
                if object["metadata"]["name"] != *zones[only] {
                    object["spec"]["unschedulable"] = true.into();
                }
            }
            for (index, (zone, web)) in there.iter().enumerate() {
                let mut one = pod(&format!("p{index}"), &zones[*zone]);
                one["metadata"]["labels"]["app"] = if *web { "web" } else { "other" }.into();
                objects.push(one);
            }
            objects.push(asks(pod("new", ""), &constraint(max_skew, min_domains, "DoNotSchedule")));
            if place(&objects).is_ok() {
                found.insert(only);
            }
        }
        prop_assert_eq!(found, allowed(&there, n_zones, max_skew, min_domains));
    }

    #[test]
    fn a_soft_constraint_takes_a_zone_with_the_fewest(
        there in prop::collection::vec(0_usize..3, 0..10),
    ) {
        let zones = ["z0", "z1", "z2"];
        let mut counts: BTreeMap<&str, usize> = zones.iter().map(|zone| (*zone, 0)).collect();
        let mut objects: Vec<Value> = zones.iter().map(|zone| node(zone, zone)).collect();
        for object in &mut objects {
            object["status"]["allocatable"]["pods"] = "100".into();
        }
        for (index, zone) in there.iter().enumerate() {
            *counts.entry(zones[*zone]).or_default() += 1;
            objects.push(pod(&format!("p{index}"), zones[*zone]));
        }
        objects.push(asks(pod("new", ""), &constraint(1, None, "ScheduleAnyway")));
        let chosen = place(&objects).unwrap();
        prop_assert_eq!(counts.get(chosen.as_str()), counts.values().min());
    }
}

#[test]
fn nodes_without_the_key_or_that_the_pod_does_not_ask_for_do_not_count() {
    let mut bare = node("c", "");
    bare["metadata"]["labels"] = json!({"disk": "ssd"});
    let mut ssd = node("a", "a");
    ssd["metadata"]["labels"]["disk"] = "ssd".into();
    let mut spec = constraint(1, None, "DoNotSchedule");
    let there = [pod("p1", "a"), pod("p2", "a")];
    let with = |spec: &Value| {
        let objects =
            [ssd.clone(), node("b", "b"), bare.clone(), there[0].clone(), there[1].clone()];
        place(&[&objects[..], &[asks(pod("new", ""), spec)]].concat())
    };
    assert_eq!(with(&spec), Ok("b".to_owned()));
    // Only zone a is selected: there is no skew within one domain.
    spec["nodeSelector"] = json!({"disk": "ssd"});
    assert_eq!(with(&spec), Ok("a".to_owned()));
    spec["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = "Ignore".into();
    let message = "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 \
                   node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod \
                   topology spread constraints (missing required label).";
    assert_eq!(with(&spec), Err(message.to_owned()));
}

#[test]
fn match_label_keys_count_only_pods_of_the_same_version() {
    let versioned = |name: &str, node: &str, version: &str| {
        let mut one = pod(name, node);
        one["metadata"]["labels"]["version"] = version.into();
        one
    };
    let mut spec = constraint(1, None, "DoNotSchedule");
    spec["topologySpreadConstraints"][0]["matchLabelKeys"] = json!(["version"]);
    let objects = |spec: &Value| {
        [
            node("a", "a"),
            node("b", "b"),
            versioned("p1", "a", "1"),
            versioned("p2", "b", "2"),
            versioned("p3", "b", "1"),
            versioned("p4", "b", "1"),
            asks(versioned("new", "", "2"), spec),
        ]
    };
    assert_eq!(place(&objects(&spec)), Ok("a".to_owned()));
    let mut both = objects(&spec).to_vec();
    both.push(versioned("p5", "a", "2"));
    both.push(versioned("p6", "a", "2"));
    assert_eq!(place(&both), Ok("b".to_owned()));
}
