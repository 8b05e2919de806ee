//! One destination of a proxy: policies, groups, and shares now and with a zone lost.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU16, NonZeroU32},
    sync::Arc,
};

use evenkeel_model::{
    label,
    mesh::{Cluster, EndpointHealth, Group, LoadBalancer},
};
use serde::Serialize;
use serde_json::Value;

use super::{Explained, MOST_ZONES, shares::endpoint_zones};
use crate::{
    AssignReason, Assigned, Strategy,
    predict::{Balancing, GroupShare, ShareReason, predict, predict_without_zone},
    resource::{Kind, Labels},
    view::{AssignmentKey, InForce, ServiceKey},
};

/// A cluster that is sent by endpoint discovery. Shares are parts of its traffic, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    pub cluster: Arc<str>,
    pub service: ServiceKey,
    pub port: Option<NonZeroU16>,
    /// What the instances of a split have; empty for all of the service.
    pub subset: Labels,
    pub place: PlaceInspection,
    pub load_balancer: &'static str,
    pub locality_weighted: bool,
    pub overprovisioning_factor: Option<NonZeroU32>,
    pub policies: BTreeMap<Kind, PolicyInForce>,
    /// The own topology of a Service of Kubernetes decides. What that is with a zone lost is not known
    /// here, because hints follow.
    #[serde(skip_serializing_if = "is_false")]
    pub by_topology: bool,
    pub groups: Vec<GroupInspection>,
    /// Answered with 503.
    pub errors: f64,
    pub without_zone: BTreeMap<Arc<str>, ZoneLost>,
    /// Zones that `without_zone` leaves out.
    #[serde(skip_serializing_if = "is_zero")]
    pub zones_not_shown: usize,
    pub reasons: Vec<Explained<AssignReason>>,
    pub share_reasons: Vec<Explained<ShareReason>>,
}

/// What of the client the groups depend on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceInspection {
    pub zone: Option<Arc<str>>,
    /// Its values of the affinity tags.
    pub tags: BTreeMap<Arc<str>, Arc<str>>,
}

/// The policies of one kind, merged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyInForce {
    pub conf: Value,
    /// The policy that each field comes from, by path.
    pub origins: BTreeMap<String, Arc<str>>,
}

/// Endpoints of one priority that share a weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupInspection {
    pub priority: u32,
    pub zone: Option<Arc<str>>,
    pub sub_zone: Arc<str>,
    pub weight: Option<NonZeroU32>,
    pub share: f64,
    /// Left out where only shares are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointInspection>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointInspection {
    pub address: SocketAddr,
    pub zone: Option<Arc<str>>,
    pub health: &'static str,
    pub weight: Option<NonZeroU32>,
    pub share: f64,
}

/// Shares while no endpoint of a zone is healthy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneLost {
    pub groups: Vec<GroupInspection>,
    pub errors: f64,
}

pub(super) fn destination(
    cluster: &Cluster,
    key: &AssignmentKey,
    in_force: Option<&InForce>,
    assigned: &Assigned,
) -> Destination {
    let Assigned { assignment, reasons, .. } = assigned;
    let balancing = Balancing::from(cluster);
    let now = predict(assignment, &balancing);
    let by_topology = matches!(key.strategy.strategy(), Strategy::Topology { .. });
    let zones = if by_topology { BTreeSet::new() } else { endpoint_zones(assignment) };
    let lost = zones.iter().take(MOST_ZONES).map(|zone| {
        let without = predict_without_zone(assignment, &balancing, zone);
        let groups = assignment.groups.iter().zip(&without.groups);
        let groups = groups.map(|(group, share)| without_endpoints(group, share.share)).collect();
        (Arc::clone(zone), ZoneLost { groups, errors: without.errors })
    });
    Destination {
        cluster: cluster.name.clone(),
        service: key.service.clone(),
        port: key.port,
        subset: key.subset.clone(),
        place: place(key),
        load_balancer: load_balancer(&cluster.load_balancer),
        locality_weighted: cluster.locality_weighted,
        overprovisioning_factor: assignment.overprovisioning_factor,
        policies: in_force.map(policies).unwrap_or_default(),
        by_topology,
        groups: assignment.groups.iter().zip(&now.groups).map(|(g, s)| group(g, s)).collect(),
        errors: now.errors,
        without_zone: lost.collect(),
        zones_not_shown: zones.len().saturating_sub(MOST_ZONES),
        reasons: reasons.iter().cloned().map(Explained).collect(),
        share_reasons: now.reasons.into_iter().map(Explained).collect(),
    }
}

fn place(key: &AssignmentKey) -> PlaceInspection {
    let tags = key.place.affinity(key.strategy.strategy());
    let tags = tags.map(|(tag, value)| (tag.key.clone(), value.clone()));
    let node = match key.strategy.strategy() {
        Strategy::Topology { by_node: true } => key.place.node(),
        _ => None,
    };
    let node = node.map(|node| (label::HOSTNAME.into(), node.clone()));
    PlaceInspection { zone: key.place.zone().cloned(), tags: tags.chain(node).collect() }
}

fn policies(in_force: &InForce) -> BTreeMap<Kind, PolicyInForce> {
    let policies = in_force.policies.iter().map(|(kind, merged)| {
        let conf = merged.value.clone();
        (*kind, PolicyInForce { conf, origins: merged.origins.clone() })
    });
    policies.collect()
}

pub(super) fn load_balancer(balancer: &LoadBalancer) -> &'static str {
    match balancer {
        LoadBalancer::RoundRobin => "RoundRobin",
        LoadBalancer::LeastRequest(_) => "LeastRequest",
        LoadBalancer::RingHash(_) => "RingHash",
        LoadBalancer::Random => "Random",
        LoadBalancer::Maglev(_) => "Maglev",
    }
}

fn group(group: &Group, share: &GroupShare) -> GroupInspection {
    let endpoints = group.endpoints.iter().zip(&share.endpoints);
    let endpoints = endpoints.map(|(endpoint, share)| EndpointInspection {
        address: endpoint.address,
        zone: endpoint.zone.clone(),
        health: health(endpoint.health),
        weight: endpoint.weight,
        share: *share,
    });
    GroupInspection { endpoints: endpoints.collect(), ..without_endpoints(group, share.share) }
}

fn without_endpoints(group: &Group, share: f64) -> GroupInspection {
    GroupInspection {
        priority: group.priority,
        zone: group.zone.clone(),
        sub_zone: group.sub_zone.clone(),
        weight: group.weight,
        share,
        endpoints: Vec::new(),
    }
}

fn health(health: EndpointHealth) -> &'static str {
    match health {
        EndpointHealth::Healthy => "HEALTHY",
        EndpointHealth::Unhealthy => "UNHEALTHY",
        EndpointHealth::Draining => "DRAINING",
        EndpointHealth::Degraded => "DEGRADED",
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}
