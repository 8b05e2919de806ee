//! Documents compared with recorded ones.

use serde_json::{Value, json};

use super::*;
use crate::kinds::{Catalogue, KINDS, facts};

static SERVED: std::sync::LazyLock<Catalogue> = std::sync::LazyLock::new(Catalogue::default);

/// Kinds missing in the recordings.
const NOT_RECORDED: [&str; 4] =
    ["controllerrevisions", "podtemplates", "resourcequotas", "resourcequotas/status"];

/// Whether the table has the kind of a recorded resource.
fn is_here(name: &str) -> bool {
    let resource = name.split('/').next().unwrap_or_default();
    resource == "bindings" || KINDS.iter().any(|kind| kind.plural == resource)
}

fn body(id: &str, step: usize) -> Value {
    facts::scenario("discovery", id)["steps"][step]["response"]["body"].clone()
}

fn without_hashes(mut entry: Value) -> Value {
    entry.as_object_mut().unwrap().remove("storageVersionHash");
    entry
}

#[test]
fn resources_are_listed_as_recorded() {
    let mut compared = 0;
    for scenario in facts::scenarios("discovery") {
        let recorded = &scenario["steps"][0]["response"]["body"];
        if recorded["kind"] != "APIResourceList" {
            continue;
        }
        let (group, version) = match recorded["groupVersion"].as_str().unwrap() {
            "v1" => ("", "v1"),
            other => other.split_once('/').unwrap(),
        };
        let Some(ours) = resources(&SERVED, group, version) else {
            continue;
        };
        assert_eq!(ours["apiVersion"], recorded["apiVersion"]);
        let named = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
        let expected: Vec<&Value> = recorded["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| is_here(&named(entry)))
            .collect();
        // The recording omits this one, since its kind belongs to another group.
        let listed: Vec<Value> = ours["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| named(entry) != "serviceaccounts/token")
            .filter(|entry| !NOT_RECORDED.contains(&&*named(entry)))
            .map(|entry| without_hashes(entry.clone()))
            .collect();
        assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
        compared += 1;
    }
    assert!(compared >= 1);
}

// From `api/discovery/api__v1.json` and `apis__apps__v1.json` of Kubernetes.
#[test]
fn templates_and_revisions_are_listed_without_short_names() {
    for (group, name, singular, kind) in [
        ("", "podtemplates", "podtemplate", "PodTemplate"),
        ("apps", "controllerrevisions", "controllerrevision", "ControllerRevision"),
    ] {
        let list = resources(&SERVED, group, "v1").unwrap();
        let found =
            list["resources"].as_array().unwrap().iter().find(|entry| entry["name"] == name);
        let verbs =
            ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        let expected = json!({"name": name, "singularName": singular, "kind": kind,
            "namespaced": true, "verbs": verbs});
        assert_eq!(without_hashes(found.unwrap().clone()), expected);
    }
}

#[test]
fn the_aggregated_form_is_as_recorded() {
    for (step, core) in [(0, true), (1, false)] {
        let recorded = body("discovery.aggregated", step);
        let ours = aggregated(&SERVED, core);
        assert_eq!(ours["apiVersion"], recorded["apiVersion"]);
        let found: Vec<(&Value, &Value)> = recorded["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|item| {
                let items = ours["items"].as_array().unwrap();
                let same = items.iter().find(|ours| ours["metadata"] == item["metadata"])?;
                Some((item, same))
            })
            .collect();
        assert!(!found.is_empty());
        for (recorded, ours) in found {
            let expected = recorded["versions"][0]["resources"].as_array().unwrap().iter();
            let expected: Vec<&Value> =
                expected.filter(|entry| is_here(entry["resource"].as_str().unwrap())).collect();
            let listed = ours["versions"][0]["resources"].as_array().unwrap().iter();
            let is_recorded = |entry: &&Value| {
                !NOT_RECORDED.contains(&entry["resource"].as_str().unwrap_or_default())
            };
            assert_eq!(listed.filter(is_recorded).collect::<Vec<_>>(), expected);
            assert_eq!(ours["versions"][0]["freshness"], "Current");
        }
    }
}

#[test]
fn groups_are_as_recorded() {
    let recorded = body("discovery.api-legacy", 1);
    let ours = groups(&SERVED);
    let names = |document: &Value| -> Vec<String> {
        let groups = document["groups"].as_array().unwrap().iter();
        groups.map(|group| group["name"].as_str().unwrap().to_owned()).collect()
    };
    let recorded_names = names(&recorded);
    let ours_names = names(&ours);
    let common = |names: &[String], others: &[String]| -> Vec<String> {
        names.iter().filter(|name| others.contains(name)).cloned().collect()
    };
    assert_eq!(common(&ours_names, &recorded_names), common(&recorded_names, &ours_names));
    let mut compared = 0;
    for step in facts::scenario("discovery", "discovery.groups")["steps"].as_array().unwrap() {
        let recorded = &step["response"]["body"];
        if let Some(ours) = group(&SERVED, recorded["name"].as_str().unwrap()) {
            assert_eq!(&ours, recorded);
            compared += 1;
        }
    }
    assert!(compared >= 1);
    assert_eq!(group(&SERVED, "nope"), None);
    assert_eq!(resources(&SERVED, "", "v2"), None);
}

#[test]
fn the_forms_of_core_and_the_version_are_as_recorded() {
    let mut ours = versions("127.0.0.1:6443");
    ours["serverAddressByClientCIDRs"] = json!("<masked>");
    assert_eq!(ours, body("discovery.api-legacy", 0));
    let version = version();
    let keys: Vec<&String> = version.as_object().unwrap().keys().collect();
    assert_eq!(json!(keys), body("discovery.version", 0)["keys"]);
}

#[test]
fn recorded_accept_headers_get_the_recorded_form() {
    let scenario = facts::scenario("discovery", "discovery.aggregated-accept");
    for step in scenario["steps"].as_array().unwrap() {
        let expected = match step["response"]["body"]["kind"].as_str().unwrap() {
            "APIGroupDiscoveryList" => Some(DiscoveryFormat::Aggregated),
            "APIVersions" => Some(DiscoveryFormat::Plain),
            _ => None,
        };
        assert_eq!(negotiate(step["request"]["accept"].as_str().unwrap()), expected);
    }
}

#[test]
fn events_are_stored_once() {
    let hash = |group: &str| {
        let document = resources(&SERVED, group, "v1").unwrap();
        let entries = document["resources"].as_array().unwrap().clone();
        entries.into_iter().find(|entry| entry["name"] == "events").unwrap()["storageVersionHash"]
            .clone()
    };
    assert_eq!(hash(""), hash("events.k8s.io"));
}

#[test]
fn the_root_names_every_version() {
    let document = paths(&SERVED);
    let paths = document["paths"].as_array().unwrap();
    for path in ["/api/v1", "/apis/coordination.k8s.io/v1", "/version"] {
        assert!(paths.contains(&json!(path)), "{path}");
    }
}
