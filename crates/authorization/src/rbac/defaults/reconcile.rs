//! What is to be done with a default object, given the one that is stored.

use serde_json::{Map, Value};

use super::AUTO_UPDATE;
use crate::rbac::{Rule, single::uncovered};

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Nothing,
    Create(Value),
    /// Replace what is stored. The object is the stored one with what it lacked.
    Update(Value),
    /// Delete what is stored and create this: the role of a binding can't be changed.
    Recreate(Value),
}

/// Compares what is stored with a default object.
pub fn reconcile(existing: Option<&Value>, default: &Value) -> Action {
    let Some(existing) = existing else { return Action::Create(default.clone()) };
    let auto_update =
        existing.pointer("/metadata/annotations").and_then(|all| all.get(AUTO_UPDATE));
    if auto_update.and_then(Value::as_str) == Some("false") {
        return Action::Nothing;
    }
    let is_binding = default.get("roleRef").is_some();
    if is_binding && role_ref(existing) != role_ref(default) {
        return Action::Recreate(default.clone());
    }
    let mut updated = existing.clone();
    let mut changed = false;
    for key in ["annotations", "labels"] {
        changed |= add_entries(&mut updated, default, key);
    }
    changed |= match is_binding {
        true => add_subjects(&mut updated, default),
        false => add_rules(&mut updated, default) | add_selectors(&mut updated, default),
    };
    if changed { Action::Update(updated) } else { Action::Nothing }
}

fn role_ref(binding: &Value) -> Option<[&str; 3]> {
    let to = binding.get("roleRef")?;
    let text = |key: &str| to.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(["apiGroup", "kind", "name"].map(text))
}

/// Adds annotations or labels that are missing. Existing values stay.
fn add_entries(updated: &mut Value, default: &Value, key: &str) -> bool {
    let wanted = default.get("metadata").and_then(|metadata| metadata.get(key));
    let Some(wanted) = wanted.and_then(Value::as_object) else { return false };
    let Some(own) = object(updated, "metadata").and_then(|metadata| object_in(metadata, key))
    else {
        return false;
    };
    let before = own.len();
    for (key, value) in wanted {
        own.entry(key.clone()).or_insert_with(|| value.clone());
    }
    own.len() > before
}

/// Adds single rights that the rules lack.
fn add_rules(updated: &mut Value, default: &Value) -> bool {
    let missing = uncovered(&Rule::all_of(updated), &Rule::all_of(default));
    let any = !missing.is_empty();
    if let Some(rules) = any.then(|| list(updated, "rules")).flatten() {
        rules.extend(missing.iter().map(Rule::to_value));
    }
    any
}

fn add_selectors(updated: &mut Value, default: &Value) -> bool {
    const KEY: &str = "clusterRoleSelectors";
    let existing = updated.get("aggregationRule").filter(|rule| !rule.is_null());
    let wanted = default.get("aggregationRule").and_then(|rule| rule.get(KEY));
    let Some(wanted) = wanted.and_then(Value::as_array) else {
        let is_aggregated = existing.is_some();
        if let Some(role) = updated.as_object_mut().filter(|_| is_aggregated) {
            role.remove("aggregationRule");
        }
        return is_aggregated;
    };
    let own = existing.and_then(|rule| rule.get(KEY)).and_then(Value::as_array);
    let has = |selector: &Value| own.is_some_and(|own| own.contains(selector));
    let missing: Vec<Value> = wanted.iter().filter(|selector| !has(selector)).cloned().collect();
    let any = !missing.is_empty();
    let role = updated.as_object_mut().filter(|_| any);
    let rule = role.and_then(|role| object_in(role, "aggregationRule"));
    if let Some(selectors) = rule.and_then(|rule| list_in(rule, KEY)) {
        selectors.extend(missing);
    }
    any
}

fn add_subjects(updated: &mut Value, default: &Value) -> bool {
    let of = |binding: &Value| -> Vec<Value> {
        binding.get("subjects").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let own = of(updated);
    let mut missing: Vec<Value> = Vec::new();
    for subject in of(default) {
        let same = |other: &Value| {
            let text = |value: &Value, key: &str| {
                value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let keys = ["kind", "apiGroup", "name", "namespace"];
            keys.iter().all(|key| text(other, key) == text(&subject, key))
        };
        if !own.iter().chain(&missing).any(same) {
            missing.push(subject);
        }
    }
    let any = !missing.is_empty();
    if let Some(subjects) = any.then(|| list(updated, "subjects")).flatten() {
        subjects.extend(missing);
    }
    any
}

fn object<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    object_in(value.as_object_mut()?, key)
}

/// The object under a key, which takes the place of anything else.
fn object_in<'a>(of: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = of.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

fn list<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Vec<Value>> {
    list_in(value.as_object_mut()?, key)
}

/// The list under a key, which takes the place of anything else.
fn list_in<'a>(of: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Vec<Value>> {
    let value = of.entry(key).or_insert(Value::Null);
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut()
}
