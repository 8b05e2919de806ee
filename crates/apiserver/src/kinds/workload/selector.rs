//! Label selectors in objects: matching, and their text form. Source:
//! `k8s.io/apimachinery/pkg/labels/selector.go`, `LabelSelectorAsSelector`.

use std::fmt;

use serde_json::{Value, json};

use crate::kinds::{
    names,
    read::{entries, list, text},
};

/// A valid selector.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// An absent selector: matches nothing.
    Nothing,
    /// All must match; an empty list matches everything.
    All(Vec<Requirement>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

// === impl Selector ===

impl Selector {
    /// `None` if the selector is invalid.
    pub(crate) fn parse(selector: &Value) -> Option<Selector> {
        if !selector.is_object() {
            return Some(Selector::Nothing);
        }
        let mut requirements = Vec::new();
        for (key, value) in entries(selector, &["matchLabels"]) {
            let values = vec![value.as_str().unwrap_or_default().to_owned()];
            requirements.push(Requirement {
                key: key.to_owned(),
                operator: Operator::Equals,
                values,
            });
        }
        for expression in list(selector, &["matchExpressions"]) {
            requirements.push(Requirement::parse(expression)?);
        }
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        requirements.iter().all(Requirement::is_sound).then_some(Selector::All(requirements))
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Selector::All(requirements) if requirements.is_empty())
    }

    pub(crate) fn matches(&self, labels: &Value) -> bool {
        match self {
            Selector::Nothing => false,
            Selector::All(requirements) => requirements.iter().all(|one| one.matches(labels)),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Selector::All(requirements) = self else { return Ok(()) };
        for (i, requirement) in requirements.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

// === impl Requirement ===

impl Requirement {
    fn parse(expression: &Value) -> Option<Requirement> {
        let operator = match text(expression, &["operator"]) {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        };
        let value = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let values = list(expression, &["values"]).iter().map(value).collect();
        Some(Requirement { key: text(expression, &["key"]).to_owned(), operator, values })
    }

    fn is_sound(&self) -> bool {
        let counts = match self.operator {
            Operator::Equals => self.values.len() == 1,
            Operator::In | Operator::NotIn => !self.values.is_empty(),
            Operator::Exists | Operator::DoesNotExist => self.values.is_empty(),
        };
        let values = self.values.iter().all(|value| names::label_value(value).is_empty());
        counts && values && names::qualified_name(&self.key).is_empty()
    }

    fn matches(&self, labels: &Value) -> bool {
        let label = labels.get(&self.key).map(|label| label.as_str().unwrap_or_default());
        let listed = || label.is_some_and(|label| self.values.iter().any(|value| value == label));
        match self.operator {
            Operator::Equals | Operator::In => listed(),
            Operator::NotIn => !listed(),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirement { key, operator, values } = self;
        let mut values = values.clone();
        values.sort_unstable();
        let values = values.join(",");
        match operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

/// A selector as JSON in declaration order, as shown in errors.
pub(crate) fn printed(selector: &Value) -> String {
    if !selector.is_object() {
        return "null".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(labels) = selector["matchLabels"].as_object().filter(|labels| !labels.is_empty()) {
        parts.push(format!("\"matchLabels\":{}", json!(labels)));
    }
    if !list(selector, &["matchExpressions"]).is_empty() {
        parts.push(format!("\"matchExpressions\":{}", selector["matchExpressions"]));
    }
    format!("{{{}}}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_and_read_as_kubernetes_has_them() {
        let labels = json!({"app": "a", "tier": "web"});
        for (selector, shown, matches) in [
            (json!({}), "", true),
            (json!({"matchLabels": {"app": "a"}}), "app=a", true),
            (json!({"matchLabels": {"app": "b"}}), "app=b", false),
            (
                json!({"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]}),
                "app=a,app in (a,b)",
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["1"]}]}),
                "x notin (1)",
                true,
            ),
            (json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}), "tier", true),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
                "!tier",
                false,
            ),
        ] {
            let parsed = Selector::parse(&selector).unwrap();
            assert_eq!(
                (parsed.to_string().as_str(), parsed.matches(&labels)),
                (shown, matches),
                "{selector}"
            );
        }
        assert!(!Selector::parse(&Value::Null).unwrap().matches(&labels));
        for bad in [
            json!({"matchExpressions": [{"key": "x", "operator": "Like", "values": ["1"]}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "x", "operator": "Exists", "values": ["1"]}]}),
            json!({"matchLabels": {"bad key": "a"}}),
        ] {
            assert_eq!(Selector::parse(&bad), None, "{bad}");
        }
    }
}
