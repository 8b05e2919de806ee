//! JSON to [`Schema`].
//!
//! As when Kubernetes decodes JSONSchemaProps, `null` is the same as absent, unknown fields are
//! ignored, and a value of another type is an error.

use serde_json::{Map, Value};

use super::{
    Contains, Documentation, Extensions, Items, ListType, Pattern, Properties, Schema,
    SchemaOrBool, Type, Unsupported, ValidationRule, ValueValidation,
};
use crate::path::Path;

/// Why JSON is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// A field has a value of another type.
    #[error("{path}: expected {expected}")]
    Type {
        /// The field: `properties[spec].maximum`.
        path: String,
        /// The type that it has in JSONSchemaProps.
        expected: &'static str,
    },
    /// Schemas are nested in schemas too deeply.
    #[error("schemas are nested more than {MOST_DEPTH} levels deep")]
    Depth,
}

/// Number of schemas nested in each other. The API server's limit on the nesting of JSON is lower.
pub(crate) const MOST_DEPTH: usize = 128;

type Result<T> = std::result::Result<T, ParseError>;

impl Schema {
    /// Parses the value of `openAPIV3Schema`.
    pub fn parse(value: &Value) -> Result<Schema> {
        schema(value, &Path::root(""), 0)
    }
}

/// Where the fields of a schema are.
struct Fields<'a> {
    path: &'a Path<'a>,
    depth: usize,
}

fn schema(value: &Value, path: &Path<'_>, depth: usize) -> Result<Schema> {
    if depth > MOST_DEPTH {
        return Err(ParseError::Depth);
    }
    let Value::Object(map) = value else { return Err(expected(path, "object")) };
    let fields = Fields { path, depth: depth + 1 };
    let mut schema = Schema::default();
    let mut values = ValueValidation::default();
    let mut extensions = Extensions::default();
    let mut unsupported = Unsupported::default();
    for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let known = structure(&mut schema, &fields, name, value)?
            || restriction(&mut values, &fields, name, value)?
            || extension(&mut extensions, &fields, name, value)?;
        if !known {
            refused(&mut unsupported, &fields, name, value)?;
        }
    }
    schema.values = boxed(values);
    schema.extensions = boxed(extensions);
    schema.unsupported = boxed(unsupported);
    schema.contains = contains(&schema);
    Ok(schema)
}

fn contains(schema: &Schema) -> Contains {
    let list_type = &schema.extensions().list_type;
    let mut all = Contains {
        resources: schema.embedded_resource,
        list_types: matches!(list_type, Some(ListType::Set | ListType::Map)),
    };
    let properties = schema.properties.iter().map(|(_, child)| child);
    for child in properties.chain(schema.items()).chain(schema.additional_properties()) {
        all.resources |= child.contains.resources;
        all.list_types |= child.contains.list_types;
    }
    all
}

fn structure(schema: &mut Schema, f: &Fields<'_>, name: &str, value: &Value) -> Result<bool> {
    match name {
        "type" => schema.type_ = Type::from(f.text(name, value)?),
        "properties" => schema.properties = f.schemas_by_name(name, value)?,
        "items" => schema.items = Some(Box::new(f.items(value)?)),
        "additionalProperties" => {
            schema.additional_properties = Some(Box::new(f.schema_or_bool(name, value)?));
        }
        "default" => schema.default = Some(Box::new(value.clone())),
        "nullable" => schema.nullable = f.bool(name, value)?,
        "x-kubernetes-preserve-unknown-fields" => {
            schema.preserve_unknown_fields = Some(f.bool(name, value)?);
        }
        "x-kubernetes-embedded-resource" => schema.embedded_resource = f.bool(name, value)?,
        "x-kubernetes-int-or-string" => schema.int_or_string = f.bool(name, value)?,
        _ => return documented(&mut schema.documentation, f, name, value),
    }
    Ok(true)
}

