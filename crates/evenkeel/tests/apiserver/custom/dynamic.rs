//! `Api<DynamicObject>`: the kind is known from discovery only.

use futures_util::{StreamExt, pin_mut};
use kube::{
    Api, CustomResourceExt, ResourceExt,
    api::{
        DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent,
        WatchParams,
    },
    core::{ApiResource, GroupVersionKind},
    discovery::{self, ApiCapabilities, Discovery, Scope, verbs},
};
use serde_json::{Value, json};

use super::{define, in_time, lamp::Lamp, undefine};
use crate::process::{Server, folder};

#[tokio::test]
async fn a_kind_found_by_discovery_is_used_like_any_other() {
    let data = folder("custom-dynamic");
    let server = Server::start(&data);
    let client = server.client().await;
    define(&client, &Lamp::crd()).await;
    let kind = GroupVersionKind::gvk("lighting.example.com", "v1", "Lamp");
    let pinned = discovery::pinned_kind(&client, &kind).await.unwrap();
    let all = Discovery::new(client.clone()).run().await.unwrap();
    let aggregated = Discovery::new(client.clone()).run_aggregated().await.unwrap();
    let recommended = all.get("lighting.example.com").unwrap().recommended_kind("Lamp").unwrap();
    for (resource, abilities) in [
        &pinned,
        &recommended,
        &all.resolve_gvk(&kind).unwrap(),
        &aggregated.resolve_gvk(&kind).unwrap(),
    ] {
        assert_eq!(*resource, ApiResource::erase::<Lamp>(&()));
        check(abilities);
    }
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &pinned.0);
    objects(&api, &pinned.0).await;
    subresources(&api).await;
    ends(&api).await;
    undefine(&client, &Lamp::crd()).await;
    let gone = async {
        // As in Kubernetes, the kind is served a little longer than its definition exists.
        while discovery::pinned_kind(&client, &kind).await.is_ok() {}
        (discovery::pinned_kind(&client, &kind).await, api.list(&ListParams::default()).await)
    };
    let (found, listed) = in_time("the end of the kind", gone).await;
    assert_eq!(found.map_err(|error| code(&error)).unwrap_err(), Some(404));
    assert_eq!(listed.map_err(|error| code(&error)).unwrap_err(), Some(404));
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

fn check(abilities: &ApiCapabilities) {
    assert_eq!(abilities.scope, Scope::Namespaced);
    for verb in [verbs::GET, verbs::LIST, verbs::WATCH, verbs::CREATE, verbs::PATCH, verbs::DELETE]
    {
        assert!(abilities.supports_operation(verb), "{verb}");
    }
    let mut subresources: Vec<_> =
        abilities.subresources.iter().map(|(resource, _)| resource.plural.as_str()).collect();
    subresources.sort_unstable();
    assert_eq!(subresources, ["scale", "status"]);
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

fn lamp(name: &str, resource: &ApiResource, spec: &Value) -> DynamicObject {
    DynamicObject::new(name, resource).data(json!({ "spec": spec }))
}

async fn objects(api: &Api<DynamicObject>, resource: &ApiResource) {
    let post = PostParams::default();
    let made = api.create(&post, &lamp("a", resource, &json!({"watts": 5}))).await.unwrap();
    assert_eq!(made.types, Some(kube::core::TypeMeta::resource::<Lamp>()));
    assert_eq!(made.data, json!({"spec": {"watts": 5, "bulbs": 1}}), "defaulted");
    for (spec, expected) in [
        (json!({"watts": "5"}), r#"spec.watts: Invalid value: "string""#),
        (json!({"watts": 5, "colour": "Blue"}), r#"spec.colour: Unsupported value: "Blue""#),
        (json!({}), "spec.watts: Required value"),
        (json!({"watts": -1}), "spec.watts in body should be greater than or equal to 0"),
    ] {
        let refused = api.create(&post, &lamp("b", resource, &spec)).await.unwrap_err();
        assert_eq!(code(&refused), Some(422), "{refused}");
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    let mut next = made.clone();
    next.data["spec"]["watts"] = json!(7);
    let next = api.replace("a", &post, &next).await.unwrap();
    assert_eq!((made.metadata.generation, next.metadata.generation), (Some(1), Some(2)));
    let stale = api.replace("a", &post, &made).await.unwrap_err();
    assert_eq!(code(&stale), Some(409), "{stale}");
    let merge = Patch::Merge(json!({"spec": {"colour": "Warm", "unknown": 1}}));
    let patched = api.patch("a", &PatchParams::default(), &merge).await.unwrap();
    assert_eq!(patched.data["spec"], json!({"watts": 7, "bulbs": 1, "colour": "Warm"}), "pruned");
    assert_eq!(api.get("a").await.unwrap(), patched);
    let listed = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].data, patched.data);
    let metadata = api.get_metadata("a").await.unwrap();
    assert_eq!(metadata.metadata, patched.metadata);
}

async fn subresources(api: &Api<DynamicObject>) {
    let params = PatchParams::default();
    let status = Patch::Merge(json!({"spec": {"watts": 9}, "status": {"lit": 1}}));
    let patched = api.patch_status("a", &params, &status).await.unwrap();
    assert_eq!(
        (&patched.data["spec"]["watts"], &patched.data["status"]),
        (&json!(7), &json!({"lit": 1}))
    );
    let scaled = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let scale = api.patch_scale("a", &params, &scaled).await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(4));
    let scale = api.get_scale("a").await.unwrap();
    assert_eq!((scale.spec.unwrap().replicas, scale.status.unwrap().replicas), (Some(4), 1));
    assert_eq!(api.get("a").await.unwrap().data["spec"]["bulbs"], 4);
}

/// A watch sees the end of an object.
async fn ends(api: &Api<DynamicObject>) {
    let from = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let watch = api.watch(&WatchParams::default(), &from).await.unwrap();
    pin_mut!(watch);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let event = in_time("the event", watch.next()).await.unwrap().unwrap();
    assert!(matches!(&event, WatchEvent::Deleted(object) if object.name_any() == "a"), "{event:?}");
}
