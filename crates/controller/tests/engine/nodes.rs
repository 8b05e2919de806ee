//! Nodes that are gone, and Nodes that come back.

use std::time::Duration;

use evenkeel_controller::engine::{Action, Settings};
use evenkeel_model::{Gone, Node, Watched};
use evenkeel_testkit::service;

use crate::{desk::Desk, three_zones};

fn delete_node(desk: &mut Desk, name: &str) {
    let gone = Gone { namespace: "".into(), name: name.into(), uid: "n".into() };
    desk.engine.node(Watched::Deleted(gone));
}

fn node(desk: &mut Desk, zone: &str) -> Node {
    let topology = desk.engine.topology_mut();
    Node {
        id: topology.nodes.intern(&format!("node-{zone}")),
        zone: Some(topology.zones.intern(zone)),
        cpu_milli: 4000,
        ready: true,
        control_plane: false,
    }
}

#[test]
fn a_node_that_is_away_for_a_moment_loses_no_endpoint() {
    let mut desk = three_zones();
    desk.service(service("web"));
    desk.run();
    delete_node(&mut desk, "node-a");
    desk.poll();
    desk.now += Duration::from_millis(300);
    desk.poll();
    let back = node(&mut desk, "a");
    desk.engine.node(Watched::Applied(back));
    desk.now += Duration::from_secs(60);
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    assert_eq!(desk.engine.next_due(), None);
}

#[test]
fn endpoints_of_a_node_that_stays_away_are_left_out_after_the_grace() {
    let mut desk = three_zones();
    desk.service(service("web"));
    desk.run();
    // A list that lacks it tells the same as its deletion.
    desk.engine.node(Watched::Restarted);
    for zone in ["b", "c"] {
        let node = node(&mut desk, zone);
        desk.engine.node(Watched::Listed(node));
    }
    desk.engine.node(Watched::Complete);
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    let grace = Settings::default().missing_node_grace;
    assert_eq!((grace, desk.engine.next_due()), (Duration::from_secs(10), Some(grace)));
    desk.now = grace;
    let write = desk.write();
    let Action::Update { slice, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.endpoints.len(), 2);
}

#[test]
fn without_a_grace_they_are_left_out_at_once_as_kubernetes_does() {
    let settings = Settings { missing_node_grace: Duration::ZERO, ..Settings::default() };
    let mut desk = Desk::new(settings).zones(2);
    desk.pod("web", "pod-a", "a", 1);
    desk.pod("web", "pod-b", "b", 2);
    desk.complete();
    desk.service(service("web"));
    desk.run();
    delete_node(&mut desk, "node-a");
    let write = desk.write();
    let Action::Update { slice, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.endpoints.len(), 1);
}
