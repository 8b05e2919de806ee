//! One method of a path.

use serde_json::{Map, Value, json};

use super::{
    parameters::Parameter,
    resources::{Resource, short},
};

/// Media types of responses.
const OBJECT: &[&str] =
    &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
const STREAM: &[&str] = &[
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
const LOG: &[&str] =
    &["application/json", "application/vnd.kubernetes.protobuf", "application/yaml", "text/plain"];
/// Media types of patches.
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The parameters and responses of one method of a path.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// `x-kubernetes-action`.
    pub(super) action: Option<&'static str>,
    /// `x-kubernetes-group-version-kind`.
    pub(super) kind: Option<[&'static str; 3]>,
    pub(super) id: String,
    pub(super) tag: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) answers: &'static [&'static str],
    pub(super) answer: Answer,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Of the named schema.
    Object(&'static str),
    /// Options of a delete, which are optional.
    DeleteOptions,
    Patch,
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Of the named schema.
    Object(String),
    /// Likewise, and as a stream.
    Stream(String),
    /// Lines of text.
    Log,
    /// The output of the other end of a connection.
    Anything,
    /// JSON only.
    Json(String),
}

// === impl Operation ===

impl Operation {
    /// An operation on a resource, to be completed.
    pub(super) fn on(resource: &Resource, method: &'static str, action: &'static str) -> Operation {
        Operation {
            method,
            action: Some(action),
            kind: Some([resource.group, resource.kind, resource.version]),
            id: String::new(),
            tag: format!("{}_{}", short(resource.group), resource.version),
            parameters: Vec::new(),
            body: None,
            answers: &["200"],
            answer: Answer::Object(resource.schema.to_owned()),
        }
    }

    /// The operation for version 3, without the parameters common to its path.
    pub(super) fn v3(&self, of_path: &[Parameter]) -> Value {
        let mut operation = Map::new();
        let own: Vec<Value> = self
            .parameters
            .iter()
            .filter(|one| !of_path.contains(one))
            .map(Parameter::v3)
            .collect();
        if !own.is_empty() {
            operation.insert("parameters".to_owned(), own.into());
        }
        operation.insert("operationId".to_owned(), self.id.clone().into());
        operation.insert("tags".to_owned(), json!([self.tag]));
        if let Some(body) = self.body {
            operation.insert("requestBody".to_owned(), body.v3());
        }
        if let Some(action) = self.action {
            operation.insert("x-kubernetes-action".to_owned(), action.into());
        }
        if let Some([group, kind, version]) = self.kind {
            let kind = json!({ "group": group, "kind": kind, "version": version });
            operation.insert("x-kubernetes-group-version-kind".to_owned(), kind);
        }
        operation.insert("responses".to_owned(), self.responses());
        operation.into()
    }

    fn responses(&self) -> Value {
        let answer = |status: &&str| {
            (
                (*status).to_owned(),
                json!({ "description": reason(status), "content": self.answer.content() }),
            )
        };
        let mut responses: Map<String, Value> = self.answers.iter().map(answer).collect();
        responses.insert("401".to_owned(), json!({ "description": reason("401") }));
        responses.into()
    }
}

// === impl Body ===

impl Body {
    fn v3(self) -> Value {
        let types: &[&str] = if matches!(self, Body::Patch) { PATCHES } else { &["*/*"] };
        let schema = match self {
            Body::Object(schema) => schema,
            Body::DeleteOptions => "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
            Body::Patch => "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
        };
        let content = content(types, &reference(schema));
        match self {
            Body::DeleteOptions => json!({ "content": content }),
            Body::Object(_) | Body::Patch => json!({ "content": content, "required": true }),
        }
    }
}

// === impl Answer ===

impl Answer {
    fn content(&self) -> Value {
        match self {
            Answer::Object(schema) => content(OBJECT, &reference(schema)),
            Answer::Stream(schema) => content(STREAM, &reference(schema)),
            Answer::Log => content(LOG, &json!({ "type": "string" })),
            Answer::Anything => content(&["*/*"], &json!({ "type": "string" })),
            Answer::Json(schema) => content(&OBJECT[..1], &reference(schema)),
        }
    }
}

/// A reference to a schema of the same document.
pub(super) fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

pub(super) fn content(types: &[&str], schema: &Value) -> Value {
    types
        .iter()
        .map(|type_| ((*type_).to_owned(), json!({ "schema": schema })))
        .collect::<Map<_, _>>()
        .into()
}

pub(super) fn reason(status: &str) -> &'static str {
    match status {
        "200" => "OK",
        "201" => "Created",
        "202" => "Accepted",
        _ => "Unauthorized",
    }
}
