//! From a stored CustomResourceDefinition to the kinds of its versions.
//!
//! Only what serving needs is read; the schemas, which are the bulk of a definition, are skipped
//! and hashed, and parsed at first use. A definition costs one pass over its text.

use std::{
    hash::{Hash as _, Hasher as _},
    sync::{Arc, OnceLock},
};

use evenkeel_store::{Object, ResourceId};
use evenkeel_structural::{Schema, cel::Rules, json_path::JsonPath};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{Custom, ScalePaths, Version, columns, strategy::CustomStrategy};
use crate::{
    document,
    kinds::{
        CUSTOM_RESOURCE_DEFINITION, DeleteAnswers, Held, Kind, KindRef, Subresource, Text,
        catalogue::CustomResource, version::by_priority,
    },
    meters::CustomMeters,
};

/// The verbs of custom resources, in the order of Kubernetes' discovery.
const VERBS: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// A definition, as far as serving needs it.
#[derive(Debug, Deserialize)]
struct Definition<'a> {
    metadata: Metadata,
    #[serde(borrow)]
    spec: Spec<'a>,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    deletion_timestamp: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Spec<'a> {
    group: Box<str>,
    scope: Box<str>,
    #[serde(borrow, default)]
    versions: Vec<VersionSpec<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionSpec<'a> {
    name: Box<str>,
    #[serde(default)]
    served: bool,
    #[serde(default)]
    storage: bool,
    #[serde(default)]
    deprecated: bool,
    deprecation_warning: Option<Box<str>>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    #[serde(default)]
    subresources: Subresources,
    #[serde(default)]
    additional_printer_columns: Vec<columns::ColumnSpec>,
    #[serde(default)]
    selectable_fields: Vec<SelectableField>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subresources {
    status: Option<Value>,
    scale: Option<ScalePaths>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectableField {
    json_path: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    accepted_names: Names,
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize, Hash)]
#[serde(rename_all = "camelCase", default)]
struct Names {
    plural: Box<str>,
    singular: Box<str>,
    kind: Box<str>,
    list_kind: Box<str>,
    short_names: Vec<Box<str>>,
    categories: Vec<Box<str>>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    type_: Box<str>,
    status: Box<str>,
}

/// The custom resource of a stored definition; `None` if its names are not accepted. Watches of
/// `old` continue if clients see no difference.
pub(crate) fn defined(
    object: &Arc<Object>,
    id: ResourceId,
    old: Option<&CustomResource>,
) -> Result<Option<CustomResource>, String> {
    let text = document::text(&CUSTOM_RESOURCE_DEFINITION, object, object.revision);
    let definition: Definition<'_> =
        serde_json::from_slice(&text).map_err(|problem| problem.to_string())?;
    if !definition.is_served() {
        return Ok(None);
    }
    let storage = definition.spec.versions.iter().position(|version| version.storage);
    let storage = storage.ok_or("no version is the storage version")?;
    let serving = definition.serving(&text);
    let same = old.filter(|old| old.serving == serving);
    let replaced = same.map_or_else(CancellationToken::new, |old| old.replaced.clone());
    let new = |index, storage| -> KindRef {
        let made = Made { object, id, index, storage, replaced: &replaced };
        Held::Shared(Arc::new(definition.kind(made)))
    };
    let storage_kind = new(storage, None);
    let mut versions = Vec::new();
    for (index, version) in definition.spec.versions.iter().enumerate() {
        if version.served && index == storage {
            versions.push(storage_kind.clone());
        } else if version.served {
            versions.push(new(index, Some(storage_kind.clone())));
        }
    }
    versions.sort_by(|a, b| by_priority(&a.version, &b.version));
    let definition = object.clone();
    let published = same.map_or_else(Arc::default, |old| old.published.clone());
    let storage = storage_kind;
    Ok(Some(CustomResource { versions, storage, definition, serving, replaced, published }))
}

/// What a kind is made from, beside its definition.
struct Made<'a> {
    object: &'a Arc<Object>,
    id: ResourceId,
    /// Of its version.
    index: usize,
    storage: Option<KindRef>,
    replaced: &'a CancellationToken,
}

/// The spec as it is written.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    spec: &'a RawValue,
}

/// The schema of a version. A definition was checked when it was written, so one that can't be
/// read allows everything rather than nothing: its objects stay readable.
pub(super) fn schema(object: &Object, index: usize) -> Schema {
    let text = document::text(&CUSTOM_RESOURCE_DEFINITION, object, object.revision);
    let read = || -> Option<Schema> {
        let definition: Definition<'_> = serde_json::from_slice(&text).ok()?;
        let schema = definition.spec.versions.get(index)?.schema?;
        let schema: Value = serde_json::from_str(schema.get()).ok()?;
        Schema::parse(&schema["openAPIV3Schema"]).ok()
    };
    read().unwrap_or_else(|| {
        tracing::warn!(name = &*object.key, "ignoring the invalid schema of a custom resource");
        let mut anything = Schema::default();
        anything.preserve_unknown_fields = Some(true);
        anything
    })
}

