//! The kinds of `kuma.io` as Rust types, through an API server with their definitions.

use evenkeel_k8s::custom::mesh::{MeshHTTPRoute, MeshLoadBalancingStrategy};
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::cluster::{Cluster, NAMESPACE};

async fn client(cluster: &Cluster) -> Client {
    let file = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    Client::try_from(Config::from_custom_kubeconfig(file, &options).await.unwrap()).unwrap()
}

/// Every field of a strategy.
fn strategy() -> Value {
    let failover = json!([
        { "from": { "zones": ["a"] }, "to": { "type": "Only", "zones": ["b", "c"] } },
        { "to": { "type": "AnyExcept", "zones": ["d"] } },
    ]);
    let conf = json!({
        "localityAwareness": {
            "disabled": false,
            "localZone": { "affinityTags": [{ "key": "k8s.io/node", "weight": 90 }] },
            "crossZone": { "failover": failover, "failoverThreshold": { "percentage": "66.7" } },
        },
        "loadBalancer": { "type": "RingHash", "ringHash": { "minRingSize": 64, "maxRingSize": 1024 } },
        "hashPolicies": [{ "type": "Header", "terminal": true, "header": { "name": "x" } }],
    });
    json!({
        "apiVersion": "kuma.io/v1alpha1",
        "kind": "MeshLoadBalancingStrategy",
        "metadata": { "name": "near", "labels": { "kuma.io/mesh": "default" } },
        "spec": {
            "targetRef": { "kind": "MeshSubset", "tags": { "version": "v1" } },
            "to": [{ "targetRef": { "kind": "MeshService", "name": "backend" }, "default": conf }],
        },
    })
}

#[test]
fn a_strategy_that_a_program_writes_is_what_it_reads() {
    let cluster = Cluster::start("typed");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = client(&cluster).await;
        let api: Api<MeshLoadBalancingStrategy> = Api::namespaced(client.clone(), NAMESPACE);
        let written: MeshLoadBalancingStrategy = serde_json::from_value(strategy()).unwrap();
        let created = api.create(&PostParams::default(), &written).await.unwrap();
        assert_eq!(created.spec, written.spec);
        let mut read = api.get("near").await.unwrap();
        assert_eq!(read, created);

        read.spec.to[0].default.as_mut().unwrap().load_balancer = None;
        let replaced = api.replace("near", &PostParams::default(), &read).await.unwrap();
        assert_eq!(replaced.spec, read.spec);
        let listed = api.list(&ListParams::default()).await.unwrap().items;
        assert_eq!(listed, [replaced]);

        let routes: Api<MeshHTTPRoute> = Api::namespaced(client, NAMESPACE);
        assert_eq!(routes.list(&ListParams::default()).await.unwrap().items, []);
    });
    // What is stored has no field that the type does not know, and lacks none.
    let stored = cluster.kubectl(&["get", "mlbs", "near", "-o", "json"], "");
    let stored: Value = serde_json::from_str(&stored.out).unwrap();
    let mut expected = strategy()["spec"].clone();
    expected["to"][0]["default"].as_object_mut().unwrap().remove("loadBalancer");
    assert_eq!(stored["spec"], expected);
}
