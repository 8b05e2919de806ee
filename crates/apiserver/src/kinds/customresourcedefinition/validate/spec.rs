//! Validation of the spec. What versions have in common is validated once, see `hub`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::{
    conversion,
    hub::{Shared, Versions},
    names,
    schema::{self, SchemaContext},
    selectable, version,
};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path, Shown},
    kinds::{
        names::{dns1035_label, dns1123_subdomain},
        read::{at, flag, list, text},
    },
};

/// The errors of the spec; in an update, beside what may not change.
pub(super) fn spec(new: &Value, old: Option<&Value>) -> Errors {
    let (spec, path) = (at(new, &["spec"]), Path::root("spec"));
    let versions = Versions::of(spec);
    let mut errors = group(text(spec, &["group"]), path.child("group"));
    errors.extend(scope(text(spec, &["scope"]), path.child("scope")));
    errors.extend(missing_schemas(&versions, old, &path));
    let preserves = flag(spec, &["preserveUnknownFields"]);
    if preserves && schema::all(new).any(|schema| !at(schema, &["default"]).is_null()) {
        let words = "must be false in order to use defaults in the schema";
        let path = path.child("preserveUnknownFields");
        errors.push(FieldError::invalid(path, &json!(true), words));
    }
    errors.extend(each_version(&versions, old, &path.child("versions")));
    errors.extend(all_versions(&versions, &path));
    let named = at(spec, &["names"]);
    errors.extend(names::required(named, &path.child("names")));
    errors.extend(names::validate(named, &path.child("names")));
    errors.extend(shared(&versions, old, &path));
    let conversion = at(spec, &["conversion"]);
    let is_recognized = old.is_none_or(conversion::requires_known_reviews);
    let path = path.child("conversion");
    let strategy = at(conversion, &["strategy"]);
    if preserves && !strategy.is_null() && strategy != "None" {
        let words = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(path.child("strategy"), strategy, words));
    }
    errors.extend(conversion::validate(conversion, &path, is_recognized));
    errors
}

fn group(group: &str, path: Path) -> Errors {
    let wrong = dns1123_subdomain(group);
    let words = match () {
        () if group.is_empty() => return vec![FieldError::required(path, "")],
        () if !wrong.is_empty() => wrong.join(","),
        () if !group.contains('.') => "should be a domain with at least one dot".to_owned(),
        () => return Errors::new(),
    };
    vec![FieldError::invalid(path, &json!(group), words)]
}

fn scope(scope: &str, path: Path) -> Option<FieldError> {
    const SCOPES: [&str; 2] = ["Cluster", "Namespaced"];
    match scope {
        "" => Some(FieldError::required(path, "")),
        known if SCOPES.contains(&known) => None,
        other => Some(FieldError::not_supported(path, &json!(other), &SCOPES)),
    }
}

/// Every version needs a schema; if some had none before, only those that are served.
fn missing_schemas(versions: &Versions<'_>, old: Option<&Value>, path: &Path) -> Errors {
    let has_schema = |version: &Value| !at(version, &["schema", "openAPIV3Schema"]).is_null();
    let is_strict = old.is_none_or(|old| list(old, &["spec", "versions"]).iter().all(has_schema));
    let words = if is_strict { "" } else { "because otherwise all fields are pruned" };
    let each =
        versions.list.iter().enumerate().filter(|(_, version)| {
            !has_schema(version) && (is_strict || flag(version, &["served"]))
        });
    let path = |i| path.child("versions").index(i).child("schema").child("openAPIV3Schema");
    each.map(|(i, _)| FieldError::required(path(i), words)).collect()
}

