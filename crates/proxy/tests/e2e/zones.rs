//! Nodes that change their zone or have none, and `RequireSameZone`.

use evenkeel_testkit::netns::{Failure, Protocol};
use serde_json::json;

use crate::{cluster::PODS, space::Space};

const MOVED: &str = "node-moved";

#[test]
fn require_same_zone_refuses_where_the_zone_has_nothing() {
    let space = Space::new("require-zone");
    space.pods(&["a1", "a2", "b1"]);
    let require = json!({"evenkeel.dev/traffic-distribution": "RequireSameZone"});
    let web = space.annotated("web", require, json!({}));
    space.reaches(space.client("a1"), web.http(), &["a1", "a2"]);
    space.reaches(space.client("b1"), web.http(), &["b1"]);
    let client = space.client("c1").client();
    space.fails(&client, Protocol::Http, web.http(), &Failure::Refused);
    space.fails(&client, Protocol::Udp, web.udp(), &Failure::Refused);
    space.pods(&["c1"]);
    space.reaches(space.client("c1"), web.http(), &["c1"]);
    space.remove(&["c1"]);
    space.fails(&client, Protocol::Http, web.http(), &Failure::Refused);
}

#[test]
fn a_node_whose_zone_changes_selects_again() {
    let space = Space::new("moved");
    let _turn = space.cluster.turn(MOVED);
    space.pods(&PODS);
    let prefer = space.service("prefer", json!({"trafficDistribution": "PreferSameZone"}));
    let require = json!({"evenkeel.dev/traffic-distribution": "RequireSameZone"});
    let require = space.annotated("require", require, json!({}));
    let client = space.client("moved");
    for (zone, pods) in [
        ("zone-a", ["a1", "a2"]),
        ("zone-b", ["b1", "b2"]),
        ("zone-c", ["c1", "c2"]),
        ("zone-a", ["a1", "a2"]),
    ] {
        space.cluster.move_node(MOVED, Some(zone));
        space.reaches(client, prefer.http(), &pods);
        space.reaches(client, require.http(), &pods);
    }
    // A zone that nobody else is in.
    space.cluster.move_node(MOVED, Some("zone-d"));
    space.reaches(client, prefer.http(), &PODS);
    space.fails(&client.client(), Protocol::Http, require.http(), &Failure::Refused);
    space.cluster.move_node(MOVED, Some("zone-a"));
    space.reaches(client, require.http(), &["a1", "a2"]);
}

#[test]
fn a_node_without_a_zone_uses_all_endpoints_but_where_a_zone_is_required() {
    let space = Space::new("no-zone");
    let _turn = space.cluster.turn(MOVED);
    space.cluster.move_node(MOVED, None);
    space.pods(&PODS);
    let prefer = space.service("prefer", json!({"trafficDistribution": "PreferSameZone"}));
    let require = json!({"evenkeel.dev/traffic-distribution": "RequireSameZone"});
    let require = space.annotated("require", require, json!({}));
    let client = space.client("moved");
    space.reaches(client, prefer.http(), &PODS);
    space.fails(&client.client(), Protocol::Http, require.http(), &Failure::Refused);
    space.reaches(space.client("a1"), require.http(), &["a1", "a2"]);
    space.cluster.move_node(MOVED, Some("zone-a"));
    space.reaches(client, prefer.http(), &["a1", "a2"]);
}
