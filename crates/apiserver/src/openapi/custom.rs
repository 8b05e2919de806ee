//! Custom resources in OpenAPI documents: the paths and schemas of each version.
//!
//! Source: `apiextensions-apiserver/pkg/controller/openapi/builder/builder.go`. A part is generated
//! from the stored definition at first request, and freed with the resource. It depends on nothing
//! but the definition, so a change of one definition leaves the parts of all others.

mod paths;
mod schema;
#[cfg(test)]
mod tests;
mod words;

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::{assembled::Part, described};
use crate::{
    document,
    kinds::{CUSTOM_RESOURCE_DEFINITION, Kind, catalogue::CustomResource},
};

const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// The parts of one custom resource.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// All versions.
    v2: Part,
    /// One per served version, in their order.
    v3: OnceLock<Box<[Part]>>,
}

/// The version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenApi {
    V2,
    V3,
}

// === impl CustomResource ===

impl CustomResource {
    /// The part of the document of a group version, or of the document of version 2.
    pub(super) fn part(&self, version: Option<&str>) -> Option<&Part> {
        let Some(version) = version else { return Some(&self.published.v2) };
        let new = || self.versions.iter().map(|_| Part::default()).collect();
        let parts = self.published.v3.get_or_init(new);
        parts.get(self.versions.iter().position(|kind| kind.version == version)?)
    }

    /// What the part is generated from: a document with nothing but its own paths and schemas.
    pub(super) fn described(&self, version: Option<&str>) -> Value {
        // An unreadable definition is reported by those who serve it.
        let definition = document::value(&CUSTOM_RESOURCE_DEFINITION, &self.definition);
        let definition = definition.unwrap_or_default();
        let openapi = if version.is_some() { OpenApi::V3 } else { OpenApi::V2 };
        let (mut paths, mut schemas) = (Map::new(), Map::new());
        let asked = |kind: &&Kind| version.is_none_or(|version| kind.version == version);
        for kind in self.versions.iter().map(|kind| &**kind).filter(asked) {
            let own = spec_of(&definition, &kind.version);
            let names = Names::of(kind);
            paths.extend(paths::of(kind, &names, openapi));
            let fields = selectable(own);
            let schema = schema::published(&own["schema"]["openAPIV3Schema"], openapi);
            schemas.insert(names.item.clone(), finished(schema, &kind.kind, kind, &fields));
            let list = list(kind, &names, openapi);
            schemas.insert(names.list.clone(), finished(list, &names.list_kind, kind, &fields));
        }
        match openapi {
            OpenApi::V2 => json!({ "paths": paths, "definitions": schemas }),
            OpenApi::V3 => json!({ "paths": paths, "components": { "schemas": schemas } }),
        }
    }
}

/// The names of a kind's schemas.
#[derive(Debug)]
struct Names {
    list_kind: String,
    item: String,
    list: String,
}

impl Names {
    fn of(kind: &Kind) -> Names {
        let list_kind = kind
            .custom
            .as_ref()
            .map_or_else(|| format!("{}List", kind.kind), |custom| custom.list_kind.to_string());
        let package = kind.schema.strip_suffix(&*kind.kind).unwrap_or_default();
        let named = |kind: &str| format!("{package}{kind}{}", suffix(package));
        Names { item: named(&kind.kind), list: named(&list_kind), list_kind }
    }
}

/// A definition may claim the package of built-in types, `io.k8s.api.core.v1.`: its schemas must
/// not replace theirs. Clients find a schema by its group, version and kind, whatever its name.
fn suffix(package: &str) -> &'static str {
    let built_in = ["io.k8s.api.", "io.k8s.apimachinery.", "io.k8s.apiextensions-apiserver."];
    if built_in.iter().any(|start| package.starts_with(start)) { "_v2" } else { "" }
}

// === impl OpenApi ===

impl OpenApi {
    /// A reference to a schema.
    fn reference(self, name: &str) -> Value {
        match self {
            OpenApi::V2 => json!({ "$ref": format!("#/definitions/{name}") }),
            OpenApi::V3 => super::operation::reference(name),
        }
    }

    /// A field of a type that is defined elsewhere. Nothing may stand beside `$ref` in version 3.
    fn field(self, name: &str, description: &str) -> Value {
        let reference = self.reference(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
        match (self, reference) {
            (OpenApi::V2, Value::Object(mut field)) => {
                field.insert("description".to_owned(), description.into());
                field.into()
            }
            (_, reference) => json!({ "allOf": [reference], "description": description }),
        }
    }

    fn object_metadata(self) -> Value {
        let words = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
        self.field("ObjectMeta", &words)
    }
}

fn spec_of<'a>(definition: &'a Value, version: &str) -> &'a Value {
    let versions = definition["spec"]["versions"].as_array();
    let found = versions.into_iter().flatten().find(|one| one["name"] == version);
    found.unwrap_or(&Value::Null)
}

fn list(kind: &Kind, names: &Names, openapi: OpenApi) -> Map<String, Value> {
    let (item, plural) = (openapi.reference(&names.item), &kind.plural);
    let words = format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds");
    let items = format!("List of {plural}. More info: {CONVENTIONS}");
    let mut properties = type_properties();
    properties.insert("metadata".to_owned(), openapi.field("ListMeta", &words));
    let items = json!({ "type": "array", "items": item, "description": items });
    properties.insert("items".to_owned(), items);
    Map::from_iter([
        (
            "description".to_owned(),
            format!("{} is a list of {}", names.list_kind, kind.kind).into(),
        ),
        ("type".to_owned(), "object".into()),
        ("required".to_owned(), json!(["items"])),
        ("properties".to_owned(), properties.into()),
    ])
}

/// `apiVersion` and `kind`, described as those of every kind.
fn type_properties() -> Map<String, Value> {
    let property = |name: &str| {
        let words = described::field("", name).unwrap_or_default();
        (name.to_owned(), json!({ "type": "string", "description": words }))
    };
    ["apiVersion", "kind"].map(property).into_iter().collect()
}

/// With the extensions of a whole object.
fn finished(
    mut schema: Map<String, Value>,
    name: &str,
    kind: &Kind,
    selectable: &[Value],
) -> Value {
    let kinds = json!([{ "group": kind.group, "kind": name, "version": kind.version }]);
    schema.insert("x-kubernetes-group-version-kind".to_owned(), kinds);
    if !selectable.is_empty() {
        schema.insert("x-kubernetes-selectable-fields".to_owned(), selectable.into());
    }
    schema.into()
}

fn selectable(version: &Value) -> Vec<Value> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    let paths = fields.filter_map(|field| field["jsonPath"].as_str());
    paths.map(|path| json!({ "fieldPath": path.strip_prefix('.').unwrap_or(path) })).collect()
}
