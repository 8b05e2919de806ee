//! What a definition may keep violating because it did so when it was stored.
//!
//! Source: `ValidateCustomResourceDefinitionUpdate` in
//! `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go`. Kubernetes
//! added these checks over time, and does not apply them to a definition that was stored before.

use super::lists;
use crate::{
    error::Errors,
    path::Path,
    schema::{Schema, Type},
};

/// Checks that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// Types that OpenAPI does not have.
    pub invalid_types: bool,
    /// Defaults with unknown fields.
    pub unpruned_defaults: bool,
    /// Sets whose items are not atomic.
    pub non_atomic_sets: bool,
    /// Sets and maps whose items or keys can be null or absent.
    pub invalid_map_keys: bool,
}

impl Tolerance {
    /// What the schemas of the stored definition, one for each version, violate.
    pub fn of<'a>(stored: impl IntoIterator<Item = &'a Schema>) -> Tolerance {
        let mut tolerance = Tolerance::default();
        for schema in stored {
            tolerance.add(schema);
            tolerance.add_defaults(schema);
        }
        tolerance
    }

    fn add(&mut self, schema: &Schema) {
        self.invalid_types |= matches!(schema.type_, Type::Other(_));
        self.non_atomic_sets |= lists::non_atomic_item(schema).is_some();
        let mut errors = Errors::new();
        lists::check_keys(schema, &Path::root(""), &mut errors);
        self.invalid_map_keys |= !errors.is_empty();
        schema.each_child(&mut |child| self.add(child));
    }

    fn add_defaults(&mut self, schema: &Schema) {
        self.unpruned_defaults |=
            schema.default.as_deref().is_some_and(|default| !schema.is_pruned(default));
        if let Some(items) = schema.items() {
            self.add_defaults(items);
        }
        for (_, child) in schema.properties.iter() {
            self.add_defaults(child);
        }
    }
}
