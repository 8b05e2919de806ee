//! All groups in one document: APIGroupDiscoveryList of `apidiscovery.k8s.io/v2`.

use serde_json::{Value, json};

use super::resource::{self, Resource};
use crate::kinds::Catalogue;

/// `/api` if `core`, else `/apis`.
pub(crate) fn aggregated(served: &Catalogue, core: bool) -> Value {
    let all = resource::all(served);
    let groups = match core {
        true => vec![("", vec!["v1"])],
        false => resource::groups(&all),
    };
    let items: Vec<Value> =
        groups.iter().map(|(group, versions)| item(&all, group, versions)).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn item(all: &[Resource], group: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| {
        let here: Vec<&Resource> =
            all.iter().filter(|r| r.group == group && r.version == *version).collect();
        json!({"version": version, "resources": resources(&here), "freshness": "Current"})
    };
    let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
    json!({"metadata": metadata, "versions": versions.iter().map(version).collect::<Vec<_>>()})
}

/// Subresources are nested in the resource they follow.
fn resources(here: &[&Resource]) -> Vec<Value> {
    let mut resources: Vec<Value> = Vec::new();
    for resource in here {
        let Some((_, name)) = resource.name.split_once('/') else {
            resources.push(whole(resource));
            continue;
        };
        let Some(parent) = resources.last_mut() else {
            continue;
        };
        if parent["subresources"].is_null() {
            parent["subresources"] = json!([]);
        }
        let inside = parent["subresources"].as_array_mut().expect("made an array above");
        inside.push(json!({
            "subresource": name,
            "responseKind": response_kind(resource),
            "verbs": resource.verbs,
        }));
    }
    resources
}

fn whole(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.name,
        "responseKind": response_kind(resource),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(*resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(*resource.categories);
    }
    entry
}

/// Empty names stand for the enclosing group and version.
fn response_kind(resource: &Resource) -> Value {
    let (group, version) = match resource.foreign {
        Some(foreign) => foreign,
        // Those of custom resources are always named.
        None if resource.is_custom => (&*resource.group, &*resource.version),
        None => ("", ""),
    };
    json!({"group": group, "version": version, "kind": resource.kind})
}
