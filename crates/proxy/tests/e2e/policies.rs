//! `internalTrafficPolicy` and `externalTrafficPolicy`, alone and with `trafficDistribution`.

use std::net::SocketAddr;

use evenkeel_testkit::netns::{Failure, Protocol};
use serde_json::{Value, json};

use crate::{
    cluster::PODS,
    space::{Space, Target, with},
};

fn node_port(space: &Space, web: &Target, node: &str) -> SocketAddr {
    SocketAddr::new(space.cluster.node_ip(node), web.node_port(80))
}

/// A row of the table "Intersection with internal/externalTrafficPolicy": the Pods that a client on
/// node-a1 reaches, and one outside by its node port. Of its zone, the node itself has one of two.
fn precedence(name: &str, more: Value, internal: &[&str], external: &[&str]) {
    let space = Space::new(name);
    space.pods(&PODS);
    let spec = json!({"type": "NodePort", "trafficDistribution": "PreferSameZone"});
    let web = space.service("web", with(spec, more));
    space.reaches(space.client("a1"), web.http(), internal);
    space.reaches(space.outside(), node_port(&space, &web, "node-a1"), external);
}

#[test]
fn precedence_with_no_policy_both_sides_follow_the_distribution() {
    precedence("precedence-1", json!({}), &["a1", "a2"], &["a1", "a2"]);
}

#[test]
fn precedence_with_an_external_policy_only_internal_traffic_follows_the_distribution() {
    let more = json!({"externalTrafficPolicy": "Local"});
    precedence("precedence-2", more, &["a1", "a2"], &["a1"]);
}

#[test]
fn precedence_with_both_policies_neither_side_follows_the_distribution() {
    let more = json!({"externalTrafficPolicy": "Local", "internalTrafficPolicy": "Local"});
    precedence("precedence-3", more, &["a1"], &["a1"]);
}

#[test]
fn an_internal_policy_alone_leaves_external_traffic_to_the_distribution() {
    let more = json!({"internalTrafficPolicy": "Local"});
    precedence("precedence-4", more, &["a1"], &["a1", "a2"]);
}

#[test]
fn with_local_internal_traffic_is_dropped_where_there_is_no_endpoint() {
    let space = Space::new("internal-local");
    space.pods(&["b1", "b2", "c1"]);
    let web = space.service("web", json!({"internalTrafficPolicy": "Local"}));
    space.reaches(space.client("b1"), web.http(), &["b1", "b2"]);
    space.reaches(space.cluster.network.host("node-c1"), web.http(), &["c1"]);
    let client = space.client("a1").client();
    space.fails(&client, Protocol::Http, web.http(), &Failure::TimedOut);
    space.fails(&client, Protocol::Udp, web.udp(), &Failure::TimedOut);
    let node = space.cluster.network.host("node-a1").client();
    space.fails(&node, Protocol::Http, web.http(), &Failure::TimedOut);
}

#[test]
fn with_local_external_traffic_keeps_its_source_and_is_dropped_where_there_is_no_endpoint() {
    let space = Space::new("external-local");
    space.pods(&["b1", "c1"]);
    let more = json!({"type": "NodePort", "externalTrafficPolicy": "Local"});
    let web = space.service("web", more);
    let outside = space.outside();
    let tally = space.reaches(outside, node_port(&space, &web, "node-b1"), &["b1"]);
    assert!(tally.answers.iter().all(|answer| answer.client.ip().to_string() == "172.30.0.254"));
    let without = node_port(&space, &web, "node-a1");
    space.fails(&outside.client(), Protocol::Http, without, &Failure::TimedOut);
    // Of the cluster's own clients the policy asks nothing: they reach all, and Pods as themselves.
    let client = space.cluster.pod("client-a1");
    let tally = space.reaches(client, without, &["b1", "c1"]);
    assert!(tally.answers.iter().all(|answer| answer.client.ip() == client.v4), "{tally:?}");
    space.reaches(space.cluster.network.host("node-a1"), without, &["b1", "c1"]);
    // The cluster IP is not an external frontend.
    space.reaches(space.client("a1"), web.http(), &["b1", "c1"]);
}

/// At once, not after a timeout: the request itself is given much longer.
#[test]
fn without_any_endpoint_connections_are_refused_at_once() {
    let space = Space::new("no-endpoints");
    let policies = json!({"internalTrafficPolicy": "Local", "externalTrafficPolicy": "Local"});
    for (name, external, policies) in
        [("cluster", "203.0.113.10", json!({})), ("local", "203.0.113.11", policies)]
    {
        let more = with(json!({"type": "NodePort", "externalIPs": [external]}), policies);
        let external = SocketAddr::new(external.parse().unwrap(), 80);
        let web = space.service(name, more);
        let pod = space.client("a1").client();
        let node = space.cluster.network.host("node-a1").client();
        let outside = space.outside().client();
        let at_node = node_port(&space, &web, "node-a1");
        for (from, to) in [
            (&pod, web.http()),
            (&node, web.http()),
            (&pod, at_node),
            (&outside, at_node),
            (&outside, external),
            (&pod, external),
        ] {
            space.fails(from, Protocol::Http, to, &Failure::Refused);
        }
        space.fails(&pod, Protocol::Udp, web.udp(), &Failure::Refused);
    }
}

#[test]
fn when_the_last_endpoint_goes_connections_are_refused_and_when_one_comes_they_are_not() {
    let space = Space::new("last-endpoint");
    space.pods(&["b1"]);
    let web = space.service("web", json!({}));
    let client = space.client("a1");
    space.reaches(client, web.http(), &["b1"]);
    space.remove(&["b1"]);
    space.fails(&client.client(), Protocol::Http, web.http(), &Failure::Refused);
    space.pods(&["c1"]);
    space.reaches(client, web.http(), &["c1"]);
}
