//! Writes the condition `Dangling` of FlowSchemas: whether the level that they refer to exists.

use evenkeel_fairness::dialect::kubernetes::FlowSchema;
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{config::Objects, defaults::AT_ONCE};
use crate::{
    api::Api,
    chain::actor::Actor,
    document,
    identity::actors,
    kinds::{FLOW_SCHEMA, Part, read::entry},
    registry::{Edit, Result, UpdateStrategy},
};

const DANGLING: &str = "Dangling";

/// Whether nothing is left to be repeated. The next change of the configuration waits for this, so
/// that many conditions are written together.
pub(super) async fn write(api: &Api, objects: &Objects) -> bool {
    // They say what the configuration in force does.
    let schemas = objects.schemas.iter().filter(|_| api.fairness.is_enabled());
    let each: Vec<_> =
        schemas.map(|(name, schema)| one(api, name, condition(objects, schema))).collect();
    let done: Vec<bool> = stream::iter(each).buffer_unordered(AT_ONCE).collect().await;
    done.into_iter().all(|done| done)
}

async fn one(api: &Api, name: &str, desired: Value) -> bool {
    if stored(api, name).is_some_and(|stored| is_same(&stored, &desired)) {
        return true;
    }
    match set(api, name, &desired).await {
        Err(error) if !error.is_overtaken() => {
            tracing::warn!(flowschema = name, %error, "writing a condition failed, retrying");
            false
        }
        Ok(()) | Err(_) => true,
    }
}

/// In Kubernetes' words.
fn condition(objects: &Objects, schema: &FlowSchema) -> Value {
    let level = &*schema.spec.priority_level_configuration.name;
    let (status, reason, end) = match objects.levels.contains_key(level) {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
    };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {level:?} {end}"
    );
    json!({"type": DANGLING, "status": status, "reason": reason, "message": message})
}

fn stored(api: &Api, name: &str) -> Option<Value> {
    let object = api.storage.object(&FLOW_SCHEMA, name)?;
    let value = document::value(&FLOW_SCHEMA, &object).ok()?;
    let conditions = value["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == DANGLING).cloned()
}

fn is_same(stored: &Value, desired: &Value) -> bool {
    ["status", "reason", "message"].iter().all(|field| stored[field] == desired[field])
}

async fn set(api: &Api, name: &str, desired: &Value) -> Result<()> {
    let actor = Actor::new(api, &actors::APISERVER);
    let edit = Edit {
        kind: &FLOW_SCHEMA,
        key: name,
        uid: None,
        version: None,
        strategy: UpdateStrategy::OfKind(Part::Status),
    };
    let now = Timestamp::now();
    actor
        .edit("patch", "status", edit, |schema| {
            put(schema, desired, now);
            Ok(())
        })
        .await
        .map(drop)
}

/// The time of the last transition changes with the status only.
fn put(schema: &mut Value, desired: &Value, now: Timestamp) {
    let conditions = entry(schema, &["status", "conditions"]);
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let found = conditions.iter().position(|condition| condition["type"] == DANGLING);
    let before = found.map(|at| conditions.remove(at)).unwrap_or_default();
    let mut condition = desired.clone();
    condition["lastTransitionTime"] = match before["status"] == desired["status"] {
        true => before["lastTransitionTime"].clone(),
        false => now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
    };
    conditions.push(condition);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_until_its_status_changes() {
        let (first, second) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
        let condition = |status: &str, reason: &str| json!({"type": DANGLING, "status": status, "reason": reason});
        let mut schema = json!({});
        put(&mut schema, &condition("True", "NotFound"), first);
        put(&mut schema, &condition("True", "Other"), second);
        let stored = schema["status"]["conditions"][0].clone();
        assert_eq!(stored["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(stored["reason"], "Other");
        put(&mut schema, &condition("False", "Found"), second);
        assert_ne!(schema["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(schema["status"]["conditions"].as_array().unwrap().len(), 1);
    }
}