fn documented(set: &mut Documentation, f: &Fields<'_>, name: &str, value: &Value) -> Result<bool> {
    match name {
        "description" => set.description = !f.text(name, value)?.is_empty(),
        "title" => set.title = !f.text(name, value)?.is_empty(),
        "example" => set.example = true,
        "externalDocs" => set.external_docs = true,
        _ => return Ok(false),
    }
    Ok(true)
}

fn restriction(
    values: &mut ValueValidation,
    f: &Fields<'_>,
    name: &str,
    value: &Value,
) -> Result<bool> {
    match name {
        "format" => values.format = f.set_text(name, value)?,
        "maximum" => values.maximum = Some(f.number(name, value)?),
        "exclusiveMaximum" => values.exclusive_maximum = f.bool(name, value)?,
        "minimum" => values.minimum = Some(f.number(name, value)?),
        "exclusiveMinimum" => values.exclusive_minimum = f.bool(name, value)?,
        "maxLength" => values.max_length = Some(f.integer(name, value)?),
        "minLength" => values.min_length = Some(f.integer(name, value)?),
        "pattern" => {
            values.pattern = f.set_text(name, value)?.map(|text| Pattern::new(&text));
        }
        "maxItems" => values.max_items = Some(f.integer(name, value)?),
        "minItems" => values.min_items = Some(f.integer(name, value)?),
        "uniqueItems" => values.unique_items = f.bool(name, value)?,
        "multipleOf" => values.multiple_of = Some(f.number(name, value)?),
        "enum" => values.enum_ = f.array(name, value)?.clone(),
        "maxProperties" => values.max_properties = Some(f.integer(name, value)?),
        "minProperties" => values.min_properties = Some(f.integer(name, value)?),
        "required" => values.required = f.texts(name, value)?,
        "allOf" => values.all_of = f.schemas(name, value)?,
        "oneOf" => values.one_of = f.schemas(name, value)?,
        "anyOf" => values.any_of = f.schemas(name, value)?,
        "not" => values.not = Some(Box::new(schema(value, &f.path.child(name), f.depth)?)),
        _ => return Ok(false),
    }
    Ok(true)
}

