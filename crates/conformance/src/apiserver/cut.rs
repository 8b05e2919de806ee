//! Trims: what a recording keeps of a response, applied to the real response too.
//!
//! A Status is never trimmed, except for the messages of `short422`. If the recording of a trim has
//! several possible shapes, the recorded value decides.

use serde_json::{Map, Value, json};

/// Groups whose discovery is recorded; the first is the core group.
const GROUPS: &[&str] = &[
    "",
    "apps",
    "discovery.k8s.io",
    "coordination.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "apiextensions.k8s.io",
];

/// Resources whose discovery is recorded.
const RESOURCES: &[&str] = &[
    "bindings",
    "configmaps",
    "customresourcedefinitions",
    "daemonsets",
    "deployments",
    "endpointslices",
    "events",
    "flowschemas",
    "leases",
    "namespaces",
    "nodes",
    "pods",
    "prioritylevelconfigurations",
    "replicasets",
    "secrets",
    "serviceaccounts",
    "services",
];

/// The trimmed response. Fails if there is no such trim.
pub(super) fn cut(name: &str, body: Value, recorded: &Value) -> Result<Value, String> {
    if name == "short422" {
        return Ok(first_lines_of_messages(body));
    }
    if body["kind"] == "Status" {
        return Ok(body);
    }
    if let Some(pointer) = name.strip_prefix("at:") {
        return Ok(body.pointer(pointer).cloned().unwrap_or(Value::Null));
    }
    if let Some(group) = name.strip_prefix("group:") {
        return Ok(group_entry(&body, group));
    }
    Ok(match name {
        "ident" => ident(&body, recorded),
        "meta" | "statusOrMeta" => only(&body, &["apiVersion", "kind", "metadata"]),
        "spec" => only(&body, &["spec"]),
        "nometa" => without(body, "metadata"),
        "names" => names(&body),
        "tbl" => table(&body),
        "fslist" | "pllist" => configuration_list(&body, recorded),
        "dump0" => json!({"first_line": first_line(&body)}),
        "dump1" | "dump2" => dump(&body, recorded),
        "fl" => like_first_line(&body, recorded),
        "kindonly" => only(&body, &["apiVersion", "kind"]),
        "keys" => keys(&body),
        "apiv" => masked(only(&body, &["kind", "versions", "serverAddressByClientCIDRs"])),
        "groups" => groups(body),
        "agg" => aggregated(body),
        "reslist" => resource_list(body),
        "rootp" | "oidx" => paths(&body, recorded),
        "namelen" => name_length(&body, recorded),
        "yaml" => yaml(&body)?,
        _ => return Err(format!("no cut {name:?} is known")),
    })
}

/// Removes `metadata.managedFields` at every depth.
pub(super) fn drop_managed_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            fields.values_mut().for_each(drop_managed_fields);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_managed_fields),
        _ => {}
    }
}

fn only(body: &Value, keys: &[&str]) -> Value {
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), body.get(key)?.clone())));
    Value::Object(kept.collect())
}

fn without(mut body: Value, key: &str) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.remove(key);
    }
    body
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The entry of a group in a discovery document.
fn group_entry(body: &Value, group: &str) -> Value {
    let entries = ["groups", "items"].iter().filter_map(|list| body[list].as_array()).flatten();
    let is_it = |entry: &&Value| entry["name"] == group || entry["metadata"]["name"] == group;
    entries.clone().find(is_it).cloned().unwrap_or(Value::Null)
}

fn ident(body: &Value, recorded: &Value) -> Value {
    if let Some(items) = body["items"].as_array() {
        return json!({"kind": body["kind"], "count": items.len()});
    }
    let keys = ["name", "namespace", "generateName", "uid", "resourceVersion"];
    let mut found = json!({"metadata": only(&body["metadata"], &keys)});
    if body["kind"] == "Service" {
        let spec = &body["spec"];
        let mut kept = only(spec, &["clusterIP", "clusterIPs", "healthCheckNodePort"]);
        if let Some(ports) = spec["ports"].as_array() {
            kept["ports"] = ports.iter().map(|p| only(p, &["port", "nodePort"])).collect();
        }
        if kept != json!({}) || recorded.get("spec").is_some() {
            found["spec"] = kept;
        }
    }
    found
}

