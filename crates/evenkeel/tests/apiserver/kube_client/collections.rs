//! Lists: pages, selectors, and deletecollection.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;

use crate::process::{Server, folder};

const N: usize = 23;

/// In their own namespace, with a label that divides them into three.
async fn filled(server: &Server) -> Api<ConfigMap> {
    let client = server.client().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = json!({"metadata": {"name": "many"}});
    let namespace = serde_json::from_value(namespace).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client, "many");
    for i in 0..N {
        let labels = json!({"third": (i % 3).to_string()});
        let object = json!({"metadata": {"name": format!("n-{i:02}"), "labels": labels}});
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    api
}

#[tokio::test]
async fn pages_add_up_to_what_was_there_at_the_first() {
    let data = folder("pages");
    let server = Server::start(&data);
    let api = filled(&server).await;
    let whole = api.list(&ListParams::default()).await.unwrap();
    let whole: Vec<String> = whole.iter().map(ResourceExt::name_any).collect();
    let mut names = Vec::new();
    let mut params = ListParams::default().limit(5);
    loop {
        let page = api.list(&params).await.unwrap();
        assert!(page.items.len() <= 5);
        names.extend(page.iter().map(ResourceExt::name_any));
        let left = page.metadata.remaining_item_count.unwrap_or(0);
        assert_eq!(names.len() as i64 + left, whole.len() as i64);
        let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) else { break };
        // Changes made meanwhile are not in the pages.
        let made = json!({"metadata": {"generateName": "z-meanwhile-"}});
        api.create(&PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
        let gone = format!("n-{:02}", N - 1 - names.len() / 5);
        api.delete(&gone, &DeleteParams::default()).await.unwrap();
        params = ListParams::default().limit(5).continue_token(&token);
    }
    assert_eq!(names, whole);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn selectors_choose_and_a_collection_is_deleted_by_them() {
    let data = folder("selectors");
    let server = Server::start(&data);
    let api = filled(&server).await;
    let count = async |params: &ListParams| api.list(params).await.unwrap().items.len();
    let all = count(&ListParams::default()).await;
    let labels = |selector: &str| ListParams::default().labels(selector);
    let third = count(&labels("third=1")).await;
    assert_eq!(third, N.div_ceil(3));
    assert_eq!(count(&labels("third!=1")).await, all - third);
    assert_eq!(count(&labels("third in (0,1,2)")).await, N);
    assert_eq!(count(&labels("!third")).await, all - N);
    let named = ListParams::default().fields("metadata.name=n-04");
    assert_eq!(count(&named).await, 1);
    assert_eq!(count(&named.labels("third=2")).await, 0);
    let unknown = api.list(&ListParams::default().fields("data.x=1")).await.unwrap_err();
    assert!(matches!(unknown, kube::Error::Api(status) if status.code == 400));
    let deleted =
        api.delete_collection(&DeleteParams::default(), &labels("third=1")).await.unwrap();
    assert!(deleted.left().is_none_or(|list| list.items.len() == third));
    assert_eq!(count(&ListParams::default()).await, all - third);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn pods_are_found_by_their_node_and_phase() {
    let data = folder("pod-fields");
    let server = Server::start(&data);
    let api: Api<Pod> = Api::namespaced(server.client().await, "default");
    for node in ["a", "b", ""] {
        let pod = json!({
            "metadata": {"generateName": "pod-"},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        });
        api.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    }
    let cases = [
        ("spec.nodeName=a", 1),
        ("spec.nodeName!=a", 2),
        ("spec.nodeName=", 1),
        ("status.phase=Pending", 3),
        ("status.phase=Pending,spec.nodeName=b", 1),
        ("status.phase=Running", 0),
    ];
    for (fields, expected) in cases {
        let found = api.list(&ListParams::default().fields(fields)).await.unwrap();
        assert_eq!(found.items.len(), expected, "{fields}");
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
