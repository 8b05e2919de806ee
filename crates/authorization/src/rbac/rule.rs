//! One rule of a role.

use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

use crate::quote::QuotedList;

/// Verbs on resources, or on paths that are no resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub resource_names: Vec<String>,
    pub non_resource_urls: Vec<String>,
}

// === impl Rule ===

impl Rule {
    /// Reads a stored rule. One with a field of another type grants nothing.
    pub fn of(value: &Value) -> Rule {
        Rule::read(value).unwrap_or_default()
    }

    /// The rules of a stored role. They may be absent.
    pub fn all_of(role: &Value) -> Vec<Rule> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.map(|rules| rules.iter().map(Rule::of).collect()).unwrap_or_default()
    }

    fn read(value: &Value) -> Option<Rule> {
        Some(Rule {
            verbs: strings(value, "verbs")?,
            api_groups: strings(value, "apiGroups")?,
            resources: strings(value, "resources")?,
            resource_names: strings(value, "resourceNames")?,
            non_resource_urls: strings(value, "nonResourceURLs")?,
        })
    }

    /// As it is stored: empty lists are left out, apart from the verbs.
    pub fn to_value(&self) -> Value {
        let mut rule = Map::new();
        rule.insert("verbs".to_owned(), list(&self.verbs));
        let others = [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        for (key, values) in others.into_iter().filter(|(_, values)| !values.is_empty()) {
            rule.insert(key.to_owned(), list(values));
        }
        Value::Object(rule)
    }
}

/// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, as messages about escalation write it.
impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Rule { verbs, api_groups, resources, resource_names, non_resource_urls } = self;
        let parts = [
            ("APIGroups", api_groups),
            ("Resources", resources),
            ("NonResourceURLs", non_resource_urls),
            ("ResourceNames", resource_names),
            ("Verbs", verbs),
        ];
        f.write_str("{")?;
        let present = parts.into_iter().filter(|(_, values)| !values.is_empty());
        for (i, (name, values)) in present.enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name}:{}", QuotedList(values))?;
        }
        f.write_str("}")
    }
}

/// Absent and `null` are empty; anything else than a list of strings is malformed.
fn strings(value: &Value, key: &str) -> Option<Vec<String>> {
    match value.as_object()?.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(values) => {
            values.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        }
    }
}

fn list(values: &[String]) -> Value {
    Value::Array(values.iter().map(|text| Value::String(text.clone())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_malformed_rule_grants_nothing() {
        let cases = [
            json!(null),
            json!("get"),
            json!([]),
            json!({"verbs": "get", "apiGroups": [""], "resources": ["pods"]}),
            json!({"verbs": ["get", 1], "apiGroups": [""], "resources": ["pods"]}),
            json!({"verbs": ["get"], "apiGroups": {"a": 1}, "resources": ["pods"]}),
        ];
        for case in cases {
            assert_eq!(Rule::of(&case), Rule::default(), "{case}");
        }
        for role in [json!(1), json!({}), json!({"rules": null}), json!({"rules": {"a": 1}})] {
            assert_eq!(Rule::all_of(&role), []);
        }
    }

    #[test]
    fn a_rule_is_stored_as_it_was_read() {
        let stored = json!({"verbs": ["get"], "apiGroups": ["", "a"], "resources": ["b/c"],
            "resourceNames": ["n"]});
        assert_eq!(Rule::of(&stored).to_value(), stored);
        let nulls = json!({"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": null});
        assert_eq!(
            Rule::of(&nulls).to_value(),
            json!({"verbs": ["get"], "nonResourceURLs": ["/x"]})
        );
    }

    #[test]
    fn a_rule_is_written_as_in_messages() {
        let rule = Rule::of(&json!({"verbs": ["get", "list"], "apiGroups": [""],
            "resources": ["pods"], "resourceNames": ["a\n"], "nonResourceURLs": ["/x"]}));
        let expected = r#"{APIGroups:[""], Resources:["pods"], NonResourceURLs:["/x"], ResourceNames:["a\n"], Verbs:["get" "list"]}"#;
        assert_eq!(rule.to_string(), expected);
        assert_eq!(Rule::default().to_string(), "{}");
    }
}
