//! The configuration in custom resources: RequestPriorities and FlowSchemas of
//! `evenkeel.dev/v1alpha1`, the proposal's dialect.
//!
//! What is in force, and what each object is told, is decided by `evenkeel_fairness::dialect::stored`.
//! Here objects are followed, and conditions and missing objects written.

mod status;

use evenkeel_fairness::{
    config::Config,
    dialect::{
        proposal::{self, Exhibited},
        stored::{
            Examined, InForce, ObjectKey, ObjectKind, StoredObject, StoredObjects, Verdict, examine,
        },
    },
};
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{
    config::{Stored, set},
    defaults::AT_ONCE,
};
use crate::{
    api::Api,
    chain::actor::Actor,
    document,
    identity::actors,
    kinds::{KindRef, Part},
    registry::{Edit, Result, UpdateStrategy},
};

/// The stored objects, and what follows from them.
#[derive(Debug, Default)]
pub(super) struct Resources {
    objects: StoredObjects,
    /// None before the first configuration.
    in_force: Option<InForce>,
    verdicts: Vec<(ObjectKey, Verdict)>,
    missing: Exhibited,
    /// Why newer objects are not in force, as it was logged.
    error: Option<String>,
}

/// In force until the stored objects are read.
pub(super) fn without_any() -> Config {
    let examined = examine(&StoredObjects::new(), None);
    let compiled = examined.compiled.expect("no object is invalid");
    compiled.config
}

/// The kind, if it is defined.
fn kind_of(api: &Api, kind: ObjectKind) -> Option<KindRef> {
    api.catalogue.load().of_kind(proposal::API_VERSION, kind.name()).cloned()
}

impl Stored for Resources {
    const WRITES_WHAT_IS_DECIDED: bool = true;

    fn kinds(api: &Api) -> Option<[KindRef; 2]> {
        let level = kind_of(api, ObjectKind::RequestPriority)?;
        Some([kind_of(api, ObjectKind::FlowSchema)?, level])
    }

    fn restart(&mut self) {
        self.objects.clear();
    }

    fn take(&mut self, kind: &KindRef, key: Box<str>, object: Option<Value>) -> bool {
        let is_schema = kind.kind == ObjectKind::FlowSchema.name();
        let kind = if is_schema { ObjectKind::FlowSchema } else { ObjectKind::RequestPriority };
        let key = ObjectKey { kind, name: key };
        set(&mut self.objects, key, object.as_ref().map(StoredObject::new))
    }

    fn apply(&mut self, api: &Api) {
        let Examined { compiled, in_force, verdicts, problems, missing } =
            examine(&self.objects, self.in_force.as_ref());
        if let Some(compiled) = &compiled {
            api.fairness.configure(compiled);
            let Config { levels, schemas, .. } = &compiled.config;
            tracing::info!(
                levels = levels.len(),
                schemas = schemas.len(),
                "flow control configuration changed"
            );
        }
        let error = problems.first().map(ToString::to_string);
        if let Some(error) = error.as_ref().filter(|error| self.error.as_ref() != Some(error)) {
            let more = problems.len() - 1;
            tracing::warn!(error, more, "ignoring invalid flow control objects");
        }
        self.error = error;
        self.in_force = Some(in_force);
        self.verdicts = verdicts.into_iter().collect();
        self.missing = missing;
    }

    async fn write_first(&self, api: &Api) -> bool {
        self.write(api).await
    }

    async fn write(&self, api: &Api) -> bool {
        // They say what the configuration in force does.
        if !api.fairness.is_enabled() {
            return true;
        }
        let Exhibited { levels, schemas } = &self.missing;
        // A schema should not refer to a level that does not exist yet.
        let done = create(api, ObjectKind::RequestPriority, levels).await
            && create(api, ObjectKind::FlowSchema, schemas).await;
        let each: Vec<_> =
            self.verdicts.iter().map(|(key, verdict)| tell(api, key, verdict)).collect();
        let told: Vec<bool> = stream::iter(each).buffer_unordered(AT_ONCE).collect().await;
        done && told.into_iter().all(|done| done)
    }
}

async fn create<T: Serialize>(api: &Api, kind: ObjectKind, objects: &[T]) -> bool {
    let Some(kind) = kind_of(api, kind) else { return false };
    let actor = Actor::new(api, &actors::APISERVER);
    let one = async |object: &T| {
        let value = serde_json::to_value(object).unwrap_or_default();
        actor.create(&kind, None, value).await.map(drop)
    };
    for object in objects {
        if let Err(error) = one(object).await
            && !error.is_overtaken()
        {
            let kind = &*kind.kind;
            tracing::warn!(kind, %error, "writing default flow control objects failed, retrying");
            return false;
        }
    }
    true
}

/// Whether nothing is left to be repeated.
async fn tell(api: &Api, key: &ObjectKey, verdict: &Verdict) -> bool {
    let Some(kind) = kind_of(api, key.kind) else { return false };
    let name = &*key.name;
    let Some(stored) = api.storage.object(&kind, name) else { return true };
    let is_current =
        document::value(&kind, &stored).is_ok_and(|object| status::is_current(&object, verdict));
    if is_current {
        return true;
    }
    match set_conditions(api, &kind, name, verdict).await {
        Err(error) if !error.is_overtaken() => {
            tracing::warn!(kind = &*kind.kind, name, %error, "writing conditions failed, retrying");
            false
        }
        Ok(()) | Err(_) => true,
    }
}

async fn set_conditions(api: &Api, kind: &KindRef, name: &str, verdict: &Verdict) -> Result<()> {
    let strategy = UpdateStrategy::OfKind(Part::Status);
    let edit = Edit { kind, key: name, uid: None, version: None, strategy };
    let now = Timestamp::now();
    let put = |object: &mut Value| {
        status::put(object, verdict, now);
        Ok(())
    };
    Actor::new(api, &actors::APISERVER).edit("patch", "status", edit, put).await.map(drop)
}
