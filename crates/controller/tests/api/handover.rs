//! `release` and `adopt`.

use std::collections::BTreeMap;

use evenkeel_controller::handover::{HandoverResult, Relabelled, Scope, Summary, adopt, release};
use evenkeel_model::label;
use k8s_openapi::api::{core::v1::Namespace, discovery::v1::EndpointSlice};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
};
use serde_json::json;

use crate::server::server;

const OTHER: &str = "mirror.example.com";

async fn make(client: &Client, namespace: &str, name: &str, service: &str, manager: &str) {
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let slice = json!({
        "metadata": {
            "name": name,
            "labels": {label::SERVICE_NAME: service, label::MANAGED_BY: manager, "mine": "kept"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"]}],
        "ports": [],
    });
    api.create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await.unwrap();
}

async fn cluster(client: &Client) {
    let namespace = serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    make(client, "default", "web-1", "web", label::EVENKEEL).await;
    make(client, "default", "web-2", "web", label::EVENKEEL).await;
    make(client, "default", "api-1", "api", label::EVENKEEL).await;
    make(client, "default", "db-1", "db", label::BUILT_IN).await;
    make(client, "default", "far-1", "far", OTHER).await;
    make(client, "shop", "web-1", "web", label::EVENKEEL).await;
}

/// Who manages each slice, but for the API server's own.
async fn managers(client: &Client) -> BTreeMap<String, String> {
    let api: Api<EndpointSlice> = Api::all(client.clone());
    let slices = api.list(&ListParams::default().labels("mine=kept")).await.unwrap();
    let named = slices.iter().map(|slice| {
        assert_eq!(slice.endpoints.as_ref().unwrap().len(), 1);
        let name = format!("{}/{}", slice.namespace().unwrap(), slice.name_any());
        (name, slice.labels()[label::MANAGED_BY].clone())
    });
    named.collect()
}

fn expected(rows: [(&str, &str); 6]) -> BTreeMap<String, String> {
    rows.into_iter().map(|(name, manager)| (name.to_owned(), manager.to_owned())).collect()
}

fn names(told: &[Relabelled]) -> Vec<String> {
    let mut names: Vec<_> = told
        .iter()
        .inspect(|slice| assert_eq!(slice.result, HandoverResult::Done))
        .map(|slice| format!("{}/{} of {}", slice.namespace, slice.slice, slice.service))
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn slices_go_to_kubernetes_controller_and_come_back() {
    let (server, client) = server().await;
    cluster(&client).await;
    let before = managers(&client).await;

    let mut told = Vec::new();
    let web = Scope { namespace: Some("default".to_owned()), services: vec!["web".to_owned()] };
    let summary = release(client.clone(), &web, |slice| told.push(slice.clone())).await.unwrap();
    assert_eq!(summary, Summary { done: 2, skipped: 0, failed: 0 });
    assert_eq!(names(&told), ["default/web-1 of web", "default/web-2 of web"]);
    let now = expected([
        ("default/web-1", label::BUILT_IN),
        ("default/web-2", label::BUILT_IN),
        ("default/api-1", label::EVENKEEL),
        ("default/db-1", label::BUILT_IN),
        ("default/far-1", OTHER),
        ("shop/web-1", label::EVENKEEL),
    ]);
    assert_eq!(managers(&client).await, now);

    told.clear();
    let all = Scope::default();
    release(client.clone(), &all, |slice| told.push(slice.clone())).await.unwrap();
    assert_eq!(names(&told), ["default/api-1 of api", "shop/web-1 of web"]);
    let again = release(client.clone(), &all, |_| ()).await.unwrap();
    assert_eq!(again, Summary::default(), "there is nothing left to give");

    let ours = Scope { services: vec!["web".to_owned(), "api".to_owned()], ..all };
    let summary = adopt(client.clone(), &ours, |_| ()).await.unwrap();
    assert_eq!(summary.done, 4);
    assert_eq!(managers(&client).await, before);
    server.stop().await;
}

#[tokio::test]
async fn a_list_of_several_pages_is_gone_through_to_its_end() {
    let (server, client) = server().await;
    for n in 0..503 {
        make(&client, "default", &format!("web-{n}"), "web", label::EVENKEEL).await;
    }
    let summary = release(client.clone(), &Scope::default(), |_| ()).await.unwrap();
    assert_eq!(summary.done, 503);
    let left = managers(&client).await;
    assert!(left.values().all(|manager| manager == label::BUILT_IN));
    server.stop().await;
}

#[tokio::test]
async fn a_list_that_is_refused_says_why() {
    let (server, client) = server().await;
    let odd = Scope { services: vec!["Not A Name".to_owned()], ..Scope::default() };
    let error = adopt(client, &odd, |_| ()).await.unwrap_err();
    assert_eq!((error.code, error.manager), (Some(400), label::BUILT_IN), "{error}");
    server.stop().await;
}
