//! The paths of a version of a custom resource.
//!
//! They differ from those of built-in kinds: no deprecated watches, no protobuf, and other
//! parameters. Operations are named as by `k8s.io/apiserver/pkg/endpoints/openapi`.

use serde_json::{Map, Value, json};

use super::{
    Names, OpenApi,
    words::{article, identifier},
};
use crate::{
    kinds::{Kind, Subresource},
    openapi::{
        operation::{content, reason, reference},
        parameters::{DELETE, LIST, NAME, NAMESPACE, PATCH, PRETTY, Parameter, WRITE, text},
        v2,
    },
};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const TYPES: &[&str] = &["application/json", "application/yaml"];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

/// A method of a path.
#[derive(Debug)]
struct Method {
    method: &'static str,
    /// `x-kubernetes-action`.
    action: &'static str,
    /// As in the id of the operation.
    verb: &'static str,
    parameters: &'static [Parameter],
    answers: &'static [&'static str],
}

const LISTED: Method = method("get", "list", "list", LIST, &["200"]);
const COLLECTION: &[Method] = &[
    LISTED,
    method("post", "post", "create", WRITE, &["200", "201", "202"]),
    method("delete", "deletecollection", "delete", LIST, &["200"]),
];
const OBJECT: &[Method] = &[
    method("get", "get", "read", &[text("resourceVersion")], &["200"]),
    method("put", "put", "replace", WRITE, &["200", "201"]),
    method("patch", "patch", "patch", PATCH, &["200"]),
    method("delete", "delete", "delete", DELETE, &["200", "202"]),
];

const fn method(
    method: &'static str,
    action: &'static str,
    verb: &'static str,
    parameters: &'static [Parameter],
    answers: &'static [&'static str],
) -> Method {
    Method { method, action, verb, parameters, answers }
}

/// All paths, in the form of a version of OpenAPI.
pub(super) fn of(kind: &Kind, names: &Names, openapi: OpenApi) -> Map<String, Value> {
    let at = At::new(kind, names);
    let prefix = format!("/apis/{}/{}", kind.group, kind.version);
    let (scope, namespaced): (_, &[Parameter]) = match kind.namespaced {
        true => ("/namespaces/{namespace}", &[NAMESPACE]),
        false => ("", &[]),
    };
    let all = format!("{prefix}/{}", kind.plural);
    let collection = format!("{prefix}{scope}/{}", kind.plural);
    let object = format!("{collection}/{{name}}");
    let mut items = Map::new();
    if kind.namespaced {
        items.insert(all, at.for_all_namespaces());
    }
    items.insert(collection, at.item(COLLECTION, "", &[namespaced, &[PRETTY]].concat()));
    let common = [&[NAME], namespaced, &[PRETTY]].concat();
    for subresource in kind.subresources {
        let part = if matches!(subresource, Subresource::Scale) { "scale" } else { "status" };
        items.insert(format!("{object}/{part}"), at.item(&OBJECT[..3], part, &common));
    }
    items.insert(object, at.item(OBJECT, "", &common));
    if openapi == OpenApi::V2 {
        items.values_mut().for_each(|item| *item = in_v2(item.take()));
    }
    items
}

/// Version 2 names the media types of bodies even of methods without one.
fn in_v2(item: Value) -> Value {
    let mut item = v2::path_item(item);
    for (_, operation) in item.as_object_mut().into_iter().flatten() {
        if let Value::Object(operation) = operation {
            operation.entry("consumes").or_insert_with(|| json!(TYPES));
        }
    }
    item
}

/// A kind, with what all its operations have.
#[derive(Debug)]
struct At<'a> {
    kind: &'a Kind,
    names: &'a Names,
    /// `ExampleComV1`.
    owner: String,
    tag: String,
    group_version_kind: Value,
}

// === impl At ===

