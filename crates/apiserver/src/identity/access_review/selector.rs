//! The selectors of a review. One that can't be understood is ignored, in whole or in part, and the
//! answer says so: without it the question is a broader one.
//!
//! Source: `pkg/registry/authorization/util` of Kubernetes.

use evenkeel_model::labels::LabelSelector;
use evenkeel_store::selector::FieldSelector;
use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        metadata::invalid,
        names,
        read::{list, text},
    },
};

/// How much of a selector is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ignored {
    Nothing,
    Part,
    All,
}

/// A field selector as in a query, as far as it was understood.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) text: String,
    pub(super) ignored: Ignored,
}

/// The errors of both selectors.
pub(super) fn validate(resource: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for name in ["fieldSelector", "labelSelector"] {
        let (selector, path) = (&resource[name], path.child(name));
        errors.extend(one_of_two(selector, &path));
        for (i, requirement) in list(selector, &["requirements"]).iter().enumerate() {
            let path = path.child("requirements").index(i);
            match name {
                "fieldSelector" => of_fields(&mut errors, requirement, &path),
                _ => of_labels(&mut errors, requirement, &path),
            }
        }
    }
    errors
}

pub(super) fn fields(selector: &Value) -> Fields {
    let raw = text(selector, &["rawSelector"]);
    if !raw.is_empty() {
        return match FieldSelector::check(raw) {
            Ok(()) => Fields { text: raw.to_owned(), ignored: Ignored::Nothing },
            Err(_) => Fields { text: String::new(), ignored: Ignored::All },
        };
    }
    let requirements = list(selector, &["requirements"]);
    let understood: Vec<String> = requirements.iter().filter_map(field_term).collect();
    let ignored = ignored(understood.len(), requirements.len());
    Fields { text: understood.join(","), ignored }
}

pub(super) fn labels_ignored(selector: &Value) -> Ignored {
    let raw = text(selector, &["rawSelector"]);
    if !raw.is_empty() {
        return match LabelSelector::parse(raw, names::LABELS) {
            Ok(_) => Ignored::Nothing,
            Err(_) => Ignored::All,
        };
    }
    let requirements = list(selector, &["requirements"]);
    // Everything else about them was validated.
    let is_known = |requirement: &&Value| {
        matches!(text(requirement, &["operator"]), "In" | "NotIn" | "Exists" | "DoesNotExist")
    };
    ignored(requirements.iter().filter(is_known).count(), requirements.len())
}

/// What the status says about selectors that were ignored, often nothing.
pub(super) fn evaluation_error(selectors: &[(&str, Ignored)]) -> String {
    let words = selectors.iter().filter_map(|(name, ignored)| {
        let partially = match ignored {
            Ignored::Nothing => return None,
            Ignored::Part => "partially ",
            Ignored::All => "",
        };
        Some(format!("spec.resourceAttributes.{name} {partially}ignored due to parse error"))
    });
    words.collect::<Vec<_>>().join("; ")
}

fn ignored(understood: usize, all: usize) -> Ignored {
    match understood {
        _ if understood == all => Ignored::Nothing,
        0 => Ignored::All,
        _ => Ignored::Part,
    }
}

/// A requirement in the form of a query: only equality with one value is possible there.
fn field_term(requirement: &Value) -> Option<String> {
    let operator = match text(requirement, &["operator"]) {
        "In" => "=",
        "NotIn" => "!=",
        _ => return None,
    };
    let [value] = list(requirement, &["values"]) else { return None };
    let value = value.as_str()?.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
    let key = text(requirement, &["key"]);
    // No field that anything is decided by has such a name, and the text has no escapes for it.
    let key = if key.contains([',', '=', '!', '\\']) { "-" } else { key };
    Some(format!("{key}{operator}{value}"))
}

fn one_of_two(selector: &Value, path: &Path) -> Option<FieldError> {
    let raw = text(selector, &["rawSelector"]);
    let has_requirements = !list(selector, &["requirements"]).is_empty();
    match (selector.is_object(), raw.is_empty(), has_requirements) {
        (true, false, true) => {
            let detail = "may not specified at the same time as requirements";
            Some(FieldError::invalid(path.child("rawSelector"), &json!(raw), detail))
        }
        (true, true, false) => {
            let selector = path.as_str();
            let detail =
                format!("when {selector} is specified, requirements or rawSelector is required");
            Some(FieldError::required(path.child("requirements"), detail))
        }
        _ => None,
    }
}

fn of_fields(errors: &mut Errors, requirement: &Value, path: &Path) {
    if text(requirement, &["key"]).is_empty() {
        errors.push(FieldError::required(path.child("key"), "must be specified"));
    }
    errors.extend(values_for_operator(requirement, path));
}

fn of_labels(errors: &mut Errors, requirement: &Value, path: &Path) {
    errors.extend(values_for_operator(requirement, path));
    let key = text(requirement, &["key"]);
    errors.extend(invalid(&path.child("key"), key, names::qualified_name(key)));
    for (i, value) in list(requirement, &["values"]).iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        let path = path.child("values").index(i);
        errors.extend(invalid(&path, value, names::label_value(value)));
    }
}

/// Operators of newer clients are allowed, and ignored.
fn values_for_operator(requirement: &Value, path: &Path) -> Option<FieldError> {
    let path = path.child("values");
    let is_empty = list(requirement, &["values"]).is_empty();
    match text(requirement, &["operator"]) {
        "In" | "NotIn" if is_empty => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            Some(FieldError::required(path, detail))
        }
        "Exists" | "DoesNotExist" if !is_empty => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            Some(FieldError::forbidden(path, detail))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_read_as_a_query() {
        let selector = |requirements: Value| json!({"requirements": requirements});
        for (selector, text, ignored) in [
            (json!({"rawSelector": "a=b,c!=d"}), "a=b,c!=d", Ignored::Nothing),
            (json!({"rawSelector": "a"}), "", Ignored::All),
            (Value::Null, "", Ignored::Nothing),
            (
                selector(json!([{"key": "a", "operator": "In", "values": ["b"]},
                    {"key": "c", "operator": "NotIn", "values": ["d=,\\"]}])),
                r"a=b,c!=d\=\,\\",
                Ignored::Nothing,
            ),
            (
                selector(json!([{"key": "a", "operator": "In", "values": ["b", "c"]},
                    {"key": "d", "operator": "In", "values": ["e"]}])),
                "d=e",
                Ignored::Part,
            ),
            (
                selector(json!([{"key": "spec.nodeName=n,x", "operator": "In", "values": ["e"]}])),
                "-=e",
                Ignored::Nothing,
            ),
        ] {
            let found = fields(&selector);
            assert_eq!((found.text.as_str(), found.ignored), (text, ignored), "{selector}");
        }
    }
}
