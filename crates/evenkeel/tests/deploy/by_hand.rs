//! As much of kustomize as `deploy/` uses, for a kubectl that is too old to render it (Debian 12 has
//! 1.20). Where kubectl can, both must agree.

use serde_json::Value;

use crate::{
    kinds,
    rendered::{documents, path, strings, text},
};

pub(crate) fn render(folder: &str) -> Vec<Value> {
    let kustomization = documents(&format!("{folder}/kustomization.yaml")).remove(0);
    let mut objects = Vec::new();
    for resource in strings(&kustomization["resources"]) {
        let place = format!("{folder}/{resource}");
        match path(&place).is_dir() {
            true => objects.extend(render(&place)),
            false => objects.extend(documents(&place)),
        }
    }
    objects.iter_mut().for_each(|object| own(&kustomization, object));
    objects
}

fn own(kustomization: &Value, object: &mut Value) {
    let is_namespaced = kinds::is_namespaced(object);
    if let (Some(namespace), true) = (kustomization.get("namespace"), is_namespaced) {
        object["metadata"]["namespace"] = namespace.clone();
    }
    for labels in kustomization["labels"].as_array().into_iter().flatten() {
        for (key, value) in labels["pairs"].as_object().unwrap() {
            object["metadata"]["labels"][key] = value.clone();
        }
    }
    for patch in kustomization["patches"].as_array().into_iter().flatten() {
        let target = &patch["target"];
        if target["kind"] == object["kind"] && target["name"] == object["metadata"]["name"] {
            change(object, text(&patch["patch"]));
        }
    }
}

/// Operations that append to a list, add a field, or replace what is there.
fn change(object: &mut Value, patch: &str) {
    let operations: Vec<Value> = serde_saphyr::from_str(patch).unwrap();
    for operation in operations {
        let (path, value) = (text(&operation["path"]), operation["value"].clone());
        match text(&operation["op"]) {
            "add" => {
                let (parent, name) = path.rsplit_once('/').unwrap();
                match object.pointer_mut(parent).unwrap() {
                    Value::Array(list) if name == "-" => list.push(value),
                    parent => parent[name] = value,
                }
            }
            "replace" => *object.pointer_mut(path).unwrap() = value,
            other => panic!("an operation that this test does not know: {other}"),
        }
    }
}
