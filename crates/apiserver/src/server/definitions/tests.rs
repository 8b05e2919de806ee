use std::path::Path;

use http::Method;
use serde_json::json;

use super::*;
use crate::{
    custom::conditions::{ESTABLISHED, is_true},
    server::{in_process::settings, testing::Server},
    settings::Settings,
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(version: Option<&str>, columns: &[&str]) -> Value {
    let mut definition = json!({
        "metadata": {"name": "xs.evenkeel.dev"},
        "spec": {"group": "evenkeel.dev", "versions": [{"name": "v1", "columns": columns}]},
    });
    if let Some(version) = version {
        *entry(&mut definition, &["metadata", "annotations", DEFINITION_VERSION]) = version.into();
    }
    definition
}

#[test]
fn older_and_changed_definitions_are_replaced_and_others_left() {
    let ours = definition(Some("1.10.0"), &["A"]);
    assert_eq!(decide(None, &ours), Action::Create);
    for (version, columns, expected) in [
        (Some("1.10.0"), &["A"][..], Action::Keep),
        (Some("1.9.7"), &["B"], Action::Update),
        (Some("1.9.7"), &["A"], Action::Update),
        (Some("1.10.0"), &["A", "B"], Action::Restore),
        (Some("1.10.0"), &[], Action::Restore),
        (Some("1.11.0"), &["B"], Action::LeaveNewer),
        (Some("2.0.0"), &["A"], Action::LeaveNewer),
        (Some("soon"), &["B"], Action::LeaveForeign),
        (None, &["B"], Action::LeaveForeign),
        (None, &["A"], Action::Keep),
    ] {
        let mut stored = definition(version, columns);
        stored["spec"]["conversion"] = json!({"strategy": "None"});
        assert_eq!(decide(Some(&stored), &ours), expected, "{version:?} {columns:?}");
        if matches!(expected, Action::Update | Action::Restore) {
            stored["metadata"]["labels"] = json!({"team": "a"});
            replace(&mut stored, &ours);
            assert_eq!(decide(Some(&stored), &ours), Action::Keep);
            assert_eq!(stored["metadata"]["labels"]["team"], "a");
        }
    }
}

#[test]
fn the_definitions_are_all_those_of_deploy_and_of_this_version() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");
    for (folder, manifests) in [("", MANIFESTS), ("mesh", MESH)] {
        let files =
            std::fs::read_dir(Path::new(root).join(folder)).unwrap().map(std::io::Result::unwrap);
        let files = files.filter(|file| file.file_type().unwrap().is_file());
        let names = files.map(|file| file.file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "kustomization.yaml").collect();
        names.sort();
        let mut compiled_in = Vec::new();
        for definition in definitions(manifests.iter()) {
            assert_eq!(version(&definition), env!("CARGO_PKG_VERSION"));
            compiled_in.push(format!("{}.yaml", name_of(&definition)));
        }
        assert_eq!(names, compiled_in);
    }
}

#[test]
fn what_kuma_installed_is_left_also_if_it_was_installed_over_ours() {
    let mut ours = definition(Some("1.10.0"), &["A"]);
    ours["spec"]["group"] = KUMA.into();
    ours["metadata"]["labels"] = json!({PART_OF: "evenkeel"});
    let mut changed = ours.clone();
    changed["spec"]["versions"] = json!([]);
    assert_eq!(decide(Some(&changed), &ours), Action::Restore);
    let mut over_ours = changed.clone();
    over_ours["metadata"]["annotations"][GENERATOR] = "v0.21.0".into();
    assert_eq!(decide(Some(&over_ours), &ours), Action::LeaveKumas);
    let mut older = over_ours.clone();
    older["metadata"]["annotations"][DEFINITION_VERSION] = "1.9.0".into();
    assert_eq!(decide(Some(&older), &ours), Action::LeaveKumas);
    let mut bare = changed.clone();
    bare["metadata"] = json!({"name": "xs.kuma.io"});
    assert_eq!(decide(Some(&bare), &ours), Action::LeaveKumas);
    bare["spec"] = ours["spec"].clone();
    assert_eq!(decide(Some(&bare), &ours), Action::Keep);
    changed["metadata"]["annotations"] = json!({});
    assert_eq!(decide(Some(&changed), &ours), Action::LeaveForeign, "its user's");
}

/// As much of Kuma's as tells them apart.
fn kumas() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "metadata": {"name": "meshservices.kuma.io", "annotations": {GENERATOR: "v0.21.0"}},
        "spec": {
            "group": KUMA,
            "scope": "Namespaced",
            "names": {"plural": "meshservices", "kind": "MeshService"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

#[tokio::test]
async fn a_server_installs_what_is_missing_and_leaves_kumas() {
    let asked = Settings { install_definitions: true, ..settings() };
    let folder = std::env::temp_dir().join(format!("evenkeel-definitions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let server = Server::start(Some(&folder), settings()).await;
    assert!(server.items(DEFINITIONS).await.is_empty(), "only on request");
    let stored = server.create(DEFINITIONS, &kumas()).await;
    server.stop().await;

    let server = Server::start_whole(Some(&folder), asked).await;
    let path = |name: &str| format!("{DEFINITIONS}/{name}");
    for definition in definitions(MANIFESTS.iter().chain(MESH)) {
        server.until(&path(name_of(&definition)), |found| is_true(found, ESTABLISHED)).await;
    }
    let found = server.get(&path("meshservices.kuma.io")).await;
    for of in ["spec", "metadata"] {
        let without_time = |object: &Value| {
            let mut part = object[of].clone();
            for field in ["resourceVersion", "managedFields"] {
                part.as_object_mut().unwrap().remove(field);
            }
            part
        };
        assert_eq!(without_time(&found), without_time(&stored));
    }
    let strategy = json!({
        "apiVersion": "kuma.io/v1alpha1",
        "kind": "MeshLoadBalancingStrategy",
        "metadata": {"name": "near"},
        "spec": {"to": [{"targetRef": {"kind": "Mesh"}, "default": {"localityAwareness":
            {"crossZone": {"failoverThreshold": {"percentage": "70.5"}}, "unknown": 1}}}]},
    });
    let strategies = "/apis/kuma.io/v1alpha1/namespaces/default/meshloadbalancingstrategies";
    let created = server.create(strategies, &strategy).await;
    let awareness = &created["spec"]["to"][0]["default"]["localityAwareness"];
    assert_eq!(awareness, &json!({"crossZone": {"failoverThreshold": {"percentage": "70.5"}}}));
    let mut wrong = strategy;
    wrong["spec"]["to"][0]["targetRef"]["kind"] = "Banana".into();
    wrong["metadata"]["name"] = "wrong".into();
    let (code, answer) = server.ask(Method::POST, strategies, &wrong).await;
    assert_eq!(code, 422);
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("spec.to[0].targetRef.kind: Unsupported value: \"Banana\""),
        "{message}"
    );
    server.stop().await;
    std::fs::remove_dir_all(&folder).unwrap();
}
