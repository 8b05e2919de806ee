//! Policies that apply at once, merged field by field.
//!
//! Objects are merged; anything else, lists too, is replaced by the more specific. Rules of routes
//! are the exception, as in Kuma: rules with equal `matches` are one rule, all others are kept. Each
//! field remembers from which policy it came. Time is linear in the sizes of the policies; recursion
//! goes as deep as the schemas, which have passed their parsers.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};

/// The result of a merge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    pub value: Value,
    /// The name of the policy that each field comes from, by path.
    pub origins: BTreeMap<String, Arc<str>>,
}

/// A rule of routes, merged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MergedRule {
    pub(super) rule: Merged,
    /// The routes that it comes from, the most specific last.
    pub(super) routes: Vec<Arc<str>>,
}

/// Merges what policies say, the most specific last.
pub fn merge<'a>(items: impl IntoIterator<Item = (&'a Arc<str>, &'a Value)>) -> Merged {
    let mut merged = Merged { value: json!({}), origins: BTreeMap::new() };
    for (policy, value) in items {
        merged.add(policy, value);
    }
    merged
}

/// Merges the rules of routes, the most specific last. Rules keep the place of their first mention.
pub(super) fn merge_rules<'a>(
    items: impl IntoIterator<Item = (&'a Arc<str>, &'a Value)>,
) -> Vec<MergedRule> {
    let mut rules: Vec<MergedRule> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (route, value) in items {
        let list = value.get("rules").and_then(Value::as_array);
        for rule in list.into_iter().flatten().filter_map(Value::as_object) {
            let matches = rule.get("matches").filter(|matches| !matches.is_null());
            let matches = matches.map_or_else(|| "[]".to_owned(), Value::to_string);
            let place = *places.entry(matches).or_insert(rules.len());
            if place == rules.len() {
                rules.push(MergedRule { rule: merge([]), routes: Vec::new() });
            }
            let Some(merged) = rules.get_mut(place) else { continue };
            merged.rule.add(route, &Value::Object(rule.clone()));
            if merged.routes.last() != Some(route) {
                merged.routes.push(route.clone());
            }
        }
    }
    rules
}

impl Merged {
    fn add(&mut self, policy: &Arc<str>, value: &Value) {
        let Value::Object(new) = value else { return };
        if !self.value.is_object() {
            self.value = json!({});
        }
        let Value::Object(old) = &mut self.value else { return };
        add_fields(old, new, policy, &mut String::new(), &mut self.origins);
    }
}

fn add_fields(
    old: &mut Map<String, Value>,
    new: &Map<String, Value>,
    policy: &Arc<str>,
    path: &mut String,
    origins: &mut BTreeMap<String, Arc<str>>,
) {
    for (name, value) in new.iter().filter(|(_, value)| !value.is_null()) {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        match (old.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                add_fields(old, new, policy, path, origins);
            }
            (_, Value::Object(new)) => {
                let mut added = Map::new();
                origins.insert(path.clone(), policy.clone());
                add_fields(&mut added, new, policy, path, origins);
                old.insert(name.clone(), Value::Object(added));
            }
            _ => {
                origins.insert(path.clone(), policy.clone());
                old.insert(name.clone(), value.clone());
            }
        }
        path.truncate(length);
    }
}
