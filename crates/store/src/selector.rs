//! Selectors: a namespace, labels, fields.

mod fields;

use evenkeel_model::labels::LabelSelector;

use crate::object::Object;
pub use crate::selector::fields::{FieldError, FieldReader, FieldSelector};

/// One namespace or all, with label and field requirements.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    /// `namespace/`, or empty for all.
    prefix: String,
    labels: LabelSelector,
    fields: FieldSelector,
    /// The only possible key, if name and namespace are both given.
    only: Option<String>,
}

impl Selector {
    /// All objects of a resource.
    pub fn all() -> Selector {
        Selector::default()
    }

    /// `namespaced`: whether the kind is namespaced.
    pub fn new(
        namespaced: bool,
        namespace: Option<&str>,
        labels: LabelSelector,
        fields: FieldSelector,
    ) -> Selector {
        let prefix = namespace.map(|name| format!("{name}/")).unwrap_or_default();
        let keyed = !namespaced || namespace.is_some();
        let only = fields.name().filter(|_| keyed).map(|name| format!("{prefix}{name}"));
        Selector { prefix, labels, fields, only }
    }

    /// The first key of the selected range.
    pub(crate) fn first_key(&self) -> String {
        self.only.clone().unwrap_or_else(|| self.prefix.clone())
    }

    /// Whether the object is in the range that starts at the first key.
    pub(crate) fn in_scope(&self, object: &Object) -> bool {
        self.has_in_scope(&object.key)
    }

    pub(crate) fn has_in_scope(&self, key: &str) -> bool {
        match &self.only {
            Some(only) => key == only,
            None => key.starts_with(&self.prefix),
        }
    }

    /// Whether labels and fields match. Does not check the range.
    pub fn matches(&self, object: &Object) -> bool {
        self.labels.matches(&*object.labels) && self.fields.matches(object)
    }

    /// Whether it excludes anything in the range.
    pub fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}
