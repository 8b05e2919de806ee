use evenkeel_model::{Service, TrafficPolicy, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{Gates, Settings, UnknownCpu, explain::Advice};

use crate::{code, even, explained, settled};

const EVEN: [(&str, usize); 3] = [("a", 1), ("b", 1), ("c", 1)];

fn web() -> Service {
    service("web")
}

fn near() -> Service {
    web().distribution("PreferSameZone")
}

fn three(service: Service, spread: &[(&str, usize)]) -> World {
    settled(Cluster::equal_zones(3), service, spread)
}

fn changed(mut world: World, change: impl FnOnce(&mut World)) -> World {
    change(&mut world);
    world
}

fn with(mut service: Service, change: impl FnOnce(&mut Service)) -> Service {
    change(&mut service);
    service
}

fn gates_off(world: World) -> World {
    let off = Gates { service_traffic_distribution: false, ..Settings::default().gates };
    changed(world, |w| w.settings.gates = off)
}

fn unzoned() -> Cluster {
    let mut cluster = Cluster::equal_zones(3);
    cluster.add_node("node-x", None, 4);
    cluster
}

fn without_cpu() -> World {
    let mut cluster = Cluster::equal_zones(3);
    cluster.add_node("node-x", Some("a"), 0);
    changed(settled(cluster, web().auto(), &EVEN), |w| {
        w.settings.unknown_cpu = UnknownCpu::NoHints;
    })
}

fn foreign(world: &mut World) {
    let mut slice = world.slices[0].clone();
    slice.name = "canary".into();
    slice.labels.insert(label::MANAGED_BY.into(), "somebody".into());
    slice.endpoints.truncate(1);
    slice.endpoints[0].hints = None;
    world.slices.push(slice);
}

fn unhinted(world: &mut World) {
    world.endpoint_mut("pod-a1").hints = None;
    world.pods.clear();
}

fn zone_less(world: &mut World) {
    world.endpoint_mut("pod-a1").zone = None;
}

fn all_down(world: &mut World) {
    world.cluster.nodes.iter_mut().for_each(|node| node.ready = false);
}

fn check(worlds: impl IntoIterator<Item = (&'static str, World)>) {
    for (expected, world) in worlds {
        let advice = explained(&world).advice;
        assert_eq!(code(&advice.reason), expected, "{}", advice.message);
    }
}

#[test]
fn what_can_t_be_kept_near_is_left_alone() {
    let one = |service| settled(Cluster::equal_zones(1), service, &[("a", 2)]);
    let headless = |s: &mut Service| s.cluster_ip_none = true;
    let external_name = |s: &mut Service| s.external_name = true;
    check([
        ("NothingToDo", even(near())),
        ("NothingToDo", one(near())),
        ("CannotAct", even(with(web(), headless))),
        ("CannotAct", even(with(near(), headless))),
        ("CannotAct", even(with(near(), external_name))),
        ("CannotAct", gates_off(even(web().internal(TrafficPolicy::Local)))),
        ("NothingToGain", one(web())),
        ("NothingToGain", one(web().auto())),
        ("NothingToGain", one(web().distribution("Nearby"))),
    ]);
}

#[test]
fn a_policy_is_advised_that_can_act_and_overloads_no_zone() {
    let skewed = [("a", 2), ("b", 1), ("c", 1)];
    check([
        ("SetPreferSameZone", even(web())),
        ("SetAuto", three(web(), &[("a", 4), ("b", 1), ("c", 1)])),
        ("SpreadPods", three(web(), &skewed)),
        ("UseKnownValue", even(web().distribution("Nearby"))),
        ("SpreadPods", three(web().distribution("Nearby"), &skewed)),
        ("EnableFeatureGate", gates_off(even(near()))),
        ("EnableFeatureGate", gates_off(even(web()))),
        ("RelaxLocalPolicy", even(web().internal(TrafficPolicy::Local))),
        ("ScaleOrPreferZone", three(web().auto(), &[("a", 1), ("b", 1)])),
        ("Scale", gates_off(three(web().auto(), &[("a", 1), ("b", 1)]))),
        ("Scale", three(web().auto(), &skewed)),
    ]);
}

#[test]
fn what_is_missing_or_broken_is_named() {
    check([
        ("MakeEndpointsReady", three(near(), &[])),
        ("LabelNode", settled(unzoned(), web().auto(), &EVEN)),
        ("CheckNodeCpu", without_cpu()),
        ("FixEndpointZone", changed(changed(even(near()), unhinted), zone_less)),
        ("RestoreNodes", changed(even(web().auto()), all_down)),
        ("ProvideNodes", changed(even(web().auto()), |w| w.cluster.nodes.clear())),
        ("CheckController", changed(even(near()), |w| w.slices.clear())),
        ("CheckController", changed(even(near()), unhinted)),
        ("AddHintsToForeignSlice", changed(even(near()), foreign)),
        ("SetHintsManually", changed(even(web()), |w| w.service.selector = None)),
        ("AddEndpoints", three(near(), &[("b", 2)])),
    ]);
}

#[test]
fn the_next_number_of_endpoints_that_works_is_named() {
    let refused = explained(&three(web().auto(), &[("a", 2), ("b", 1), ("c", 1)]));
    assert_eq!(refused.advice.reason, Advice::Scale { now: 4, next: 6 });
    let few = explained(&three(web().auto(), &[("a", 1), ("b", 1)]));
    assert_eq!(
        few.advice.reason,
        Advice::ScaleOrPreferZone { now: 2, next: Some(3), value: "PreferSameZone" }
    );
}

#[test]
fn the_zone_that_would_be_overloaded_most_is_named_with_its_load() {
    let skewed = explained(&three(web(), &[("a", 9), ("b", 2), ("c", 1)])).advice;
    assert!(skewed.message.contains("the endpoints in c to 400 %"), "{}", skewed.message);
}

#[test]
fn zones_without_endpoints_are_named_once_and_in_order() {
    let world = three(near().dual_stack(), &[("b", 2)]);
    let expected = Advice::AddEndpoints { zones: vec!["a".into(), "c".into()] };
    assert_eq!(explained(&world).advice.reason, expected);
}

#[test]
fn without_any_zone_there_is_nothing_to_gain() {
    for service in [web(), near()] {
        let mut world = even(service);
        world.cluster.nodes.iter_mut().for_each(|node| node.zone = None);
        world.pods.clear();
        for slice in &mut world.slices {
            for endpoint in &mut slice.endpoints {
                (endpoint.zone, endpoint.hints) = (None, None);
            }
        }
        assert_eq!(explained(&world).advice.reason, Advice::NothingToGain { zone: None });
    }
}

/// kubernetes/kubernetes#122437: four of six Pods are ready, and six would get hints.
#[test]
fn scaling_is_not_advised_where_there_are_pods_enough() {
    let mut world = three(web().auto(), &[("a", 2), ("b", 2), ("c", 2)]);
    for pod in world.pods.iter_mut().filter(|pod| pod.name.ends_with('2')).take(2) {
        pod.ready = false;
    }
    world.sync();
    let advice = explained(&world).advice;
    assert_eq!(advice.reason, Advice::MakePodsReady { ready: 4, pods: 6, next: 6 });
    assert!(advice.message.starts_with("Make the other 2 Pods ready"), "{}", advice.message);
}
