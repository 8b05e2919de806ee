//! What expressions know of the data: a schema as a tree of types, with the sizes that bound cost.
//!
//! Source of the rules: `k8s.io/apiserver/pkg/cel/common/schemas.go` (types and sizes) and
//! `pkg/cel/escaping.go` (names). A part of a schema whose type is not known to CEL (fields that are
//! preserved without a schema) has no declaration, nor has what contains it as items.

use std::sync::Arc;

use super::types::Type;
use crate::schema::{ListType, Schema, Type as SchemaType};

/// The largest request, and so the largest object.
pub(super) const MOST_REQUEST: u64 = 3 << 20;
/// The longest text: a request less the quotes.
const MOST_TEXT: u64 = MOST_REQUEST - 2;
const MOST_NAME: i64 = 253;

/// A schema as CEL sees it.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) shape: Shape,
    pub(super) nullable: bool,
    /// The most items, entries or bytes that a value can have; 0 for what has none.
    pub(super) most_elements: u64,
    /// The fewest bytes of JSON that a value takes.
    pub(super) least_size: u64,
}

/// The type of the data, and its parts.
#[derive(Debug)]
pub(super) enum Shape {
    /// `x-kubernetes-int-or-string`.
    IntOrString,
    Bool,
    Int,
    Double,
    String,
    /// `format: byte`.
    Bytes,
    /// `format: duration`.
    Duration,
    /// `format: date`.
    Date,
    /// `format: date-time`.
    DateTime,
    List(Arc<Declaration>, Order),
    Map(Arc<Declaration>),
    /// Fields sorted by their escaped name.
    Object(Vec<Field>),
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field {
    /// As expressions name it.
    pub(super) escaped: Box<str>,
    /// As it is in JSON.
    pub(super) name: Arc<str>,
    pub(super) declaration: Arc<Declaration>,
}

/// How the items of a list are told apart: `x-kubernetes-list-type`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// By position.
    Atomic,
    /// By value, in no order.
    Set,
    /// By these keys, in no order.
    Map(Vec<Box<str>>),
}

/// A schema as CEL sees it; nothing if CEL does not see it. `is_resource` for the root of a custom
/// resource, which has a name and a kind even if its schema does not mention them.
pub(super) fn declare(schema: &Schema, is_resource: bool) -> Option<Arc<Declaration>> {
    let declaration = match &schema.type_ {
        _ if schema.int_or_string => {
            leaf(schema, Shape::IntOrString, most_characters(schema).unwrap_or(MOST_TEXT), 1)
        }
        SchemaType::Array => list(schema)?,
        SchemaType::Object => match schema.additional_properties() {
            Some(values) if !is_resource || schema.properties.is_empty() => map(schema, values)?,
            _ => object(schema, is_resource),
        },
        SchemaType::String => string(schema),
        SchemaType::Boolean => leaf(schema, Shape::Bool, 0, 4),
        SchemaType::Number => leaf(schema, Shape::Double, 0, 1),
        SchemaType::Integer => leaf(schema, Shape::Int, 0, 1),
        SchemaType::None | SchemaType::Other(_) => return None,
    };
    Some(Arc::new(declaration))
}

fn leaf(schema: &Schema, shape: Shape, most_elements: u64, least_size: u64) -> Declaration {
    Declaration { shape, nullable: schema.nullable, most_elements, least_size }
}

/// Characters take up to 4 bytes.
fn most_characters(schema: &Schema) -> Option<u64> {
    schema.values().max_length.map(|most| not_negative(most).saturating_mul(4))
}

