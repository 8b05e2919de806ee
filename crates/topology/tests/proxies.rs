//! On which nodes rules are in force, and whose rules route.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{sync::Arc, time::Duration};

use evenkeel_model::{
    Node, ProxyException, ProxyReport, Revision, Revisions, SeenReport, ServiceKey, ServiceState,
    Snapshot, Version,
};
use evenkeel_testkit::service;
use evenkeel_topology::{Environment, Profile, Proxies, Server};

const NOW: i64 = 1_000_000;

fn revision(n: u64) -> Option<Revision> {
    Revision::new(&n.to_string())
}

/// Nodes `node-1`, `node-2`, …, each with the slices that it has, or no report.
fn snapshot(nodes: &[Option<u64>]) -> Snapshot {
    let mut snapshot = Snapshot { read_at: Some(NOW), ..Snapshot::default() };
    for (index, slices) in (1..).zip(nodes) {
        let name: Arc<str> = format!("node-{index}").into();
        let node = Node {
            id: snapshot.topology.nodes.intern(&name),
            zone: None,
            region: None,
            cpu_milli: 1000,
            ready: true,
            control_plane: false,
        };
        snapshot.nodes.push(node);
        snapshot.reports.extend(slices.map(|slices| SeenReport {
            report: ProxyReport {
                node: name,
                services: revision(100),
                slices: revision(slices),
                exceptions: Vec::new(),
                left_out: 0,
            },
            version: Version::default(),
            renewed: Some(NOW - 30),
            valid_for: Duration::from_secs(120),
        }));
    }
    snapshot
}

/// A Service whose newest slice is of revision 9 and was written three seconds ago.
fn state() -> ServiceState {
    let revisions =
        Revisions { service: revision(5).unwrap(), slices: revision(9), changed: Some(NOW - 3) };
    ServiceState { revisions: Some(revisions), ..ServiceState::new(service("web")) }
}

fn told(snapshot: &Snapshot, state: &ServiceState) -> Option<String> {
    Proxies::of(snapshot).in_force(state).map(|in_force| in_force.to_string())
}

#[test]
fn nodes_are_counted_by_what_they_have() {
    let cases: [(&[Option<u64>], Option<&str>); 8] = [
        (&[], None),
        (&[None, None], None),
        (&[Some(9)], Some("in force on the one node that reports")),
        (&[Some(9), Some(12)], Some("in force on all 2 nodes that report")),
        (&[Some(9), Some(8)], Some("in force on 1 of 2 nodes; node-2 is 3 s behind")),
        (
            &[Some(9), Some(8), None, None],
            Some(
                "in force on 1 of 2 nodes; node-2 is 3 s behind; 2 nodes without Evenkeel's proxy",
            ),
        ),
        (
            &[Some(9), None],
            Some("in force on the one node that reports; 1 node without Evenkeel's proxy"),
        ),
        (
            &[Some(1), Some(1), Some(1), Some(1), Some(1)],
            Some(
                "in force on 0 of 5 nodes; node-1 is 3 s behind; node-2 is 3 s behind; node-3 is \
                 3 s behind and 2 more",
            ),
        ),
    ];
    for (nodes, expected) in cases {
        assert_eq!(told(&snapshot(nodes), &state()).as_deref(), expected, "{nodes:?}");
    }
}

#[test]
fn exceptions_old_reports_and_what_cannot_be_compared_are_told() {
    let mut given = snapshot(&[Some(9), Some(9)]);
    let web = ServiceKey::new("default", "web");
    given.reports[1].report.exceptions =
        vec![ProxyException { service: web, reason: "Contested".into() }];
    let expected = "in force on 1 of 2 nodes; node-2 does not serve it as it is (Contested)";
    assert_eq!(told(&given, &state()).as_deref(), Some(expected));

    let mut given = snapshot(&[Some(9), Some(9)]);
    given.reports[1].renewed = Some(NOW - 121);
    let expected = "in force on the one node that reports; node-2 no longer reports";
    assert_eq!(told(&given, &state()).as_deref(), Some(expected));
    given.read_at = None;
    let expected = "in force on all 2 nodes that report";
    assert_eq!(told(&given, &state()).as_deref(), Some(expected), "in files nothing is old");

    let given = snapshot(&[Some(9)]);
    let unknown = ServiceState { revisions: None, ..state() };
    assert_eq!(told(&given, &unknown).as_deref(), Some("not known on any node"));
    let mut other = state();
    other.service.headless = true;
    assert_eq!(told(&given, &other), None, "no proxy serves it");
}

#[test]
fn routing_follows_what_most_nodes_report() {
    let cases: [(&[Option<u64>], Profile, &str); 5] = [
        (&[], Profile::Kubernetes, "no node reports Evenkeel's proxy"),
        (&[None, None], Profile::Kubernetes, "no node reports Evenkeel's proxy"),
        (&[Some(1), Some(1)], Profile::Evenkeel, "all 2 nodes report Evenkeel's proxy"),
        (
            &[Some(1), Some(1), None],
            Profile::Evenkeel,
            "2 of 3 nodes report Evenkeel's proxy; the others route by Kubernetes' rules",
        ),
        (
            &[Some(1), None],
            Profile::Kubernetes,
            "1 of 2 nodes report Evenkeel's proxy, and route by Evenkeel's rules",
        ),
    ];
    for (nodes, profile, because) in cases {
        let snapshot = snapshot(nodes);
        let environment = Environment::new(None, Server::default(), |_| ()).unwrap();
        let environment = environment.with_fleet(Proxies::of(&snapshot).fleet());
        let routing = environment.data_plane(&state()).routing;
        assert_eq!((routing.profile, &*routing.because.message), (profile, because), "{nodes:?}");
    }
}
