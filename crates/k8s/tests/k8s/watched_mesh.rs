//! Objects of `kuma.io` as a watch brings them, and the labels of Nodes that a mesh uses.

use std::collections::BTreeSet;

use evenkeel_k8s::watched::{MeshKind, MeshObject, Node};
use evenkeel_model::{Gone, Version};
use kube::{
    Resource as _,
    api::{ObjectList, WatchEvent},
};
use serde_json::{Value, json};

use crate::object;

fn dataplane() -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1",
        "kind": "Dataplane",
        "mesh": "other",
        "metadata": {
            "name": "web-1", "namespace": "shop", "uid": "u", "resourceVersion": "7",
            "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kuma.io/mesh": "other", "app": "web"},
            "annotations": {
                "kuma.io/display-name": "web", "k8s.kuma.io/synced": "true",
                "notkuma.io/x": "y", "kubectl.kubernetes.io/last-applied-configuration": "{…}",
            },
            "managedFields": [{"manager": "kubectl"}],
        },
        "spec": {"networking": {"address": "10.0.0.1"}},
        "status": {"anything": [1]},
    })
}

#[test]
fn an_object_has_what_a_mesh_needs_and_nothing_else() {
    let web: MeshObject = object(dataplane());
    assert_eq!((web.namespace(), web.name()), ("shop", "web-1"));
    assert_eq!(web.mesh().map(|mesh| &**mesh), Some("other"));
    assert_eq!(web.labels().len(), 2);
    let annotations: Vec<_> = web.annotations().keys().map(String::as_str).collect();
    assert_eq!(annotations, ["k8s.kuma.io/synced", "kuma.io/display-name"]);
    let version = Version { uid: "u".into(), resource_version: "7".into(), generation: 3 };
    assert_eq!(web.version(), version);
    assert_eq!((web.created(), web.is_deleting()), (Some(1_767_225_600), false));
    let gone = Gone { namespace: "shop".into(), name: "web-1".into(), uid: "u".into() };
    assert_eq!(web.gone(), gone);
    assert_eq!(web.spec().unwrap(), &dataplane()["spec"]);
    let path = MeshObject::url_path(&MeshKind::Dataplane, None);
    assert_eq!(path, "/apis/kuma.io/v1alpha1/dataplanes");
}

#[test]
fn what_is_missing_or_null_is_empty() {
    for given in [
        json!({}),
        json!({"metadata": null, "mesh": null, "spec": null}),
        json!({"metadata": {"labels": null, "annotations": null}, "mesh": ""}),
    ] {
        let object: MeshObject = object(given);
        assert_eq!((object.namespace(), object.name(), object.mesh()), ("", "", None));
        assert!(object.labels().is_empty() && object.annotations().is_empty());
        assert_eq!(object.into_spec().unwrap(), Value::Null);
    }
}

/// Fields of an event may be in any order, and those of a list too.
#[test]
fn events_and_lists_are_read_whatever_comes_first() {
    let web = dataplane();
    for text in [
        format!(r#"{{"type":"ADDED","object":{web}}}"#),
        format!(r#"{{"object":{web},"type":"ADDED"}}"#),
    ] {
        let WatchEvent::Added(read) =
            serde_json::from_str::<WatchEvent<MeshObject>>(&text).unwrap()
        else {
            panic!("{text}")
        };
        assert_eq!(read.spec().unwrap(), &web["spec"]);
    }
    let list = format!(r#"{{"items":[{web}],"metadata":{{"resourceVersion":"7"}},"kind":"X"}}"#);
    let list: ObjectList<MeshObject> = serde_json::from_str(&list).unwrap();
    assert_eq!(list.items[0].spec().unwrap(), &web["spec"]);
}

#[test]
fn a_spec_is_read_to_a_depth_of_64_and_no_further() {
    let nested = |depth: usize| {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        serde_json::from_str::<MeshObject>(&format!(r#"{{"spec":{text}}}"#)).unwrap()
    };
    assert!(nested(64).spec().is_ok());
    let error = nested(65).spec().unwrap_err().to_string();
    assert_eq!(error, "spec: is nested deeper than 64 levels");
    let error = nested(1_000_000).into_spec().unwrap_err();
    assert_eq!(error.field, "spec");
}

#[test]
fn of_a_node_only_the_wanted_labels_are_kept() {
    let zone = "topology.kubernetes.io/zone";
    let labels = json!({zone: "a", "kubernetes.io/hostname": "n1", "rack": "", "other": "x"});
    let node: Node = object(json!({"metadata": {"name": "n1", "labels": labels}}));
    let keys: BTreeSet<_> = [zone, "rack", "missing"].map(Into::into).into();
    let tags = node.tags(&keys);
    let tags: Vec<_> = tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(tags, [("rack", ""), (zone, "a")]);
    assert!(node.tags(&BTreeSet::new()).is_empty());
}
