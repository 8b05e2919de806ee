//! A schema of one version of a custom resource, parsed from its `openAPIV3Schema`.
//!
//! The tree holds every field of JSONSchemaProps that checks depend on. Of the documentation
//! (description, title, example, externalDocs) it holds only which are set: their texts are the
//! bulk of a definition, and are published from the JSON that is stored. What few schemas set is
//! boxed, and regular expressions are compiled at first use, so that hundreds of definitions are
//! cheap to hold.

mod parse;
mod pattern;

use std::{cmp::Ordering, sync::LazyLock};

use serde_json::Value;

pub use self::{parse::ParseError, pattern::Pattern};

/// A schema: `JSONSchemaProps` of apiextensions.k8s.io/v1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// `type`.
    pub type_: Type,
    /// `properties`, sorted by name.
    pub properties: Properties,
    /// `items`.
    pub items: Option<Box<Items>>,
    /// `additionalProperties`.
    pub additional_properties: Option<Box<SchemaOrBool>>,
    /// `default`; `null` is the same as none.
    pub default: Option<Box<Value>>,
    /// `nullable`.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`; a definition with `false` is refused.
    pub preserve_unknown_fields: Option<bool>,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// Which fields of the documentation are set.
    pub documentation: Documentation,
    /// What is in the values of this schema.
    pub(crate) contains: Contains,
    /// `None` if nothing in it is set: see [`Schema::values`].
    pub(crate) values: Option<Box<ValueValidation>>,
    /// `None` if nothing in it is set: see [`Schema::extensions`].
    pub(crate) extensions: Option<Box<Extensions>>,
    /// `None` if nothing in it is set: see [`Schema::unsupported`].
    pub(crate) unsupported: Option<Box<Unsupported>>,
}

/// `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// None is given: allowed with `x-kubernetes-int-or-string` or
    /// `x-kubernetes-preserve-unknown-fields`, and below `allOf` and the like.
    #[default]
    None,
    /// `object`.
    Object,
    /// `array`.
    Array,
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
    /// Any other text: no definition with it is accepted.
    Other(Box<str>),
}

/// Schemas by name, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties(Box<[(Box<str>, Schema)]>);

/// `items`.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    /// The schema of every item.
    Schema(Schema),
    /// A schema per item: no definition with it is accepted.
    Schemas(Vec<Schema>),
}

/// `additionalProperties`, `additionalItems`.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaOrBool {
    /// A schema.
    Schema(Schema),
    /// Whether they are allowed.
    Bool(bool),
}

/// Which fields of the documentation are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Documentation {
    pub description: bool,
    pub title: bool,
    pub example: bool,
    pub external_docs: bool,
}

/// What is in the values of a schema, so that checks of it can be skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contains {
    /// Embedded resources.
    pub(crate) resources: bool,
    /// Lists that are sets or maps.
    pub(crate) list_types: bool,
}

/// The fields that restrict values and do not contribute to the structure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueValidation {
    pub format: Option<Box<str>>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    /// Not empty.
    pub pattern: Option<Pattern>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub multiple_of: Option<f64>,
    /// `enum`.
    pub enum_: Vec<Value>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<Box<str>>,
    pub all_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
}

/// The extensions that few schemas have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions {
    /// `x-kubernetes-list-type`.
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<Box<str>>,
    /// `x-kubernetes-map-type`.
    pub map_type: Option<Box<str>>,
    /// `x-kubernetes-validations`.
    pub validations: Vec<ValidationRule>,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListType {
    /// `atomic`.
    Atomic,
    /// `set`.
    Set,
    /// `map`.
    Map,
    /// Any other text: no definition with it is accepted.
    Other(Box<str>),
}

/// One of `x-kubernetes-validations`. Absent texts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationRule {
    /// The CEL expression that must be true.
    pub rule: Box<str>,
    /// What is reported if it is not.
    pub message: Box<str>,
    /// A CEL expression for the message.
    pub message_expression: Box<str>,
    /// The `reason` of the cause: `FieldValueInvalid` if absent.
    pub reason: Option<Box<str>>,
    /// The field that is reported, relative to the schema: `.spec.name`.
    pub field_path: Box<str>,
    /// Whether a transition rule is evaluated without an old value.
    pub optional_old_self: Option<bool>,
}

/// Fields that no definition may set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsupported {
    pub id: Option<Box<str>>,
    /// `$schema`.
    pub schema: Option<Box<str>>,
    /// `$ref`; it can be set and empty.
    pub ref_: Option<Box<str>>,
    /// `patternProperties` by pattern.
    pub pattern_properties: Properties,
    pub additional_items: Option<SchemaOrBool>,
    /// `definitions` by name.
    pub definitions: Properties,
    /// Those of `dependencies` that are schemas, by name.
    pub dependencies: Properties,
    /// The names of all `dependencies`.
    pub dependency_names: Vec<Box<str>>,
}

static NO_VALUES: LazyLock<ValueValidation> = LazyLock::new(ValueValidation::default);
static NO_EXTENSIONS: LazyLock<Extensions> = LazyLock::new(Extensions::default);

// === impl Schema ===

impl Schema {
    /// What restricts the values.
    pub fn values(&self) -> &ValueValidation {
        self.values.as_deref().unwrap_or(&NO_VALUES)
    }

    /// The extensions that are not fields of the schema itself.
    pub fn extensions(&self) -> &Extensions {
        self.extensions.as_deref().unwrap_or(&NO_EXTENSIONS)
    }

    /// What no definition may set, if anything of it is set.
    pub fn unsupported(&self) -> Option<&Unsupported> {
        self.unsupported.as_deref()
    }

    /// The schema of every item, if there is one.
    pub fn items(&self) -> Option<&Schema> {
        match self.items.as_deref()? {
            Items::Schema(schema) => Some(schema),
            Items::Schemas(_) => None,
        }
    }

