//! Validation rules of schemas: `x-kubernetes-validations`, in CEL.
//!
//! ```text
//! text ──source──► tree ──check──► Program ──eval──► true, false or an error
//!        (cel's parser)  (types,      (within a budget; functions of kube-cel)
//!                         cost)
//! ```
//!
//! The parser is that of the `cel` crate and the functions are those of `kube-cel`. Both are
//! untyped and unbounded, so types, cost and evaluation are here: the head of `eval` says why.
//!
//! # What differs from Kubernetes 1.37
//!
//! | Feature | Kubernetes | here |
//! |---|---|---|
//! | `sortBy`, `includes`, comprehensions with two variables (`all(i, v, …)`, `transformList`, `transformMap`, `transformMapEntry`) | evaluated | refused with the definition |
//! | `timestamp.getHours(zone)` and the like with a time zone | evaluated | refused with the definition |
//! | type and undeclared errors | all of an expression | the first of an expression |
//! | the type of an object in an error | `selfType….spec` | `object` |
//! | nesting of brackets, depth of an expression | 250 | 48, and about 250 |
//! | rules of a schema | any number | 10,000 |
//! | rules within `allOf` | compiled with the first object | compiled with the definition |
//! | the cost at run time | values that are compared count by their outermost size | also by all of it: see `eval` |
//! | regular expressions | RE2 | as patterns of schemas; those of `find` and `findAll` with Unicode classes |
//! | quantities, URLs, versions, addresses, named formats | Go's | `kube-cel`'s, whose errors have other words |
//! | quantities beyond 10^24 or below a billionth | capped, rounded up | an error of the rule |
//! | `isSorted` on bytes; a quote within a string in triple quotes; literals of bytes that are raw or in triple quotes | evaluated | refused with the definition |
//! | `%e` of `format` | digits of a locale | `3.14e+00` |
//! | ratcheting | lists that are sets or maps are equal in any order | in their order |

mod check;
mod cost;
mod declaration;
mod definition;
mod equality;
mod eval;
mod field_path;
mod functions;
mod library;
mod program;
mod quantity;
mod regex;
mod rule;
mod source;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod validate;
mod value;

use std::sync::OnceLock;

use serde_json::Value;

pub use self::{definition::check_definition, field_path::field_path};
use crate::{
    error::{Errors, FieldError, FieldErrorType},
    schema::Schema,
};

/// The compiled rules of one version of a definition: compiled with the first object that is
/// checked, and kept.
#[derive(Debug, Default)]
pub struct Rules {
    compiled: OnceLock<Option<Box<validate::Node>>>,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rules that are not met, or could not be evaluated.
    pub errors: Errors,
    /// Rules that are not met by values that the update does not change.
    pub warnings: Errors,
}

impl Rules {
    /// Checks an object that is valid otherwise against the rules of its schema. On an update with
    /// the old object, of the same version. Always called with the same schema.
    pub fn validate(&self, schema: &Schema, new: &Value, old: Option<&Value>) -> Outcome {
        let compile = || validate::compile_schema(schema).map(Box::new);
        match self.compiled.get_or_init(compile) {
            Some(node) => validate::validate(node, new, old),
            None => Outcome::default(),
        }
    }
}

/// The error to add instead of those of rules, if these errors of an object keep its rules from
/// being checked.
pub fn blocked_by(errors: &Errors) -> Option<FieldError> {
    let blocks = errors.iter().any(|error| {
        matches!(
            error.type_,
            FieldErrorType::NotSupported(_)
                | FieldErrorType::Required
                | FieldErrorType::TooLong
                | FieldErrorType::TooMany(_)
                | FieldErrorType::TypeInvalid(_)
        )
    });
    blocks.then(|| FieldError {
        path: String::new(),
        type_: FieldErrorType::Invalid("null".to_owned()),
        detail: "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation".to_owned(),
    })
}

/// Whether a schema or anything in it has rules.
pub fn has_rules(schema: &Schema) -> bool {
    !schema.extensions().validations.is_empty()
        || schema.properties.iter().any(|(_, property)| has_rules(property))
        || schema.items().is_some_and(has_rules)
        || schema.additional_properties().is_some_and(has_rules)
        || schema.values().all_of.iter().any(has_rules)
}
