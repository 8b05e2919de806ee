//! The schemas of custom resources: Kubernetes' structural schemas, as functions on values.
//!
//! ```text
//! openAPIV3Schema ──Schema::parse──► Schema ──check_definition──► errors of the definition
//!                                      │
//!          object ─────────────────────┼── prune           unspecified fields are removed, and named
//!                                      ├── fill_defaults   absent fields get their defaults
//!                                      ├── validate        errors of a new object, field by field
//!                                      ├── validate_update errors of what changed
//!                                      └── cel::Rules      errors of rules, if nothing blocks them
//! ```
//!
//! A schema is that of one version of a resource, parsed once and kept; everything else is a function
//! of it and an object. Time and memory are near linear in both; where they could not be, they are
//! bounded, as is the text of all errors ([`Errors`]).
//!
//! This crate knows neither HTTP nor a store nor when which step is due; `apiVersion`, `kind` and
//! `metadata` of the object itself, and what is in the metadata of embedded resources
//! ([`Schema::embedded_metadata`]), are validated by the API server, as for every kind.

pub mod cel;
mod check;
mod default;
mod error;
mod format;
pub mod json_path;
mod list_type;
mod object_meta;
mod path;
mod prune;
mod schema;
mod validate;

pub use self::{
    check::{Tolerance, check_definition},
    error::{Errors, FieldError, FieldErrorType},
    path::Path,
    schema::{
        Documentation, Extensions, Items, ListType, ParseError, Pattern, Properties, Schema,
        SchemaOrBool, Type, Unsupported, ValidationRule, ValueValidation,
    },
};