fn extension(
    extensions: &mut Extensions,
    f: &Fields<'_>,
    name: &str,
    value: &Value,
) -> Result<bool> {
    match name {
        "x-kubernetes-list-type" => {
            extensions.list_type = Some(ListType::from(f.text(name, value)?));
        }
        "x-kubernetes-list-map-keys" => extensions.list_map_keys = f.texts(name, value)?,
        "x-kubernetes-map-type" => extensions.map_type = Some(f.text(name, value)?.into()),
        "x-kubernetes-validations" => {
            let rules = f.array(name, value)?.iter().enumerate();
            let path = f.path.child(name);
            extensions.validations =
                rules.map(|(i, value)| rule(value, &path.index(i))).collect::<Result<_>>()?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn rule(value: &Value, path: &Path<'_>) -> Result<ValidationRule> {
    let Value::Object(map) = value else { return Err(expected(path, "object")) };
    let f = Fields { path, depth: 0 };
    let mut rule = ValidationRule::default();
    for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "rule" => rule.rule = f.text(name, value)?.into(),
            "message" => rule.message = f.text(name, value)?.into(),
            "messageExpression" => rule.message_expression = f.text(name, value)?.into(),
            "reason" => rule.reason = Some(f.text(name, value)?.into()),
            "fieldPath" => rule.field_path = f.text(name, value)?.into(),
            "optionalOldSelf" => rule.optional_old_self = Some(f.bool(name, value)?),
            _ => {}
        }
    }
    Ok(rule)
}

fn refused(set: &mut Unsupported, f: &Fields<'_>, name: &str, value: &Value) -> Result<()> {
    match name {
        "id" => set.id = f.set_text(name, value)?,
        "$schema" => set.schema = f.set_text(name, value)?,
        "$ref" => set.ref_ = Some(f.text(name, value)?.into()),
        "patternProperties" => set.pattern_properties = f.schemas_by_name(name, value)?,
        "additionalItems" => set.additional_items = Some(f.schema_or_bool(name, value)?),
        "definitions" => set.definitions = f.schemas_by_name(name, value)?,
        "dependencies" => {
            let map = f.object(name, value)?;
            let schemas = map.iter().filter(|(_, value)| value.is_object());
            let path = f.path.child(name);
            set.dependencies = schemas
                .map(|(key, value)| {
                    Ok((key.as_str().into(), schema(value, &path.key(key), f.depth)?))
                })
                .collect::<Result<_>>()?;
            set.dependency_names = map.keys().map(|key| key.as_str().into()).collect();
        }
        _ => {}
    }
    Ok(())
}

/// A part in which nothing is set is left out.
fn boxed<T: Default + PartialEq>(part: T) -> Option<Box<T>> {
    (part != T::default()).then(|| Box::new(part))
}

fn expected(path: &Path<'_>, expected: &'static str) -> ParseError {
    ParseError::Type { path: path.to_string(), expected }
}

// === impl Fields ===

impl Fields<'_> {
    fn expected(&self, name: &str, type_: &'static str) -> ParseError {
        expected(&self.path.child(name), type_)
    }

    fn text<'v>(&self, name: &str, value: &'v Value) -> Result<&'v str> {
        value.as_str().ok_or_else(|| self.expected(name, "string"))
    }

    /// A text that is the same as none if it is empty.
    fn set_text(&self, name: &str, value: &Value) -> Result<Option<Box<str>>> {
        let text = self.text(name, value)?;
        Ok((!text.is_empty()).then(|| text.into()))
    }

    fn bool(&self, name: &str, value: &Value) -> Result<bool> {
        value.as_bool().ok_or_else(|| self.expected(name, "boolean"))
    }

    fn number(&self, name: &str, value: &Value) -> Result<f64> {
        value.as_f64().ok_or_else(|| self.expected(name, "number"))
    }

    fn integer(&self, name: &str, value: &Value) -> Result<i64> {
        value.as_i64().ok_or_else(|| self.expected(name, "integer"))
    }

    fn array<'v>(&self, name: &str, value: &'v Value) -> Result<&'v Vec<Value>> {
        value.as_array().ok_or_else(|| self.expected(name, "array"))
    }

    fn object<'v>(&self, name: &str, value: &'v Value) -> Result<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.expected(name, "object"))
    }

    fn texts(&self, name: &str, value: &Value) -> Result<Vec<Box<str>>> {
        let path = self.path.child(name);
        let text = |(index, value): (usize, &Value)| {
            let text = value.as_str().ok_or_else(|| expected(&path.index(index), "string"))?;
            Ok(text.into())
        };
        self.array(name, value)?.iter().enumerate().map(text).collect()
    }

    fn schemas(&self, name: &str, value: &Value) -> Result<Vec<Schema>> {
        let path = self.path.child(name);
        let values = self.array(name, value)?.iter().enumerate();
        values.map(|(index, value)| schema(value, &path.index(index), self.depth)).collect()
    }

    fn schemas_by_name(&self, name: &str, value: &Value) -> Result<Properties> {
        let path = self.path.child(name);
        let schema_of = |(key, value): (&String, &Value)| {
            Ok((key.as_str().into(), schema(value, &path.key(key), self.depth)?))
        };
        self.object(name, value)?.iter().map(schema_of).collect()
    }

    fn items(&self, value: &Value) -> Result<Items> {
        match value {
            Value::Array(_) => Ok(Items::Schemas(self.schemas("items", value)?)),
            value => Ok(Items::Schema(schema(value, &self.path.child("items"), self.depth)?)),
        }
    }

    fn schema_or_bool(&self, name: &str, value: &Value) -> Result<SchemaOrBool> {
        match value {
            Value::Bool(allowed) => Ok(SchemaOrBool::Bool(*allowed)),
            Value::Object(_) => {
                Ok(SchemaOrBool::Schema(schema(value, &self.path.child(name), self.depth)?))
            }
            _ => Err(self.expected(name, "boolean or object")),
        }
    }
}
