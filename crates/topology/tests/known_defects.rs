//! What is known to go wrong elsewhere, one test for each issue.

use evenkeel_model::{AddressType, HintsIgnored, Rule};
use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};
use evenkeel_topology::{HintEvent, NoHints, Settings, plan::HintOutcome};

fn check(world: &mut World, hinted: &[(&str, usize)], rule: Rule) {
    assert_eq!(world.hinted(), hinted);
    let seen = world.select_from("node-a1").cluster.expect("policy Cluster");
    assert_eq!(seen.rule, rule);
}

fn auto(cluster: Cluster, settings: Settings) -> World {
    World::new(cluster, service("web").auto(), settings)
}

// kubernetes/kubernetes#122437: 12 Pods spread over three equal zones lose all hints when one goes,
// though 4, 4 and 3 are as even as 11 can be.
#[test]
fn four_four_three_keeps_its_hints() {
    let [(_, default), (_, kubernetes)] = profiles();
    let after_one_pod_less = |settings| {
        let mut world =
            auto(Cluster::equal_zones(3), settings).with_pods(&[("a", 4), ("b", 4), ("c", 4)]);
        world.sync();
        world.remove_pods("c", 1);
        world.sync();
        world
    };
    let kept = [("a", 4), ("b", 4), ("c", 3)];
    check(&mut after_one_pod_less(default), &kept, Rule::SameZone);
    let lost = Rule::All(HintsIgnored::NoHints);
    check(&mut after_one_pod_less(kubernetes), &[], lost);
}

// kubernetes/kubernetes#114215, #103888: hints are missing and nothing tells why.
#[test]
fn without_hints_there_is_always_a_reason() {
    for (profile, settings) in profiles() {
        for (mut world, why) in refusals(&settings) {
            let plan = world.sync();
            let refused = HintOutcome::AutoRefused(why.clone());
            assert_eq!(plan.families[0].hints, refused, "{profile}");
            let family = AddressType::IPv4;
            let told = HintEvent::Disabled { family, why };
            assert!(!told.message().is_empty(), "{profile}");
            assert_eq!(plan.events, [told], "{profile}");
        }
    }
}

fn refusals(settings: &Settings) -> Vec<(World, NoHints)> {
    let world = |cluster: &Cluster, pods| auto(cluster.clone(), settings.clone()).with_pods(pods);
    let two = Cluster::equal_zones(2);
    let mut starting = two.clone();
    starting.nodes.iter_mut().for_each(|node| node.ready = false);
    let mut without_zone = two.clone();
    without_zone.add_node("lost", None, 4);
    let mut without_cpu = two.clone();
    without_cpu.add_node("silent", Some("a"), 0);
    let spread = [("a", 2), ("b", 2)];
    vec![
        (world(&starting, &spread), NoHints::NoReadyNodes),
        (world(&without_zone, &spread), without_zone_of("lost")),
        (world(&without_cpu, &spread), without_cpu_of("silent")),
        (world(&Cluster::of(&[("a", 4)]), &[("a", 2)]), one_zone("a")),
        (world(&two, &[("a", 1)]), too_few(1, 2)),
        (world(&two, &[("a", 3)]), overload(3, 2, 4)),
        (with_a_stray_pod(world(&two, &[("a", 3)])), no_zone("10.0.0.4")),
    ]
}

/// The Pod's node is not ready: it doesn't count, and so its missing zone refuses nothing by itself.
fn with_a_stray_pod(mut world: World) -> World {
    world.cluster.add_node("stray", Some("x"), 4).ready = false;
    world.add_pods("x", 1);
    world.cluster.nodes[2].zone = None;
    world
}

fn without_zone_of(node: &str) -> NoHints {
    let node = node.into();
    NoHints::NodeWithoutZone { node }
}

fn without_cpu_of(node: &str) -> NoHints {
    let node = node.into();
    NoHints::NodeWithoutCpu { node }
}

fn one_zone(zone: &str) -> NoHints {
    let zone = zone.into();
    NoHints::OneZoneOnly { zone }
}

fn too_few(endpoints: u32, zones: u32) -> NoHints {
    NoHints::NotEnoughEndpoints { endpoints, zones }
}

fn overload(endpoints: u32, zones: u32, required: u32) -> NoHints {
    NoHints::Overload { endpoints, zones, required, threshold: 0.2 }
}

fn no_zone(address: &str) -> NoHints {
    let address = address.into();
    NoHints::EndpointWithoutZone { address }
}
