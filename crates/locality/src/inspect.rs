//! What a proxy is told, as people ask for it: what is in force and why, which shares follow, and what
//! another set of resources would change.
//!
//! [`inspect`] shows one proxy: O(e · z) for each destination with e endpoints, of which the first
//! [`MOST_ZONES`] zones are taken away one by one. [`diff`] compares two views: plans are compared once
//! for all proxies that share them, destinations once for all plans that share their assignments, so
//! that it is linear in the size of the plans and of the distinct assignments.

mod compare;
mod destination;
mod diff;
mod explained;
mod listener;
mod shares;

use std::sync::Arc;

use serde::Serialize;

pub use self::{
    destination::{
        Destination, EndpointInspection, GroupInspection, PlaceInspection, PolicyInForce, ZoneLost,
    },
    diff::{
        BeforeAfter, Change, DestinationDifference, Difference, GroupDifference, GroupState,
        ListenerDifference, MOST_PROXIES_NAMED, SharesDifference, ZoneDifference, diff,
    },
    explained::Explained,
    listener::{ListenerInspection, RouteInspection, WeightedCluster},
};
use crate::{
    Assigned,
    view::{PlanReason, ProxyKey, ProxyPlan, View},
};

/// The most zones of a destination that are taken away one by one.
pub const MOST_ZONES: usize = 32;

/// What one proxy is told, and what follows from it. Names of fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    pub mesh: Arc<str>,
    pub dataplane: Arc<str>,
    pub listeners: Vec<ListenerInspection>,
    /// In the order of clusters.
    pub destinations: Vec<Destination>,
    /// What of the plan is not as written.
    pub reasons: Vec<Explained<PlanReason>>,
}

/// What an inspection is made of. A view that others use as well is needed for this only, which is the
/// smaller part of the work.
#[derive(Clone, Debug)]
pub struct Gathered {
    proxy: ProxyKey,
    plan: ProxyPlan,
    /// In the order of the plan's assignments.
    assigned: Vec<Assigned>,
}

/// `None` if there is no such Dataplane.
pub fn inspect(view: &mut View, proxy: &ProxyKey) -> Option<Inspection> {
    Some(Gathered::of(view, proxy)?.inspection())
}

// === impl Gathered ===

impl Gathered {
    /// `None` if there is no such Dataplane.
    pub fn of(view: &mut View, proxy: &ProxyKey) -> Option<Self> {
        let plan = view.proxy(proxy)?;
        let assigned = plan.assignments().iter().map(|(_, key)| view.assignment(key)).collect();
        Some(Self { proxy: proxy.clone(), plan, assigned })
    }

    pub fn inspection(&self) -> Inspection {
        let Self { proxy, plan, assigned } = self;
        let config = plan.config();
        let outbound = &*plan.outbound;
        let clusters = outbound.config.clusters.iter().zip(plan.assignments()).zip(assigned);
        let destinations = clusters.map(|((cluster, (_, key)), assigned)| {
            let in_force = outbound.in_force.get(&(key.service.clone(), key.port));
            destination::destination(cluster, key, in_force.map(Arc::as_ref), assigned)
        });
        Inspection {
            mesh: proxy.mesh.clone(),
            dataplane: proxy.name.clone(),
            destinations: destinations.collect(),
            listeners: listener::listeners(&config),
            reasons: plan.reasons().cloned().map(Explained).collect(),
        }
    }
}
