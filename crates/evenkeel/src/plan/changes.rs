//! What would change, in forms that carry it out.

use std::fmt::Write;

use evenkeel_k8s::{RawServices, convert};
use evenkeel_model::{Service, ServiceKey, harmless};
use evenkeel_topology::{
    Environment, Patch, Policy,
    whatif::{Forecasts, patch},
};
use serde_json::{Value, json};

use super::{Plan, unified};
use crate::{
    cli::InputArgs,
    error::Error,
    input::Input,
    output,
    printer::{BAD, GOOD, HEADING, styled},
    service_patch,
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
        text += &service_patch::command(&service.key, patch, input)?;
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
        let changed = service_patch::applied(&live, &self.patch)?;
        Ok((live, changed))
    }
}