// === impl Definition ===

impl Definition<'_> {
    fn is_served(&self) -> bool {
        let is_true = |name: &str| {
            let conditions = &self.status.conditions;
            conditions.iter().any(|one| *one.type_ == *name && *one.status == *"True")
        };
        let names = &self.status.accepted_names;
        (is_true("NamesAccepted") || is_true("Established"))
            && ![&names.plural, &names.singular, &names.kind, &names.list_kind]
                .iter()
                .any(|name| name.is_empty())
    }

    fn is_terminating(&self) -> bool {
        let conditions = &self.status.conditions;
        self.metadata.deletion_timestamp.is_some()
            || conditions.iter().any(|one| *one.type_ == *"Terminating" && *one.status == *"True")
    }

    /// Of everything that clients can see.
    fn serving(&self, text: &[u8]) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        self.status.accepted_names.hash(&mut hasher);
        let spec: Option<Parts<'_>> = serde_json::from_slice(text).ok();
        spec.map(|parts| parts.spec.get()).hash(&mut hasher);
        hasher.finish()
    }

    fn kind(&self, made: Made<'_>) -> Kind {
        let Made { object, id, index, storage, replaced } = made;
        let (names, spec) = (&self.status.accepted_names, &self.spec.versions[index]);
        let version = Arc::new(Version {
            has_status: spec.subresources.status.is_some(),
            scale: spec.subresources.scale.clone(),
            is_terminating: self.is_terminating(),
            is_mixed: self.spec.versions.iter().any(|one| one.fingerprint() != spec.fingerprint()),
            definition: (object.clone(), index),
            schema: OnceLock::new(),
            rules: Rules::default(),
        });
        let all = |words: &[Box<str>]| -> Held<[Text]> {
            Held::Shared(words.iter().map(|word| Text::from(&**word)).collect())
        };
        Kind {
            group: (&*self.spec.group).into(),
            version: (&*spec.name).into(),
            kind: (&*names.kind).into(),
            plural: (&*names.plural).into(),
            singular: (&*names.singular).into(),
            short_names: all(&names.short_names),
            categories: all(&names.categories),
            namespaced: *self.spec.scope == *"Namespaced",
            schema: (&*schema_name(&self.spec.group, &spec.name, &names.kind)).into(),
            verbs: VERBS,
            subresources: subresources(&version),
            fields: &[],
            creates_on_update: false,
            updates_unconditionally: false,
            delete_answers: DeleteAnswers::Status,
            alias: None,
            columns: &[],
            strategy: Held::Shared(Arc::new(CustomStrategy(version.clone()))),
            custom: Some(Box::new(Custom {
                id,
                api_version: (&*format!("{}/{}", self.spec.group, spec.name)).into(),
                list_kind: (&*names.list_kind).into(),
                fingerprint: (&*spec.fingerprint()).into(),
                storage,
                version,
                columns: columns::of(&spec.additional_printer_columns),
                selectable: spec.selectable(),
                warning: self.warning(spec),
                meters: CustomMeters::default(),
                replaced: replaced.clone(),
            })),
        }
    }

    /// Of a deprecated version. Source: `customresource_handler.go`, `defaultDeprecationWarning`.
    fn warning(&self, spec: &VersionSpec<'_>) -> Option<Box<str>> {
        if !spec.deprecated {
            return None;
        }
        if let Some(own) = &spec.deprecation_warning {
            return Some(own.clone());
        }
        let (group, kind) = (&self.spec.group, &self.status.accepted_names.kind);
        let newer = self.spec.versions.iter().filter(|one| {
            one.served && !one.deprecated && by_priority(&one.name, &spec.name).is_lt()
        });
        let best = newer.min_by(|a, b| by_priority(&a.name, &b.name));
        let instead =
            best.map_or_else(String::new, |best| format!("; use {group}/{} {kind}", best.name));
        Some(format!("{group}/{} {kind} is deprecated{instead}", spec.name).into())
    }
}

impl VersionSpec<'_> {
    /// Of the text of its schema.
    fn fingerprint(&self) -> String {
        let text = self.schema.map_or("", RawValue::get);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    fn selectable(&self) -> Arc<[(Box<str>, JsonPath)]> {
        let fields = self.selectable_fields.iter().filter_map(|field| {
            let path = JsonPath::parse(&field.json_path).ok()?;
            Some((field.json_path.trim_start_matches('.').into(), path))
        });
        fields.collect()
    }
}

fn subresources(version: &Version) -> &'static [Subresource] {
    match (version.has_status, version.scale.is_some()) {
        (false, false) => &[],
        (true, false) => &[Subresource::Status],
        (false, true) => &[Subresource::Scale],
        (true, true) => &[Subresource::Status, Subresource::Scale],
    }
}

/// `com.example.v1.Widget`, as in OpenAPI.
fn schema_name(group: &str, version: &str, kind: &str) -> String {
    let mut words: Vec<&str> = group.split('.').rev().collect();
    words.extend([version, kind]);
    words.join(".")
}
