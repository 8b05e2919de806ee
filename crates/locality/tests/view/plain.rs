//! Services of Kubernetes as destinations: by their own topology, or ranked by a policy.

use std::{collections::BTreeMap, num::NonZeroU16, sync::Arc};

use evenkeel_locality::view::{Changes, Settings, View};
use evenkeel_model::{
    HintsIgnored, Rule, Selection, Share,
    mesh::{EndpointHealth, Instance, InstanceState, MeshProtocol, PlainService, Selections, Tags},
};
use serde_json::{Value, json};

use crate::setup::{
    MESH, client, endpoints, groups, names, plan, policy, resource, shares, view_of,
};

const NAME: &str = "web_shop_svc_80";
const READY: InstanceState = InstanceState::Ready;

fn tags(zone: &str, more: &[(&str, &str)]) -> Tags {
    let place = [("kuma.io/zone", zone), ("topology.kubernetes.io/zone", zone)];
    let all = place.iter().chain(more);
    Arc::new(all.map(|(key, value)| ((*key).into(), (*value).into())).collect())
}

fn instance(n: u8, zone: &str, state: InstanceState) -> Instance {
    let address = std::net::SocketAddr::from(([10, 1, 0, n], 8080));
    Instance { address, tags: tags(zone, &[("version", if n == 3 { "v2" } else { "v1" })]), state }
}

fn of(rule: Rule, shares: &[(u32, u32)]) -> Selection {
    let share = |&(endpoint, weight): &(u32, u32)| Share { endpoint, weight };
    Selection { shares: shares.iter().map(share).collect(), rule }
}

fn everyone(n: u32) -> Selections {
    let all: Vec<(u32, u32)> = (0..n).map(|endpoint| (endpoint, 1)).collect();
    Selections {
        ruled_zones: BTreeMap::new(),
        nodes: BTreeMap::new(),
        zones: BTreeMap::new(),
        elsewhere: of(Rule::All(HintsIgnored::NoHints), &all),
    }
}

/// Endpoint 1 in zone a, 2 and 3 in zone b.
fn service() -> PlainService {
    PlainService {
        namespace: "shop".into(),
        name: "web".into(),
        port: NonZeroU16::new(80).expect("it is not 0"),
        port_name: Some("http".into()),
        labels: Arc::new(BTreeMap::from([("team".into(), "one".into())])),
        protocol: MeshProtocol::Http,
        instances: vec![instance(1, "a", READY), instance(2, "b", READY), instance(3, "b", READY)],
        selections: everyone(3),
    }
}

fn set(view: &mut View, service: Option<PlainService>) -> Changes {
    view.set_plain(&MESH.into(), &NAME.into(), service)
}

fn view_with(values: &[Value], service: PlainService) -> View {
    let mut view = view_of(values);
    set(&mut view, Some(service));
    view
}

/// A client in a zone, on a node.
fn on(name: &str, zone: &str, node: &str) -> Value {
    let mut value = client(name, zone, &[NAME]);
    value["networking"]["inbound"][0]["tags"]["kubernetes.io/hostname"] = json!(node);
    value
}

fn groups_of(view: &mut View, name: &str) -> Vec<(String, u32, usize)> {
    let plan = plan(view, name);
    let (_, key) = &plan.assignments()[0];
    let groups = view.assignment(key).assignment.groups;
    let group = |g: &evenkeel_model::mesh::Group| {
        assert_eq!(g.priority, 0);
        (
            g.zone.as_deref().unwrap_or("-").to_owned(),
            g.weight.expect("each has one").get(),
            g.endpoints.len(),
        )
    };
    groups.iter().map(group).collect()
}

fn group(zone: &str, weight: u32, n: usize) -> (String, u32, usize) {
    (zone.to_owned(), weight, n)
}

#[test]
fn all_endpoints_are_alike_where_the_service_asks_for_nothing() {
    let mut view = view_with(&[on("web-1", "a", "n1")], service());
    assert_eq!(groups_of(&mut view, "web-1"), [group("a", 1, 1), group("b", 2, 2)]);
    let plan = plan(&mut view, "web-1");
    assert!(plan.outbound.config.clusters[0].locality_weighted);
    assert_eq!(plan.outbound.config.clusters[0].protocol, MeshProtocol::Http);
}

#[test]
fn each_zone_is_sent_what_the_service_selects_for_it() {
    let mut web = service();
    web.selections.zones = BTreeMap::from([
        ("a".into(), of(Rule::SameZone, &[(0, 1)])),
        ("b".into(), of(Rule::SameZone, &[(1, 1), (2, 1)])),
    ]);
    let clients = [on("web-a", "a", "n1"), on("web-b", "b", "n2"), on("web-c", "c", "n3")];
    let mut view = view_with(&clients, web);
    assert_eq!(groups_of(&mut view, "web-a"), [group("a", 1, 1)]);
    assert_eq!(groups_of(&mut view, "web-b"), [group("b", 1, 2)]);
    assert_eq!(groups_of(&mut view, "web-c"), [group("a", 1, 1), group("b", 2, 2)]);
}

