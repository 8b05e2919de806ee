//! The condition about nodes: what proxies report, and how seldom it is written.

use std::time::Duration;

use evenkeel_controller::engine::{Action, Scope, Settings};
use evenkeel_model::{
    Condition, Gone, ProxyException, ProxyReport, Revision, SeenReport, SeenService, ServiceKey,
    Version, Watched,
};
use evenkeel_testkit::{ServiceExt, service};

use crate::{
    harness::{Harness, seen},
    three_zones,
};

const VALID_FOR: Duration = Duration::from_secs(120);
/// The time of day at the start.
const WALL: i64 = 1_000_000;

struct Cluster {
    harness: Harness,
    revision: u64,
    /// Conditions that were written, as `type=status reason: message`, only of nodes.
    told: Vec<String>,
    n_slice_writes: usize,
}

impl Cluster {
    /// Three nodes, one Service with a Pod in each zone, all written.
    fn new(service: evenkeel_model::Service) -> Cluster {
        let mut harness = three_zones();
        harness.service(service);
        let mut cluster =
            Cluster { harness, revision: 1_000_000, told: Vec::new(), n_slice_writes: 0 };
        cluster.run();
        cluster
    }

    /// Carries out all writes, for some seconds.
    fn seconds(&mut self, seconds: u64) {
        for _ in 0..seconds * 4 {
            self.harness.now += Duration::from_millis(250);
            self.run();
        }
    }

    fn run(&mut self) {
        for _ in 0..1000 {
            self.harness.poll();
            let Some(write) = self.harness.writes.pop_front() else { return };
            if let Action::Conditions { set, remove, .. } = &write.action {
                let is_about_nodes = |kind: &str| kind.ends_with("Honored");
                let set = set.iter().map(|(condition, _)| condition);
                for Condition { kind, status, reason, message } in
                    set.filter(|condition| is_about_nodes(&condition.kind))
                {
                    self.told.push(format!("{kind}={status} {reason}: {message}"));
                }
                let removed = remove.iter().filter(|kind| is_about_nodes(kind));
                self.told.extend(removed.map(|kind| format!("{kind} removed")));
            } else {
                self.n_slice_writes += 1;
            }
            let version = self.harness.version("web-slice", 1);
            self.harness.done(&write, version);
        }
        panic!("it never ends")
    }

    fn report(&mut self, node: &str, slices: u64, exceptions: &[&str]) {
        let exceptions = exceptions.iter().map(|name| ProxyException {
            service: ServiceKey::new("default", *name),
            reason: "Contested".into(),
        });
        let report = ProxyReport {
            node: node.into(),
            services: Revision::new("500"),
            slices: Revision::new(&slices.to_string()),
            exceptions: exceptions.collect(),
            left_out: 0,
        };
        self.send(report);
    }

    fn send(&mut self, report: ProxyReport) {
        self.revision += 1;
        let version = Version {
            uid: format!("lease-{}", report.node).into(),
            resource_version: self.revision.to_string().into(),
            generation: 0,
        };
        let wall = WALL + i64::try_from(self.harness.now.as_secs()).unwrap();
        let seen = SeenReport { report, version, renewed: Some(wall), valid_for: VALID_FOR };
        self.harness.engine.report(Watched::Applied(seen), wall);
    }

    /// The list of reports is complete, and has none yet.
    fn listed(&mut self) {
        self.harness.engine.report(Watched::Restarted, WALL);
        self.harness.engine.report(Watched::Complete, WALL);
    }

    fn all_report(&mut self, slices: u64) {
        for node in ["node-a", "node-b", "node-c"] {
            self.report(node, slices, &[]);
        }
    }

    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }
}

fn web() -> evenkeel_model::Service {
    service("web").distribution("PreferSameZone")
}

const IN_FORCE: &str = "TrafficDistributionHonored=true RulesInForce: in force on all nodes that \
                        run Evenkeel's proxy";

