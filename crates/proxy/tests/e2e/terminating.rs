//! Endpoints that end.

use evenkeel_testkit::netns::{Failure, Protocol};
use serde_json::json;

use crate::space::Space;

#[test]
fn a_terminating_endpoint_is_used_only_when_none_is_ready() {
    let space = Space::new("terminating");
    space.pods(&["a1", "b1"]);
    let web = space.service("web", json!({}));
    let client = space.client("c1");
    space.reaches(client, web.http(), &["a1", "b1"]);
    space.terminate(&["a1"]);
    space.reaches(client, web.http(), &["b1"]);
    space.terminate(&["b1"]);
    space.reaches(client, web.http(), &["a1", "b1"]);
    space.remove(&["a1"]);
    space.reaches(client, web.http(), &["b1"]);
    space.remove(&["b1"]);
    space.fails(&client.client(), Protocol::Http, web.http(), &Failure::Refused);
}

#[test]
fn with_local_the_terminating_endpoint_of_the_node_is_used_before_ready_ones_elsewhere() {
    let space = Space::new("terminating-local");
    space.pods(&["a1", "b1"]);
    let web = space.service("web", json!({"internalTrafficPolicy": "Local"}));
    space.reaches(space.client("a1"), web.http(), &["a1"]);
    space.terminate(&["a1"]);
    space.reaches(space.client("a1"), web.http(), &["a1"]);
    space.remove(&["a1"]);
    space.fails(&space.client("a1").client(), Protocol::Http, web.http(), &Failure::TimedOut);
}

#[test]
fn an_endpoint_that_is_not_ready_is_not_used() {
    let space = Space::new("not-ready");
    space.pods(&["a1"]);
    space.pod("b1", false);
    let web = space.service("web", json!({}));
    space.reaches(space.client("b1"), web.http(), &["a1"]);
    space.remove(&["a1"]);
    space.fails(&space.client("b1").client(), Protocol::Http, web.http(), &Failure::Refused);
}

/// A connection goes on while its endpoint ends, and new ones go elsewhere.
#[test]
fn connections_to_a_terminating_endpoint_go_on() {
    let space = Space::new("draining");
    space.pods(&["a1"]);
    let web = space.service("web", json!({}));
    let client = space.client("c1");
    space.reaches(client, web.http(), &["a1"]);
    let mut flow = client.flow(Protocol::Http, web.http()).unwrap();
    assert_eq!(flow.ask().unwrap().pod, "a1");
    space.pods(&["b1"]);
    space.terminate(&["a1"]);
    space.reaches(client, web.http(), &["b1"]);
    assert_eq!(flow.ask().unwrap().pod, "a1");
}
