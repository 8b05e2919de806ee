//! Defaulting: absent fields get the defaults of their schemas.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`. A `null` whose schema
//! is not nullable is removed if it has no default, and replaced by the default otherwise. Defaults
//! that are filled in are defaulted in turn.

use serde_json::{Map, Value};

use crate::schema::Schema;

impl Schema {
    /// Fills in the defaults of this schema.
    pub fn fill_defaults(&self, object: &mut Value) {
        match object {
            Value::Object(fields) => default_fields(self, fields),
            Value::Array(items) => {
                let Some(schema) = self.items() else { return };
                for item in items {
                    if item.is_null() && !schema.nullable {
                        *item = schema.default.as_deref().cloned().unwrap_or_default();
                    }
                    schema.fill_defaults(item);
                }
            }
            _ => {}
        }
    }
}

fn default_fields(schema: &Schema, fields: &mut Map<String, Value>) {
    fields.retain(|name, value| {
        !value.is_null()
            || child(schema, name).is_none_or(|child| child.nullable || child.default.is_some())
    });
    for (name, child) in schema.properties.iter() {
        let Some(default) = &child.default else { continue };
        match fields.get_mut(name) {
            None => drop(fields.insert(name.to_owned(), (**default).clone())),
            Some(value) if value.is_null() && !child.nullable => *value = (**default).clone(),
            Some(_) => {}
        }
    }
    for (name, value) in fields.iter_mut() {
        let Some(child) = child(schema, name) else { continue };
        if value.is_null() && !child.nullable {
            *value = child.default.as_deref().cloned().unwrap_or_default();
        }
        child.fill_defaults(value);
    }
}

fn child<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    schema.properties.get(name).or_else(|| schema.additional_properties())
}

#[cfg(test)]
mod tests;
