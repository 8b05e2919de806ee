//! A new kind is served everywhere as soon as its definition is established.

use std::time::{Duration, Instant};

use futures_util::{Stream, TryStreamExt, pin_mut};
use hyper::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, PostParams, WatchEvent, WatchParams},
    core::{ApiResource, GroupVersionKind},
    discovery::Discovery,
    runtime::wait::{Condition, conditions::is_crd_established},
};
use serde_json::{Value, json};

use super::in_time;
use crate::process::{Server, folder};

/// Definitions of a round.
const N: usize = 10;
/// Another load on the machine may disturb a round, but not each.
const ROUNDS: usize = 3;
/// Of a round's median, from the definition to its first object.
const BOUND: Duration = Duration::from_millis(100);

#[tokio::test]
async fn an_established_kind_is_known_everywhere() {
    let data = folder("custom-promptly");
    let server = Server::start(&data);
    // Other work of the start does not count.
    server.settled().await;
    let client = server.client().await;
    let mut medians = Vec::new();
    for n in 0..ROUNDS {
        let times = round(&client, n).await;
        println!("from the definition to its first object: {times:?}");
        medians.push(times[N / 2]);
        if times[N / 2] < BOUND {
            break;
        }
    }
    assert!(medians.iter().any(|median| *median < BOUND), "{medians:?}");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// The times until the first object of each definition exists, sorted.
async fn round(client: &Client, n: usize) -> Vec<Duration> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let from = definitions.list(&ListParams::default()).await.unwrap();
    let from = from.metadata.resource_version.unwrap();
    let watch = definitions.watch(&WatchParams::default(), &from).await.unwrap();
    pin_mut!(watch);
    let mut times = Vec::new();
    for i in 0..N {
        let group = format!("group-{n}-{i}.example.com");
        let begin = Instant::now();
        definitions.create(&PostParams::default(), &definition(&group)).await.unwrap();
        in_time("establishing", established(&mut watch, &group)).await;
        create(client, &group).await;
        times.push(begin.elapsed());
        known(client, &group).await;
    }
    times.sort_unstable();
    times
}

fn definition(group: &str) -> CustomResourceDefinition {
    let definition = json!({
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {
                        "type": "object",
                        "properties": {"size": {"type": "integer", "minimum": 1}},
                        "x-kubernetes-validations": [{"rule": "self.size < 100"}],
                    }},
                }},
            }],
        },
    });
    serde_json::from_value(definition).unwrap()
}

/// Reads a watch until it says that the definition is established.
async fn established<W>(watch: &mut W, group: &str)
where
    W: Stream<Item = kube::Result<WatchEvent<CustomResourceDefinition>>> + Unpin,
{
    loop {
        let event = watch.try_next().await.unwrap().unwrap();
        let WatchEvent::Modified(found) = event else { continue };
        if found.spec.group == group && is_crd_established().matches_object(Some(&found)) {
            return;
        }
    }
}

fn resource(group: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", "Thing"), "things")
}

/// None of this is tried twice.
async fn create(client: &Client, group: &str) {
    let resource = resource(group);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let object = DynamicObject::new("first", &resource).data(json!({"spec": {"size": 1}}));
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn known(client: &Client, group: &str) {
    let resource = resource(group);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let listed = client.list_api_group_resources(&resource.api_version).await.unwrap();
    assert!(listed.resources.iter().any(|listed| listed.kind == "Thing"));
    let aggregated =
        Discovery::new(client.clone()).filter(&[group]).run_aggregated().await.unwrap();
    assert!(aggregated.get(group).unwrap().recommended_kind("Thing").is_some());
    let path = format!("apis/{group}/v1");
    let index = get(client, "/openapi/v3").await;
    let document = index["paths"][&path]["serverRelativeURL"].as_str().unwrap().to_owned();
    let document = get(client, &document).await;
    let things = format!("/{path}/namespaces/{{namespace}}/things");
    assert!(document["paths"][&things].is_object(), "{things}");
    let whole = get(client, "/openapi/v2").await;
    assert!(whole["paths"][&things].is_object(), "{things}");
}

async fn get(client: &Client, path: &str) -> Value {
    client.request(Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
}
