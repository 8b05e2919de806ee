//! Label selectors of aggregation rules.

use std::collections::BTreeMap;

use serde_json::Value;

/// `matchLabels` and `matchExpressions`, all of which must hold. Without any, all labels match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

// === impl Selector ===

impl Selector {
    /// `None` if it is not a selector that the API accepts.
    pub fn of(value: &Value) -> Option<Selector> {
        let value = value.as_object()?;
        let mut requirements = Vec::new();
        match value.get("matchLabels") {
            None | Some(Value::Null) => {}
            Some(labels) => {
                for (key, value) in labels.as_object()? {
                    let operator = Operator::In(vec![value.as_str()?.to_owned()]);
                    requirements.push(Requirement { key: key.clone(), operator });
                }
            }
        }
        match value.get("matchExpressions") {
            None | Some(Value::Null) => {}
            Some(expressions) => {
                for expression in expressions.as_array()? {
                    requirements.push(Requirement::of(expression)?);
                }
            }
        }
        Some(Selector { requirements })
    }

    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(labels))
    }
}

// === impl Requirement ===

impl Requirement {
    fn of(value: &Value) -> Option<Requirement> {
        let values = match value.get("values") {
            None | Some(Value::Null) => Vec::new(),
            Some(values) => {
                let texts = values.as_array()?.iter();
                texts.map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
        };
        let operator = match (value.get("operator")?.as_str()?, values.is_empty()) {
            ("In", false) => Operator::In(values),
            ("NotIn", false) => Operator::NotIn(values),
            ("Exists", true) => Operator::Exists,
            ("DoesNotExist", true) => Operator::DoesNotExist,
            _ => return None,
        };
        Some(Requirement { key: value.get("key")?.as_str()?.to_owned(), operator })
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_match_as_in_kubernetes() {
        let labels = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        let expression = |operator: &str, key: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let cases = [
            (json!({}), Some(true)),
            (json!({"matchLabels": null, "matchExpressions": []}), Some(true)),
            (json!({"matchLabels": {"a": "1"}}), Some(true)),
            (json!({"matchLabels": {"a": "2"}}), Some(false)),
            (json!({"matchLabels": {"a": "1", "b": "1"}}), Some(false)),
            (expression("In", "a", json!(["2", "1"])), Some(true)),
            (expression("In", "b", json!(["1"])), Some(false)),
            (expression("NotIn", "a", json!(["1"])), Some(false)),
            (expression("NotIn", "b", json!(["1"])), Some(true)),
            (expression("Exists", "a", json!(null)), Some(true)),
            (expression("DoesNotExist", "a", json!([])), Some(false)),
            (expression("In", "a", json!([])), None),
            (expression("Exists", "a", json!(["1"])), None),
            (expression("Is", "a", json!(["1"])), None),
            (json!({"matchLabels": {"a": 1}}), None),
            (json!([]), None),
        ];
        for (value, expected) in cases {
            let matches = Selector::of(&value).map(|selector| selector.matches(&labels));
            assert_eq!(matches, expected, "{value}");
        }
    }
}
