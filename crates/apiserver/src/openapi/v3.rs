//! Documents of version 3, of built-in kinds.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    operation::{Answer, Operation, reference},
    paths,
    resources::{self, capital, short},
    schemas,
};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCHEMAS: &str = "#/components/schemas/";

/// The names of all documents, sorted.
pub(super) fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = ["api", "apis", "version"].map(str::to_owned).into();
    for resource in resources::all() {
        names.insert(resource.document());
        if !resource.group.is_empty() {
            names.insert(format!("apis/{}", resource.group));
        }
    }
    names.into_iter().collect()
}

/// One document by its name.
pub(super) fn document(name: &str) -> Value {
    let paths = items(name);
    let mut schemas = closure(&paths);
    if let ["apis", group, version] = name.split('/').collect::<Vec<_>>().as_slice() {
        registered(&mut schemas, group, version);
    }
    let components = json!({
        "schemas": schemas,
        "securitySchemes": { "BearerToken": bearer_token() },
    });
    json!({ "openapi": "3.0.0", "info": info(), "paths": paths, "components": components })
}

/// The types that custom resources refer to, with the paths and schemas of the built-in kinds of
/// the same group version, if there are any.
pub(super) fn with_common(name: Option<&str>) -> Value {
    const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
    let paths = name.map_or_else(|| json!({}), items);
    let meta = ["DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status"];
    let mut used: Vec<Value> = meta.map(|type_| reference(&format!("{META}.{type_}"))).into();
    used.push(reference(SCALE));
    let schemas = closure(&json!([paths, used]));
    json!({ "paths": paths, "components": { "schemas": schemas } })
}

/// The fields of a custom resource's document beside paths and components.
pub(super) fn about_custom() -> Map<String, Value> {
    Map::from_iter([
        ("openapi".to_owned(), "3.0.0".into()),
        ("info".to_owned(), json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })),
    ])
}

pub(super) fn info() -> Value {
    json!({ "title": "Kubernetes", "version": "unversioned" })
}

pub(super) fn bearer_token() -> Value {
    let words = "A bearer token in the header Authorization.";
    json!({ "type": "apiKey", "name": "authorization", "in": "header", "description": words })
}

/// The paths of a document.
pub(super) fn items(name: &str) -> Value {
    let mut items = Map::new();
    items.insert(format!("/{name}/"), paths::v3(&[about(name)]));
    for resource in resources::all().iter().filter(|resource| resource.document() == name) {
        for (path, operations) in paths::of(resource) {
            items.insert(path, paths::v3(&operations));
        }
    }
    items.into()
}

/// The path that describes what is below it.
fn about(name: &str) -> Operation {
    let words: Vec<&str> = name.split('/').collect();
    let (id, tag, schema) = match words.as_slice() {
        ["version"] => ("getCodeVersion".to_owned(), "version".to_owned(), None),
        ["api"] => ("getCoreAPIVersions".to_owned(), "core".to_owned(), Some("APIVersions")),
        ["apis", group] => {
            (format!("get{}APIGroup", capital(&short(group))), short(group), Some("APIGroup"))
        }
        ["api", version] => versioned("", version),
        ["apis", group, version] => versioned(group, version),
        _ => ("getAPIVersions".to_owned(), "apis".to_owned(), Some("APIGroupList")),
    };
    let answer = match schema {
        Some(schema) => Answer::Object(format!("{META}.{schema}")),
        None => Answer::Json("io.k8s.apimachinery.pkg.version.Info".to_owned()),
    };
    Operation {
        method: "get",
        action: None,
        kind: None,
        id,
        tag,
        parameters: Vec::new(),
        body: None,
        answers: &["200"],
        answer,
    }
}

fn versioned(group: &str, version: &str) -> (String, String, Option<&'static str>) {
    let group = short(group);
    let id = format!("get{}{}APIResources", capital(&group), capital(version));
    (id, format!("{group}_{version}"), Some("APIResourceList"))
}

/// All schemas that paths refer to, transitively.
fn closure(paths: &Value) -> Map<String, Value> {
    let mut schemas = Map::new();
    let mut open = BTreeSet::new();
    references(paths, &mut open);
    while let Some(name) = open.pop_first() {
        if schemas.contains_key(&name) {
            continue;
        }
        let schema = schemas::named(&name);
        references(&schema, &mut open);
        schemas.insert(name, schema);
    }
    schemas
}

/// Every group registers its own kinds for delete options and watch events.
fn registered(schemas: &mut Map<String, Value>, group: &str, version: &str) {
    for kind in ["DeleteOptions", "WatchEvent"] {
        let schema = schemas.get_mut(&format!("{META}.{kind}"));
        if let Some(kinds) =
            schema.and_then(|schema| schema.get_mut("x-kubernetes-group-version-kind"))
        {
            schemas::also_of(kinds, group, version);
        }
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str().and_then(|text| text.strip_prefix(SCHEMAS)) {
                    Some(name) if key == "$ref" => drop(found.insert(name.to_owned())),
                    _ => references(value, found),
                }
            }
        }
        _ => {}
    }
}
