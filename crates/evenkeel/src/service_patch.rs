//! Patches of Services: as a command, and applied to a whole Service.

use std::path::Path;

use evenkeel_model::ServiceKey;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{cli::InputArgs, error::Error};

/// The `kubectl` command that carries out a merge patch, in one line.
pub(crate) fn command(
    key: &ServiceKey,
    patch: &impl Serialize,
    input: &InputArgs,
) -> Result<String, Error> {
    let json = serde_json::to_string(patch).map_err(|error| not_json(&error))?;
    // What was read from one cluster must not be changed in another.
    let flag = |name: &str, value: Option<&str>| {
        value.map_or(String::new(), |value| format!(" {name} {}", quoted(value)))
    };
    let kubeconfig = input.kubeconfig.as_deref().map(Path::to_string_lossy);
    Ok(format!(
        "kubectl{}{} patch svc {} -n {} --type merge -p {}\n",
        flag("--kubeconfig", kubeconfig.as_deref()),
        flag("--context", input.context.as_deref()),
        quoted(&key.name),
        quoted(&key.namespace),
        quoted(&json)
    ))
}

/// A Service once it is patched.
pub(crate) fn applied(service: &Value, patch: &impl Serialize) -> Result<Value, Error> {
    let patch = serde_json::to_value(patch).map_err(|error| not_json(&error))?;
    let mut changed = service.clone();
    merge(&mut changed, patch);
    if changed.pointer("/metadata/annotations") == Some(&json!({})) {
        merge(&mut changed, json!({"metadata": {"annotations": null}}));
    }
    Ok(changed)
}

fn not_json(error: &serde_json::Error) -> Error {
    Error::Encode { format: "JSON", problem: error.to_string() }
}

/// One word of a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, wanted) in [
            ("web", "web"),
            ("", "''"),
            (r#"{"a":null}"#, r#"'{"a":null}'"#),
            ("it's; rm -rf", r"'it'\''s; rm -rf'"),
        ] {
            assert_eq!(quoted(word), wanted);
        }
    }

    #[test]
    fn a_merge_patch_sets_and_removes() {
        let mut target = json!({"a": {"b": 1, "c": 2}, "d": 3});
        merge(&mut target, json!({"a": {"b": null, "e": {"f": null, "g": 4}}, "d": null}));
        assert_eq!(target, json!({"a": {"c": 2, "e": {"g": 4}}}));
    }
}
