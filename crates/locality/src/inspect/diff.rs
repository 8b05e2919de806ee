//! What other resources would change, and for whom.

use core::net::SocketAddr;
use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{
    compare::{Comparison, Content},
    listener::RouteInspection,
};
use crate::{
    resource::Labels,
    view::{ProxyKey, ServiceKey, View},
};

/// The most proxies of a difference that are named.
pub const MOST_PROXIES_NAMED: usize = 20;

/// What changes alike for some proxies. Names of fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The first of them.
    pub proxies: Vec<ProxyKey>,
    /// How many they are.
    pub n_proxies: usize,
    /// What becomes of their Dataplanes.
    pub dataplane: Change,
    /// Of those that are there before and after.
    pub listeners: Vec<ListenerDifference>,
    pub destinations: Vec<Arc<DestinationDifference>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    Added,
    Removed,
    Changed,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerDifference {
    pub name: Arc<str>,
    pub address: SocketAddr,
    pub change: Change,
    pub before: Vec<RouteInspection>,
    pub after: Vec<RouteInspection>,
}

/// A cluster that appears, goes, or of which something changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationDifference {
    pub cluster: Arc<str>,
    pub change: Change,
    pub service: ServiceKey,
    /// What the instances of a split have.
    pub subset: Labels,
    /// What changes besides endpoints, such as `loadBalancer`.
    pub settings: Vec<&'static str>,
    /// `None` if it is only settings.
    #[serde(flatten)]
    pub shares: Option<Arc<SharesDifference>>,
}

/// Shares are parts of the cluster's traffic, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharesDifference {
    /// All groups, in the order of priorities.
    pub groups: Vec<GroupDifference>,
    pub zones: Vec<ZoneDifference>,
    /// Answered with 503.
    pub errors: BeforeAfter,
    pub overprovisioning_factor: BeforeAfter<Option<NonZeroU32>>,
    /// While no endpoint of the client's zone is healthy, if there are endpoints in it.
    pub without_own_zone: Option<WithoutOwnZone>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WithoutOwnZone {
    pub zone: Arc<str>,
    pub zones: Vec<ZoneDifference>,
    pub errors: BeforeAfter,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupDifference {
    pub priority: u32,
    pub zone: Option<Arc<str>>,
    pub sub_zone: Arc<str>,
    pub before: Option<GroupState>,
    pub after: Option<GroupState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupState {
    pub weight: Option<NonZeroU32>,
    pub endpoints: usize,
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDifference {
    pub zone: Option<Arc<str>>,
    #[serde(flatten)]
    pub share: BeforeAfter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeAfter<T = f64> {
    pub before: T,
    pub after: T,
}

/// Compares what all proxies are told, in the order of their names. Without changes there are none.
pub fn diff(before: &mut View, after: &mut View) -> Vec<Difference> {
    let proxies: BTreeSet<ProxyKey> = before.proxies().chain(after.proxies()).collect();
    let mut comparison = Comparison::default();
    let mut differences: Vec<Difference> = Vec::new();
    let mut places: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    for proxy in proxies {
        let content = match (before.proxy(&proxy), after.proxy(&proxy)) {
            (Some(old), Some(new)) => comparison.plans((before, &old), (after, &new)),
            (None, Some(_)) => Some(Arc::new(Content::whole(Change::Added))),
            (Some(_), None) => Some(Arc::new(Content::whole(Change::Removed))),
            (None, None) => None,
        };
        let Some(content) = content else { continue };
        let place = *places.entry(content.identity.clone()).or_insert(differences.len());
        if place == differences.len() {
            differences.push(Difference::new(&content));
        }
        if let Some(difference) = differences.get_mut(place) {
            difference.add(proxy);
        }
    }
    differences
}

impl Difference {
    fn new(content: &Content) -> Self {
        Difference {
            proxies: Vec::new(),
            n_proxies: 0,
            dataplane: content.dataplane,
            listeners: content.listeners.clone(),
            destinations: content.destinations.clone(),
        }
    }

    fn add(&mut self, proxy: ProxyKey) {
        self.n_proxies += 1;
        if self.proxies.len() < MOST_PROXIES_NAMED {
            self.proxies.push(proxy);
        }
    }
}
