//! Carries out what `evenkeel_fairness::dialect::kubernetes::maintain` decides about the default
//! objects, under the server's own identity.

use evenkeel_fairness::dialect::kubernetes::{AUTOUPDATE, Changes, maintain};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Value, json};

use super::config::Objects;
use crate::{
    api::{Api, name_of},
    chain::actor::Actor,
    identity::actors,
    kinds::{FLOW_SCHEMA, KindRef, PRIORITY_LEVEL_CONFIGURATION, Part, read::entry},
    registry::{DeleteOptions, Edit, Error, Result, UpdateStrategy},
};

/// Writes of one kind that are sent together, so that they share a sync of the disk.
pub(super) const AT_ONCE: usize = 16;

/// One write.
enum Step {
    Create(Value),
    Update(Value),
    Delete(String),
}

/// Whether nothing is left to be repeated.
pub(super) async fn write(api: &Api, objects: &Objects) -> bool {
    let levels: Vec<_> = objects.levels.values().cloned().collect();
    let schemas: Vec<_> = objects.schemas.values().cloned().collect();
    let plan = maintain(&levels, &schemas);
    // A schema must not refer to a level that does not exist yet.
    let levels = apply(api, &PRIORITY_LEVEL_CONFIGURATION, steps(plan.levels)).await;
    apply(api, &FLOW_SCHEMA, steps(plan.schemas)).await && levels
}

fn steps<T: Serialize>(changes: Changes<T>) -> Vec<Step> {
    let value = |object: &T| serde_json::to_value(object).unwrap_or_default();
    let create = changes.create.iter().map(|object| Step::Create(value(object)));
    let update = changes.update.iter().map(|object| Step::Update(value(object)));
    create.chain(update).chain(changes.delete.into_iter().map(Step::Delete)).collect()
}

async fn apply(api: &Api, kind: &'static KindRef, steps: Vec<Step>) -> bool {
    let each = stream::iter(steps.into_iter().map(|step| carry_out(api, kind, step)));
    let results: Vec<Result<()>> = each.buffer_unordered(AT_ONCE).collect().await;
    let failed = |result: Result<()>| result.err().filter(|error| !error.is_overtaken());
    let mut errors = results.into_iter().filter_map(failed);
    let Some(error) = errors.next() else { return true };
    let kind = &*kind.kind;
    tracing::warn!(kind, %error, "writing default flow control objects failed, retrying");
    false
}

async fn carry_out(api: &Api, kind: &'static KindRef, step: Step) -> Result<()> {
    let actor = Actor::new(api, &actors::APISERVER);
    match step {
        Step::Create(Value::Object(mut object)) => {
            let annotations = object["metadata"]["annotations"].take();
            let name = object["metadata"]["name"].take();
            object["metadata"] = json!({"name": name, "annotations": annotations});
            actor.create(kind, None, Value::Object(object)).await.map(drop)
        }
        Step::Update(desired) => update(&actor, kind, &desired).await,
        Step::Delete(name) => actor.delete(kind, &name, &DeleteOptions::default()).await.map(drop),
        Step::Create(_) => Err(Error::Internal("a default object is an object".to_owned())),
    }
}

/// Metadata other than the annotation belong to the user.
async fn update(actor: &Actor<'_>, kind: &'static KindRef, desired: &Value) -> Result<()> {
    let edit = Edit {
        kind,
        key: name_of(desired),
        uid: None,
        version: None,
        strategy: UpdateStrategy::OfKind(Part::Main),
    };
    let apply = |object: &mut Value| {
        object["spec"] = desired["spec"].clone();
        let annotation = &desired["metadata"]["annotations"][AUTOUPDATE];
        *entry(object, &["metadata", "annotations", AUTOUPDATE]) = annotation.clone();
        Ok(())
    };
    actor.edit("update", "", edit, apply).await.map(drop)
}
