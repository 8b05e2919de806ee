//! Zone shares of policy Balanced, write by write.

use evenkeel_controller::engine::{Action, Settings};
use evenkeel_model::{Node, SeenSlice, Service, Watched, label};
use evenkeel_testkit::{ServiceExt, service};

use crate::harness::{Harness, seen};

fn balanced() -> Service {
    service("web").annotated(label::TRAFFIC_DISTRIBUTION, "Balanced")
}

/// Two, one and one endpoints in three equal zones, synced.
fn example() -> (Harness, Vec<SeenSlice>) {
    let mut harness = Harness::new(Settings::default()).zones(3);
    for (serial, zone) in ["a", "a", "b", "c"].iter().enumerate() {
        harness.pod("web", &format!("pod-{serial}"), zone, serial);
    }
    harness.complete();
    harness.service(balanced());
    let slices = harness.run();
    (harness, slices)
}

fn with_shares(slices: &[SeenSlice]) -> usize {
    slices.iter().filter(|seen| seen.slice.shares.is_some()).count()
}

#[test]
fn the_table_is_written_with_the_slice_and_told_once() {
    let (mut harness, slices) = example();
    assert_eq!((slices.len(), with_shares(&slices)), (1, 1));
    let told: Vec<&str> = harness.events.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(told, ["ZoneSharesEnabled"]);
    let (_, message) = &harness.events[0];
    assert!(message.contains("83 % of traffic") && message.contains("Auto would give no hints"));
    let report = &harness.reports[0];
    assert_eq!((report.shares_changed, report.writes_for_shares), (1, 0));
    // The watch shows what was written: nothing is left to do.
    for slice in slices {
        harness.engine.slice(Watched::Applied(slice));
    }
    assert!(harness.run().is_empty());
    assert_eq!(harness.events.len(), 1);
    assert_eq!(harness.engine.totals().with_shares, 1);
}

#[test]
fn a_condition_says_that_shares_took_over() {
    let mut harness = Harness::new(Settings::default()).zones(3);
    for (serial, zone) in ["a", "a", "b", "c"].iter().enumerate() {
        harness.pod("web", &format!("pod-{serial}"), zone, serial);
    }
    harness.complete();
    harness.service(balanced());
    let create = harness.write();
    let version = harness.version("web", 1);
    harness.done(&create, version);
    let Action::Conditions { set, .. } = harness.write().action else { panic!("conditions") };
    let programmed = &set.iter().find(|(c, _)| c.kind.ends_with("Programmed")).unwrap().0;
    assert!(programmed.status);
    assert_eq!(&*programmed.reason, "ZoneSharesProgrammed");
    assert!(programmed.message.contains("Auto would give no hints"), "{}", programmed.message);
}

#[test]
fn a_node_that_spoils_the_shares_costs_one_write() {
    let (mut harness, _) = example();
    harness.reports.clear();
    let topology = harness.engine.topology_mut();
    let node = Node {
        id: topology.nodes.intern("node-a-large"),
        zone: topology.zones.find("a"),
        region: None,
        cpu_milli: 8000,
        ready: true,
        control_plane: false,
    };
    harness.engine.node(Watched::Applied(node.clone()));
    let slices = harness.run();
    assert_eq!(with_shares(&slices), 1);
    let report = &harness.reports[0];
    assert_eq!((report.slices_updated, report.shares_changed), (1, 1));
    // A little less CPU keeps the shares.
    harness.engine.node(Watched::Applied(Node { cpu_milli: 7900, ..node }));
    assert!(harness.run().is_empty());
}

#[test]
fn a_service_that_leaves_balanced_loses_the_table() {
    let (mut harness, _) = example();
    harness.engine.service(Watched::Applied(seen(service("web"))));
    let slices = harness.run();
    assert_eq!((slices.len(), with_shares(&slices)), (1, 0));
}

#[test]
fn a_threshold_that_cannot_be_read_is_named_in_a_condition() {
    let mut harness = Harness::new(Settings::default()).zones(3);
    harness.pod("web", "pod-0", "a", 0);
    harness.complete();
    harness.service(balanced().annotated(label::OVERLOAD_THRESHOLD, "forty"));
    let create = harness.write();
    let version = harness.version("web", 1);
    harness.done(&create, version);
    let Action::Conditions { set, .. } = harness.write().action else { panic!("conditions") };
    let accepted = &set.iter().find(|(c, _)| c.kind.ends_with("Accepted")).unwrap().0;
    assert!(
        accepted.status && accepted.message.contains("\"forty\" has no effect"),
        "{accepted:?}"
    );
}
