//! The rules of a schema, compiled, and the check of an object against them.
//!
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go` for the walk, the words
//! and the budget, `k8s.io/apiserver/pkg/cel/common/equality.go` for what is ratcheted: an update
//! may keep a value that breaks a rule, if neither it nor what is around it is changed.

use std::{cell::OnceCell, collections::HashMap, rc::Rc, sync::Arc};

use serde_json::{Map as Object, Value as Json};

use super::{
    declaration::{Declaration, declare},
    eval::{Failure, MOST_OBJECT_COST, Meter, Variables, evaluate},
    program::Program,
    rule::{Reason, Rule, RuleError, compile},
    value::{Value, of_data},
};
use crate::{
    error::{Errors, FieldError, FieldErrorType, printed},
    path::Path,
    schema::{ListType, Schema},
};

/// Kubernetes' `MaxEvaluatedMessageExpressionSizeBytes`.
const MOST_MESSAGE: usize = 5 * 1024;

/// The rules of a schema and of what is in it; parts of a schema without rules are left out.
#[derive(Debug, Default)]
pub(super) struct Node {
    rules: Vec<Result<Rule, String>>,
    declaration: Option<Arc<Declaration>>,
    /// The type in the schema, which stands for the value in errors of evaluation.
    type_: Box<str>,
    properties: Vec<(Box<str>, Node)>,
    values: Option<Box<Node>>,
    items: Option<Box<Node>>,
    all_of: Vec<Node>,
    /// The keys of the items, if it is a list of which they are found in the old object.
    keys: Option<Vec<Box<str>>>,
}

/// Compiles the rules of a schema; nothing if there are none.
pub(super) fn compile_schema(schema: &Schema) -> Option<Node> {
    let declaration = if super::has_rules(schema) { declare(schema, true) } else { None };
    node(schema, schema, declaration)
}

/// Compiles the rules of `rules`, which is `schema` or a part of its `allOf`.
fn node(rules: &Schema, schema: &Schema, declaration: Option<Arc<Declaration>>) -> Option<Node> {
    if !super::has_rules(rules) {
        return None;
    }
    let declared = declaration.as_ref()?;
    let compiled =
        rules.extensions().validations.iter().filter(|rule| !rule.rule.trim().is_empty());
    let compiled = compiled.map(|rule| {
        compile(rule, schema, declared).map_err(|error| match error {
            RuleError::Rule(words) | RuleError::MessageExpression(words) => words,
        })
    });
    let element = declared.element().cloned();
    let properties = rules.properties.iter().filter_map(|(name, property)| {
        let of_schema = schema.properties.get(name)?;
        let declared = declared.property(name).cloned();
        let declared = declared.or_else(|| declare(of_schema, of_schema.embedded_resource));
        Some((name.into(), node(property, of_schema, declared)?))
    });
    let below = |rules: Option<&Schema>, schema: Option<&Schema>| {
        node(rules?, schema?, element.clone()).map(Box::new)
    };
    let extensions = schema.extensions();
    Some(Node {
        rules: compiled.collect(),
        type_: schema.type_.as_str().into(),
        properties: properties.collect(),
        values: below(rules.additional_properties(), schema.additional_properties()),
        items: below(rules.items(), schema.items()),
        all_of: rules
            .values()
            .all_of
            .iter()
            .filter_map(|part| node(part, schema, declaration.clone()))
            .collect(),
        keys: (extensions.list_type == Some(ListType::Map))
            .then(|| extensions.list_map_keys.clone()),
        declaration,
    })
}

/// Checks an object against compiled rules.
pub(super) fn validate(node: &Node, new: &Json, old: Option<&Json>) -> super::Outcome {
    let mut walk = Walk {
        outcome: super::Outcome::default(),
        meter: Meter::new(),
        budget: MOST_OBJECT_COST,
        ended: false,
    };
    let correlation = old.map(|old| Correlation { new, old, equal: OnceCell::new() });
    walk.value(
        node,
        &Path::root(""),
        new,
        old,
        Ratchet { here: correlation.as_ref(), around: None },
    );
    walk.outcome
}

struct Walk {
    outcome: super::Outcome,
    meter: Meter,
    budget: u64,
    /// Whether the budget is used up.
    ended: bool,
}

/// A value and what it was.
struct Correlation<'a> {
    new: &'a Json,
    old: &'a Json,
    equal: OnceCell<bool>,
}

/// What decides whether a rule that fails is an error: nothing has changed here, or in the nearest
/// value around it whose old value is known.
#[derive(Clone, Copy)]
struct Ratchet<'a> {
    here: Option<&'a Correlation<'a>>,
    around: Option<&'a Correlation<'a>>,
}

impl Ratchet<'_> {
    fn is_unchanged(&self) -> bool {
        let nearest = self.here.or(self.around);
        nearest.is_some_and(|nearest| *nearest.equal.get_or_init(|| nearest.new == nearest.old))
    }
}

impl Walk {
    fn value(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        new: &Json,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) {
        if new.is_null() || self.ended {
            return;
        }
        self.rules(node, path, new, old.filter(|old| !old.is_null()), ratchet);
        for part in &node.all_of {
            self.value(part, path, new, old, Ratchet { here: None, around: ratchet.around });
        }
        match new {
            Json::Array(items) => self.items(node, path, items, old, ratchet),
            Json::Object(map) => self.entries(node, path, map, old, ratchet),
            _ => {}
        }
    }

    fn entries(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        map: &Object<String, Json>,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) {
        let child = |name: &str| old.and_then(|old| old.get(name));
        if let Some(values) = &node.values {
            for (name, value) in map {
                self.child(values, &path.key(name), value, child(name), ratchet);
            }
        }
        for (name, property) in &node.properties {
            let Some(value) = map.get(&**name) else { continue };
            let is_type = path.is_root() && matches!(&**name, "apiVersion" | "kind");
            // Both objects were converted to one version: what these were is not known.
            let ratchet = if is_type { Ratchet { here: None, around: None } } else { ratchet };
            self.child(property, &path.child(name), value, child(name), ratchet);
        }
    }

    fn items(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        items: &[Json],
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) {
        let Some(item_node) = &node.items else { return };
        let old_items = match (&node.keys, old) {
            (Some(keys), Some(Json::Array(old))) => {
                old.iter().map(|item| (identity(item, keys), item)).collect()
            }
            _ => HashMap::new(),
        };
        for (index, item) in items.iter().enumerate() {
            let keys = node.keys.as_ref().filter(|_| !old_items.is_empty());
            let old = keys.and_then(|keys| old_items.get(&identity(item, keys)).copied());
            self.child(item_node, &path.index(index), item, old, ratchet);
        }
    }

    fn child(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        new: &Json,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) {
        if ratchet.here.is_none() {
            return self.value(node, path, new, old, ratchet);
        }
        let correlation = old.map(|old| Correlation { new, old, equal: OnceCell::new() });
        let ratchet = Ratchet { here: correlation.as_ref(), around: ratchet.here };
        self.value(node, path, new, old, ratchet);
    }

    fn rules(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        new: &Json,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) {
        let Some(declaration) = node.declaration.as_deref().filter(|_| !node.rules.is_empty())
        else {
            return;
        };
        if self.budget == 0 {
            return self.out_of_budget(node, path);
        }
        let old_this = old.map(|old| of_data(old, declaration)).transpose();
        let values = of_data(new, declaration).and_then(|this| Ok((this, old_this?)));
        for rule in &node.rules {
            if self.ended {
                return;
            }
            match (rule, &values) {
                (Err(words), _) => self.error(node, path, format!("rule compile error: {words}")),
                (Ok(rule), _) if rule.is_skipped(old.is_none()) => {}
                (Ok(rule), Err(failure)) => self.failed(node, path, rule, failure),
                (Ok(rule), Ok((this, old_this))) => {
                    let optional = || Value::Optional(old_this.clone().map(Rc::new));
                    let old_this =
                        if rule.optional_old_self { Some(optional()) } else { old_this.clone() };
                    let variables = Variables { this: this.clone(), old_this };
                    self.rule(node, path, rule, &variables, new, ratchet);
                }
            }
        }
    }

    fn rule(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        rule: &Rule,
        variables: &Variables<'_>,
        new: &Json,
        ratchet: Ratchet<'_>,
    ) {
        let result = evaluate(&rule.program, variables, &mut self.meter);
        let Some(budget) = self.budget.checked_sub(self.meter.cost()) else {
            return self.out_of_budget(node, path);
        };
        self.budget = budget;
        match result {
            Ok(Value::Bool(true)) => {}
            Ok(_) => self.broken(node, path, rule, variables, new, ratchet),
            Err(failure) => self.failed(node, path, rule, &failure),
        }
    }

    /// Reports a rule that is not met.
    fn broken(
        &mut self,
        node: &Node,
        path: &Path<'_>,
        rule: &Rule,
        variables: &Variables<'_>,
        new: &Json,
        ratchet: Ratchet<'_>,
    ) {
        let mut error_type = None;
        let message = match &rule.message_program {
            Some(program) => match self.message(program, variables) {
                Ok(message) => message,
                Err(words) => {
                    self.ended = true;
                    error_type = Some(FieldErrorType::Invalid(printed(&Json::from(&*node.type_))));
                    Some(words)
                }
            },
            None => None,
        };
        let detail = message.unwrap_or_else(|| {
            if rule.has_message {
                rule.text.to_string()
            } else {
                format!("failed rule: {}", rule.text)
            }
        });
        let is_container = matches!(&*node.type_, "object" | "array");
        let value = || if is_container { String::new() } else { printed(new) };
        let (error_type, detail) = match (error_type, rule.reason) {
            (Some(type_), _) => (type_, detail),
            (None, Reason::Invalid) => (FieldErrorType::Invalid(value()), detail),
            (None, Reason::Forbidden) => (FieldErrorType::Forbidden, detail),
            (None, Reason::Required) => (FieldErrorType::Required, detail),
            (None, Reason::Duplicate) => (FieldErrorType::Duplicate(value()), String::new()),
        };
        let error = match &*rule.field_path {
            "" => FieldError::new(path, error_type, detail),
            field => FieldError::new(&path.child(field), error_type, detail),
        };
        let is_ratcheted = !rule.program.uses_old_self && ratchet.is_unchanged();
        let errors =
            if is_ratcheted { &mut self.outcome.warnings } else { &mut self.outcome.errors };
        errors.push(error);
    }

    /// The message of `messageExpression`; nothing if it gives none that can be shown. The error
    /// ends the check.
    fn message(
        &mut self,
        program: &Program,
        variables: &Variables<'_>,
    ) -> Result<Option<String>, String> {
        let result = evaluate(program, variables, &mut self.meter);
        let Some(budget) = self.budget.checked_sub(self.meter.cost()) else {
            return Err("messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run".to_owned());
        };
        self.budget = budget;
        match result {
            Ok(Value::String(text)) => {
                let text = text.trim();
                let is_shown =
                    !text.is_empty() && text.len() <= MOST_MESSAGE && !text.contains('\n');
                Ok(is_shown.then(|| text.to_owned()))
            }
            Ok(_) | Err(Failure::Error(_)) => Ok(None),
            Err(Failure::Cancelled) => Err("no further validation rules will be run due to call cost exceeds limit for messageExpression".to_owned()),
        }
    }

    /// Reports a rule that could not be evaluated.
    fn failed(&mut self, node: &Node, path: &Path<'_>, rule: &Rule, failure: &Failure) {
        let text = &rule.text;
        let words = match failure {
            Failure::Cancelled => {
                self.ended = true;
                format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {text}"
                )
            }
            Failure::Error(words) if words.starts_with("no such overload") => format!(
                "'{words}': call arguments did not match a supported operator, function or macro signature for rule: {text}"
            ),
            Failure::Error(words) => format!("{words} evaluating rule: {text}"),
        };
        self.error(node, path, words);
    }

    fn out_of_budget(&mut self, node: &Node, path: &Path<'_>) {
        self.ended = true;
        let words = "validation failed due to running out of cost budget, no further validation rules will be run";
        self.error(node, path, words.to_owned());
    }

    fn error(&mut self, node: &Node, path: &Path<'_>, words: String) {
        let errors: &mut Errors = &mut self.outcome.errors;
        errors.add(|| FieldError::invalid_text(path, &node.type_, words));
    }
}

/// What an item of a map list is found by.
fn identity(item: &Json, keys: &[Box<str>]) -> String {
    keys.iter().map(|key| item[&**key].to_string()).collect::<Vec<_>>().join(",")
}
