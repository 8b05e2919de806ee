//! Nodes that are gone, and Nodes that come back.

use std::time::Duration;

use evenkeel_controller::engine::{Action, Settings};
use evenkeel_model::{Gone, Node, Watched};
use evenkeel_testkit::service;

use crate::{harness::Harness, three_zones};

fn delete_node(harness: &mut Harness, name: &str) {
    let gone = Gone { namespace: "".into(), name: name.into(), uid: "n".into() };
    harness.engine.node(Watched::Deleted(gone));
}

fn node(harness: &mut Harness, zone: &str) -> Node {
    let topology = harness.engine.topology_mut();
    Node {
        id: topology.nodes.intern(&format!("node-{zone}")),
        zone: Some(topology.zones.intern(zone)),
        region: None,
        cpu_milli: 4000,
        ready: true,
        control_plane: false,
    }
}

#[test]
fn a_node_that_is_away_for_a_moment_loses_no_endpoint() {
    let mut harness = three_zones();
    harness.service(service("web"));
    harness.run();
    delete_node(&mut harness, "node-a");
    harness.poll();
    harness.now += Duration::from_millis(300);
    harness.poll();
    let back = node(&mut harness, "a");
    harness.engine.node(Watched::Applied(back));
    harness.now += Duration::from_secs(60);
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    assert_eq!(harness.engine.next_due(), None);
}

#[test]
fn endpoints_of_a_node_that_stays_away_are_left_out_after_the_grace() {
    let mut harness = three_zones();
    harness.service(service("web"));
    harness.run();
    // A list that lacks it tells the same as its deletion.
    harness.engine.node(Watched::Restarted);
    for zone in ["b", "c"] {
        let node = node(&mut harness, zone);
        harness.engine.node(Watched::Listed(node));
    }
    harness.engine.node(Watched::Complete);
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    let grace = Settings::default().missing_node_grace;
    assert_eq!((grace, harness.engine.next_due()), (Duration::from_secs(10), Some(grace)));
    harness.now = grace;
    let write = harness.write();
    let Action::Update { slice, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.endpoints.len(), 2);
}

#[test]
fn without_a_grace_they_are_left_out_at_once_as_kubernetes_does() {
    let settings = Settings { missing_node_grace: Duration::ZERO, ..Settings::default() };
    let mut harness = Harness::new(settings).zones(2);
    harness.pod("web", "pod-a", "a", 1);
    harness.pod("web", "pod-b", "b", 2);
    harness.complete();
    harness.service(service("web"));
    harness.run();
    delete_node(&mut harness, "node-a");
    let write = harness.write();
    let Action::Update { slice, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.endpoints.len(), 1);
}
