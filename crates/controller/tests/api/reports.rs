//! What a proxy reports in its Lease, through a real watch into the status of a Service.

use std::time::Duration;

use evenkeel_controller::WatchSettings;
use evenkeel_k8s::convert::report_lease;
use evenkeel_model::{ProxyReport, Revision};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{Node, Service},
    },
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::cluster::{Cluster, Controller, until};

#[tokio::test]
async fn a_lease_of_a_proxy_becomes_a_condition_of_the_service() {
    let cluster = Cluster::start("reports").await;
    let client = cluster.client().await;
    let (params, nodes) = (PatchParams::default(), Api::<Node>::all(client.clone()));
    let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}});
    nodes.patch("node", &params, &Patch::Merge(zone)).await.unwrap();
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let prefer = json!({"spec": {"trafficDistribution": "PreferSameZone"}});
    services.patch("web", &params, &Patch::Merge(prefer)).await.unwrap();
    let controller = Controller::start(client.clone(), None, WatchSettings::default()).await;
    cluster.endpoints(1).await;

    let revision = Revision::new("1000000");
    let report = ProxyReport {
        node: "node".into(),
        services: revision.clone(),
        slices: revision,
        exceptions: Vec::new(),
        left_out: 0,
    };
    let valid_for = Duration::from_secs(120);
    let lease = report_lease(&report, None, "kube-system", Timestamp::now(), valid_for);
    let leases: Api<Lease> = Api::namespaced(client, "kube-system");
    leases.create(&PostParams::default(), &lease).await.unwrap();
    until("TrafficDistributionHonored", async || {
        let status = services.get("web").await.unwrap().status.unwrap_or_default();
        let mut conditions = status.conditions.into_iter().flatten();
        let honored = conditions.find(|one| one.type_ == "TrafficDistributionHonored");
        honored.is_some_and(|one| one.status == "True" && one.reason == "RulesInForce")
    })
    .await;
    let (_, said) = controller.readyz(200).await;
    assert!(said.contains("[+]watch-leases ok"), "{said}");
    controller.stop().await;
}