    /// The schema of additional properties, if there is one.
    pub fn additional_properties(&self) -> Option<&Schema> {
        match self.additional_properties.as_deref()? {
            SchemaOrBool::Schema(schema) => Some(schema),
            SchemaOrBool::Bool(_) => None,
        }
    }

    /// Calls `found` with every schema that this one is made of, except those that no definition may
    /// have.
    pub(crate) fn each_child<'a>(&'a self, found: &mut dyn FnMut(&'a Schema)) {
        let values = self.values();
        self.items().into_iter().for_each(&mut *found);
        self.properties.iter().for_each(|(_, child)| found(child));
        self.additional_properties().into_iter().for_each(&mut *found);
        values.not.as_deref().into_iter().for_each(&mut *found);
        for schemas in [&values.all_of, &values.one_of, &values.any_of] {
            schemas.iter().for_each(&mut *found);
        }
    }

    /// Whether nothing is set but a type.
    pub(crate) fn is_bare(&self) -> bool {
        self.default.is_none() && self.properties.is_empty() && self.is_bare_besides_properties()
    }

    /// Whether nothing is set but properties, a type and a default.
    pub(crate) fn is_bare_besides_properties(&self) -> bool {
        let Schema {
            type_: _,
            properties: _,
            items,
            additional_properties,
            default: _,
            nullable,
            preserve_unknown_fields,
            embedded_resource,
            int_or_string,
            documentation,
            contains: _,
            values,
            extensions,
            unsupported,
        } = self;
        let empty = items.is_none() && additional_properties.is_none() && values.is_none();
        let flags = *nullable || *embedded_resource || *int_or_string;
        empty
            && !flags
            && preserve_unknown_fields.is_none()
            && *documentation == Documentation::default()
            && extensions.is_none()
            && unsupported.is_none()
    }

    /// Whether fields that the schema does not specify are kept.
    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve_unknown_fields == Some(true)
    }
}

// === impl Type ===

impl Type {
    /// Its text; empty if none is given.
    pub fn as_str(&self) -> &str {
        match self {
            Type::None => "",
            Type::Object => "object",
            Type::Array => "array",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
            Type::Other(text) => text,
        }
    }
}

impl From<&str> for Type {
    fn from(text: &str) -> Type {
        match text {
            "" => Type::None,
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            other => Type::Other(other.into()),
        }
    }
}

// === impl ListType ===

impl ListType {
    /// Its text.
    pub fn as_str(&self) -> &str {
        match self {
            ListType::Atomic => "atomic",
            ListType::Set => "set",
            ListType::Map => "map",
            ListType::Other(text) => text,
        }
    }
}

impl From<&str> for ListType {
    fn from(text: &str) -> ListType {
        match text {
            "atomic" => ListType::Atomic,
            "set" => ListType::Set,
            "map" => ListType::Map,
            other => ListType::Other(other.into()),
        }
    }
}

// === impl Properties ===

impl Properties {
    /// The schema of a name.
    pub fn get(&self, name: &str) -> Option<&Schema> {
        let index = self.0.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        Some(&self.0[index].1)
    }

    /// Looks names up that are mostly sorted.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { properties: self, at: 0 }
    }

    /// Names and schemas, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Schema)> {
        self.0.iter().map(|(name, schema)| (&**name, schema))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where the last lookup ended. The fields of an object are sorted like properties, so that the next
/// one is near.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    properties: &'a Properties,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn get(&mut self, name: &str) -> Option<&'a Schema> {
        let entries = &self.properties.0;
        let mut step = 1;
        while let Some((found, schema)) = entries.get(self.at) {
            match (**found).cmp(name) {
                Ordering::Equal => {
                    self.at += 1;
                    return Some(schema);
                }
                // It is not between this one and the one before, unless the names are not sorted.
                Ordering::Greater if step == 1 => {
                    let passed =
                        self.at.checked_sub(1).is_some_and(|last| *entries[last].0 >= *name);
                    return if passed { self.properties.get(name) } else { None };
                }
                Ordering::Greater => break,
                Ordering::Less => {
                    self.at += step;
                    step *= 2;
                }
            }
        }
        // It is among those that the last step skipped.
        let end = self.at.min(entries.len());
        let start = end.saturating_sub(step);
        let found = entries[start..end].binary_search_by(|(other, _)| (**other).cmp(name));
        self.at = start + found.map_or_else(|at| at, |at| at + 1);
        found.ok().map(|at| &entries[start + at].1)
    }
}

impl FromIterator<(Box<str>, Schema)> for Properties {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Schema)>>(schemas: I) -> Properties {
        let mut schemas: Vec<_> = schemas.into_iter().collect();
        if !schemas.is_sorted_by(|a, b| a.0 < b.0) {
            schemas.sort_by(|a, b| a.0.cmp(&b.0));
            schemas.dedup_by(|a, b| a.0 == b.0);
        }
        Properties(schemas.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_finds_what_a_search_finds() {
        let names =
            |step: usize| (0..100).step_by(step).map(|i| format!("p{i}")).collect::<Vec<_>>();
        for step in 1..12 {
            let schemas = names(step).into_iter().map(|name| (name.into(), Schema::default()));
            let properties: Properties = schemas.collect();
            for other in 1..12 {
                let mut sorted = names(other);
                sorted.sort();
                for names in [names(other), sorted, vec!["z".into(), "a".into(), "p0".into()]] {
                    let mut cursor = properties.cursor();
                    for name in names {
                        let found = cursor.get(&name).map(std::ptr::from_ref);
                        assert_eq!(found, properties.get(&name).map(std::ptr::from_ref), "{name}");
                    }
                }
            }
        }
    }
}
