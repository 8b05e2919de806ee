//! What one Dataplane is told and why, and which shares of its traffic follow.

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_locality::{
    Assigned,
    predict::{Balancing, Prediction, predict, predict_without_zone},
    resource::Kind,
    view::{AssignmentKey, InForce, Merged, ProxyKey},
};
use evenkeel_model::mesh::{Cluster, Group, MeshEndpoint};
use serde_json::{Map, Value, json};

use super::reason;
use crate::control::Control;

/// `None` if there is no such Dataplane.
pub(super) fn inspect(control: &Control, proxy: &ProxyKey) -> Option<Value> {
    // What is needed is taken under the lock; predictions are made after it.
    let (plan, assigned, is_connected) = {
        let mut engine = control.engine();
        let is_connected = engine.is_connected(proxy);
        let plan = engine.view().proxy(proxy)?;
        let assigned: Vec<(Arc<str>, Arc<AssignmentKey>, Assigned)> = plan
            .assignments()
            .iter()
            .map(|(name, key)| (name.clone(), key.clone(), engine.view().assignment(key)))
            .collect();
        (plan, assigned, is_connected)
    };
    let config = plan.config();
    let clusters = assigned.iter().filter_map(|(name, key, assigned)| {
        let cluster = config.clusters.iter().find(|cluster| cluster.name == *name)?;
        let mut destination = destination(cluster, key, assigned);
        let in_force = plan.outbound.in_force.get(&(key.service.clone(), key.port));
        destination["policies"] = in_force.map(|in_force| policies(in_force)).unwrap_or_default();
        Some(destination)
    });
    let clusters: Vec<Value> = clusters.collect();
    let listeners: Vec<Value> = config
        .listeners
        .iter()
        .map(|listener| json!({ "name": listener.name, "address": listener.address.to_string() }))
        .collect();
    Some(json!({
        "mesh": proxy.mesh,
        "dataplane": proxy.name,
        "connected": is_connected,
        "listeners": listeners,
        "destinations": clusters,
        "reasons": plan.reasons().map(reason).collect::<Vec<Value>>(),
    }))
}

fn destination(cluster: &Cluster, key: &AssignmentKey, assigned: &Assigned) -> Value {
    let Assigned { assignment, reasons, .. } = assigned;
    let balancing = Balancing::from(cluster);
    let now = predict(assignment, &balancing);
    let zones: BTreeSet<&Arc<str>> = endpoints(&assignment.groups).filter_map(zone).collect();
    let lost = zones.into_iter().map(|zone| {
        let without = predict_without_zone(assignment, &balancing, zone);
        let groups = assignment.groups.iter().zip(&without.groups);
        let groups: Vec<Value> = groups.map(|(group, share)| short(group, share.share)).collect();
        (zone.to_string(), json!({ "groups": groups, "errors": without.errors }))
    });
    json!({
        "cluster": cluster.name,
        "service": key.service,
        "port": key.port,
        "subset": key.subset,
        "place": { "zone": key.place.zone() },
        "localityWeighted": cluster.locality_weighted,
        "overprovisioningFactor": assignment.overprovisioning_factor,
        "groups": groups(&assignment.groups, &now),
        "errors": now.errors,
        "withoutZone": lost.collect::<Map<String, Value>>(),
        "reasons": reasons.iter().map(reason).collect::<Vec<Value>>(),
        "shareReasons": now.reasons.iter().map(reason).collect::<Vec<Value>>(),
    })
}

/// What each kind of policy says in the end, and the policy from which each field comes.
fn policies(in_force: &InForce) -> Value {
    let one = |(kind, merged): (&Kind, &Merged)| {
        (kind.to_string(), json!({ "conf": merged.value, "origins": merged.origins }))
    };
    Value::Object(in_force.policies.iter().map(one).collect())
}

fn groups(groups: &[Group], prediction: &Prediction) -> Vec<Value> {
    let group = |(group, share): (&Group, &evenkeel_locality::predict::GroupShare)| {
        let endpoints = group.endpoints.iter().zip(&share.endpoints).map(|(endpoint, share)| {
            json!({
                "address": endpoint.address.to_string(),
                "zone": endpoint.zone,
                "health": format!("{:?}", endpoint.health).to_uppercase(),
                "weight": endpoint.weight,
                "share": share,
            })
        });
        let endpoints: Vec<Value> = endpoints.collect();
        let mut value = short(group, share.share);
        value["endpoints"] = json!(endpoints);
        value
    };
    groups.iter().zip(&prediction.groups).map(group).collect()
}

fn short(group: &Group, share: f64) -> Value {
    json!({
        "priority": group.priority,
        "zone": group.zone,
        "subZone": group.sub_zone,
        "weight": group.weight,
        "share": share,
    })
}

fn endpoints(groups: &[Group]) -> impl Iterator<Item = (&Group, &Arc<MeshEndpoint>)> {
    groups.iter().flat_map(|group| group.endpoints.iter().map(move |endpoint| (group, endpoint)))
}

fn zone<'a>((group, endpoint): (&'a Group, &'a Arc<MeshEndpoint>)) -> Option<&'a Arc<str>> {
    endpoint.zone.as_ref().or(group.zone.as_ref())
}
