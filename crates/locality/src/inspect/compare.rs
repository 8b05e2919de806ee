//! Two plans, and two assignments, compared; each pair once.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::mesh::{Cluster, Listener, ProxyConfig};
use rustc_hash::FxHashMap;
use serde_json::json;

use super::{
    Change, DestinationDifference, ListenerDifference, SharesDifference,
    listener::{Tables, routes, tables},
    shares::{Assignment, difference},
};
use crate::{
    Strategy,
    predict::Balancing,
    view::{AssignmentKey, OutboundPlan, ProxyPlan, View},
};

/// What changes for a proxy.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// Equal texts are equal contents.
    pub(super) identity: Arc<str>,
    pub(super) dataplane: Change,
    pub(super) listeners: Vec<ListenerDifference>,
    pub(super) destinations: Vec<Arc<DestinationDifference>>,
}

/// What was compared so far.
#[derive(Default)]
pub(super) struct Comparison {
    plans: FxHashMap<(PlanId, PlanId), ComparedPlans>,
    shares: FxHashMap<Sides, Option<Arc<SharesDifference>>>,
}

/// The address of a plan, which stays that of the plan because it is kept.
type PlanId = *const OutboundPlan;

struct ComparedPlans {
    _kept: [Arc<OutboundPlan>; 2],
    content: Option<Arc<Content>>,
}

/// All that shares depend on besides endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Side {
    key: Arc<AssignmentKey>,
    balancing: Balancing,
}

/// Before and after.
type Sides = (Option<Side>, Option<Side>);

/// A cluster with its key.
type Entry<'a> = (&'a Arc<Cluster>, &'a Arc<AssignmentKey>);

impl Content {
    fn new(
        dataplane: Change,
        listeners: Vec<ListenerDifference>,
        destinations: Vec<Arc<DestinationDifference>>,
    ) -> Self {
        let identity = json!([dataplane, listeners, destinations]).to_string().into();
        Content { identity, dataplane, listeners, destinations }
    }

    pub(super) fn whole(change: Change) -> Self {
        Content::new(change, Vec::new(), Vec::new())
    }
}

impl Comparison {
    /// `None` if nothing changes.
    pub(super) fn plans(
        &mut self,
        (before, old): (&View, &ProxyPlan),
        (after, new): (&View, &ProxyPlan),
    ) -> Option<Arc<Content>> {
        let outbound = self.outbound((before, &old.outbound), (after, &new.outbound));
        if old.inbound.config == new.inbound.config {
            return outbound;
        }
        let mut listeners = listeners(&old.inbound.config, &new.inbound.config);
        let (of_outbound, destinations) = match &outbound {
            Some(content) => (content.listeners.clone(), content.destinations.clone()),
            None => Default::default(),
        };
        listeners.extend(of_outbound);
        Some(Arc::new(Content::new(Change::Changed, listeners, destinations)))
    }

    fn outbound(
        &mut self,
        (before, old): (&View, &Arc<OutboundPlan>),
        (after, new): (&View, &Arc<OutboundPlan>),
    ) -> Option<Arc<Content>> {
        let id = (Arc::as_ptr(old), Arc::as_ptr(new));
        if let Some(known) = self.plans.get(&id) {
            return known.content.clone();
        }
        let listeners = listeners(&old.config, &new.config);
        let destinations = self.destinations((before, old), (after, new));
        let is_same = listeners.is_empty() && destinations.is_empty();
        let content =
            (!is_same).then(|| Arc::new(Content::new(Change::Changed, listeners, destinations)));
        let compared =
            ComparedPlans { _kept: [old.clone(), new.clone()], content: content.clone() };
        self.plans.insert(id, compared);
        content
    }

    fn destinations(
        &mut self,
        (before, old): (&View, &OutboundPlan),
        (after, new): (&View, &OutboundPlan),
    ) -> Vec<Arc<DestinationDifference>> {
        let mut pairs: BTreeMap<&Arc<str>, (Option<Entry<'_>>, Option<Entry<'_>>)> =
            BTreeMap::new();
        for entry @ (cluster, _) in entries(old) {
            pairs.entry(&cluster.name).or_default().0 = Some(entry);
        }
        for entry @ (cluster, _) in entries(new) {
            pairs.entry(&cluster.name).or_default().1 = Some(entry);
        }
        let pairs = pairs.into_values();
        pairs.filter_map(|(old, new)| self.destination((before, old), (after, new))).collect()
    }