fn not_negative(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn string(schema: &Schema) -> Declaration {
    let values = schema.values();
    match values.format.as_deref() {
        Some("byte") => {
            let most = values.max_length.map_or(MOST_TEXT, not_negative);
            leaf(schema, Shape::Bytes, most, 2)
        }
        Some("duration") => leaf(schema, Shape::Duration, 32, 3),
        Some("date") => leaf(schema, Shape::Date, 12, 12),
        Some("date-time") => leaf(schema, Shape::DateTime, 32, 21),
        _ => {
            let of_enum = || {
                let texts = values.enum_.iter().filter_map(|value| value.as_str());
                (!values.enum_.is_empty())
                    .then(|| texts.map(|text| text.len() as u64).max().unwrap_or(0))
            };
            let most = most_characters(schema).or_else(of_enum).unwrap_or(MOST_TEXT);
            leaf(schema, Shape::String, most, 2)
        }
    }
}

fn list(schema: &Schema) -> Option<Declaration> {
    let items = schema.items()?;
    let item = declare(items, items.embedded_resource)?;
    let most = schema.values().max_items.map_or(MOST_TEXT / (item.least_size + 1), not_negative);
    let extensions = schema.extensions();
    let order = match &extensions.list_type {
        Some(ListType::Set) => Order::Set,
        Some(ListType::Map) => Order::Map(extensions.list_map_keys.clone()),
        _ => Order::Atomic,
    };
    Some(leaf(schema, Shape::List(item, order), most, 2))
}

fn map(schema: &Schema, values: &Schema) -> Option<Declaration> {
    let value = declare(values, values.embedded_resource)?;
    let most =
        schema.values().max_properties.map_or(MOST_TEXT / (value.least_size + 6), not_negative);
    Some(leaf(schema, Shape::Map(value), most, 2))
}

fn object(schema: &Schema, is_resource: bool) -> Declaration {
    let required = &schema.values().required;
    let mut least_size = 2;
    let mut fields = Vec::with_capacity(schema.properties.len());
    for (name, property) in schema.properties.iter() {
        if is_resource && matches!(name, "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let Some(declaration) = declare(property, property.embedded_resource) else { continue };
        if property.default.is_none() && required.iter().any(|field| **field == *name) {
            least_size += name.len() as u64 + declaration.least_size + 4;
        }
        fields.extend(escaped(name).map(|escaped| field(escaped, name, declaration)));
    }
    if is_resource {
        fields.extend(resource_fields(schema.properties.get("metadata")));
    }
    fields.sort_by(|a, b| a.escaped.cmp(&b.escaped));
    leaf(schema, Shape::Object(fields), 0, least_size)
}

fn field(escaped: String, name: &str, declaration: Arc<Declaration>) -> Field {
    Field { escaped: escaped.into(), name: name.into(), declaration }
}

/// The fields of a resource that expressions may use. Of its metadata only the names are.
fn resource_fields(metadata: Option<&Schema>) -> Vec<Field> {
    let text = |most_elements| {
        let shape = Shape::String;
        Arc::new(Declaration { shape, nullable: false, most_elements, least_size: 2 })
    };
    let name = |name: &str, most: i64| {
        let given =
            metadata.and_then(|metadata| metadata.properties.get(name)?.values().max_length);
        let most = not_negative(given.map_or(most, |given| given.min(most)));
        field(name.to_owned(), name, text(most * 4))
    };
    let names = vec![name("generateName", MOST_NAME - 1), name("name", MOST_NAME)];
    let metadata = Declaration {
        shape: Shape::Object(names),
        nullable: false,
        most_elements: 0,
        least_size: 2,
    };
    vec![
        field("apiVersion".to_owned(), "apiVersion", text(MOST_TEXT)),
        field("kind".to_owned(), "kind", text(MOST_TEXT)),
        field("metadata".to_owned(), "metadata", Arc::new(metadata)),
    ]
}

impl Declaration {
    /// The type of a value.
    pub(super) fn type_(self: &Arc<Declaration>) -> Type {
        match &self.shape {
            Shape::IntOrString => Type::Dyn,
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Double => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Date | Shape::DateTime => Type::Timestamp,
            Shape::List(item, _) => Type::list(item.type_()),
            Shape::Map(value) => Type::Map(Arc::new(Type::String), Arc::new(value.type_())),
            Shape::Object(_) => Type::Object(Arc::clone(self)),
        }
    }

    /// A field by its escaped name.
    pub(super) fn field(&self, escaped: &str) -> Option<&Field> {
        let Shape::Object(fields) = &self.shape else { return None };
        let index = fields.binary_search_by(|field| (*field.escaped).cmp(escaped)).ok()?;
        Some(&fields[index])
    }

    /// A field by its name in JSON.
    pub(super) fn property(&self, name: &str) -> Option<&Arc<Declaration>> {
        // Few names are escaped.
        let field = self.field(name).filter(|field| *field.name == *name);
        Some(&field.or_else(|| self.field(&escaped(name)?))?.declaration)
    }

    /// What the items of a list or the values of a map are.
    pub(super) fn element(&self) -> Option<&Arc<Declaration>> {
        match &self.shape {
            Shape::List(element, _) | Shape::Map(element) => Some(element),
            _ => None,
        }
    }
}

/// Words that are no identifiers.
pub(super) const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// A name as an identifier of CEL; nothing if it cannot be one.
pub(super) fn escaped(name: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(allowed)
    {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let underscores = name.replace("__", "__underscores__");
    Some(underscores.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_are_escaped_as_kubernetes_escapes_them() {
        for (name, expected) in [
            ("size", Some("size")),
            ("a_b", Some("a_b")),
            ("a__b", Some("a__underscores__b")),
            ("a.b", Some("a__dot__b")),
            ("a-b/c", Some("a__dash__b__slash__c")),
            ("namespace", Some("__namespace__")),
            ("in", Some("__in__")),
            ("1a", None),
            ("", None),
            ("a$", None),
            ("é", None),
        ] {
            assert_eq!(escaped(name).as_deref(), expected, "{name}");
        }
    }
}
