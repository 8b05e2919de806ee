//! What is migrated, in forms that carry it out.

use std::fmt::Write;

use evenkeel_k8s::{RawServices, convert};
use evenkeel_model::{ServiceKey, harmless};
use evenkeel_topology::migrate::{Effect, Migration, Outcome};
use serde_json::{Value, json};

use super::Report;
use crate::{cli::InputArgs, error::Error, input::Input, output, service_patch};

/// The changed Services, whole, as a List: `kubectl replace -f -` carries it out completely, while
/// `kubectl apply` would leave removed annotations in place.
pub(super) fn yaml(report: &Report, input: &Input, raw: &RawServices) -> Result<String, Error> {
    let mut text = String::new();
    for migration in to_change(report) {
        for note in migration.notes.iter().filter(|note| note.effect != Effect::LeftAlone) {
            let line = format!("# {}: {}: {}", key(migration), note.effect, note.because.message);
            let _ = writeln!(text, "{}", harmless(&line));
        }
    }
    let changed = to_change(report).map(|migration| changed(migration, input, raw));
    let items: Vec<Value> = changed.collect::<Result<_, Error>>()?;
    text += &output::yaml(&json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
    Ok(text)
}

/// One command a line.
pub(super) fn commands(report: &Report, input: &InputArgs) -> Result<String, Error> {
    to_change(report).map(|m| service_patch::command(&key(m), &m.patch, input)).collect()
}

/// The Service once it is migrated, without what the server keeps itself.
fn changed(migration: &Migration, input: &Input, raw: &RawServices) -> Result<Value, Error> {
    let key = key(migration);
    let changed_meanwhile = || Error::ServiceChanged { key: key.to_string() };
    let mut read = raw.get(&key).cloned().ok_or_else(changed_meanwhile)?;
    read.remove("status");
    let read = Value::Object(read);
    // Services and their fields are read one after the other.
    let typed = serde_json::from_value(read.clone()).ok();
    let service = typed.and_then(|typed| convert::service(&typed).ok());
    let decided = input.snapshot.service(&key).map(|state| migration.patch.apply(&state.service));
    if service.map(|service| migration.patch.apply(&service)) != decided {
        return Err(changed_meanwhile());
    }
    service_patch::applied(&read, &migration.patch)
}

fn to_change(report: &Report) -> impl Iterator<Item = &Migration> {
    report.services.iter().filter(|migration| migration.outcome == Outcome::ToChange)
}

fn key(migration: &Migration) -> ServiceKey {
    ServiceKey::new(&*migration.namespace, &*migration.service)
}

#[cfg(test)]
mod tests {
    use evenkeel_k8s::{Objects, manifest, snapshot};
    use evenkeel_topology::{
        Environment, Profile, Server,
        migrate::{AutoTarget, migrate},
    };

    use super::*;

    /// Migrates the one Service of a manifest; returns its patch and the whole result.
    fn migrated(service: &Value, profile: Profile) -> (Value, Value) {
        let raw_services = Some(RawServices::default());
        let mut objects = Objects { raw_services, ..Objects::default() };
        manifest::parse("test", &service.to_string(), &mut objects).unwrap();
        let raw = objects.raw_services.take().unwrap();
        let snapshot = snapshot::build(&objects).unwrap();
        let environment = Environment::new(Some(profile), Server::default(), |_| ()).unwrap();
        let state = &snapshot.services[0];
        let keys = raw.topology_keys(&state.service.key).unwrap();
        let migration = migrate(state, keys.as_deref(), AutoTarget::ByDataPlane, &environment);
        let patch = serde_json::to_value(&migration.patch).unwrap();
        let namespace = "default".to_owned();
        let input = Input { snapshot, namespace, server: Server::default() };
        (patch, changed(&migration, &input, &raw).unwrap())
    }

    fn service(annotations: &Value, spec: &Value) -> Value {
        let meta = json!({"name": "web", "namespace": "default", "annotations": annotations});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
    }

    #[test]
    fn a_patch_changes_a_whole_service_and_then_nothing() {
        let mode = "service.kubernetes.io/topology-mode";
        let own = "evenkeel.dev/traffic-distribution";
        let ports = json!([{"port": 80}]);
        let selector = json!({"app": "web"});
        let base = json!({"ports": ports, "selector": selector, "tomorrow": 1});
        let spec = |extra: Value| {
            let mut spec = base.clone();
            spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            spec
        };
        let zone = json!(["topology.kubernetes.io/zone"]);
        let plain = Profile::Kubernetes;
        for (annotations, before, profile, patch, after_annotations, after) in [
            (
                json!({"team": "a"}),
                spec(json!({"topologyKeys": zone})),
                plain,
                json!({"spec": {"topologyKeys": null, "trafficDistribution": "PreferSameZone"}}),
                json!({"team": "a"}),
                spec(json!({"trafficDistribution": "PreferSameZone"})),
            ),
            (
                json!({"team": "a", mode: "Auto"}),
                spec(json!({"trafficDistribution": "PreferClose", "topologyKeys": zone})),
                Profile::Evenkeel,
                json!({
                    "metadata": {"annotations": {own: "Balanced", mode: null}},
                    "spec": {"topologyKeys": null, "trafficDistribution": null},
                }),
                json!({"team": "a", own: "Balanced"}),
                base.clone(),
            ),
            (
                json!({mode: "Disabled"}),
                spec(json!({"topologyKeys": ["kubernetes.io/hostname"]})),
                plain,
                json!({
                    "metadata": {"annotations": {mode: null}},
                    "spec": {"internalTrafficPolicy": "Local", "topologyKeys": null},
                }),
                Value::Null,
                spec(json!({"internalTrafficPolicy": "Local"})),
            ),
        ] {
            let (got, whole) = migrated(&service(&annotations, &before), profile);
            assert_eq!(got, patch);
            assert_eq!(whole["spec"], after);
            assert_eq!(whole["metadata"]["annotations"], after_annotations);
            assert_eq!(migrated(&whole, profile), (json!({}), whole.clone()));
        }
    }
}
