//! Custom resources: the kinds that CustomResourceDefinitions define.
//!
//! ```text
//! stored definition ─► definition ─► Kind of each version ─► Catalogue ─► requests
//!        ▲                             │ schema, columns, scale, selectable fields
//!        └─ conditions ◄─ controller   ▼
//!              body ─► decode: prune ─► strategy: defaults, validation ─► stored form
//! ```
//!
//! Objects are stored as those of all kinds, with the fingerprint of the schema under which they
//! were written. As long as a version's schema has the same fingerprint, the stored bytes are what
//! clients see; otherwise an object is pruned and defaulted when it is read, as in Kubernetes.

#![cfg_attr(not(test), expect(dead_code, reason = "no task applies the decisions yet"))]

pub(crate) mod approval;
mod columns;
pub(crate) mod conditions;
pub(crate) mod controller;
pub(crate) mod decode;
pub(crate) mod definition;
mod establish;
pub(crate) mod finalize;
mod names;
mod scale;
pub(crate) mod select;
mod strategy;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use evenkeel_store::{Object, ResourceId};
use evenkeel_structural::{Schema, cel::Rules, json_path::JsonPath};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{columns::CustomColumn, scale::ScalePaths, strategy::field_error};
use crate::{
    kinds::{KindRef, Text},
    meters::CustomMeters,
};

/// What a version of a custom resource has beside what every kind has.
#[derive(Debug)]
pub(crate) struct Custom {
    /// Its number in the store.
    pub(crate) id: ResourceId,
    /// `example.com/v1`.
    pub(crate) api_version: Text,
    pub(crate) list_kind: Text,
    /// Of its schema: an object with the same fingerprint needs no conversion.
    pub(crate) fingerprint: Text,
    /// The version in which objects are stored, if it is another.
    pub(crate) storage: Option<KindRef>,
    pub(crate) version: Arc<Version>,
    pub(crate) columns: Box<[CustomColumn]>,
    /// The labels of selectable fields, each with its path.
    pub(crate) selectable: Arc<[(Box<str>, JsonPath)]>,
    /// Sent with every response of a deprecated version.
    pub(crate) warning: Option<Box<str>>,
    pub(crate) meters: CustomMeters,
    /// Ends the watches when the definition has changed or is gone.
    pub(crate) replaced: CancellationToken,
}

/// What the strategy of a version depends on.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) has_status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// The definition is being deleted: nothing new is created.
    is_terminating: bool,
    /// Versions differ in their schemas.
    is_mixed: bool,
    /// The stored definition, and the index of this version in it.
    definition: (Arc<Object>, usize),
    /// Parsed at first use: most definitions of a large cluster are never used.
    schema: OnceLock<Schema>,
    rules: Rules,
}

// === impl Custom ===

impl Custom {
    /// Whether an object was written under this very schema.
    pub(crate) fn has_written(&self, object: &Object) -> bool {
        object.fields.first().is_some_and(|written| **written == *self.fingerprint)
    }

    /// Converts an object that was written under another schema.
    pub(crate) fn convert(&self, value: &mut Value) {
        let schema = self.version.schema();
        schema.prune(value);
        schema.fill_defaults(value);
    }

    /// An object of the stored version in this one's form.
    pub(crate) fn presented(&self, mut stored: Value) -> Value {
        let Some(storage) = &self.storage else { return stored };
        if *storage.fingerprint() != self.fingerprint {
            // Defaults are those of the stored version, as in Kubernetes.
            self.version.schema().prune(&mut stored);
        }
        stored["apiVersion"] = self.api_version.to_string().into();
        stored
    }

    /// An object in its stored form, if the version that was written differs from it.
    pub(crate) fn to_stored(&self, value: &mut Value) {
        if self.version.is_mixed {
            self.convert(value);
        }
    }
}

// === impl Version ===

impl Version {
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| {
            let (object, index) = &self.definition;
            definition::schema(object, *index)
        })
    }
}
