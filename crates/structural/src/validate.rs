//! Validation of objects: do the values fit the schema?
//!
//! Sources: `k8s.io/kube-openapi/pkg/validation/validate` for the checks, their order and their
//! words, `pkg/apiserver/validation/validation.go` of `k8s.io/apiextensions-apiserver` for how they
//! become field errors. Maps, which Kubernetes visits in random order, are visited in theirs. One
//! pass over the object; where several schemas apply to a value (`allOf`, `anyOf`, `oneOf`, `not`)
//! one more for each, up to [`MOST_STEPS`] in all. A list of errors is bounded by [`Errors`].
//!
//! Deviations: an array where a string with a format is expected is an error; Kubernetes accepts it.

mod junctor;
mod name;
mod number;
mod old;
mod sink;
mod string;

use serde_json::{Map, Value};

use self::{
    name::Name,
    old::{Old, OldItems},
    sink::Sink,
};
use crate::{
    error::{Errors, FieldError, FieldErrorType, printed},
    format, list_type, object_meta,
    path::Path,
    schema::{Schema, SchemaOrBool, Type, ValueValidation},
};

/// Number of times that a schema is applied to a value in one validation. An object has far fewer
/// values; a schema with many alternatives times an object with many values can take more.
const MOST_STEPS: usize = 1 << 22;

impl Schema {
    /// Lists what is wrong in a new object. `self` is the schema of the whole resource; what is in
    /// `metadata`, and rules in CEL, are not checked here.
    pub fn validate(&self, object: &Value) -> Errors {
        let root = Path::root("");
        let mut errors = self.validate_at(object, None, &root);
        object_meta::check(self, object, &root, &mut errors);
        list_type::check(self, object, &root, &mut errors);
        errors
    }

    /// Lists what is wrong in a changed object. Errors of values that did not change are tolerated:
    /// items of lists with `x-kubernetes-list-type: map` are compared with those of the same keys,
    /// other lists as a whole.
    pub fn validate_update(&self, new: &Value, old: &Value) -> Errors {
        let root = Path::root("");
        let mut errors = self.validate_at(new, Some(old), &root);
        object_meta::check(self, new, &root, &mut errors);
        self.check_changed_lists(new, old, &mut errors);
        errors
    }

    /// Lists what is wrong in the status of an object whose status is changed. `self` is the schema
    /// of the whole resource, `new` and `old` are whole objects.
    pub fn validate_status_update(&self, new: &Value, old: &Value) -> Errors {
        let mut errors = Errors::new();
        if let (Some(schema), Some(status)) = (self.properties.get("status"), new.get("status")) {
            let old = old.get("status").unwrap_or(&Value::Null);
            errors = schema.validate_at(status, Some(old), &Path::root("status"));
        }
        self.check_changed_lists(new, old, &mut errors);
        errors
    }

    /// Lists what does not fit the schema in a value at a path.
    pub(crate) fn validate_at(
        &self,
        value: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) -> Errors {
        let errors = Validator::new(path).run(self, value, None);
        match old {
            // Only errors can be tolerated, so that a valid update costs no comparison.
            Some(old) if !errors.is_empty() => {
                Validator::new(path).run(self, value, Some(Old { value: old, schema: self }))
            }
            _ => errors,
        }
    }

    /// Repeated items are tolerated if there were some before.
    fn check_changed_lists(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let root = Path::root("");
        let mut repeated = Errors::new();
        list_type::check(self, new, &root, &mut repeated);
        if repeated.is_empty() {
            return;
        }
        let mut before = Errors::new();
        list_type::check(self, old, &root, &mut before);
        if before.is_empty() {
            errors.append(repeated);
        }
    }
}

/// One validation.
struct Validator<'a> {
    /// Where the value is that is validated.
    path: &'a Path<'a>,
    sink: Sink,
    steps: usize,
}

