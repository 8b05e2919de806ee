//! The table of all Kubernetes types that the served kinds use.
//!
//! One text per API group in `types/`, in the format that [`Schema::parse`] describes: names, types
//! and markers, as in Kubernetes' Go sources and OpenAPI documents.

use std::sync::LazyLock;

use evenkeel_store::schema::Schema;

const TEXTS: &[&str] = &[
    include_str!("types/apidiscovery.txt"),
    include_str!("types/apiextensions.txt"),
    include_str!("types/apps.txt"),
    include_str!("types/authentication.txt"),
    include_str!("types/authorization.txt"),
    include_str!("types/autoscaling.txt"),
    include_str!("types/coordination.txt"),
    include_str!("types/core.txt"),
    include_str!("types/discovery.txt"),
    include_str!("types/events.txt"),
    include_str!("types/flowcontrol.txt"),
    include_str!("types/meta.txt"),
    include_str!("types/policy.txt"),
    include_str!("types/rbac.txt"),
];

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::parse(TEXTS).expect("the table is a part of the program"));

/// The table, parsed at first use.
pub(crate) fn schema() -> &'static Schema {
    &SCHEMA
}

#[cfg(test)]
mod tests;
