//! From a change that a watch brings to the page as JSON, in a cluster of 5,000 Services with two endpoints
//! each: the part of the way to a browser that this crate computes.

#![expect(clippy::unwrap_used, reason = "a benchmark")]
#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

use std::time::{Duration, Instant};

use evenkeel_dashboard::view::Cluster;
use evenkeel_k8s::{snapshot::Followed, watch::Batch};
use evenkeel_model::Watched;
use evenkeel_topology::Server;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const SERVICES: usize = 5000;
const NODES: usize = 60;
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
/// Of each kind of change.
const RUNS: usize = 51;

fn parsed<T: DeserializeOwned>(object: &Value) -> Watched<T> {
    Watched::Applied(serde_json::from_value(object.clone()).unwrap())
}

fn node(i: usize, cpu: &str) -> Batch {
    Batch::Nodes(vec![parsed(&json!({
        "metadata": {"name": format!("n{i}"), "labels": {"topology.kubernetes.io/zone": ZONES[i % 3]}},
        "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]},
    }))])
}

fn service(i: usize, distribution: Option<&str>) -> Batch {
    Batch::Services(vec![parsed(&json!({
        "metadata": {"name": format!("s{i:04}"), "namespace": "shop", "resourceVersion": "1"},
        "spec": {"clusterIP": "10.96.0.1", "selector": {"app": format!("s{i:04}")}, "ports": [{"port": 80}],
            "trafficDistribution": distribution},
    }))])
}

fn endpoint(i: usize, replica: usize, ready: bool) -> Value {
    let node = (i + 7 * replica) % NODES;
    json!({"addresses": [format!("10.{}.{}.{}", replica, i / 250, i % 250 + 1)], "nodeName": format!("n{node}"),
        "zone": ZONES[node % 3], "conditions": {"ready": ready}})
}

fn slice(i: usize, ready: bool) -> Batch {
    Batch::Slices(vec![parsed(&json!({
        "metadata": {"name": format!("s{i:04}-x"), "namespace": "shop", "resourceVersion": "2",
            "labels": {"kubernetes.io/service-name": format!("s{i:04}")}},
        "addressType": "IPv4", "ports": [{"port": 80}], "endpoints": [endpoint(i, 0, true), endpoint(i, 1, ready)],
    }))])
}

/// The cluster after a batch, and the bytes of its page.
fn page(
    followed: &mut Followed,
    before: Option<&Cluster>,
    batch: Option<Batch>,
) -> (Cluster, usize) {
    batch.into_iter().for_each(|batch| followed.take(batch));
    if followed.has_other_nodes() {
        followed.renew_nodes();
    }
    let snapshot = followed.snapshot(Some(0));
    let cluster = match before {
        Some(before) => before.next(snapshot, Server::default()).unwrap(),
        None => Cluster::new(snapshot, Server::default()).unwrap(),
    };
    let bytes = serde_json::to_string(&cluster.page()).unwrap().len();
    (cluster, bytes)
}

fn measure(
    name: &str,
    followed: &mut Followed,
    cluster: &mut Cluster,
    batch: impl Fn(usize) -> Batch,
) {
    let mut times: Vec<Duration> = Vec::new();
    let (mut bytes, mut renewed) = (0, 0);
    for run in 0..RUNS {
        let batch = batch(run);
        let started = Instant::now();
        let (next, size) = page(followed, Some(cluster), Some(batch));
        times.push(started.elapsed());
        (bytes, renewed) = (size, next.renewed());
        *cluster = next;
    }
    times.sort_unstable();
    let (middle, most) = (times[RUNS / 2], times[RUNS - 1]);
    println!(
        "{name}: {middle:.1?} (median), {most:.1?} (most); {renewed} explained, page of {bytes} bytes"
    );
}

fn main() {
    let mut followed = Followed::default();
    (0..NODES).for_each(|i| followed.take(node(i, "4")));
    (0..SERVICES).for_each(|i| {
        followed.take(service(i, None));
        followed.take(slice(i, true));
    });
    let started = Instant::now();
    let (mut cluster, bytes) = page(&mut followed, None, None);
    println!("first page: {:.1?}, {bytes} bytes", started.elapsed());
    let cluster = &mut cluster;
    measure("an endpoint", &mut followed, cluster, |run| slice(17, run % 2 == 0));
    let set = |run: usize| (run.is_multiple_of(2)).then_some("PreferSameZone");
    measure("a policy", &mut followed, cluster, |run| service(17, set(run)));
    let cpu = |run: usize| ["4", "8"][run % 2];
    measure("a node", &mut followed, cluster, |run| node(3, cpu(run)));
}
