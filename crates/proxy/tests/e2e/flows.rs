//! UDP clients that keep their port: the kernel remembers where their packets go, and must forget it
//! when that is wrong (kubernetes/kubernetes#139628, #141371), and only then.
//!
//! What rules are in force is asked by HTTP: a UDP socket may get the port of an earlier one, and with
//! it a connection that the kernel keeps.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_testkit::netns::{Client, Flow, Protocol};
use serde_json::json;

use crate::{
    cluster::{settings, until},
    space::Space,
};

const RESTARTED: &str = "node-restarted";

fn quick(client: &evenkeel_testkit::netns::Namespace) -> Client {
    client.client().timeout(Duration::from_millis(200))
}

/// Asks on the same socket until one of `pods` answers.
#[track_caller]
fn follows(flow: &mut Flow, pods: &[&str]) {
    until(&format!("an answer of {pods:?}"), || match flow.ask() {
        Ok(answer) if pods.contains(&&*answer.pod) => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

#[track_caller]
fn ends(flow: &mut Flow) {
    until("no answer", || match flow.ask() {
        Ok(answer) => Err(answer.to_string()),
        Err(_) => Ok(()),
    });
}

/// A socket whose packets go to that Pod.
fn flow_to(client: &Client, to: SocketAddr, pod: &str) -> Flow {
    until(&format!("a connection to {pod}"), || {
        let mut flow = client.flow(Protocol::Udp, to).map_err(|failure| failure.to_string())?;
        match flow.ask() {
            Ok(answer) if answer.pod == pod => Ok(flow),
            other => Err(format!("{other:?}")),
        }
    })
}

#[test]
fn a_flow_follows_when_its_endpoint_goes() {
    let space = Space::new("flow-endpoint");
    space.pods(&["a1", "b1"]);
    let web = space.service("web", json!({"type": "NodePort"}));
    let mut flow = flow_to(&quick(space.client("c1")), web.udp(), "a1");
    let node_port = SocketAddr::new(space.cluster.node_ip("node-c1"), web.node_port(53));
    let mut outside = flow_to(&quick(space.outside()), node_port, "a1");
    let mut other = flow_to(&quick(space.client("c1")), web.udp(), "b1");
    let port = other.ask().unwrap().client;
    space.remove(&["a1"]);
    follows(&mut flow, &["b1"]);
    follows(&mut outside, &["b1"]);
    assert_eq!(other.ask().unwrap().client, port);
}

/// Its packets went nowhere before, and that is remembered too.
#[test]
fn a_flow_finds_a_service_that_is_created_later_and_its_first_endpoint() {
    let space = Space::new("flow-first");
    let to: SocketAddr = "10.96.255.53:53".parse().unwrap();
    let mut early = quick(space.client("a1")).flow(Protocol::Udp, to).unwrap();
    let mut on_node = quick(space.cluster.network.host("node-a1")).flow(Protocol::Udp, to).unwrap();
    early.ask().unwrap_err();
    on_node.ask().unwrap_err();
    space.service("web", json!({"clusterIP": to.ip()}));
    let mut late = quick(space.client("a1")).flow(Protocol::Udp, to).unwrap();
    until("refusal", || match late.ask() {
        Err(evenkeel_testkit::netns::Failure::Refused) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    space.pods(&["b1"]);
    for flow in [&mut early, &mut on_node, &mut late] {
        follows(flow, &["b1"]);
    }
}

#[test]
fn a_flow_ends_with_its_service() {
    let space = Space::new("flow-deleted");
    space.pods(&["a1"]);
    let web = space.service("web", json!({"externalIPs": ["203.0.113.50"]}));
    let external = SocketAddr::new("203.0.113.50".parse().unwrap(), 53);
    let mut flow = flow_to(&quick(space.client("c1")), web.udp(), "a1");
    let mut outside = flow_to(&quick(space.outside()), external, "a1");
    space.delete("web");
    ends(&mut flow);
    ends(&mut outside);
}

#[test]
fn a_flow_ends_when_the_last_endpoint_goes_and_returns_with_the_next() {
    let space = Space::new("flow-last");
    space.pods(&["a1"]);
    let web = space.service("web", json!({}));
    let mut flow = flow_to(&quick(space.client("c1")), web.udp(), "a1");
    space.remove(&["a1"]);
    ends(&mut flow);
    space.pods(&["b2"]);
    follows(&mut flow, &["b2"]);
}

#[test]
fn after_a_restart_a_flow_leaves_an_endpoint_that_went_meanwhile() {
    let space = Space::new("flow-restart");
    let _turn = space.cluster.turn(RESTARTED);
    space.pods(&["a1", "b1", "c1"]);
    let web = space.service("web", json!({}));
    let gone = space.service("gone", json!({}));
    let client = quick(space.client("restarted"));
    let mut flow = flow_to(&client, web.udp(), "a1");
    let mut of_gone = flow_to(&client, gone.udp(), "b1");
    let mut kept = flow_to(&client, web.udp(), "b1");
    let port = kept.ask().unwrap().client;
    space.cluster.stop_proxy(RESTARTED);
    space.remove(&["a1"]);
    space.delete("gone");
    // The controller and the other nodes have followed, and this one can't.
    space.reaches(space.client("a2"), web.http(), &["b1", "c1"]);
    assert_eq!(flow.ask().unwrap().pod, "a1");
    space.cluster.start_proxy(settings(RESTARTED));
    follows(&mut flow, &["b1", "c1"]);
    ends(&mut of_gone);
    assert_eq!(kept.ask().unwrap().client, port);
}

#[test]
fn a_flow_to_an_endpoint_that_still_serves_survives_changes_of_hints_and_shares() {
    let space = Space::new("flow-survives");
    space.pods(&["a1", "b1", "c1"]);
    let web = space.service("web", json!({}));
    let client = space.client("a1");
    let mut flow = flow_to(&quick(client), web.udp(), "b1");
    let port = flow.ask().unwrap().client;
    let mut still = |why: &str| {
        let answer = flow.ask().unwrap();
        assert_eq!((&*answer.pod, answer.client), ("b1", port), "{why}");
    };
    space.patch("web", json!({"spec": {"trafficDistribution": "PreferSameZone"}}));
    space.reaches(client, web.http(), &["a1"]);
    still("hints for zones");
    space.patch("web", json!({"spec": {"trafficDistribution": "PreferSameNode"}}));
    space.pods(&["a2"]);
    space.reaches(space.client("a2"), web.http(), &["a2"]);
    still("hints for nodes");
    let balanced = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    space.patch("web", json!({"metadata": {"annotations": balanced}}));
    until("shares", || match serde_json::to_string(&space.slices("web")).unwrap() {
        text if text.contains("zone-shares") => Ok(()),
        text => Err(text),
    });
    space.pods(&["b2", "c2"]);
    space.reaches(space.client("b1"), web.http(), &["b1", "b2"]);
    still("shares");
    space.terminate(&["b1"]);
    until("new flows elsewhere", || match client.http_many(web.http(), 40).by_pod().get("b1") {
        None => Ok(()),
        Some(n) => Err(format!("{n} to b1")),
    });
    still("it ends, and serves until then");
    space.remove(&["b1"]);
    follows(&mut flow, &["a1", "a2", "b2", "c1", "c2"]);
}

/// TCP connections are never cut: their endpoints close them.
#[test]
fn a_tcp_connection_is_left_to_its_ends() {
    let space = Space::new("flow-tcp");
    space.pods(&["a1", "b1"]);
    let web = space.service("web", json!({}));
    let client = space.client("c1");
    space.reaches(client, web.http(), &["a1", "b1"]);
    let mut flow = client.flow(Protocol::Http, web.http()).unwrap();
    let pod = flow.ask().unwrap().pod;
    space.remove(&[&pod]);
    let other = if pod == "a1" { "b1" } else { "a1" };
    space.reaches(client, web.http(), &[other]);
    assert_eq!(flow.ask().unwrap().pod, pod);
}