    fn destination(
        &mut self,
        (before, old): (&View, Option<Entry<'_>>),
        (after, new): (&View, Option<Entry<'_>>),
    ) -> Option<Arc<DestinationDifference>> {
        let shares = self.shares((before, old.map(side)), (after, new.map(side)));
        let (cluster, key) = new.or(old)?;
        let (change, settings) = match (old, new) {
            (Some((old, _)), Some((new, _))) => (Change::Changed, settings(old, new)),
            (None, _) => (Change::Added, Vec::new()),
            (_, None) => (Change::Removed, Vec::new()),
        };
        if shares.is_none() && settings.is_empty() && change == Change::Changed {
            return None;
        }
        Some(Arc::new(DestinationDifference {
            cluster: cluster.name.clone(),
            change,
            service: key.service.clone(),
            subset: key.subset.clone(),
            settings,
            shares,
        }))
    }

    fn shares(
        &mut self,
        (before, old): (&View, Option<Side>),
        (after, new): (&View, Option<Side>),
    ) -> Option<Arc<SharesDifference>> {
        let id = (old, new);
        if let Some(known) = self.shares.get(&id) {
            return known.clone();
        }
        let assigned = |view: &View, side: &Side| Assignment {
            groups: view.assignment(&side.key).assignment,
            balancing: side.balancing,
        };
        let old = id.0.as_ref().map(|side| assigned(before, side));
        let new = id.1.as_ref().map(|side| assigned(after, side));
        // What a Service's own topology selects without a zone is not known here.
        let is_known =
            |side: &&Side| !matches!(side.key.strategy.strategy(), Strategy::Topology { .. });
        let own_zone = {
            let mut sides = [&id.1, &id.0].into_iter().flatten();
            let of = sides.clone().next().and_then(|side| side.key.place.zone().cloned());
            of.filter(|_| sides.all(|side| is_known(&side)))
        };
        let difference = (old != new)
            .then(|| Arc::new(difference(old.as_ref(), new.as_ref(), own_zone.as_ref())));
        self.shares.insert(id, difference.clone());
        difference
    }
}

fn entries(plan: &OutboundPlan) -> impl Iterator<Item = Entry<'_>> {
    plan.config.clusters.iter().zip(plan.assignments.iter().map(|(_, key)| key))
}

fn side((cluster, key): Entry<'_>) -> Side {
    Side { key: key.clone(), balancing: Balancing::from(&**cluster) }
}

/// The names of settings that differ, besides those that only shares depend on.
fn settings(old: &Cluster, new: &Cluster) -> Vec<&'static str> {
    let all = [
        ("protocol", old.protocol == new.protocol),
        ("loadBalancer", old.load_balancer == new.load_balancer),
        ("localityWeighted", old.locality_weighted == new.locality_weighted),
        ("panicThreshold", old.panic_threshold == new.panic_threshold),
        ("healthChecks", old.health_checks == new.health_checks),
        ("outlierDetection", old.outlier_detection == new.outlier_detection),
        ("limits", old.limits == new.limits),
    ];
    all.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
}

// === Listeners ===

fn listeners(old: &ProxyConfig, new: &ProxyConfig) -> Vec<ListenerDifference> {
    if old.listeners == new.listeners && old.routes == new.routes {
        return Vec::new();
    }
    let (old_tables, new_tables) = (tables(old), tables(new));
    let mut pairs: BTreeMap<&Arc<str>, (Option<&Listener>, Option<&Listener>)> = BTreeMap::new();
    for listener in &old.listeners {
        pairs.entry(&listener.name).or_default().0 = Some(listener);
    }
    for listener in &new.listeners {
        pairs.entry(&listener.name).or_default().1 = Some(listener);
    }
    let pairs = pairs.into_values();
    pairs.filter_map(|(old, new)| listener((old, &old_tables), (new, &new_tables))).collect()
}

/// `None` if traffic goes where it went.
fn listener(
    (old, old_tables): (Option<&Listener>, &Tables<'_>),
    (new, new_tables): (Option<&Listener>, &Tables<'_>),
) -> Option<ListenerDifference> {
    let routes_of = |listener: Option<&Listener>, tables: &Tables<'_>| match listener {
        Some(listener) => routes(&listener.traffic, tables),
        None => Vec::new(),
    };
    let (before, after) = (routes_of(old, old_tables), routes_of(new, new_tables));
    let change = match (old, new) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        (Some(_), Some(_)) => Change::Changed,
    };
    let Listener { name, address, .. } = new.or(old)?;
    let is_same = change == Change::Changed && before == after;
    (!is_same).then(|| ListenerDifference {
        name: name.clone(),
        address: *address,
        change,
        before,
        after,
    })
}