fn names(body: &Value) -> Value {
    let mut found = only(body, &["apiVersion", "kind", "metadata"]);
    let items = elements(&body["items"]).iter();
    let named = items.map(|item| {
        let metadata = &item["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        match metadata["namespace"].as_str() {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        }
    });
    found["names"] = named.collect();
    found
}

fn table(body: &Value) -> Value {
    let columns = elements(&body["columnDefinitions"]).iter();
    let columns = columns.map(|column| only(column, &["name", "type", "format", "priority"]));
    let rows = elements(&body["rows"]).iter().map(|row| {
        json!({
            "cells": row["cells"],
            "conditions": row["conditions"],
            "object_apiVersion": row["object"]["apiVersion"],
            "object_kind": row["object"]["kind"],
        })
    });
    json!({"columns": columns.collect::<Value>(), "rows": rows.collect::<Value>()})
}

/// Recorded as a list, as a list under some key, or as a map by name.
fn configuration_list(body: &Value, recorded: &Value) -> Value {
    let item = |item: &Value| {
        let metadata = &item["metadata"];
        let mut kept = only(metadata, &["name", "annotations", "generation"]);
        kept["spec"] = item["spec"].clone();
        kept
    };
    let items: Vec<Value> = elements(&body["items"]).iter().map(item).collect();
    match recorded {
        Value::Object(fields) => match fields.iter().find(|(_, value)| value.is_array()) {
            Some((key, _)) => {
                let mut found = only(body, &["apiVersion", "kind", "metadata"]);
                found[key] = items.into();
                let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
                only(&found, &keys)
            }
            None => {
                let by_name = |item: Value| (item["name"].as_str().unwrap_or("").to_owned(), item);
                Value::Object(items.into_iter().map(by_name).collect())
            }
        },
        _ => items.into(),
    }
}

/// The first line of a text, with blanks collapsed.
fn first_line(body: &Value) -> String {
    let line = body.as_str().unwrap_or_default().lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn like_first_line(body: &Value, recorded: &Value) -> Value {
    let line = first_line(body);
    match recorded.as_object().and_then(|fields| fields.keys().next()) {
        Some(key) => json!({ key.as_str(): line }),
        None => line.into(),
    }
}

/// The first line unchanged, and either the first names of rows, or their counts.
fn dump(body: &Value, recorded: &Value) -> Value {
    let mut lines = body.as_str().unwrap_or_default().lines();
    let first = lines.next().unwrap_or_default().trim();
    let mut counts = Map::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let name = line.split(',').next().unwrap_or_default().trim();
        let count = counts.get(name).and_then(Value::as_u64).unwrap_or(0) + 1;
        counts.insert(name.to_owned(), count.into());
    }
    let mut found = json!({ "first_line": first });
    let others = recorded.as_object().into_iter().flatten().filter(|(key, _)| *key != "first_line");
    for (key, value) in others {
        found[key] = match value {
            Value::Array(_) => counts.keys().cloned().collect(),
            _ => Value::Object(counts.clone()),
        };
    }
    found
}

fn keys(body: &Value) -> Value {
    let keys = body.as_object().into_iter().flat_map(Map::keys).cloned();
    json!({"keys": keys.collect::<Vec<_>>()})
}

fn masked(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.entry("serverAddressByClientCIDRs").and_modify(|v| *v = "<masked>".into());
    }
    body
}

fn groups(mut body: Value) -> Value {
    retain(&mut body, "groups", |group| is_kept_group(&group["name"]));
    body
}

fn aggregated(mut body: Value) -> Value {
    for group in retain(&mut body, "items", |group| is_kept_group(&group["metadata"]["name"])) {
        for version in retain(group, "versions", |_| true) {
            retain(version, "resources", |resource| is_kept_resource(&resource["resource"]));
        }
    }
    body
}

fn resource_list(mut body: Value) -> Value {
    let resources = retain(&mut body, "resources", |resource| {
        // Only the recording of this format lacks `serviceaccounts/token`.
        is_kept_resource(&resource["name"]) && resource["kind"] != "TokenRequest"
    });
    for fields in resources.iter_mut().filter_map(Value::as_object_mut) {
        fields.remove("storageVersionHash");
    }
    body
}

/// Trims the list under `key`, if there is one, and returns the rest of it.
fn retain<'a>(body: &'a mut Value, key: &str, keep: impl Fn(&Value) -> bool) -> &'a mut [Value] {
    let Some(list) = body.get_mut(key).and_then(Value::as_array_mut) else {
        return &mut [];
    };
    list.retain(keep);
    list
}

fn is_kept_group(name: &Value) -> bool {
    GROUPS.contains(&name.as_str().unwrap_or_default())
}

fn is_kept_resource(name: &Value) -> bool {
    let name = name.as_str().unwrap_or_default();
    RESOURCES.contains(&name.split('/').next().unwrap_or_default())
}

/// The recorded paths of a list or map of paths.
fn paths(body: &Value, recorded: &Value) -> Value {
    let kept = match (&body["paths"], &recorded["paths"]) {
        (Value::Object(paths), Value::Object(recorded)) => {
            let kept = paths.iter().filter(|(path, _)| recorded.contains_key(*path));
            Value::Object(kept.map(|(path, at)| (path.clone(), address(at).clone())).collect())
        }
        (Value::Array(paths), Value::Array(recorded)) => {
            paths.iter().filter(|path| recorded.contains(path)).cloned().collect()
        }
        (other, _) => other.clone(),
    };
    json!({"paths": kept})
}