#[test]
fn zone_shares_are_weights_and_a_zone_with_share_0_is_left_out() {
    let mut web = service();
    // A quarter to zone a, three quarters to the two endpoints of zone b; and zone b keeps its own.
    web.selections.ruled_zones = BTreeMap::from([
        ("a".into(), of(Rule::ZoneShares, &[(0, 2), (1, 3), (2, 3)])),
        ("b".into(), of(Rule::ZoneShares, &[(1, 1), (2, 1)])),
    ]);
    let mut view = view_with(&[on("web-a", "a", "n1"), on("web-b", "b", "n2")], web);
    assert_eq!(groups_of(&mut view, "web-a"), [group("a", 1, 1), group("b", 3, 2)]);
    assert_eq!(groups_of(&mut view, "web-b"), [group("b", 1, 2)]);
}

#[test]
fn weights_fit_32_bits_together() {
    let mut web = service();
    let most = u32::MAX;
    web.selections.ruled_zones =
        BTreeMap::from([("a".into(), of(Rule::ZoneShares, &[(0, 1), (1, most), (2, most)]))]);
    let mut view = view_with(&[on("web-a", "a", "n1")], web);
    let groups = groups_of(&mut view, "web-a");
    let sum: u64 = groups.iter().map(|(_, weight, _)| u64::from(*weight)).sum();
    assert!(sum <= u64::from(u32::MAX), "{groups:?}");
    assert_eq!(groups[0], group("a", 1, 1));
}

#[test]
fn nodes_differ_only_where_the_service_says_so() {
    let clients = [on("web-1", "a", "n1"), on("web-2", "a", "n2")];
    let mut view = view_with(&clients, service());
    let (first, second) = (plan(&mut view, "web-1"), plan(&mut view, "web-2"));
    assert!(Arc::ptr_eq(&first.outbound, &second.outbound));

    let mut web = service();
    web.selections.nodes = BTreeMap::from([("n1".into(), of(Rule::SameNode, &[(0, 1)]))]);
    let changes = set(&mut view, Some(web));
    assert_eq!(names(&changes.proxies), ["default/web-1", "default/web-2"]);
    assert_eq!(groups_of(&mut view, "web-1"), [group("a", 1, 1)]);
    assert_eq!(groups_of(&mut view, "web-2"), [group("a", 1, 1), group("b", 2, 2)]);

    set(&mut view, Some(service()));
    let (first, second) = (plan(&mut view, "web-1"), plan(&mut view, "web-2"));
    assert!(Arc::ptr_eq(&first.outbound, &second.outbound));
}

#[test]
fn a_change_of_endpoints_makes_no_plan_again() {
    let mut view = view_with(&[on("web-1", "a", "n1")], service());
    let before = plan(&mut view, "web-1");
    let mut web = service();
    web.instances[0].state = InstanceState::NotReady;
    web.selections.elsewhere = of(Rule::All(HintsIgnored::NoHints), &[(1, 1), (2, 1)]);
    let changes = set(&mut view, Some(web.clone()));
    assert_eq!(names(&changes.services), ["MeshService default/web_shop_svc_80"]);
    assert!(changes.proxies.is_empty());
    assert!(shares(&[before.outbound], &[plan(&mut view, "web-1").outbound]));
    assert_eq!(groups_of(&mut view, "web-1"), [group("b", 1, 2)]);
    assert!(set(&mut view, Some(web)).is_empty());
}

fn ranked(to: &Value) -> Value {
    let awareness = json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    let to = json!([{"targetRef": to, "default": {"localityAwareness": awareness}}]);
    policy("MeshLoadBalancingStrategy", "ranked", &json!({"kind": "Mesh"}), &to)
}

#[test]
fn a_policy_ranks_endpoints_with_their_health() {
    let mut view = View::first_read(Settings::default());
    view.apply(resource(&on("web-1", "a", "n1")));
    let mut web = service();
    web.instances[0].state = InstanceState::NotReady;
    set(&mut view, Some(web));
    view.end_first_read();
    view.apply(resource(&ranked(&json!({"kind": "MeshService", "name": NAME}))));
    let first = plan(&mut view, "web-1");
    assert_eq!(endpoints(&view, &first), [format!("{NAME}: 0=10.1.0.1 1=10.1.0.2,10.1.0.3")]);
    let health = |view: &View| {
        let (_, key) = &first.assignments()[0];
        let groups = view.assignment(key).assignment.groups;
        let health = groups.iter().flat_map(|group| &group.endpoints);
        health.map(|endpoint| endpoint.health).collect::<Vec<_>>()
    };
    use EndpointHealth::{Draining, Healthy, Unhealthy};
    assert_eq!(health(&view), [Unhealthy, Healthy, Healthy]);

    // Ready once, then not; about to end; and one that never was ready.
    let mut web = service();
    web.instances[1].state = InstanceState::NotReady;
    web.instances[2].state = InstanceState::Terminating { serving: true };
    web.instances.push(instance(4, "b", InstanceState::NotReady));
    set(&mut view, Some(web));
    assert_eq!(health(&view), [Healthy, Unhealthy, Draining]);
}

