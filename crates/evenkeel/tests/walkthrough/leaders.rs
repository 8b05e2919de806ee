//! Two controllers, of which one writes.

use std::time::{Duration, Instant};

use crate::{
    cluster::Cluster,
    controller::Controller,
    process::until,
    slices::{Hinted, settled, text},
};

pub(crate) const LEASE: [&str; 4] =
    ["lease", "-n", "kube-system", "evenkeel-endpointslice-controller"];

const LEASE_DURATION: Duration = Duration::from_secs(3);

/// With a short lease.
const ELECTION: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=200ms",
];

const DEMO: &str = "
apiVersion: v1
kind: Service
metadata: {name: demo}
spec: {selector: {app: demo}, ports: [{port: 80}], trafficDistribution: PreferSameZone}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: demo}
spec:
  replicas: 2
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec: {containers: [{name: app, image: app}]}
";

fn is_leading(controller: &Controller) -> bool {
    controller.metric("evenkeel_controller_leader ") == 1.0
}

fn holder(cluster: &Cluster) -> String {
    text(&cluster.get(&LEASE)["spec"]["holderIdentity"])
}

#[test]
fn when_the_leader_is_killed_the_other_takes_over() {
    let cluster = Cluster::start("leaders", &["zone-a", "zone-b"]);
    let first = Controller::start(&cluster, &ELECTION);
    until("the first leads", || is_leading(&first).then_some(()));
    let second = Controller::start(&cluster, &ELECTION);
    cluster.apply(DEMO);
    settled(&cluster, "demo", 2, Hinted::is_for_its_zone);
    assert!(is_leading(&first) && !is_leading(&second), "the lease of {}", holder(&cluster));
    let before = holder(&cluster);

    first.process.kill();
    let killed = Instant::now();
    until("the second leads", || is_leading(&second).then_some(()));
    let took = killed.elapsed();
    // Twice: other processes have the processor too.
    assert!(took < 2 * LEASE_DURATION, "it took {took:?}");
    let after = holder(&cluster);
    assert!(!after.is_empty() && after != before, "{before} was followed by {after:?}");
    cluster.must(&["scale", "deployment", "demo", "--replicas=4"], "");
    settled(&cluster, "demo", 4, Hinted::is_for_its_zone);
    second.stop();
}
