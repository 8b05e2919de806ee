//! CustomResourceDefinition: a kind that users add to the API.
//!
//! This is the kind itself: its columns, defaults and validation. What follows from a stored
//! definition, conditions and all, is decided in `custom`. Sources:
//! `k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition`, and `v1/defaults.go` and
//! `validation/validation.go` in its `pkg/apis/apiextensions`.

pub(crate) mod approval;
mod columns;
mod conversion;
mod go_form;
mod hub;
mod names;
pub(crate) mod schema;
mod selectable;
#[cfg(test)]
mod tests;
mod url;
mod validate;
mod version;
mod warnings;

use evenkeel_store::schema::canonical;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Admission, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource, fixed,
    read::{at, carry_over, entry, flag, list, text},
    workload,
};
use crate::{custom::finalize, invalid::Errors, types};

pub(crate) static CUSTOM_RESOURCE_DEFINITION: KindRef = Held::Static(&Kind {
    group: fixed("apiextensions.k8s.io"),
    version: fixed("v1"),
    kind: fixed("CustomResourceDefinition"),
    plural: fixed("customresourcedefinitions"),
    singular: fixed("customresourcedefinition"),
    short_names: Held::Static(&[fixed("crd"), fixed("crds")]),
    categories: Held::Static(&[fixed("api-extensions")]),
    namespaced: false,
    schema: fixed(
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    ),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: false,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: columns::COLUMNS,
    strategy: Held::Static(&DefinitionStrategy),
    custom: None,
});

const SPEC: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec";

#[derive(Debug)]
struct DefinitionStrategy;

impl Strategy for DefinitionStrategy {
    /// The spec is made canonical as well, so that parts of it can be compared as they are.
    fn default(&self, object: &mut Value, _: &Admission) {
        default_names(object);
        default_conversion(object);
        if list(object, &["status", "storedVersions"]).is_empty() {
            store_version(object);
        }
        if let Some(of) = types::schema().named(SPEC) {
            canonical(types::schema(), of, entry(object, &["spec"]));
        }
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
        store_version(object);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate::create(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        match part {
            Part::Main => {
                workload::keep_status(new, old);
                if new["spec"] != old["spec"] {
                    workload::raise_generation(new, old);
                }
                store_version(new);
            }
            // The metadata may change too: so the finalizer is removed.
            Part::Status => carry_over(new, old, &["spec"]),
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        match part {
            Part::Main => validate::update(new, old),
            Part::Status => validate::status(new),
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        warnings::of(new, old)
    }

    fn ends_by_finalizing(&self) -> bool {
        true
    }

    fn terminate(&self, definition: &mut Value, now: Timestamp) {
        finalize::terminate(definition, now);
    }
}

fn default_names(object: &mut Value) {
    let kind = text(object, &["spec", "names", "kind"]).to_owned();
    let mut default = |name: &str, value: String| {
        if !value.is_empty() && text(object, &["spec", "names", name]).is_empty() {
            *entry(object, &["spec", "names", name]) = json!(value);
        }
    };
    default("singular", kind.to_lowercase());
    default("listKind", if kind.is_empty() { String::new() } else { format!("{kind}List") });
}

fn default_conversion(object: &mut Value) {
    let conversion = entry(object, &["spec", "conversion"]);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    let service = at(conversion, &["webhook", "clientConfig", "service"]);
    if service.is_object() && at(service, &["port"]).is_null() {
        *entry(conversion, &["webhook", "clientConfig", "service", "port"]) = json!(443);
    }
}

/// Adds the version in which objects are stored from now on to those in which some may be.
fn store_version(object: &mut Value) {
    let versions = list(object, &["spec", "versions"]);
    let Some(version) = versions.iter().find(|version| flag(version, &["storage"])) else { return };
    let name = text(version, &["name"]).to_owned();
    let stored = entry(object, &["status", "storedVersions"]);
    match stored.as_array_mut() {
        Some(stored) if stored.iter().any(|stored| *stored == name) => {}
        Some(stored) => stored.push(json!(name)),
        None => *stored = json!([name]),
    }
}