impl<'a> Validator<'a> {
    fn new(path: &'a Path<'a>) -> Validator<'a> {
        Validator { path, sink: Sink::default(), steps: 0 }
    }

    fn run(mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>) -> Errors {
        self.visit(schema, value, &Name::Root, old);
        let mut errors = self.sink.errors;
        errors.dedup();
        if self.steps > MOST_STEPS {
            let detail = format!("validation takes more than {MOST_STEPS} steps");
            errors.push(FieldError::forbidden(self.path, detail));
        }
        errors
    }

    /// Whether more steps may be taken.
    fn step(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        self.steps <= MOST_STEPS
    }

    /// Validates a value, and tolerates its errors if it did not change. Returns how many checks
    /// there were that passed, by Kubernetes' count.
    fn visit(
        &mut self,
        schema: &Schema,
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mark = self.sink.mark();
        let matches = self.apply(schema, value, name, old);
        if self.sink.failed_since(&mark) && old.is_some_and(|old| old.value == value) {
            self.sink.reset(&mark);
        }
        matches
    }

    fn apply(
        &mut self,
        schema: &Schema,
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let values = schema.values();
        if !self.step(1 + values.enum_.len() / 8) {
            return 0;
        }
        if value.is_null() {
            let matches = usize::from(self.check_type(schema, value, name));
            self.check_enum(values, value, name);
            return matches;
        }
        let mut matches = 4;
        if schema.type_ != Type::None || schema.int_or_string || format_of(schema).is_some() {
            matches += 1 + usize::from(self.check_type(schema, value, name));
        }
        matches += self.junctors(values, value, name, old);
        matches += match value {
            Value::String(text) => self.check_string(schema, text, name),
            Value::Number(number) => self.check_number(schema, number, name),
            Value::Array(items) => self.check_items(schema, items, name, old),
            _ => 0,
        };
        self.check_enum(values, value, name);
        if let Value::Object(fields) = value {
            matches += 1 + self.check_fields(schema, fields, name, old);
        }
        matches
    }

    fn check_type(&mut self, schema: &Schema, value: &Value, name: &Name<'_>) -> bool {
        let Some((expected, found)) = mismatch(schema, value) else { return true };
        self.fail(name, |text| {
            let detail = format!("{text} in body must be of type {expected}: \"{found}\"");
            (FieldErrorType::TypeInvalid(format!("\"{found}\"")), detail)
        });
        false
    }

    fn check_enum(&mut self, values: &ValueValidation, value: &Value, name: &Name<'_>) {
        if values.enum_.is_empty()
            || values.enum_.iter().any(|allowed| number::same(value, allowed))
        {
            return;
        }
        self.fail(name, |_| {
            let shown = |value: &Value| match value {
                Value::String(text) => crate::error::quoted(text),
                other => crate::error::quoted(&crate::error::json(other)),
            };
            let supported: Vec<String> = values.enum_.iter().map(shown).collect();
            let detail = format!("supported values: {}", supported.join(", "));
            (FieldErrorType::NotSupported(printed(value)), detail)
        });
    }

    fn check_items(
        &mut self,
        schema: &Schema,
        items: &[Value],
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mut matches = 2;
        if let Some(item_schema) = schema.items() {
            let old = old.and_then(OldItems::new);
            for (index, item) in items.iter().enumerate() {
                let old = old.as_ref().and_then(|old| old.get(item));
                matches += self.visit(item_schema, item, &Name::Index(name, index), old);
            }
        }
        let values = schema.values();
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = values.min_items.filter(|least| size < *least) {
            self.fail(name, |text| {
                let detail = format!("{text} in body should have at least {least} items");
                (FieldErrorType::Invalid(size.to_string()), detail)
            });
        }
        if let Some(most) = values.max_items.filter(|most| size > *most) {
            self.fail(name, |_| too_many(size, most));
        }
        matches
    }

    fn check_fields(
        &mut self,
        schema: &Schema,
        fields: &Map<String, Value>,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mut matches = 0;
        self.check_size(schema.values(), fields.len(), name);
        match schema.additional_properties.as_deref() {
            Some(SchemaOrBool::Bool(false)) => self.check_forbidden(schema, fields, name),
            Some(SchemaOrBool::Schema(additional)) => {
                for (key, value) in fields {
                    if schema.properties.get(key).is_none() {
                        let name = Name::Additional(name, key);
                        matches += self.visit(additional, value, &name, Old::field(old, key));
                    }
                }
            }
            _ => {}
        }
        if !schema.properties.is_empty() {
            let mut properties = schema.properties.cursor();
            for (key, value) in fields {
                let Some(schema) = properties.get(key) else { continue };
                // Both the old and the new object have the type of the version that is asked for.
                let is_type_meta = name.is_root() && matches!(key.as_str(), "apiVersion" | "kind");
                let old = if is_type_meta { None } else { Old::field(old, key) };
                matches += self.visit(schema, value, &Name::Field(name, key), old);
            }
        }
        self.check_required(schema.values(), fields, name);
        matches
    }

    fn check_size(&mut self, values: &ValueValidation, size: usize, name: &Name<'_>) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if let Some(least) = values.min_properties.filter(|least| size < *least) {
            self.fail(name, |text| {
                let detail = format!("{text} in body should have at least {least} properties");
                (FieldErrorType::Invalid(size.to_string()), detail)
            });
        }
        if let Some(most) = values.max_properties.filter(|most| size > *most) {
            self.fail(name, |_| too_many(size, most));
        }
    }

    fn check_forbidden(&mut self, schema: &Schema, fields: &Map<String, Value>, name: &Name<'_>) {
        for key in fields.keys().filter(|key| schema.properties.get(key).is_none()) {
            self.fail(name, |text| {
                let detail = format!("{text}.{key} in body is a forbidden property");
                (FieldErrorType::Invalid(crate::error::quoted(key)), detail)
            });
        }
    }

    fn check_required(
        &mut self,
        values: &ValueValidation,
        fields: &Map<String, Value>,
        name: &Name<'_>,
    ) {
        if !self.step(values.required.len() / 8) {
            return;
        }
        for key in &values.required {
            if !fields.contains_key(&**key) {
                let name = Name::Additional(name, key);
                self.fail(&name, |_| (FieldErrorType::Required, String::new()));
            }
        }
    }

    /// Lists an error of the value with a name. `error` makes its type and detail from the name's
    /// text.
    fn fail(&mut self, name: &Name<'_>, error: impl FnOnce(&str) -> (FieldErrorType, String)) {
        let path = self.path;
        self.sink.fail(|| {
            let text = name.to_string();
            let (type_, detail) = error(&text);
            let below = text.strip_prefix('.').unwrap_or(&text);
            let path = match (path.is_root(), below) {
                (_, "") => path.to_string(),
                (true, below) => below.to_owned(),
                (false, below) => path.child(below).to_string(),
            };
            FieldError { path, type_, detail }
        });
    }

    /// Lists an error that Kubernetes does not attribute to a field.
    fn fail_whole(&mut self, detail: impl FnOnce() -> String) {
        let path = self.path;
        self.sink.fail(|| FieldError::invalid_text(path, "", detail()));
    }
}

