//! The CustomResourceDefinitions of `deploy/crds`, compiled in and installed at startup.
//!
//! The annotation `evenkeel.dev/definition-version` says which version of Evenkeel a definition is
//! from. Older ones are replaced, and so are changed ones of the same version. A newer one stays, for
//! its objects may have fields that this server would drop; one without the annotation is its
//! user's. Both are logged. A definition that can't be written keeps no server from starting.

use evenkeel_model::label::DEFINITION_VERSION;
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
}

/// Installs the definitions that the settings ask for.
pub(super) async fn install(api: &Api) {
    let needed = api.settings.fairness.source == FairnessSource::Resources;
    if !needed && !api.settings.install_definitions {
        return;
    }
    for definition in definitions() {
        let name = name_of(&definition).to_owned();
        if let Err(error) = install_one(api, definition).await {
            tracing::warn!(name, %error, "installing a CustomResourceDefinition failed");
        }
    }
}

fn definitions() -> impl Iterator<Item = Value> {
    MANIFESTS
        .iter()
        .map(|text| serde_saphyr::from_str(text).expect("it is compiled in, and tested"))
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
    }
    Ok(())
}

fn decide(stored: Option<&Value>, ours: &Value) -> Action {
    let Some(stored) = stored else { return Action::Create };
    let is_same = includes(&stored["spec"], &ours["spec"]);
    match (numbers(version(stored)), numbers(version(ours))) {
        (None, _) if is_same => Action::Keep,
        (None, _) => Action::LeaveForeign,
        (theirs, ours) if theirs > ours => Action::LeaveNewer,
        (theirs, ours) if theirs < ours => Action::Update,
        _ if is_same => Action::Keep,
        _ => Action::Restore,
    }
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
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(version: Option<&str>, columns: &[&str]) -> Value {
        let mut definition = json!({
            "metadata": {"name": "xs.evenkeel.dev"},
            "spec": {"group": "evenkeel.dev", "versions": [{"name": "v1", "columns": columns}]},
        });
        if let Some(version) = version {
            *entry(&mut definition, &["metadata", "annotations", DEFINITION_VERSION]) =
                version.into();
        }
        definition
    }

    #[test]
    fn older_and_changed_definitions_are_replaced_and_others_left() {
        let ours = definition(Some("1.10.0"), &["A"]);
        assert_eq!(decide(None, &ours), Action::Create);
        for (version, columns, expected) in [
            (Some("1.10.0"), &["A"][..], Action::Keep),
            (Some("1.9.7"), &["B"], Action::Update),
            (Some("1.9.7"), &["A"], Action::Update),
            (Some("1.10.0"), &["A", "B"], Action::Restore),
            (Some("1.10.0"), &[], Action::Restore),
            (Some("1.11.0"), &["B"], Action::LeaveNewer),
            (Some("2.0.0"), &["A"], Action::LeaveNewer),
            (Some("soon"), &["B"], Action::LeaveForeign),
            (None, &["B"], Action::LeaveForeign),
            (None, &["A"], Action::Keep),
        ] {
            let mut stored = definition(version, columns);
            stored["spec"]["conversion"] = json!({"strategy": "None"});
            assert_eq!(decide(Some(&stored), &ours), expected, "{version:?} {columns:?}");
            if matches!(expected, Action::Update | Action::Restore) {
                stored["metadata"]["labels"] = json!({"team": "a"});
                replace(&mut stored, &ours);
                assert_eq!(decide(Some(&stored), &ours), Action::Keep);
                assert_eq!(stored["metadata"]["labels"]["team"], "a");
            }
        }
    }

    #[test]
    fn the_definitions_are_all_those_of_deploy_and_of_this_version() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "kustomization.yaml").collect();
        names.sort();
        let mut compiled_in = Vec::new();
        for definition in definitions() {
            assert_eq!(version(&definition), env!("CARGO_PKG_VERSION"));
            compiled_in.push(format!("{}.yaml", name_of(&definition)));
        }
        assert_eq!(names, compiled_in);
    }
}
