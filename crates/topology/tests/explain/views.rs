use evenkeel_model::{Service, TrafficPolicy::Cluster as Anywhere, TrafficPolicy::Local};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::explain::{Client, From, RuleReason, Traffic, View};

use crate::{even, explained, explained_as, settled, state};

fn views(world: &World) -> Vec<View> {
    explained(world).families.swap_remove(0).views
}

fn name(client: &Client) -> &str {
    match client {
        Client::Zone { zone } => zone,
        Client::Node { node, .. } => node,
        Client::NoZone => "no zone",
        Client::OtherNodes => "other nodes",
    }
}

fn seen(views: &[View]) -> Vec<(Traffic, &str)> {
    views.iter().map(|view| (view.traffic, name(&view.client))).collect()
}

const ZONES: [&str; 3] = ["a", "b", "c"];
const NODES: [&str; 4] = ["node-a1", "node-b1", "node-c1", "other nodes"];

fn with(traffic: Traffic, clients: &[&'static str]) -> Vec<(Traffic, &'static str)> {
    clients.iter().map(|&client| (traffic, client)).collect()
}

#[test]
fn zones_see_traffic_that_may_leave_and_nodes_that_which_may_not() {
    use Traffic::{All, External, Internal};
    let web = || service("web");
    let cases: [(Service, Vec<_>); 5] = [
        (web(), with(All, &ZONES)),
        (web().internal(Local), with(All, &NODES)),
        (web().internal(Local).external(Local), with(All, &NODES)),
        (web().external(Local), [with(Internal, &ZONES), with(External, &NODES)].concat()),
        (
            web().internal(Local).external(Anywhere),
            [with(Internal, &NODES), with(External, &ZONES)].concat(),
        ),
    ];
    for (service, expected) in cases {
        let exposure = service.exposure;
        assert_eq!(seen(&views(&even(service))), expected, "{exposure:?}");
    }
}

#[test]
fn a_wanted_zone_is_seen_from_its_nodes_under_policy_local() {
    let world = even(service("web").internal(Local));
    let from = From { zones: vec!["b".into()], nodes: Vec::new() };
    let explanation = explained_as(&world, &state(&world), &from);
    let expected = with(Traffic::All, &["node-b1", "other nodes"]);
    assert_eq!(seen(&explanation.families[0].views), expected);
}

#[test]
fn a_few_of_many_nodes_are_looked_from() {
    let mut cluster = Cluster::default();
    for i in 10..40 {
        cluster.add_node(&format!("node-{i}"), Some("a"), 4);
    }
    let world = settled(cluster, service("web").internal(Local), &[("a", 30)]);
    let family = &explained(&world).families[0];
    assert_eq!((family.views.len(), family.nodes_not_shown), (11, 20));
}

#[test]
fn a_zone_whose_nodes_all_have_endpoints_of_their_own_is_seen_from_them() {
    let cluster = Cluster::of(&[("a", 4), ("a", 4), ("b", 4), ("b", 4)]);
    let near = service("web").distribution("PreferSameNode");
    let views = views(&settled(cluster, near, &[("a", 2), ("b", 1)]));
    let expected = with(Traffic::All, &["a", "b", "node-a1", "node-a2"]);
    assert_eq!(seen(&views), expected);
    let each = RuleReason::OwnNodeEndpoints { zone: "a".into(), nodes: 2 };
    assert_eq!(views[0].rule.reason, each);
    assert!(views[0].uses.is_empty() && views[0].excluded.is_empty());
    assert_eq!(views[1].except_nodes, ["node-b1".into()]);
    assert_eq!(views[2].uses.len(), 1);
}

#[test]
fn ports_that_see_different_endpoints_have_views_of_their_own() {
    let mut world = even(service("web").distribution("PreferSameZone"));
    assert!(views(&world).iter().all(|view| view.ports.is_empty()), "all slices are alike");
    let slice = &mut world.slices[0];
    for name in ["admin", "metrics"] {
        let port = slice.ports[0].clone();
        slice.ports.push(evenkeel_model::EndpointPort { name: name.into(), ..port });
    }
    let mut rest = slice.clone();
    rest.name = "web-rest".into();
    rest.endpoints = slice.endpoints.split_off(1);
    rest.ports.truncate(1);
    world.slices.push(rest);
    let groups: Vec<_> = views(&world)
        .iter()
        .map(|view| (view.ports.join(","), view.uses.len(), view.in_zone_share))
        .collect();
    let all_near = ("http".to_owned(), 1, Some(1.0));
    let from_a = |share| ("admin,metrics".to_owned(), 1, Some(share));
    let expected =
        [from_a(1.0), from_a(0.0), from_a(0.0), all_near.clone(), all_near.clone(), all_near];
    assert_eq!(groups, expected);
}
