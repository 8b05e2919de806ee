//! The spec as Kubernetes validates it: converted to its internal form.
//!
//! A schema, subresources, printer columns or selectable fields that are the same in all versions
//! are moved from the versions to the spec, where errors show them (`spec.validation`); the
//! versions are shown without them. Source: `v1/conversion.go`.

use serde_json::Value;

use super::go_form;
use crate::kinds::read::{at, list, remove};

/// A part of a version that may be moved to the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    Schema,
    Subresources,
    Columns,
    Selectable,
}

/// The versions of a spec, and what they share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions<'a> {
    pub(super) list: &'a [Value],
    shared: [bool; 4],
}

const PARTS: [Shared; 4] =
    [Shared::Schema, Shared::Subresources, Shared::Columns, Shared::Selectable];

// === impl Versions ===

impl<'a> Versions<'a> {
    /// The spec must be canonical.
    pub(super) fn of(spec: &'a Value) -> Versions<'a> {
        let list = list(spec, &["versions"]);
        let shared = PARTS.map(|part| {
            let mut versions = list.iter().map(|version| part.of(version));
            versions.next().is_some_and(|first| versions.all(|other| other == first))
        });
        Versions { list, shared }
    }

    /// What the spec has of a part.
    pub(super) fn top(&self, part: Shared) -> &'a Value {
        match self.list.first() {
            Some(version) if self.shared[part as usize] => part.of(version),
            _ => &Value::Null,
        }
    }

    /// What is left of a part in the version.
    pub(super) fn own(&self, part: Shared, version: &'a Value) -> &'a Value {
        if self.shared[part as usize] { &Value::Null } else { part.of(version) }
    }

    /// As errors show them.
    pub(super) fn printed(&self) -> String {
        if self.list.is_empty() {
            return "null".to_owned();
        }
        let mut out = String::from("[");
        for version in self.list {
            let mut version = version.clone();
            for part in PARTS.into_iter().filter(|part| self.shared[*part as usize]) {
                remove(&mut version, &[part.name()]);
            }
            go_form::comma(&mut out);
            go_form::version(&mut out, &version);
        }
        out + "]"
    }
}

impl Shared {
    fn of(self, version: &Value) -> &Value {
        at(version, &[self.name()])
    }

    fn name(self) -> &'static str {
        match self {
            Shared::Schema => "schema",
            Shared::Subresources => "subresources",
            Shared::Columns => "additionalPrinterColumns",
            Shared::Selectable => "selectableFields",
        }
    }
}
