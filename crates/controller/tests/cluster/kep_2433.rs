//! "Controller Unit Tests" of KEP-2433, all 19 rows in their order, end to end: objects into a real
//! API server, slices out of it. A TrafficPolicy of `PreferZone` is today's annotation.

use std::time::Duration;

use evenkeel_controller::{Settings, WatchSettings, engine};
use evenkeel_topology::{Gates, UnknownCpu};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::harness::{Cluster, Running, at_once, hinted, n_endpoints};

pub(crate) fn auto() -> Value {
    json!({"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}})
}

pub(crate) fn settings(change: impl FnOnce(&mut evenkeel_topology::Settings)) -> Settings {
    // What a Node's deletion does is to be seen at once; how long it is put off, `tests/engine` tests.
    let missing_node_grace = Duration::ZERO;
    let mut engine = engine::Settings { missing_node_grace, ..engine::Settings::default() };
    change(&mut engine.topology);
    let watches = WatchSettings::default();
    Settings { engine, election: None, listen: None, watches, reports: None, address: None }
}

/// Nodes by zone and cores, Pods by zone, one Service, one controller.
pub(crate) struct Row {
    pub(crate) cluster: Cluster,
    pub(crate) controller: Running,
    n_pods: usize,
}

impl Row {
    pub(crate) async fn new(
        nodes: &[(&str, Option<u64>)],
        pods: &[(&str, usize)],
        service: Value,
        settings: Settings,
    ) -> Row {
        let cluster = Cluster::start().await;
        for (number, (zone, cores)) in nodes.iter().enumerate() {
            cluster.node(&format!("node-{number}-{zone}"), zone, *cores).await;
        }
        let controller = cluster.controller(settings).await;
        let mut row = Row { cluster, controller, n_pods: 0 };
        for (zone, n) in pods {
            let node = nodes.iter().position(|(of, _)| of == zone).unwrap();
            row.pods(&format!("node-{node}-{zone}"), *n).await;
        }
        row.cluster.service("web", service).await;
        row
    }

    pub(crate) async fn pods(&mut self, node: &str, n: usize) {
        let made = (self.n_pods + 1..=self.n_pods + n).map(async |number| {
            let ip = format!("10.1.{}.{}", number / 250, 1 + number % 250);
            self.cluster.pod("web", &format!("pod-{number:03}"), node, &ip).await;
        });
        at_once(made).await;
        self.n_pods += n;
    }

    pub(crate) async fn expect(&self, zones: &[(&str, usize)]) -> Vec<EndpointSlice> {
        let wanted = zones.iter().map(|(zone, n)| ((*zone).to_owned(), *n)).collect();
        let all = |slices: &[EndpointSlice]| {
            n_endpoints(slices) == self.n_pods && hinted(slices) == wanted
        };
        self.cluster.until("web", all).await
    }

    /// No hints, and an Event or none.
    pub(crate) async fn expect_none(&self, event: Option<&str>) {
        self.expect(&[]).await;
        let Some(event) = event else { return };
        for _ in 0..2000 {
            let events = self.cluster.events("web").await;
            let said = |e: &k8s_openapi::api::core::v1::Event| {
                e.message.as_deref().is_some_and(|message| message.contains(event))
            };
            if events.iter().any(said) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("no Event says {event:?}: {:?}", self.cluster.events("web").await);
    }

    pub(crate) async fn end(self) {
        self.controller.stop().await;
        self.cluster.stop().await;
    }
}

fn gate_off() -> Settings {
    settings(|topology| {
        topology.gates = Gates { topology_aware_hints: false, ..Gates::ALL_ON };
    })
}

fn default() -> Settings {
    settings(|_| {})
}

const TWO: &[(&str, Option<u64>)] = &[("a", Some(4)), ("b", Some(4))];
const THREE: &[(&str, Option<u64>)] = &[("a", Some(4)), ("b", Some(4)), ("c", Some(4))];

// Row 1: Feature Gate On, TrafficPolicy == 'PreferZone', 2+ zones | Hints set
// Row 11: 4 endpoints, 2 zones | Hints set
#[tokio::test]
async fn rows_1_and_11_auto_in_two_zones_sets_hints() {
    let row = Row::new(TWO, &[("a", 2), ("b", 2)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    row.end().await;
    let row = Row::new(TWO, &[("a", 1), ("b", 3)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    row.end().await;
}

// Row 2: Feature Gate On, TrafficPolicy == 'PreferZone', 1 zone | No hints set
#[tokio::test]
async fn row_2_auto_in_one_zone_sets_no_hints() {
    let nodes = [("a", Some(4)), ("a", Some(4))];
    let row = Row::new(&nodes, &[("a", 4)], auto(), default()).await;
    row.expect_none(Some("Insufficient Node information")).await;
    row.end().await;
}

// Row 3: Feature Gate On, TrafficPolicy == 'Local', 2+ zones | No hints
// Row 4: Feature Gate On, TrafficPolicy Unset, 2+ zones | No hints
#[tokio::test]
async fn rows_3_and_4_local_or_unset_sets_no_hints() {
    for service in [json!({"spec": {"internalTrafficPolicy": "Local"}}), json!({})] {
        let row = Row::new(TWO, &[("a", 2), ("b", 2)], service, default()).await;
        row.expect_none(None).await;
        row.end().await;
    }
}

// Rows 5, 6, 7: Feature Gate Off, with 'PreferZone' and unset | No hints. The KEP has the last one
// twice; here it also takes away hints that were set while the gate was on.
#[tokio::test]
async fn rows_5_to_7_with_the_gate_off_there_are_no_hints() {
    let row = Row::new(TWO, &[("a", 2), ("b", 2)], auto(), gate_off()).await;
    row.expect_none(None).await;
    row.end().await;
    let row = Row::new(TWO, &[("a", 2), ("b", 2)], json!({}), gate_off()).await;
    row.expect_none(None).await;
    row.end().await;

    let row = Row::new(TWO, &[("a", 2), ("b", 2)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    let Row { cluster, controller, n_pods } = row;
    controller.stop().await;
    let controller = cluster.controller(gate_off()).await;
    let row = Row { cluster, controller, n_pods };
    row.expect_none(None).await;
    row.end().await;
}

// Row 8: 2 endpoints, 3 zones | No hints
// Row 9: 3 endpoints, 3 zones | Hints set
// Row 10: 4 endpoints, 3 zones | No hints
#[tokio::test]
async fn rows_8_to_10_three_zones_need_three_endpoints_and_refuse_four() {
    let mut row = Row::new(THREE, &[("a", 1), ("b", 1)], auto(), default()).await;
    row.expect_none(Some("Insufficient number of endpoints (2 endpoints, 3 zones)")).await;
    row.pods("node-2-c", 1).await;
    row.expect(&[("a", 1), ("b", 1), ("c", 1)]).await;
    row.pods("node-0-a", 1).await;
    row.expect_none(Some("(4 endpoints, 3 zones), addressType: IPv4")).await;
    row.end().await;
}

// Row 12: 4 endpoints all from 1 zone, 2 zones | Hints set
#[tokio::test]
async fn row_12_endpoints_of_one_zone_serve_both() {
    let row = Row::new(TWO, &[("b", 4)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    row.end().await;
}

// Row 13: 4 endpoints, 3 zones, 1 zone with 2x cores | Hints set
#[tokio::test]
async fn row_13_a_zone_with_twice_the_cores_gets_two_of_four() {
    let nodes = [("a", Some(8)), ("b", Some(4)), ("c", Some(4))];
    let row = Row::new(&nodes, &[("a", 2), ("b", 1), ("c", 1)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 1), ("c", 1)]).await;
    row.end().await;
}

// Row 14: 400 endpoints, 4 zones with slightly different cores | Hints set
#[tokio::test]
async fn row_14_four_hundred_endpoints_follow_the_cores() {
    let nodes = [("a", Some(24)), ("b", Some(25)), ("c", Some(25)), ("d", Some(26))];
    let pods = [("a", 100), ("b", 100), ("c", 100), ("d", 100)];
    let row = Row::new(&nodes, &pods, auto(), default()).await;
    // What is hinted right for fewer Pods stays as it is, so there is not one right outcome; and a
    // plan of several writes is in force with its last one.
    let least = |cores: f64| (400.0 * cores / 100.0 / 1.3).ceil() as usize;
    let follows = |slices: &[EndpointSlice]| {
        let hinted = hinted(slices);
        let zones = [("a", 24.0), ("b", 25.0), ("c", 25.0), ("d", 26.0)];
        let enough = |(zone, cores)| hinted.get(zone).is_some_and(|n| *n >= least(cores));
        n_endpoints(slices) == 400
            && hinted.values().sum::<usize>() == 400
            && zones.into_iter().all(enough)
    };
    let slices = row.cluster.until("web", follows).await;
    assert!(slices.len() <= 8, "{} slices", slices.len());
    row.end().await;
}

// Row 15: Node removal that does not trigger threshold transition | No EndpointSlice changes
// Row 16: Node removal that triggers threshold transition | EndpointSlice updates
#[tokio::test]
async fn rows_15_and_16_only_node_removals_over_the_threshold_write() {
    let nodes: Vec<(&str, Option<u64>)> =
        ["a", "b", "a", "a", "a", "b", "b", "b"].map(|zone| (zone, Some(2))).to_vec();
    let row = Row::new(&nodes, &[("a", 4), ("b", 4)], auto(), default()).await;
    let before = row.expect(&[("a", 4), ("b", 4)]).await;
    let version = |slices: &[EndpointSlice]| slices[0].metadata.resource_version.clone();
    row.cluster.nodes().delete("node-2-a", &DeleteParams::default()).await.unwrap();
    // A second Service, made after the removal, tells when it has been looked at.
    row.cluster.service("sign", json!({})).await;
    row.cluster.until("sign", |slices| !slices.is_empty()).await;
    assert_eq!(version(&row.cluster.slices("web").await), version(&before));

    for node in ["node-3-a", "node-4-a"] {
        row.cluster.nodes().delete(node, &DeleteParams::default()).await.unwrap();
    }
    // Six for b if both removals are seen as one; five, which is enough for the second, if not.
    let followed = |slices: &[EndpointSlice]| {
        let hinted = hinted(slices);
        hinted.values().sum::<usize>() == 8 && hinted.get("b").is_some_and(|n| [5, 6].contains(n))
    };
    row.cluster.until("web", followed).await;
    row.end().await;
}

// Row 17: Node without way to determine cores | All Nodes treated equally. The docs page, which is
// the later document, has no hints then; the KEP's rule can be chosen.
#[tokio::test]
async fn row_17_without_cores_all_nodes_count_alike_where_that_is_wished() {
    let nodes = [("a", Some(64)), ("b", None)];
    let row = Row::new(&nodes, &[("a", 2), ("b", 2)], auto(), default()).await;
    row.expect_none(Some("Insufficient Node information")).await;
    row.end().await;
    let equally = settings(|topology| topology.unknown_cpu = UnknownCpu::OneCorePerNode);
    let row = Row::new(&nodes, &[("a", 2), ("b", 2)], auto(), equally).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    row.end().await;
}

// Row 18: Endpoint additions that require redistribution | Hints updated
// Row 19: Endpoint removals that require redistribution | Hints updated
#[tokio::test]
async fn rows_18_and_19_additions_and_removals_redistribute() {
    let mut row = Row::new(TWO, &[("a", 2), ("b", 2)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    row.pods("node-0-a", 4).await;
    row.expect(&[("a", 4), ("b", 4)]).await;
    for name in ["pod-003", "pod-004"] {
        row.cluster.delete_pod(name).await;
        row.n_pods -= 1;
    }
    row.expect(&[("a", 3), ("b", 3)]).await;
    row.end().await;
}

/// The annotation can be taken away, and hints go with it.
#[tokio::test]
async fn a_service_that_no_longer_asks_loses_its_hints_and_says_so() {
    let row = Row::new(TWO, &[("a", 2), ("b", 2)], auto(), default()).await;
    row.expect(&[("a", 2), ("b", 2)]).await;
    let annotations = json!({"service.kubernetes.io/topology-mode": null});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let services = row.cluster.api::<Service>();
    services.patch("web", &PatchParams::default(), &patch).await.unwrap();
    row.expect_none(Some("Topology Aware Hints has been disabled, addressType: IPv4")).await;
    row.end().await;
}
