//! Small Worlds for tests, and the effects of actions on them.

use std::sync::Arc;

use evenkeel_store::patch;
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Table, World};
use crate::sandbox::action::{Action, Step};

/// With these objects; those without a uid use their name as one.
pub(crate) fn world(objects: &[Value]) -> World {
    let mut world = World::default();
    for object in objects {
        put(&mut world, object.clone(), Timestamp::UNIX_EPOCH);
    }
    world
}

pub(crate) fn put(world: &mut World, mut object: Value, now: Timestamp) {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    if object["metadata"]["uid"].is_null() {
        object["metadata"]["uid"] = name.as_str().into();
    }
    let namespace = object["metadata"]["namespace"].as_str();
    let key = crate::api::key(namespace, &name);
    match object["kind"].as_str().unwrap() {
        "Pod" => drop(world.put_pod(&key, Some(read(object)), now)),
        "ReplicaSet" => drop(world.put_replica_set(&key, Some(read(object)))),
        "Node" => drop(world.nodes.insert(key.into(), read(object))),
        "Namespace" => drop(world.namespaces.insert(key.into(), read(object))),
        "Deployment" => drop(world.deployments.insert(key.into(), read(object))),
        "DaemonSet" => drop(world.daemon_sets.insert(key.into(), read(object))),
        "Lease" => drop(world.leases.insert(key.into(), read(object))),
        kind => panic!("no test has a {kind} yet"),
    }
}

/// The server's effect of a step, as far as these tests need it.
pub(crate) fn carry_out(world: &mut World, step: &Step, now: Timestamp) {
    for action in &step.actions {
        match action {
            Action::Create { kind, namespace, object } => {
                let mut object = object.clone();
                object["kind"] = (*kind.kind).into();
                object["metadata"]["namespace"] = json!(namespace);
                put(world, object, now);
            }
            Action::Patch { kind, key, patch, .. } => {
                let mut object = present(world, &kind.plural, key);
                patch::merge(&mut object, patch.to_string().as_bytes()).unwrap();
                object["kind"] = (*kind.kind).into();
                put(world, object, now);
            }
            Action::Delete { key, grace_seconds: Some(0), .. } => {
                world.put_pod(key, None, now);
            }
            Action::Delete { key, .. } => mark(world, key, 30, now),
            Action::Bind { .. } => world.assume(action, now),
            Action::Event { .. } => {}
        }
    }
}

/// A Pod marked for deletion.
pub(crate) fn mark(world: &mut World, key: &str, grace: i64, now: Timestamp) {
    let mut pod = present(world, "pods", key);
    let end = now + SignedDuration::from_secs(grace);
    pod["kind"] = "Pod".into();
    pod["metadata"]["deletionTimestamp"] = json!(end);
    pod["metadata"]["deletionGracePeriodSeconds"] = grace.into();
    put(world, pod, now);
}

pub(crate) fn present(world: &World, plural: &str, key: &str) -> Value {
    match plural {
        "pods" => written(&world.pods, key),
        "nodes" => written(&world.nodes, key),
        "leases" => written(&world.leases, key),
        plural => panic!("no test changes {plural} yet"),
    }
}

fn written<T: Serialize>(table: &Table<T>, key: &str) -> Value {
    serde_json::to_value(&**table.get(key).unwrap()).unwrap()
}

fn read<T: DeserializeOwned>(object: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(object).unwrap())
}
