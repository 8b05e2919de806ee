//! The check of the rules of a definition.
//!
//! Source: `apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go` and
//! `cel_validation.go`: the words, the order (what is below a schema is checked before it), and the
//! limits on cost.

use std::sync::Arc;

use serde_json::Value;

use super::{
    declaration::{Declaration, MOST_REQUEST, declare},
    field_path::field_path,
    rule::{REASONS, Rule, RuleError, compile},
};
use crate::{
    error::{Errors, FieldError, FieldErrorType, printed},
    path::Path,
    schema::{ListType, Schema, Type, ValidationRule},
};

/// The largest cost of one rule, for all values that it can apply to.
const MOST_RULE_COST: u64 = 10_000_000;
/// The largest cost of all rules of a schema.
const MOST_SCHEMA_COST: u64 = 100_000_000;
/// The rules of a schema. Kubernetes has no such limit; each is compiled and kept.
const MOST_RULES: usize = 10_000;

/// Checks the rules of a schema of a definition that is valid otherwise: `x-kubernetes-validations`
/// of it and of everything in it.
pub fn check_definition(schema: &Schema, path: &Path<'_>) -> Errors {
    let mut check = Check { errors: Errors::new(), total: 0, expensive: Vec::new(), rules: 0 };
    if !super::has_rules(schema) {
        return check.errors;
    }
    let place = Place {
        declaration: declare(schema, true),
        cardinality: Some(1),
        uncorrelatable: None,
        is_costed: true,
    };
    check.schema(schema, path, &place);
    check.finish(path)
}

struct Check {
    errors: Errors,
    /// The cost of all rules.
    total: u64,
    /// The most expensive rules.
    expensive: Vec<(u64, String)>,
    rules: usize,
}

/// Where a schema is.
struct Place<'p> {
    declaration: Option<Arc<Declaration>>,
    /// How many values of it an object can have, if the lists and maps around it bound that.
    cardinality: Option<u64>,
    /// The list or map around it whose items cannot be found in the old object.
    uncorrelatable: Option<&'p str>,
    /// Whether its rules count: those within `allOf` do not.
    is_costed: bool,
}

impl Check {
    /// Checks a schema; returns whether the fields of its rules and of those below are valid.
    fn schema(&mut self, schema: &Schema, path: &Path<'_>, place: &Place<'_>) -> bool {
        if self.errors.is_full() || !super::has_rules(schema) {
            return true;
        }
        let mut valid = self.below(schema, path, place);
        let rules = &schema.extensions().validations;
        let path = path.child("x-kubernetes-validations");
        for (index, rule) in rules.iter().enumerate() {
            valid &= self.fields(rule, schema, &path.index(index));
        }
        self.rules += rules.len();
        if self.rules > MOST_RULES {
            let words = format!("more than {MOST_RULES} rules are not supported by this server");
            self.errors.push(FieldError::forbidden(&path, words));
            return false;
        }
        if valid {
            for (index, rule) in rules.iter().enumerate() {
                self.rule(rule, schema, &path.index(index), place);
            }
        }
        valid
    }

    fn below(&mut self, schema: &Schema, path: &Path<'_>, place: &Place<'_>) -> bool {
        let within = path.to_string();
        let cardinality = cardinality(schema, place.cardinality);
        let element = place.declaration.as_ref().and_then(|declared| declared.element().cloned());
        let child = |declaration, uncorrelatable| Place {
            declaration,
            cardinality,
            uncorrelatable,
            is_costed: place.is_costed,
        };
        let mut valid = true;
        if let Some(values) = schema.additional_properties() {
            let place = child(element.clone(), place.uncorrelatable);
            valid &= self.schema(values, &path.child("additionalProperties"), &place);
        }
        let map_type = schema.extensions().map_type.as_deref();
        let correlatable = matches!(map_type, None | Some("granular" | "atomic"));
        let properties = path.child("properties");
        for (name, property) in schema.properties.iter() {
            let declared = place.declaration.as_ref().and_then(|declared| declared.property(name));
            let declared =
                declared.cloned().or_else(|| declare(property, property.embedded_resource));
            let uncorrelatable = if correlatable { place.uncorrelatable } else { Some(&*within) };
            valid &= self.schema(property, &properties.key(name), &child(declared, uncorrelatable));
        }
        for (index, part) in schema.values().all_of.iter().enumerate() {
            let place = Place {
                declaration: place.declaration.clone(),
                cardinality: place.cardinality,
                uncorrelatable: place.uncorrelatable,
                is_costed: false,
            };
            valid &= self.schema(part, &path.child("allOf").index(index), &place);
        }
        if let Some(items) = schema.items() {
            let is_map = schema.extensions().list_type == Some(ListType::Map);
            let uncorrelatable = if is_map { place.uncorrelatable } else { Some(&*within) };
            let place = child(element, uncorrelatable);
            valid &= self.schema(items, &path.child("items"), &place);
        }
        valid
    }