fn too_many(size: i64, most: i64) -> (FieldErrorType, String) {
    let items = if most == 1 { "item" } else { "items" };
    let detail = match most {
        ..0 => "has too many items".to_owned(),
        most => format!("must have at most {most} {items}"),
    };
    (FieldErrorType::TooMany(size.to_string()), detail)
}

/// The format of a schema, if it is one that is checked for its type.
fn format_of(schema: &Schema) -> Option<&str> {
    let format = schema.values().format.as_deref()?;
    let type_ = if schema.int_or_string { &Type::None } else { &schema.type_ };
    format::is_known(type_, format).then_some(format)
}

/// The expected and the found type, if they differ.
fn mismatch<'s>(schema: &'s Schema, value: &Value) -> Option<(&'s str, &'static str)> {
    let (type_, format) = match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    };
    let (first, second) = match schema.type_ {
        _ if schema.int_or_string => ("integer", "string"),
        ref type_ => (type_.as_str(), ""),
    };
    let expected = if schema.int_or_string { "integer,string" } else { first };
    if first.is_empty() || type_ == "null" {
        let wrong = match type_ {
            "null" => !first.is_empty() && !schema.nullable,
            type_ => !matches!(type_, "string" | "array"),
        };
        let expected = if type_ == "null" { Some(expected) } else { format_of(schema) };
        return expected
            .filter(|_| wrong)
            .map(|expected| (expected, if type_ == "null" { type_ } else { format }));
    }
    let fits = first == type_
        || second == type_
        || (type_ == "integer" && first == "number")
        || (type_ == "number"
            && first == "integer"
            && value.as_f64().is_some_and(number::is_integer));
    if fits {
        return None;
    }
    match format_of(schema).filter(|_| !matches!(type_, "string" | "array")) {
        Some(expected) if expected != format => Some((expected, format)),
        _ => Some((expected, type_)),
    }
}

#[cfg(test)]
mod tests;
