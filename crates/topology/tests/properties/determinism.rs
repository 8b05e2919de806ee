//! The order of Pods and of zone ids reaches nothing outside.

use evenkeel_model::{Endpoint, Slice};
use evenkeel_testkit::World;
use evenkeel_topology::{Plan, plan::HintOutcome};
use proptest::prelude::*;

use crate::{
    generate::{ZONES, config, spec},
    spec::Spec,
};

/// A plan with names in place of ids.
fn by_name(world: &World, plan: &Plan) -> Vec<String> {
    let Plan { create, update, delete, unchanged, families, events, without_node } = plan;
    let mut lines = Vec::new();
    for slice in create {
        lines.push(format!("create {}", slice_by_name(world, slice)));
    }
    for slice in update {
        lines.push(format!("update {}", slice_by_name(world, slice)));
    }
    for family in families {
        let hints = outcome_by_name(world, &family.hints);
        lines.push(format!("{} {hints}", family.family));
    }
    // Pods are given in the order of their names where it matters.
    let mut without_node = without_node.clone();
    without_node.sort_unstable();
    lines.push(format!(
        "delete {delete:?} keep {unchanged:?} events {events:?} without node {without_node:?}"
    ));
    lines
}

fn slice_by_name(world: &World, slice: &Slice) -> String {
    let Slice { name, address_type, ports, endpoints, owner, labels, shares } = slice;
    let endpoints: Vec<String> = endpoints.iter().map(|e| endpoint_by_name(world, e)).collect();
    format!("{name} {address_type} {ports:?} {endpoints:?} {owner:?} {labels:?} {shares:?}")
}

fn endpoint_by_name(world: &World, endpoint: &Endpoint) -> String {
    let zone = |&zone| world.cluster.zone_name(zone);
    let node = |&node| world.cluster.node_name(node);
    let place = (endpoint.zone.as_ref().map(zone), endpoint.node.as_ref().map(node));
    let for_zones: Vec<&str> = endpoint.zone_hints().iter().map(zone).collect();
    let for_nodes: Vec<&str> = endpoint.node_hints().iter().map(node).collect();
    let rest = Endpoint { zone: None, node: None, hints: None, ..endpoint.clone() };
    format!("{rest:?} in {place:?} for {for_zones:?} {for_nodes:?}")
}

fn outcome_by_name(world: &World, outcome: &HintOutcome) -> String {
    let HintOutcome::Auto(counts) = outcome else {
        return format!("{outcome:?}");
    };
    let mut zones: Vec<(&str, u32)> =
        counts.iter().map(|(zone, n)| (world.cluster.zone_name(zone), n)).collect();
    zones.sort_unstable();
    format!("{zones:?}")
}

fn orders() -> impl Strategy<Value = (Spec, Vec<usize>, Vec<&'static str>)> {
    spec().prop_flat_map(|spec| {
        let pods: Vec<usize> = (0..spec.pods.len()).collect();
        let zones = ZONES.to_vec();
        (Just(spec), Just(pods).prop_shuffle(), Just(zones).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_of_pods_and_zones_changes_nothing((spec, pods, zones) in orders()) {
        let (one, other) = (spec.build(), spec.build_in_order(&zones, &pods));
        prop_assert_eq!(by_name(&one, &one.plan()), by_name(&other, &other.plan()));
    }
}