    /// Checks the fields of a rule that are no expressions; returns whether they are valid.
    fn fields(&mut self, rule: &ValidationRule, schema: &Schema, path: &Path<'_>) -> bool {
        let before = self.errors.len();
        let ValidationRule {
            rule: text, message, message_expression, reason, field_path: at, ..
        } = rule;
        if text.trim().is_empty() {
            self.errors.push(FieldError::required(&path.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            self.invalid(path, "message", message, "must be non-empty if specified");
        } else if has_line_breaks(message.trim()) {
            self.invalid(path, "message", message, "must not contain line breaks");
        } else if has_line_breaks(text.trim()) && message.trim().is_empty() {
            let words = "message must be specified if rule contains line breaks";
            self.errors.push(FieldError::required(&path.child("message"), words));
        }
        if !message_expression.is_empty() && message_expression.trim().is_empty() {
            let words = "messageExpression must be non-empty if specified";
            self.errors.push(FieldError::required(&path.child("messageExpression"), words));
        }
        if let Some(reason) = reason
            && REASONS.iter().all(|(name, _)| **name != **reason)
        {
            let names = REASONS.map(|(name, _)| name);
            self.errors.push(FieldError::not_supported(&path.child("reason"), reason, &names));
        }
        if !at.is_empty() {
            if at.trim().is_empty() {
                self.invalid(path, "fieldPath", at, "must be non-empty if specified");
            }
            if has_line_breaks(at) {
                self.invalid(path, "fieldPath", at, "must not contain line breaks");
            }
            if field_path(at, schema, false).is_err() {
                self.invalid(path, "fieldPath", at, "must be a valid path");
            }
        }
        self.errors.len() == before
    }

    fn invalid(&mut self, path: &Path<'_>, field: &str, text: &str, words: &str) {
        self.errors.push(FieldError::invalid_text(&path.child(field), text, words));
    }

    /// Checks the expressions of a rule.
    fn rule(&mut self, rule: &ValidationRule, schema: &Schema, path: &Path<'_>, place: &Place<'_>) {
        if self.errors.is_full() {
            return;
        }
        let Some(declaration) = &place.declaration else {
            let words = "unable to convert structural schema to CEL declarations";
            self.errors.push(FieldError::new(path, FieldErrorType::Internal, words));
            return;
        };
        match compile(rule, schema, declaration) {
            Ok(compiled) => self.compiled(rule, &compiled, declaration, path, place),
            Err(RuleError::Rule(words)) => {
                self.errors.push(invalid_rule(&path.child("rule"), rule, words));
            }
            Err(RuleError::MessageExpression(words)) => {
                self.errors.push(invalid_rule(&path.child("messageExpression"), rule, words));
            }
        }
    }

    fn compiled(
        &mut self,
        rule: &ValidationRule,
        compiled: &Rule,
        declaration: &Declaration,
        path: &Path<'_>,
        place: &Place<'_>,
    ) {
        let times = place.cardinality.unwrap_or(MOST_REQUEST / (declaration.least_size + 1));
        let cost = compiled.program.most_cost.saturating_mul(times);
        let message_cost = compiled.message_program.as_ref().map_or(0, |program| program.most_cost);
        if place.is_costed {
            self.observe(&path.child("rule"), cost, "estimated rule cost");
            let at = path.child("messageExpression");
            self.observe(&at, message_cost, "estimated messageExpression cost");
        }
        if compiled.program.uses_old_self {
            if let Some(within) = place.uncorrelatable {
                let words = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                );
                self.errors.push(FieldError::invalid_text(&path.child("rule"), &rule.rule, words));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let words = "may not be set if oldSelf is not used in rule";
            let path = path.child("optionalOldSelf");
            self.errors.push(FieldError::invalid(&path, &Value::Bool(optional), words));
        }
    }

    fn observe(&mut self, path: &Path<'_>, cost: u64, name: &str) {
        if cost > MOST_RULE_COST {
            let words = cost_words(name, cost, MOST_RULE_COST);
            self.errors.push(FieldError::forbidden(path, words));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= MOST_SCHEMA_COST / 100 {
            self.expensive.push((cost, path.to_string()));
            self.expensive.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.expensive.truncate(4);
        }
    }

    fn finish(mut self, path: &Path<'_>) -> Errors {
        if self.total > MOST_SCHEMA_COST {
            for (_, path) in &self.expensive {
                let words = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                self.errors.push(FieldError::forbidden(&Path::root(path), words));
            }
            let name =
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            let words = cost_words(name, self.total, MOST_SCHEMA_COST);
            self.errors.push(FieldError::forbidden(path, words));
        }
        self.errors
    }
}

/// How many values of what is below a schema an object can have.
fn cardinality(schema: &Schema, of_schema: Option<u64>) -> Option<u64> {
    let bound = |most: Option<i64>| most.map(|most| u64::try_from(most).unwrap_or(0));
    let elements = match schema.type_ {
        Type::Object if schema.additional_properties.is_some() => {
            bound(schema.values().max_properties)?
        }
        Type::Array => bound(schema.values().max_items)?,
        _ => 1,
    };
    Some(of_schema?.saturating_mul(elements))
}

#[expect(clippy::cast_precision_loss, reason = "a factor is shown with one digit")]
fn cost_words(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// An error with the rule as its value, as Kubernetes prints the type.
fn invalid_rule(path: &Path<'_>, rule: &ValidationRule, words: String) -> FieldError {
    let text = |text: &str| crate::error::json(&Value::from(text));
    let reason = rule.reason.as_deref().map_or("null".to_owned(), text);
    let optional = rule.optional_old_self.map_or(Value::Null, Value::Bool);
    let value = format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{reason},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path),
        printed(&optional),
    );
    FieldError::new(path, FieldErrorType::Invalid(value), words)
}
