//! What only shows between the reading of a slice and its writing.

use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use super::*;
use crate::server::server;

async fn made(client: &Client, name: &str) -> (Api<EndpointSlice>, Listed) {
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    let slice = json!({
        "metadata": {"name": name, "labels": {label::MANAGED_BY: label::EVENKEEL}},
        "addressType": "IPv4", "endpoints": [], "ports": [],
    });
    let slice = serde_json::from_value(slice).unwrap();
    let slice = api.create(&PostParams::default(), &slice).await.unwrap();
    let listed = serde_json::from_value(serde_json::to_value(slice).unwrap()).unwrap();
    (api, listed)
}

async fn changed(api: &Api<EndpointSlice>, name: &str, labels: Value) {
    let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
    api.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn a_slice_that_changed_in_the_meantime_is_read_again() {
    let (server, client) = server().await;
    let (from, to) = (label::EVENKEEL, label::BUILT_IN);
    let (api, listed) = made(&client, "web").await;
    changed(&api, "web", json!({"mine": "kept"})).await;
    assert_eq!(relabel(&client, listed, from, to).await, HandoverResult::Done);
    let labels = api.get("web").await.unwrap().metadata.labels.unwrap();
    assert_eq!((&*labels["mine"], &*labels[label::MANAGED_BY]), ("kept", to));

    let (api, listed) = made(&client, "theirs").await;
    changed(&api, "theirs", json!({label::MANAGED_BY: "them"})).await;
    assert_eq!(relabel(&client, listed, from, to).await, HandoverResult::Skipped);
    let labels = api.get("theirs").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels[label::MANAGED_BY], "them");

    let (api, listed) = made(&client, "done").await;
    changed(&api, "done", json!({label::MANAGED_BY: to})).await;
    assert_eq!(relabel(&client, listed, from, to).await, HandoverResult::Done);

    let (api, listed) = made(&client, "gone").await;
    api.delete("gone", &DeleteParams::default()).await.unwrap();
    assert_eq!(relabel(&client, listed, from, to).await, HandoverResult::Skipped);
    server.stop().await;
}

#[test]
fn slices_are_asked_for_by_manager_and_service() {
    let scope = Scope::default();
    let managed = "endpointslice.kubernetes.io/managed-by=me";
    assert_eq!(selector(&scope, "me"), managed);
    let scope = Scope { services: vec!["web".to_owned(), "api".to_owned()], ..scope };
    let both = format!("{managed},kubernetes.io/service-name in (web,api)");
    assert_eq!(selector(&scope, "me"), both);
}
