//! What would change, in forms that carry it out.

use std::{fmt::Write, path::Path};

use evenkeel_k8s::{RawServices, convert};
use evenkeel_model::{Service, ServiceKey, harmless};
use evenkeel_topology::{
    Environment, Policy,
    whatif::{Forecasts, Patch, patch},
};
use serde_json::{Map, Value, json};

use super::{Plan, unified};
use crate::{
    cli::InputArgs,
    error::Error,
    input::Input,
    output,
    printer::{BAD, GOOD, HEADING, styled},
};

/// A Service that gets another policy.
pub(super) struct Change<'a> {
    service: &'a Service,
    from: Policy,
    to: Policy,
    why: &'a str,
    patch: Patch,
}

/// The changes that `plan` recommends, in its order.
pub(super) fn of<'a>(
    plan: &'a Plan,
    input: &'a Input,
    environment: &Environment,
) -> Vec<Change<'a>> {
    let changed = plan.services.iter().filter(|forecasts| forecasts.changes());
    let change = |forecasts: &'a Forecasts| {
        let key = ServiceKey::new(&*forecasts.namespace, &*forecasts.service);
        let service = &input.snapshot.service(&key)?.service;
        let to = forecasts.recommendation.policy;
        Some(Change {
            service,
            from: forecasts.current,
            to,
            why: &forecasts.recommendation.why.message,
            patch: patch(service, to, environment.settings(&forecasts.data_plane).gates),
        })
    };
    changed.filter_map(change).collect()
}

/// The changed Services, whole, as a List: `kubectl replace -f -` carries it out completely, while
/// `kubectl apply` would leave removed annotations in place.
pub(super) fn yaml(changes: &[Change<'_>], raw: &RawServices) -> Result<String, Error> {
    let mut text = String::new();
    for Change { service, from, to, why, .. } in changes {
        let line = format!("# {}: {from} to {to}: {why}", service.key);
        let _ = writeln!(text, "{}", harmless(&line));
    }
    let changed = changes.iter().map(|change| Ok(change.live_and_changed(raw)?.1));
    let items: Vec<Value> = changed.collect::<Result<_, Error>>()?;
    text += &output::yaml(&json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
    Ok(text)
}

/// One command a line.
pub(super) fn commands(changes: &[Change<'_>], input: &InputArgs) -> Result<String, Error> {
    let mut text = String::new();
    for Change { service, patch, .. } in changes {
        let json = serde_json::to_string(patch)
            .map_err(|error| Error::Encode { format: "JSON", problem: error.to_string() })?;
        let ServiceKey { namespace, name } = &service.key;
        // What was read from one cluster must not be changed in another.
        let flag = |name: &str, value: Option<&str>| {
            value.map_or(String::new(), |value| format!(" {name} {}", quoted(value)))
        };
        let kubeconfig = input.kubeconfig.as_deref().map(Path::to_string_lossy);
        let _ = writeln!(
            text,
            "kubectl{}{} patch svc {} -n {} --type merge -p {}",
            flag("--kubeconfig", kubeconfig.as_deref()),
            flag("--context", input.context.as_deref()),
            quoted(name),
            quoted(namespace),
            quoted(&json)
        );
    }
    Ok(text)
}

/// In the manner of `kubectl diff`; empty if nothing changes.
pub(super) fn diff(changes: &[Change<'_>], raw: &RawServices) -> Result<String, Error> {
    let mut text = String::new();
    for change in changes {
        let (live, changed) = change.live_and_changed(raw)?;
        let hunks = unified::hunks(&output::yaml(&live)?, &output::yaml(&changed)?);
        let ServiceKey { namespace, name } = &change.service.key;
        let file = format!("v1.Service.{namespace}.{name}");
        let file = harmless(&file);
        let heading =
            format!("diff -u -N LIVE/{file} PLANNED/{file}\n--- LIVE/{file}\n+++ PLANNED/{file}");
        let _ = writeln!(text, "{}", styled(HEADING, heading));
        for line in hunks.lines() {
            let line = match line.as_bytes().first() {
                Some(b'+') => styled(GOOD, line),
                Some(b'-') => styled(BAD, line),
                _ => line.to_owned(),
            };
            let _ = writeln!(text, "{line}");
        }
    }
    Ok(text)
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

// === impl Change ===

impl Change<'_> {
    /// The Service as it was read, and once it is changed. What the server keeps itself is left out.
    fn live_and_changed(&self, raw: &RawServices) -> Result<(Value, Value), Error> {
        let changed_meanwhile = || Error::ServiceChanged { key: self.service.key.to_string() };
        let mut live = raw.get(&self.service.key).cloned().ok_or_else(changed_meanwhile)?;
        live.remove("status");
        let live = Value::Object(live);
        // Services and their fields are read one after the other.
        let typed = serde_json::from_value(live.clone()).ok();
        let read = typed.and_then(|typed| convert::service(&typed).ok());
        if !read.is_some_and(|read| self.patch.apply(&read) == self.patch.apply(self.service)) {
            return Err(changed_meanwhile());
        }
        let patch = serde_json::to_value(&self.patch)
            .map_err(|error| Error::Encode { format: "JSON", problem: error.to_string() })?;
        let mut changed = live.clone();
        merge(&mut changed, patch);
        if changed.pointer("/metadata/annotations") == Some(&json!({})) {
            merge(&mut changed, json!({"metadata": {"annotations": null}}));
        }
        Ok((live, changed))
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
