//! The Lease of a Node, which is its heartbeat.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use serde_json::json;

use super::{Step, World, later, name_of, uid_of, whole_seconds};
use crate::{
    kinds::LEASE,
    sandbox::{action::Action, world::NODE_LEASES},
    settings::Sandbox,
};

pub(super) fn renew(world: &World, node: &Node, now: Timestamp, settings: &Sandbox) -> Step {
    let (name, uid) = (name_of(&node.metadata), uid_of(&node.metadata));
    let next = next_beat(now, settings.heartbeat);
    let Some(lease) = lease_of(world, node) else {
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid});
        let object = json!({
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": whole_seconds(settings.node_grace).max(1),
                "renewTime": micros(now),
            },
        });
        let namespace = Some(NODE_LEASES.to_owned());
        return Step::act(vec![Action::Create { kind: &LEASE, namespace, object }]).again(next);
    };
    let renewed = lease.spec.as_ref().and_then(|spec| Some(spec.renew_time.as_ref()?.0));
    let due = renewed.map(|renewed| next_beat(renewed, settings.heartbeat));
    if let Some(due) = due.filter(|due| now < *due) {
        return Step::nothing().again(due);
    }
    let patch = json!({"spec": {"renewTime": micros(now), "holderIdentity": name}});
    Step::act(vec![Action::patch(&LEASE, &lease.metadata, patch)]).again(next)
}

/// The last heartbeat of a Node: at least its creation.
pub(super) fn last_heartbeat(world: &World, node: &Node) -> Option<Timestamp> {
    let lease = lease_of(world, node).and_then(|lease| lease.spec.as_ref());
    let renewed = lease.and_then(|lease| Some(lease.renew_time.as_ref()?.0));
    renewed.or_else(|| node.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

fn lease_of<'a>(world: &'a World, node: &Node) -> Option<&'a Lease> {
    let key = format!("{NODE_LEASES}/{}", name_of(&node.metadata));
    world.leases.get(key.as_str()).map(|lease| &**lease)
}

/// The next multiple of the interval.
fn next_beat(after: Timestamp, interval: Duration) -> Timestamp {
    let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1);
    let next =
        after.as_millisecond().div_euclid(interval).saturating_add(1).saturating_mul(interval);
    Timestamp::from_millisecond(next).unwrap_or_else(|_| later(after, Duration::from_secs(1)))
}

fn micros(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
