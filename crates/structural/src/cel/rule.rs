//! A rule of a schema, compiled.

use std::sync::Arc;

use super::{
    check::{self, OldSelf},
    declaration::Declaration,
    field_path::field_path,
    program::Program,
    types::Type,
};
use crate::schema::{Schema, ValidationRule};

/// A rule, compiled.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) program: Program,
    /// The program of `messageExpression`.
    pub(super) message_program: Option<Program>,
    /// `message`, or the text of the rule.
    pub(super) text: Box<str>,
    /// Whether the text is a message.
    pub(super) has_message: bool,
    /// The field that is reported, relative to the schema; empty for the value itself.
    pub(super) field_path: Box<str>,
    pub(super) reason: Reason,
    /// Whether the old value is optional.
    pub(super) optional_old_self: bool,
}

/// The kind of error of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Invalid,
    Forbidden,
    Required,
    Duplicate,
}

/// Why a rule cannot be compiled.
#[derive(Debug)]
pub(super) enum RuleError {
    Rule(String),
    MessageExpression(String),
}

/// The reasons that a rule may have, sorted.
pub(super) const REASONS: [(&str, Reason); 4] = [
    ("FieldValueDuplicate", Reason::Duplicate),
    ("FieldValueForbidden", Reason::Forbidden),
    ("FieldValueInvalid", Reason::Invalid),
    ("FieldValueRequired", Reason::Required),
];

impl Rule {
    /// Whether it is a transition rule that there is no old value for.
    pub(super) fn is_skipped(&self, is_new: bool) -> bool {
        is_new && self.program.uses_old_self && !self.optional_old_self
    }
}

/// Compiles a rule of a schema whose values are of a declared type.
pub(super) fn compile(
    rule: &ValidationRule,
    schema: &Schema,
    declaration: &Arc<Declaration>,
) -> Result<Rule, RuleError> {
    let optional_old_self = rule.optional_old_self == Some(true);
    let old_self = if optional_old_self { OldSelf::Optional } else { OldSelf::Plain };
    let (program, type_) = check::check(&rule.rule, declaration, old_self)
        .map_err(|issues| RuleError::Rule(format!("compilation failed: {issues}")))?;
    if !matches!(type_, Type::Bool) {
        return Err(RuleError::Rule("cel expression must evaluate to a bool".to_owned()));
    }
    let message_program = message_program(rule, declaration, old_self)?;
    let has_message = !rule.message.is_empty();
    let text = if has_message { &rule.message } else { &rule.rule };
    let reason = REASONS.iter().find(|(name, _)| Some(*name) == rule.reason.as_deref());
    let path = field_path(&rule.field_path, schema, false).map(|(path, _)| path);
    Ok(Rule {
        program,
        message_program,
        text: text.trim().into(),
        has_message,
        field_path: path.unwrap_or_default().into(),
        reason: reason.map_or(Reason::Invalid, |(_, reason)| *reason),
        optional_old_self,
    })
}

fn message_program(
    rule: &ValidationRule,
    declaration: &Arc<Declaration>,
    old_self: OldSelf,
) -> Result<Option<Program>, RuleError> {
    if rule.message_expression.is_empty() {
        return Ok(None);
    }
    let (program, type_) =
        check::check(&rule.message_expression, declaration, old_self).map_err(|issues| {
            RuleError::MessageExpression(format!("messageExpression compilation failed: {issues}"))
        })?;
    if matches!(type_, Type::String) {
        return Ok(Some(program));
    }
    Err(RuleError::MessageExpression("messageExpression must evaluate to a string".to_owned()))
}
