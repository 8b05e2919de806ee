//! Parameters of operations: their names, locations and types.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) location: ParameterLocation,
    pub(super) type_: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParameterLocation {
    Path,
    Query,
}

pub(super) const NAME: Parameter = path("name");
pub(super) const NAMESPACE: Parameter = path("namespace");
pub(super) const PATH: Parameter = path("path");
pub(super) const PRETTY: Parameter = text("pretty");

pub(super) const LIST: &[Parameter] = &[
    flag("allowWatchBookmarks"),
    text("continue"),
    text("fieldSelector"),
    text("labelSelector"),
    number("limit"),
    text("resourceVersion"),
    text("resourceVersionMatch"),
    flag("sendInitialEvents"),
    text("shardSelector"),
    number("timeoutSeconds"),
    flag("watch"),
];

pub(super) const DELETE: &[Parameter] = &[
    text("dryRun"),
    number("gracePeriodSeconds"),
    flag("ignoreStoreReadErrorWithClusterBreakingPotential"),
    flag("orphanDependents"),
    text("propagationPolicy"),
];

/// For a deletecollection, in addition to those of a delete.
pub(super) const DELETE_WHICH: &[Parameter] = &[
    text("continue"),
    text("fieldSelector"),
    text("labelSelector"),
    number("limit"),
    text("resourceVersion"),
    text("resourceVersionMatch"),
    flag("sendInitialEvents"),
    text("shardSelector"),
    number("timeoutSeconds"),
];

pub(super) const WRITE: &[Parameter] =
    &[text("dryRun"), text("fieldManager"), text("fieldValidation")];

pub(super) const PATCH: &[Parameter] =
    &[text("dryRun"), text("fieldManager"), text("fieldValidation"), flag("force")];

pub(super) const fn text(name: &'static str) -> Parameter {
    Parameter { name, location: ParameterLocation::Query, type_: "string" }
}

pub(super) const fn number(name: &'static str) -> Parameter {
    Parameter { name, location: ParameterLocation::Query, type_: "integer" }
}

pub(super) const fn flag(name: &'static str) -> Parameter {
    Parameter { name, location: ParameterLocation::Query, type_: "boolean" }
}

const fn path(name: &'static str) -> Parameter {
    Parameter { name, location: ParameterLocation::Path, type_: "string" }
}

// === impl Parameter ===

impl Parameter {
    pub(super) fn v3(&self) -> Value {
        let schema = json!({ "type": self.type_, "uniqueItems": true });
        match self.location {
            ParameterLocation::Path => {
                json!({ "name": self.name, "in": "path", "required": true, "schema": schema })
            }
            ParameterLocation::Query => {
                json!({ "name": self.name, "in": "query", "schema": schema })
            }
        }
    }
}
