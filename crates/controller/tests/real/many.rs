//! Many Services with ten Pods each: ours, from nothing, against Kubernetes' own.

use std::time::Instant;

use evenkeel_model::label;
use k8s_openapi::api::{
    core::v1::{Namespace, Pod},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;

use crate::{
    BuiltIn,
    compare::{assert_same, content, managed_by, until},
    objects::{self, NODES, at_once},
    phases::Controller,
    say,
};

const PODS: usize = 10;

pub(crate) async fn run(client: &Client, built_in: &BuiltIn, services: usize) {
    let namespace = format!("evenkeel-many-{}", std::process::id());
    let begun = Instant::now();
    objects::namespace(client, &namespace).await;
    at_once((0..services).map(|number| make(client, &namespace, number))).await;
    say(&format!("4. {services} Services made in {:.1?}", begun.elapsed()));

    let all = |slices: &[EndpointSlice]| {
        let n_endpoints = |slice: &EndpointSlice| slice.endpoints.as_ref().map_or(0, Vec::len);
        slices.iter().map(n_endpoints).sum::<usize>() == services * PODS
    };
    let begun = Instant::now();
    built_in.start();
    let theirs = until(client, &namespace, all).await;
    say(&format!("   the built-in controller: {:.1?} from its start", begun.elapsed()));
    assert!(managed_by(&theirs, label::BUILT_IN));
    built_in.stop();
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), &namespace);
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();

    let begun = Instant::now();
    let controller = Controller::start(client).await;
    let ours = until(client, &namespace, all).await;
    say(&format!("   ours: {:.1?} from its start", begun.elapsed()));
    controller.stop().await;
    assert!(managed_by(&ours, label::EVENKEEL));
    assert_same("many", &content(&ours), &content(&theirs));
    say(&format!("   {} slices and {} are the same up to names", ours.len(), theirs.len()));
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.delete(&namespace, &DeleteParams::default()).await.unwrap();
}

async fn make(client: &Client, namespace: &str, number: usize) {
    let app = format!("app-{number}");
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for pod in 0..PODS {
        let name = format!("{app}-{pod}");
        let object = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"app": app}},
            "spec": {"nodeName": NODES[pod % 3].0, "containers": [{"name": "c", "image": "i"}]},
        }));
        api.create(&PostParams::default(), &object.unwrap()).await.unwrap();
        let ips = objects::addresses(number, pod);
        objects::status(&api, &name, objects::pod_status("Running", "True", &ips)).await;
    }
    let policies =
        [json!({}), json!({"trafficDistribution": "PreferSameZone"}), json!({"clusterIP": "None"})];
    let spec = policies[number % policies.len()].clone();
    objects::service(client, namespace, &app, &app, json!({}), spec).await;
}