#[test]
fn a_policy_finds_the_service_by_each_of_its_names() {
    let targets = [
        json!({"kind": "MeshService", "name": NAME}),
        json!({"kind": "MeshService", "name": "web", "namespace": "shop"}),
        json!({"kind": "MeshService", "name": "web", "namespace": "shop", "sectionName": "http"}),
        json!({"kind": "MeshService", "labels": {"team": "one"}}),
        json!({"kind": "MeshService", "labels": {"k8s.kuma.io/namespace": "shop"}}),
        json!({"kind": "Mesh"}),
    ];
    for target in targets {
        let mut view = view_with(&[on("web-1", "a", "n1"), ranked(&target)], service());
        let plan = plan(&mut view, "web-1");
        let assigned = view.assignment(&plan.assignments()[0].1);
        assert_eq!(groups(&assigned), "0=10.1.0.1 1=10.1.0.2,10.1.0.3", "{target}");
    }
    let others = [
        json!({"kind": "MeshService", "name": "web"}),
        json!({"kind": "MeshService", "name": "web", "namespace": "other"}),
        json!({"kind": "MeshService", "name": "web", "namespace": "shop", "sectionName": "grpc"}),
        json!({"kind": "MeshService", "labels": {"team": "two"}}),
    ];
    for target in others {
        let mut view = view_with(&[on("web-1", "a", "n1"), ranked(&target)], service());
        let plan = plan(&mut view, "web-1");
        let assigned = view.assignment(&plan.assignments()[0].1);
        assert_eq!(groups(&assigned), "0=10.1.0.1 0=10.1.0.2,10.1.0.3", "{target}");
    }
}

#[test]
fn an_outbound_may_name_the_service_as_kubernetes_does() {
    let mut value = on("web-1", "a", "n1");
    value["networking"]["outbound"] = json!([{
        "port": 10_000,
        "backendRef": {"kind": "MeshService", "name": "web", "namespace": "shop", "port": 80},
    }]);
    let mut view = view_with(&[value], service());
    assert_eq!(groups_of(&mut view, "web-1"), [group("a", 1, 1), group("b", 2, 2)]);
}

#[test]
fn beside_dataplanes_the_rules_of_the_mesh_hold() {
    let mut view = view_with(&[on("web-1", "a", "n1")], service());
    assert_eq!(groups_of(&mut view, "web-1"), [group("a", 1, 1), group("b", 2, 2)]);
    let backend = crate::setup::instance("web-9", "10.2.0.9", NAME, &["kuma.io/zone=b"]);
    view.apply(resource(&backend));
    let first = plan(&mut view, "web-1");
    let expected = format!("{NAME}: 0=10.1.0.1 1=10.1.0.2,10.1.0.3,10.2.0.9");
    assert_eq!(endpoints(&view, &first), [expected]);
    crate::setup::delete(&mut view, evenkeel_locality::resource::Kind::Dataplane, "web-9");
    assert_eq!(groups_of(&mut view, "web-1"), [group("a", 1, 1), group("b", 2, 2)]);
    set(&mut view, None);
    let first = plan(&mut view, "web-1");
    assert_eq!(endpoints(&view, &first), [format!("{NAME}: ")]);
}

#[test]
fn a_part_of_the_service_that_is_not_selected_is_used_where_it_is() {
    let mut web = service();
    web.selections.zones = BTreeMap::from([("a".into(), of(Rule::SameZone, &[(0, 1)]))]);
    let mut value = on("web-1", "a", "n1");
    value["networking"]["outbound"][0]["tags"]["version"] = json!("v2");
    let mut view = view_with(&[value.clone()], web.clone());
    assert_eq!(groups_of(&mut view, "web-1"), [group("b", 1, 1)]);
    // But not where traffic must stay.
    web.selections.ruled_zones = BTreeMap::from([("a".into(), of(Rule::RequiredZone, &[(0, 1)]))]);
    let mut view = view_with(&[value], web);
    assert_eq!(groups_of(&mut view, "web-1"), []);
}

#[test]
fn an_inspection_says_what_the_topology_selected_and_for_which_node() {
    let mut web = service();
    web.selections.nodes = BTreeMap::from([("n1".into(), of(Rule::SameNode, &[(0, 1)]))]);
    let mut view = view_with(&[on("web-1", "a", "n1")], web);
    let inspection = evenkeel_locality::inspect::inspect(&mut view, &crate::setup::key("web-1"))
        .map(|i| json!(i));
    let inspection = inspection.expect("the Dataplane is there");
    let destination = &inspection["destinations"][0];
    assert_eq!(destination["place"]["tags"]["kubernetes.io/hostname"], "n1");
    let texts: Vec<&str> = destination["reasons"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|reason| reason["message"].as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "1 endpoint of zone a: selected by the Service's topology (SameNode), weight 1",
            "2 endpoints of zone b left out: not selected by the Service's topology (SameNode)",
        ],
        "{destination:#}"
    );
    assert_eq!(destination["withoutZone"], json!({}), "hints would follow");
}
