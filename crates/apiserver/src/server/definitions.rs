//! The CustomResourceDefinitions of `deploy/crds`, compiled in and installed at startup.
//!
//! The annotation `evenkeel.dev/definition-version` says which version of Evenkeel a definition is
//! from. Older ones are replaced, and so are changed ones of the same version. A newer one stays, for
//! its objects may have fields that this server would drop; one without the annotation is its
//! user's. Both are logged. A definition that can't be written keeps no server from starting.
//!
//! Those of `kuma.io` are installed only on request, and never in place of Kuma's own: where Kuma was
//! installed over them they have its marks beside the annotation, and are its own from then on.

use evenkeel_model::label::DEFINITION_VERSION;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use crate::{
    api::{Api, name_of},
    chain::actor::Actor,
    document,
    identity::actors,
    kinds::{CUSTOM_RESOURCE_DEFINITION, Part, read::entry},
    registry::{Edit, Result, UpdateStrategy},
    settings::FairnessSource,
};

/// As `cargo xtask crds` writes them.
const MANIFESTS: &[&str] = &[
    include_str!("../../../../deploy/crds/flowschemas.evenkeel.dev.yaml"),
    include_str!("../../../../deploy/crds/requestpriorities.evenkeel.dev.yaml"),
];

/// Those of a mesh.
const MESH: &[&str] = &[
    include_str!("../../../../deploy/crds/mesh/dataplanes.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshcircuitbreakers.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshes.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshexternalservices.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshhealthchecks.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshhttproutes.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshloadbalancingstrategies.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshmultizoneservices.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshservices.kuma.io.yaml"),
    include_str!("../../../../deploy/crds/mesh/meshtcproutes.kuma.io.yaml"),
];

const PART_OF: &str = "app.kubernetes.io/part-of";

/// The group of the kinds of a mesh.
const KUMA: &str = "kuma.io";

/// Kuma's definitions have it, whichever way they were installed.
const GENERATOR: &str = "controller-gen.kubebuilder.io/version";

/// How many are written at once: together, they share a few syncs of the disk.
const AT_ONCE: usize = 16;

/// What becomes of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Create,
    Keep,
    /// It is older.
    Update,
    /// It was changed.
    Restore,
    /// It is newer than this server.
    LeaveNewer,
    /// Nobody knows which version it is.
    LeaveForeign,
    /// It is Kuma's.
    LeaveKumas,
}

/// Installs the definitions that the settings ask for.
pub(super) async fn install(api: &Api) {
    let needed = api.settings.fairness.source == FairnessSource::Resources;
    let asked = api.settings.install_definitions;
    let own = MANIFESTS.iter().filter(|_| needed || asked);
    let mesh = MESH.iter().filter(|_| asked);
    let each = definitions(own.chain(mesh)).map(|definition| async move {
        let name = name_of(&definition).to_owned();
        if let Err(error) = install_one(api, definition).await {
            tracing::warn!(name, %error, "installing a CustomResourceDefinition failed");
        }
    });
    let each: Vec<_> = each.collect();
    stream::iter(each).buffer_unordered(AT_ONCE).collect::<()>().await;
}

fn definitions<'m>(
    manifests: impl Iterator<Item = &'m &'static str>,
) -> impl Iterator<Item = Value> {
    manifests.map(|text| serde_saphyr::from_str(text).expect("it is compiled in, and tested"))
}

async fn install_one(api: &Api, definition: Value) -> Result<()> {
    let kind = &CUSTOM_RESOURCE_DEFINITION;
    let name = name_of(&definition);
    let stored = api.storage.object(kind, name);
    let stored = stored.map(|object| document::value(kind, &object)).transpose()?;
    let actor = Actor::new(api, &actors::APISERVER);
    let action = decide(stored.as_ref(), &definition);
    let (is, ours) = (stored.as_ref().map_or("", version), version(&definition));
    match action {
        Action::Keep => {}
        Action::Create => drop(actor.create(kind, None, definition).await?),
        Action::Update | Action::Restore => {
            let strategy = UpdateStrategy::OfKind(Part::Main);
            let edit = Edit { kind, key: name, uid: None, version: None, strategy };
            let replace = |object: &mut Value| {
                replace(object, &definition);
                Ok(())
            };
            actor.edit("update", "", edit, replace).await?;
            match action {
                Action::Update => tracing::info!(name, is, ours, "definition updated"),
                _ => tracing::warn!(
                    name,
                    "definition was changed, restored it; remove the annotation \
                     evenkeel.dev/definition-version to keep changes"
                ),
            }
        }
        Action::LeaveNewer => {
            tracing::warn!(name, is, ours, "definition is newer than this server, not changing it");
        }
        Action::LeaveForeign => tracing::warn!(
            name,
            "definition differs and has no annotation evenkeel.dev/definition-version, not changing it"
        ),
        Action::LeaveKumas => tracing::info!(name, "definition is Kuma's, not changing it"),
    }
    Ok(())
}

fn decide(stored: Option<&Value>, ours: &Value) -> Action {
    let Some(stored) = stored else { return Action::Create };
    let is_same = includes(&stored["spec"], &ours["spec"]);
    if is_kumas(stored) {
        return if is_same { Action::Keep } else { Action::LeaveKumas };
    }
    match (numbers(version(stored)), numbers(version(ours))) {
        (None, _) if is_same => Action::Keep,
        (None, _) => Action::LeaveForeign,
        (theirs, ours) if theirs > ours => Action::LeaveNewer,
        (theirs, ours) if theirs < ours => Action::Update,
        _ if is_same => Action::Keep,
        _ => Action::Restore,
    }
}

/// `kubectl apply` and Helm keep annotations that they did not write: ours alone says nothing.
fn is_kumas(stored: &Value) -> bool {
    let Value::Object(metadata) = &stored["metadata"] else { return false };
    let text = |map: &str, key: &str| metadata.get(map)?.get(key)?.as_str();
    let is_ours = text("labels", PART_OF) == Some("evenkeel");
    stored["spec"]["group"] == KUMA && (!is_ours || text("annotations", GENERATOR).is_some())
}

/// Labels, annotations and status stay, but for the version.
fn replace(object: &mut Value, ours: &Value) {
    object["spec"] = ours["spec"].clone();
    *entry(object, &["metadata", "annotations", DEFINITION_VERSION]) = version(ours).into();
}

fn version(definition: &Value) -> &str {
    definition["metadata"]["annotations"][DEFINITION_VERSION].as_str().unwrap_or_default()
}

/// `1.2.3` as numbers.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Whether all that we say is said there. The server adds defaults to what it stores.
fn includes(stored: &Value, ours: &Value) -> bool {
    match (stored, ours) {
        (Value::Object(stored), Value::Object(ours)) => ours
            .iter()
            .all(|(name, ours)| stored.get(name).is_some_and(|stored| includes(stored, ours))),
        (Value::Array(stored), Value::Array(ours)) => {
            stored.len() == ours.len() && stored.iter().zip(ours).all(|(s, o)| includes(s, o))
        }
        (Value::Number(stored), Value::Number(ours)) => stored.as_f64() == ours.as_f64(),
        _ => stored == ours,
    }
}

#[cfg(test)]
mod tests;