impl<'a> At<'a> {
    fn new(kind: &'a Kind, names: &'a Names) -> At<'a> {
        let group = kind.group.strip_suffix(".k8s.io").unwrap_or(&kind.group);
        let version = &kind.version;
        At {
            kind,
            names,
            owner: identifier(group, true) + &identifier(version, true),
            tag: format!("{}_{}", identifier(group, false), identifier(version, false)),
            group_version_kind: json!(
                { "group": kind.group, "kind": kind.kind, "version": version }
            ),
        }
    }

    /// A path with its operations and the parameters common to them.
    fn item(&self, methods: &[Method], part: &str, common: &[Parameter]) -> Value {
        let operation = |method: &Method| {
            let mut operation = self.operation(method, part);
            operation["operationId"] = self.id(method, part).into();
            operation["parameters"] = method.parameters.iter().map(Parameter::v3).collect();
            (method.method.to_owned(), operation)
        };
        let mut item: Map<String, Value> = methods.iter().map(operation).collect();
        item.insert("parameters".to_owned(), common.iter().map(Parameter::v3).collect());
        item.into()
    }

    /// The list of all namespaces is alone at its path, so all parameters are the path's.
    fn for_all_namespaces(&self) -> Value {
        let mut list = self.operation(&LISTED, "");
        let id = format!("list{}{}ForAllNamespaces", self.owner, identifier(&self.kind.kind, true));
        list["operationId"] = id.into();
        let mut parameters = [LIST, &[PRETTY]].concat();
        parameters.sort_unstable();
        let parameters: Value = parameters.iter().map(Parameter::v3).collect();
        json!({ "get": list, "parameters": parameters })
    }

    fn operation(&self, method: &Method, part: &str) -> Value {
        let answer = content(TYPES, &reference(self.answer(method, part)));
        let response = |status: &&str| {
            let answer = json!({ "description": reason(status), "content": answer });
            ((*status).to_owned(), answer)
        };
        let mut responses: Map<String, Value> = method.answers.iter().map(response).collect();
        responses.insert("401".to_owned(), json!({ "description": reason("401") }));
        let mut operation = json!({
            "tags": [self.tag],
            "description": self.description(method, part),
            "responses": responses,
            "x-kubernetes-action": method.action,
            "x-kubernetes-group-version-kind": self.group_version_kind,
        });
        if let Some(body) = self.body(method, part) {
            operation["requestBody"] = body;
        }
        operation
    }

    fn answer(&self, method: &Method, part: &str) -> &str {
        match method.method {
            "get" if method.action == "list" => &self.names.list,
            "delete" => "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
            _ if part == "scale" => SCALE,
            _ => &self.names.item,
        }
    }

    fn body(&self, method: &Method, part: &str) -> Option<Value> {
        let (types, schema) = match method.action {
            "post" | "put" => (TYPES, self.answer(method, part)),
            "patch" => (PATCHES, &*format!("{META}.Patch")),
            "delete" => {
                let options = reference(&format!("{META}.DeleteOptions"));
                return Some(json!({ "content": content(TYPES, &options) }));
            }
            _ => return None,
        };
        Some(json!({ "content": content(types, &reference(schema)), "required": true }))
    }

    /// `replaceExampleComV1NamespacedWidgetStatus`.
    fn id(&self, method: &Method, part: &str) -> String {
        let what = if method.action == "deletecollection" { "Collection" } else { "" };
        let namespaced = if self.kind.namespaced { "Namespaced" } else { "" };
        let (verb, kind) = (method.verb, identifier(&self.kind.kind, true));
        format!("{verb}{}{what}{namespaced}{kind}{}", self.owner, identifier(part, true))
    }

    fn description(&self, method: &Method, part: &str) -> String {
        let kind = &self.kind.kind;
        let of = if part.is_empty() { String::new() } else { format!(" {part} of") };
        match (method.action, method.verb) {
            ("list", _) => format!("list objects of kind {kind}"),
            ("deletecollection", _) => format!("delete collection of {kind}"),
            ("patch", _) => format!("partially update{of} the specified {kind}"),
            (_, verb @ ("create" | "delete")) => format!("{verb}{}{kind}", article(kind)),
            (_, verb) => format!("{verb}{of} the specified {kind}"),
        }
    }
}
