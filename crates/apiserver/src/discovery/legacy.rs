//! The documents of one group or version: APIVersions, APIGroupList, APIGroup, APIResourceList.

use serde_json::{Value, json};

use super::{
    fingerprint,
    resource::{self, Resource},
};
use crate::kinds::Catalogue;

/// `/api`. `address` is where clients reach the server: `127.0.0.1:6443`.
pub(crate) fn versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis`.
pub(crate) fn groups(served: &Catalogue) -> Value {
    let all = resource::all(served);
    let groups = resource::groups(&all);
    let groups: Vec<Value> = groups.iter().map(|(name, versions)| shown(name, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(crate) fn group(served: &Catalogue, name: &str) -> Option<Value> {
    let all = resource::all(served);
    let groups = resource::groups(&all);
    let (name, versions) = groups.iter().find(|(group, _)| *group == name)?;
    let mut document = shown(name, versions);
    document["kind"] = json!("APIGroup");
    document["apiVersion"] = json!("v1");
    Some(document)
}

/// `/api/v1` (of the group `""`) and `/apis/GROUP/VERSION`.
pub(crate) fn resources(served: &Catalogue, group: &str, version: &str) -> Option<Value> {
    let all = resource::all(served);
    let here = all.iter().filter(|r| r.group == group && r.version == version);
    let resources: Vec<Value> = here.map(entry).collect();
    if resources.is_empty() {
        return None;
    }
    let mut document = json!({
        "kind": "APIResourceList",
        "groupVersion": group_version(group, version),
        "resources": resources,
    });
    // The document of core predates versions of documents, and has none.
    if !group.is_empty() {
        document["apiVersion"] = json!("v1");
    }
    Some(document)
}

fn shown(group: &str, versions: &[&str]) -> Value {
    let version =
        |version: &&str| json!({"groupVersion": group_version(group, version), "version": version});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": group, "preferredVersion": versions[0], "versions": versions})
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if let Some((group, version)) = resource.foreign {
        entry["group"] = json!(group);
        entry["version"] = json!(version);
    }
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(*resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(*resource.categories);
    }
    if let Some((group, version, kind)) = &resource.stored {
        entry["storageVersionHash"] = json!(fingerprint::stored(group, version, kind));
    }
    entry
}
