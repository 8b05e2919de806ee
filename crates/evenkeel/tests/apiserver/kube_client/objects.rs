//! One object: create, read, replace, patch, delete.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::{Value, json};

use crate::process::{Server, folder};

fn config_map(value: Value) -> ConfigMap {
    serde_json::from_value(value).unwrap()
}

fn code(error: kube::Error) -> (u16, String) {
    let kube::Error::Api(status) = error else { panic!("{error}") };
    (status.code, status.reason)
}

#[tokio::test]
async fn objects_are_created_read_replaced_and_deleted() {
    let data = folder("objects");
    let server = Server::start(&data);
    let api = server.config_maps().await;
    let post = PostParams::default();
    let made = config_map(json!({"metadata": {"name": "a"}, "data": {"k": "1"}}));
    let dry = api.create(&PostParams { dry_run: true, ..post.clone() }, &made).await.unwrap();
    assert!(dry.uid().is_some() && api.get_opt("a").await.unwrap().is_none());
    let first = api.create(&post, &made).await.unwrap();
    assert_eq!(api.get("a").await.unwrap(), first);
    let again = api.create(&post, &made).await.unwrap_err();
    assert_eq!(code(again), (409, "AlreadyExists".to_owned()));
    let mut second = first.clone();
    second.data.as_mut().unwrap().insert("k".to_owned(), "2".to_owned());
    let second = api.replace("a", &post, &second).await.unwrap();
    assert_eq!(
        (second.uid(), second.creation_timestamp()),
        (first.uid(), first.creation_timestamp())
    );
    assert_ne!(second.resource_version(), first.resource_version());
    let same = api.replace("a", &post, &second).await.unwrap();
    assert_eq!(same.resource_version(), second.resource_version(), "nothing was written");
    let mut stale = first.clone();
    stale.data = None;
    let stale = api.replace("a", &post, &stale).await.unwrap_err();
    assert_eq!(code(stale), (409, "Conflict".to_owned()));
    let other = Preconditions { uid: Some("other".to_owned()), resource_version: None };
    let other = DeleteParams::default().preconditions(other);
    assert_eq!(code(api.delete("a", &other).await.unwrap_err()).0, 409);
    let gone = api.delete("a", &DeleteParams::default()).await.unwrap().right().unwrap();
    assert!(gone.is_success());
    let missing = api.get("a").await.unwrap_err();
    assert_eq!(code(missing), (404, "NotFound".to_owned()));
    let metadata = api.get_metadata_opt("a").await.unwrap();
    assert!(metadata.is_none());
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn patches_of_each_form_change_what_they_name() {
    let data = folder("patches");
    let server = Server::start(&data);
    let api: Api<Deployment> = Api::namespaced(server.client().await, "default");
    let made = json!({
        "metadata": {"name": "web", "labels": {"a": "1"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "one", "image": "one:1"}, {"name": "two", "image": "two:1"},
                ]},
            },
        },
    });
    let made = serde_json::from_value(made).unwrap();
    api.create(&PostParams::default(), &made).await.unwrap();
    let params = PatchParams::default();
    let merge = Patch::Merge(json!({"metadata": {"labels": {"a": null, "b": "2"}}}));
    let merged = api.patch("web", &params, &merge).await.unwrap();
    assert_eq!(merged.labels().iter().collect::<Vec<_>>(), [(&"b".to_owned(), &"2".to_owned())]);
    let steps = json!([
        {"op": "test", "path": "/metadata/labels/b", "value": "2"},
        {"op": "replace", "path": "/spec/replicas", "value": 3},
    ]);
    let steps = Patch::Json::<()>(serde_json::from_value(steps).unwrap());
    let stepped = api.patch("web", &params, &steps).await.unwrap();
    assert_eq!(stepped.spec.unwrap().replicas, Some(3));
    let containers = json!([{"name": "two", "image": "two:2"}]);
    let strategic = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let patched = api.patch("web", &params, &Patch::Strategic(strategic)).await.unwrap();
    let containers = patched.spec.unwrap().template.spec.unwrap().containers;
    let images: Vec<_> = containers.iter().filter_map(|c| c.image.as_deref()).collect();
    assert_eq!(images.len(), 2);
    assert!(images.contains(&"one:1") && images.contains(&"two:2"), "{images:?}");
    let wrong = json!([{"op": "test", "path": "/spec/replicas", "value": 4}]);
    let wrong = Patch::Json::<()>(serde_json::from_value(wrong).unwrap());
    assert_eq!(code(api.patch("web", &params, &wrong).await.unwrap_err()).0, 422);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_finalizer_keeps_an_object_until_it_is_removed() {
    let data = folder("finalizers");
    let server = Server::start(&data);
    let api = server.config_maps().await;
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    api.create(&PostParams::default(), &config_map(held)).await.unwrap();
    let dying = api.delete("held", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(dying.metadata.deletion_timestamp.is_some());
    let there = api.get("held").await.unwrap();
    assert_eq!(there.finalizers(), ["example.com/hold"]);
    let more =
        Patch::Merge(json!({"metadata": {"finalizers": ["example.com/hold", "example.com/x"]}}));
    let more = api.patch("held", &PatchParams::default(), &more).await.unwrap_err();
    assert_eq!(code(more), (422, "Invalid".to_owned()));
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &none).await.unwrap();
    assert!(api.get_opt("held").await.unwrap().is_none());
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