/// The OpenAPI index maps each path to an object with its URL.
fn address(value: &Value) -> &Value {
    value.get("serverRelativeURL").unwrap_or(value)
}

fn name_length(body: &Value, recorded: &Value) -> Value {
    let length = body["metadata"]["name"].as_str().unwrap_or_default().len();
    match recorded.as_object().and_then(|fields| fields.iter().find(|(_, v)| v.is_number())) {
        Some((key, _)) => json!({ key.as_str(): length }),
        None => length.into(),
    }
}

fn yaml(body: &Value) -> Result<Value, String> {
    let text = body.as_str().ok_or("the answer is JSON, not YAML")?;
    let mut parsed: Value = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
    if let Some(metadata) = parsed.get_mut("metadata").and_then(Value::as_object_mut) {
        for volatile in ["creationTimestamp", "managedFields", "resourceVersion", "uid"] {
            metadata.remove(volatile);
        }
    }
    Ok(json!({ "parsed_without_volatile": parsed }))
}

fn first_lines_of_messages(mut body: Value) -> Value {
    let shorten = |message: &mut Value| {
        if let Some(text) = message.as_str() {
            *message = text.split('\n').next().unwrap_or_default().into();
        }
    };
    if let Some(message) = body.get_mut("message") {
        shorten(message);
    }
    let causes = body.pointer_mut("/details/causes").and_then(Value::as_array_mut);
    let messages = causes.into_iter().flatten().filter_map(|cause| cause.get_mut("message"));
    messages.for_each(shorten);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cut_keeps_what_its_recording_has() {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "a", "uid": "u", "labels": {"x": "y"}},
            "spec": {"clusterIP": "10.0.0.1", "type": "NodePort",
                     "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30000}]},
        });
        let list = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {},
            "items": [{"metadata": {"name": "p", "namespace": "n"}}, {"metadata": {"name": "q"}}]});
        let status = json!({"kind": "Status", "message": "a\nb", "metadata": {}});
        for (name, body, expected) in [
            (
                "ident",
                &service,
                json!({"metadata": {"name": "a", "uid": "u"},
                "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30000}]}}),
            ),
            ("ident", &list, json!({"kind": "PodList", "count": 2})),
            ("kindonly", &service, json!({"apiVersion": "v1", "kind": "Service"})),
            (
                "names",
                &list,
                json!({"apiVersion": "v1", "kind": "PodList", "metadata": {},
                "names": ["n/p", "q"]}),
            ),
            ("keys", &status, status.clone()),
            ("short422", &status, json!({"kind": "Status", "message": "a", "metadata": {}})),
            ("keys", &list, json!({"keys": ["apiVersion", "items", "kind", "metadata"]})),
            (
                "oidx",
                &json!({"paths": {"api": {"serverRelativeURL": "/a?hash=1"}, "x": {}}}),
                json!({"paths": {"api": "/a?hash=1"}}),
            ),
            ("dump0", &json!("a,   b\nc"), json!({"first_line": "a, b"})),
            (
                "yaml",
                &json!("a: 1\nmetadata: {uid: x, name: b}\n"),
                json!({"parsed_without_volatile": {"a": 1, "metadata": {"name": "b"}}}),
            ),
        ] {
            assert_eq!(cut(name, body.clone(), &expected).unwrap(), expected, "{name}");
        }
        cut("other", service, &Value::Null).unwrap_err();
    }

    #[test]
    fn an_answer_of_another_form_is_cut_without_panic() {
        let cuts = "ident meta statusOrMeta spec nometa names tbl fslist pllist dump0 dump1 dump2 fl \
                    kindonly keys apiv groups agg reslist rootp oidx namelen yaml short422";
        let lists = ["groups", "items", "resources", "versions", "paths", "rows"];
        let odd: Value = lists.iter().map(|key| ((*key).to_owned(), json!(["x", {}]))).collect();
        for name in cuts.split_whitespace() {
            for body in [json!("text"), json!(null), json!([1]), json!({}), odd.clone()] {
                let _ = cut(name, body, &json!({}));
            }
        }
    }

    #[test]
    fn managed_fields_are_removed_at_every_depth_and_only_from_metadata() {
        let mut list = json!({"items": [{"metadata": {"managedFields": []}, "managedFields": 1}]});
        drop_managed_fields(&mut list);
        assert_eq!(list, json!({"items": [{"metadata": {}, "managedFields": 1}]}));
    }
}
