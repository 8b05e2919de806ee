//! A controller that is asked to end.

use crate::{
    cluster::Cluster,
    controller::Controller,
    leaders::LEASE,
    process::until,
    slices::{Hinted, settled, text},
};

const WEB: &str = "
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}], trafficDistribution: PreferSameZone}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: app}]}
";

#[test]
fn a_graceful_stop_is_told_to_probes_gives_the_lease_back_and_exits_with_zero() {
    let cluster = Cluster::start("stop", &["zone-a", "zone-b"]);
    let mut controller = Controller::start(&cluster, &[]);
    cluster.apply(WEB);
    settled(&cluster, "web", 2, Hinted::is_for_its_zone);
    assert_eq!(controller.ask("/readyz").unwrap().0, 200);
    controller.synced(1);
    // Totals are counted every now and then.
    let by_value = "endpoint_slice_controller_services_count_by_traffic_distribution\
                    {traffic_distribution=\"PreferSameZone\"} ";
    let sums = [(by_value, 1.0), ("endpoint_slice_controller_endpoints_desired ", 2.0)];
    for (metric, value) in sums {
        until(metric, || (controller.metric(metric) == value).then_some(()));
    }
    assert_ne!(text(&cluster.get(&LEASE)["spec"]["holderIdentity"]), "");

    // While the lease can't be given back, the controller is there and says that it goes.
    cluster.freeze();
    controller.process.signal("-TERM");
    let (_, body) = until("it is no longer ready", || {
        controller.ask("/readyz").filter(|(code, _)| *code == 500)
    });
    assert!(body.contains("[-]shutdown"), "{body}");
    cluster.go_on();
    assert_eq!(controller.process.code(), Some(0));
    assert_eq!(text(&cluster.get(&LEASE)["spec"]["holderIdentity"]), "");
}