/// The errors of each version, without what it shares with the others.
fn each_version(versions: &Versions<'_>, old: Option<&Value>, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let before = old.map(Before::of).unwrap_or_default();
    for (i, one) in versions.list.iter().enumerate() {
        let path = path.index(i);
        let own = |part| versions.own(part, one);
        let name = text(one, &["name"]);
        errors.extend(version_name(name, path.child("name")));
        errors.extend(version::deprecation(one, &path));
        let subresources = at(one, &["subresources"]);
        let schema = own(Shared::Schema);
        let context = SchemaContext {
            has_status: !at(subresources, &["status"]).is_null(),
            old,
            is_unchanged: before.has(name, "schema", schema),
        };
        errors.extend(schema::validate(schema, &path.child("schema"), context));
        let path_of = |name: &str| path.child(name);
        let own_subresources = own(Shared::Subresources);
        errors.extend(version::subresources(own_subresources, &path_of("subresources")));
        let columns = own(Shared::Columns);
        errors.extend(version::columns(columns, &path_of("additionalPrinterColumns")));
        let fields = own(Shared::Selectable);
        if !list(fields, &[]).is_empty() {
            let path = path_of("selectableFields");
            let schema = at(schema, &["openAPIV3Schema"]);
            if schema.is_null() {
                // So says Kubernetes, also where the versions differ only in these fields.
                let words = "may only be set when `version.schema.openAPIV3Schema` is not included";
                errors.push(FieldError::invalid(path, &json!(""), words));
            } else {
                let too_many = before.has(name, "selectableFields", fields);
                errors.extend(selectable::validate(fields, schema, &path, too_many));
            }
        }
    }
    errors
}

/// Rules for the versions together.
fn all_versions(versions: &Versions<'_>, path: &Path) -> Errors {
    let names: BTreeSet<&str> =
        versions.list.iter().map(|version| text(version, &["name"])).collect();
    let n_stored = versions.list.iter().filter(|version| flag(version, &["storage"])).count();
    let is_unique = names.len() == versions.list.len();
    let mut errors = Errors::new();
    if !is_unique || n_stored != 1 {
        let shown = Shown::new(versions.printed());
        let mut invalid = |words: &str| {
            let type_ = FieldErrorType::Invalid(shown.text());
            let detail = words.to_owned();
            errors.push(FieldError { path: path.child("versions"), type_, detail });
        };
        if !is_unique {
            invalid("must contain unique version names");
        }
        if n_stored != 1 {
            invalid("must have exactly one version marked as storage version");
        }
    }
    // The internal version names the first one again.
    let first = versions.list.first().map_or("", |version| text(version, &["name"]));
    if !first.is_empty() {
        errors.extend(version_name(first, path.child("version")));
    }
    errors
}

fn version_name(name: &str, path: Path) -> Option<FieldError> {
    let wrong = dns1035_label(name);
    let error = || FieldError::invalid(path, &json!(name), wrong.join(","));
    (!wrong.is_empty()).then(error)
}

/// The errors of what all versions share.
fn shared(versions: &Versions<'_>, old: Option<&Value>, path: &Path) -> Errors {
    let before = old.map(Before::of).unwrap_or_default();
    let validation = versions.top(Shared::Schema);
    let first = versions.list.first().map_or("", |version| text(version, &["name"]));
    let has_status = |version: &Value| !at(version, &["subresources", "status"]).is_null();
    let context = SchemaContext {
        has_status: versions.list.iter().any(has_status),
        old,
        is_unchanged: before.has(first, "schema", validation),
    };
    let mut errors = schema::validate(validation, &path.child("validation"), context);
    let subresources = versions.top(Shared::Subresources);
    errors.extend(version::subresources(subresources, &path.child("subresources")));
    let columns = versions.top(Shared::Columns);
    errors.extend(version::columns(columns, &path.child("additionalPrinterColumns")));
    let fields = versions.top(Shared::Selectable);
    if !list(fields, &[]).is_empty() {
        let path = path.child("selectableFields");
        if validation.is_null() {
            let words = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(path, &json!(""), words));
        } else {
            let too_many = before.has(first, "selectableFields", fields);
            let schema = at(validation, &["openAPIV3Schema"]);
            errors.extend(selectable::validate(fields, schema, &path, too_many));
        }
    }
    errors
}

/// The versions before an update, by name.
#[derive(Default)]
struct Before<'a>(BTreeMap<&'a str, &'a Value>);

impl<'a> Before<'a> {
    fn of(old: &'a Value) -> Before<'a> {
        let versions = list(old, &["spec", "versions"]).iter();
        Before(versions.map(|version| (text(version, &["name"]), version)).collect())
    }

    /// Whether a version had this field with this value.
    fn has(&self, version: &str, field: &str, value: &Value) -> bool {
        self.0.get(version).is_some_and(|version| at(version, &[field]) == value)
    }
}