#[test]
fn what_nodes_report_is_shown_once_all_have_it() {
    let mut cluster = Cluster::new(web());
    cluster.seconds(60);
    assert_eq!(cluster.told(), [""; 0], "no node reports");
    cluster.listed();
    cluster.report("node-a", 900, &[]);
    cluster.report("node-b", 900, &[]);
    cluster.seconds(1);
    assert_eq!(cluster.told(), [IN_FORCE], "node-c is unknown");
    cluster.report("node-c", 5, &[]);
    cluster.seconds(9);
    assert_eq!(cluster.told(), [""; 0]);
    cluster.seconds(2);
    let behind = "TrafficDistributionHonored=false NodesBehind: in force on 2 of 3 nodes; behind: \
                  node-c";
    assert_eq!(cluster.told(), [behind]);
    cluster.report("node-c", 900, &[]);
    cluster.seconds(19);
    assert_eq!(cluster.told(), [""; 0], "it has to settle");
    cluster.seconds(2);
    assert_eq!(cluster.told(), [IN_FORCE]);
}

/// What nodes report, and what is told within a minute.
#[test]
fn nodes_that_count_and_nodes_that_do_not() {
    type Case = (&'static str, fn(&mut Cluster), &'static [&'static str]);
    let cases: [Case; 8] = [
        ("all have it", |it| it.all_report(900), &[IN_FORCE]),
        ("none has a Node", |it| it.report("elsewhere", 900, &[]), &[]),
        (
            "one that lags has no Node",
            |it| {
                it.all_report(900);
                it.report("elsewhere", 1, &[]);
            },
            &[IN_FORCE],
        ),
        (
            "one can't be compared",
            |it| {
                it.all_report(900);
                it.send(ProxyReport {
                    node: "node-b".into(),
                    services: Revision::new("500"),
                    slices: Revision::new("opaque"),
                    exceptions: Vec::new(),
                    left_out: 0,
                });
            },
            &[IN_FORCE],
        ),
        (
            "an exception",
            |it| {
                it.all_report(900);
                it.report("node-b", 900, &["web"]);
            },
            &["TrafficDistributionHonored=false ProxyExceptions: in force on 2 of 3 nodes; not \
               served as it is: node-b (Contested)"],
        ),
        (
            "an exception of another Service",
            |it| {
                it.all_report(900);
                it.report("node-b", 900, &["other"]);
            },
            &[IN_FORCE],
        ),
        (
            "exceptions that are not listed",
            |it| {
                it.all_report(900);
                it.send(ProxyReport {
                    node: "node-b".into(),
                    services: Revision::new("500"),
                    slices: Revision::new("900"),
                    exceptions: Vec::new(),
                    left_out: 9,
                });
            },
            &["TrafficDistributionHonored=false ProxyExceptions: in force on 2 of 3 nodes; not \
               served as it is: node-b (not listed)"],
        ),
        (
            "all are behind, the last first",
            |it| {
                it.report("node-a", 30, &[]);
                it.report("node-b", 20, &[]);
                it.report("node-c", 10, &[]);
            },
            &["TrafficDistributionHonored=false NodesBehind: in force on 0 of 3 nodes; behind: \
               node-c, node-b, node-a"],
        ),
    ];
    for (what, report, expected) in cases {
        let mut cluster = Cluster::new(web());
        cluster.listed();
        report(&mut cluster);
        cluster.seconds(60);
        assert_eq!(cluster.told(), expected, "{what}");
    }
}

#[test]
fn services_without_a_condition_about_nodes() {
    let mut labelled = web();
    labelled.labels.insert("service.kubernetes.io/service-proxy-name".into(), "other".into());
    let mut headless = web();
    headless.headless = true;
    let cases = [
        ("no policy", service("web")),
        ("an unknown policy", service("web").distribution("example.com/Best")),
        ("nothing programmed", service("nobody").distribution("PreferSameZone")),
        ("another proxy", labelled),
        ("headless", headless),
    ];
    for (what, service) in cases {
        let mut cluster = Cluster::new(service);
        cluster.listed();
        cluster.all_report(900);
        cluster.seconds(60);
        assert_eq!(cluster.told(), [""; 0], "{what}");
    }
}

#[test]
fn beside_the_built_in_controller_the_condition_has_our_prefix() {
    let settings = Settings { scope: Scope::Annotated, ..Settings::default() };
    let mut harness = Harness::new(settings).zones(2);
    harness.pod("web", "pod-a", "a", 1);
    harness.complete();
    let mut service = web();
    service.opted_in = true;
    harness.service(service);
    let mut cluster = Cluster { harness, revision: 0, told: Vec::new(), n_slice_writes: 0 };
    cluster.listed();
    cluster.report("node-a", 900, &[]);
    cluster.seconds(1);
    assert_eq!(cluster.told(), [format!("evenkeel.dev/{IN_FORCE}")]);
}

/// Endpoints change every second for ten minutes, and nodes follow within two: nothing is written.
#[test]
fn churn_writes_no_condition_while_nodes_keep_up() {
    let mut cluster = Cluster::new(web());
    cluster.listed();
    cluster.all_report(900);
    cluster.seconds(1);
    assert_eq!(cluster.told(), [IN_FORCE]);
    // Revisions of slices that are written from now on, by when.
    let mut behind: std::collections::VecDeque<u64> = [900, 900].into();
    let before = cluster.n_slice_writes;
    for serial in 0..600 {
        cluster.harness.pod("web", "pod-x", "a", 100 + serial % 2);
        cluster.seconds(1);
        behind.push_back(100_000 + serial as u64);
        let slices = behind.pop_front().unwrap();
        for node in ["node-a", "node-b", "node-c"] {
            cluster.report(node, slices, &[]);
        }
    }
    assert!(cluster.n_slice_writes - before >= 600, "{}", cluster.n_slice_writes);
    assert_eq!(cluster.told(), [""; 0]);
}

/// A node that is always late is told of once, not with every change.
#[test]
fn churn_with_a_node_that_stands_still_is_told_of_once() {
    let mut cluster = Cluster::new(web());
    cluster.listed();
    cluster.all_report(1);
    cluster.all_report(900);
    cluster.seconds(1);
    assert_eq!(cluster.told(), [IN_FORCE]);
    cluster.report("node-b", 101, &[]);
    for serial in 0..300 {
        cluster.harness.pod("web", "pod-x", "a", 100 + serial % 2);
        cluster.seconds(1);
        cluster.report("node-a", 1_000_000, &[]);
        cluster.report("node-c", 1_000_000, &[]);
        if serial % 30 == 0 {
            cluster.report("node-b", 101, &[]);
        }
    }
    let told = cluster.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("in force on 2 of 3 nodes; behind: node-b"), "{told:?}");
}

#[test]
fn a_proxy_that_no_longer_reports_is_unknown_after_a_while() {
    let mut cluster = Cluster::new(web());
    cluster.listed();
    cluster.all_report(900);
    cluster.report("node-c", 5, &[]);
    cluster.seconds(11);
    assert_eq!(cluster.told().len(), 1, "node-c is late");
    for _ in 0..5 {
        cluster.report("node-a", 900, &[]);
        cluster.report("node-b", 900, &[]);
        cluster.seconds(30);
    }
    assert_eq!(cluster.told(), [IN_FORCE]);
    // The same of a Lease that is deleted, and of a Node.
    cluster.report("node-c", 6, &[]);
    cluster.seconds(11);
    assert_eq!(cluster.told().len(), 1);
    let gone =
        Gone { namespace: "kube-system".into(), name: "x".into(), uid: "lease-node-c".into() };
    cluster.harness.engine.report(Watched::Deleted(gone), WALL);
    cluster.seconds(21);
    assert_eq!(cluster.told(), [IN_FORCE]);
    cluster.report("node-c", 7, &[]);
    cluster.seconds(11);
    assert_eq!(cluster.told().len(), 1);
    let gone = Gone { namespace: "".into(), name: "node-c".into(), uid: "".into() };
    cluster.harness.engine.node(Watched::Deleted(gone));
    cluster.seconds(32);
    assert_eq!(cluster.told(), [IN_FORCE]);
}

/// As after an outage of the API server, and after proxies were removed.
#[test]
fn a_condition_stays_for_ten_minutes_when_no_node_reports() {
    let mut cluster = Cluster::new(web());
    cluster.listed();
    cluster.all_report(900);
    cluster.seconds(500);
    assert_eq!(cluster.told(), [IN_FORCE]);
    cluster.all_report(900);
    cluster.seconds(119);
    assert_eq!(cluster.told(), [""; 0]);
    cluster.seconds(602);
    assert_eq!(cluster.told(), ["TrafficDistributionHonored removed"]);
}

#[test]
fn a_restart_with_nothing_changed_writes_nothing_about_nodes() {
    let said = |kind: &str, status, reason: &str, message: &str| Condition {
        kind: format!("TrafficDistribution{kind}").into(),
        status,
        reason: reason.into(),
        message: message.into(),
    };
    let late = "in force on 2 of 3 nodes; behind: node-c";
    let cases = [
        (
            said(
                "Honored",
                true,
                "RulesInForce",
                "in force on all nodes that run Evenkeel's proxy",
            ),
            900,
        ),
        (said("Honored", false, "NodesBehind", late), 5),
    ];
    for (honored, node_c) in cases {
        let slices = Cluster::new(web()).harness.run();
        assert!(slices.is_empty());
        let mut harness = three_zones();
        let conditions = vec![
            said("Accepted", true, "SetByField", "field spec.trafficDistribution: PreferSameZone"),
            said("Programmed", true, "HintsProgrammed", "all ready endpoints have hints"),
            honored.clone(),
        ];
        harness.engine.service(Watched::Listed(SeenService { conditions, ..seen(web()) }));
        harness.engine.service(Watched::Complete);
        let mut cluster = Cluster { harness, revision: 0, told: Vec::new(), n_slice_writes: 0 };
        // The reports come last, and late.
        cluster.seconds(30);
        cluster.listed();
        cluster.all_report(900);
        cluster.report("node-c", node_c, &[]);
        cluster.seconds(15);
        for _ in 0..10 {
            cluster.all_report(900);
            cluster.report("node-c", node_c, &[]);
            cluster.seconds(30);
        }
        assert_eq!(cluster.told(), [""; 0], "{honored:?}");
    }
}

/// A report that was too old when the controller started counts once it is renewed.
#[test]
fn a_report_from_long_ago_counts_from_its_next_renewal_on() {
    let mut cluster = Cluster::new(web());
    cluster.listed();
    cluster.all_report(900);
    let old = |revision: &str, renewed| SeenReport {
        report: ProxyReport {
            node: "node-c".into(),
            services: Revision::new("500"),
            slices: Revision::new("5"),
            exceptions: Vec::new(),
            left_out: 0,
        },
        version: Version { uid: "lease".into(), resource_version: revision.into(), generation: 0 },
        renewed: Some(renewed),
        valid_for: VALID_FOR,
    };
    let gone = Gone { namespace: "".into(), name: "x".into(), uid: "lease-node-c".into() };
    cluster.harness.engine.report(Watched::Deleted(gone), WALL);
    cluster.harness.engine.report(Watched::Applied(old("1", WALL - 121)), WALL);
    cluster.seconds(30);
    assert_eq!(cluster.told(), [IN_FORCE]);
    // Its clock is wrong, and it lives.
    cluster.harness.engine.report(Watched::Applied(old("2", WALL - 91)), WALL);
    cluster.seconds(12);
    assert_eq!(cluster.told().len(), 1);
}
