//! Plans that proxies share, and what they were made from.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::{
    label,
    mesh::{Cluster, Listener, RouteTable},
};
use rustc_hash::FxHashMap;

use super::{
    AssignmentKey, Changes, InForce, OutboundPlan, ServiceKey, StrategyInForce,
    intern::{ByName, Held},
    matching::Facts,
    mesh::MeshView,
};
use crate::{
    Client,
    resource::{Labels, Outbound},
};

/// What the plan of a proxy's outbounds depends on, besides facts of services and empty splits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ShapeKey {
    /// The ids of the policies that are for the client.
    pub(super) policies: Arc<[u64]>,
    pub(super) zone: Option<Arc<str>>,
    /// Its zone in the sense of Kubernetes.
    pub(super) topology_zone: Option<Arc<str>>,
    /// Its node, if one of the destinations asks for it.
    pub(super) node: Option<Arc<str>>,
    /// Its values of the tags that these policies rank by.
    pub(super) values: BTreeMap<Arc<str>, Arc<str>>,
    /// Those that it may be told of.
    pub(super) outbounds: Vec<Outbound>,
}

#[derive(Debug, Default)]
pub(super) struct Shapes {
    last_id: u64,
    by_key: FxHashMap<Arc<ShapeKey>, u64>,
    shapes: FxHashMap<u64, Shape>,
    facts: FxHashMap<ServiceKey, KnownFacts>,
    splits: FxHashMap<ServiceKey, FxHashMap<Arc<AssignmentKey>, KnownSplit>>,
    pub(super) in_force: FxHashMap<InForceKey, Arc<InForce>>,
    pub(super) clusters: ByName<Cluster>,
    pub(super) listeners: ByName<Listener>,
    pub(super) routes: ByName<RouteTable>,
    pub(super) keys: Held<AssignmentKey>,
    pub(super) strategies: Held<StrategyInForce>,
}

/// The policies for a client, a destination and one of its ports.
pub(super) type InForceKey = (Arc<[u64]>, ServiceKey, Option<std::num::NonZeroU16>);

#[derive(Debug)]
struct Shape {
    key: Arc<ShapeKey>,
    plan: Arc<OutboundPlan>,
    proxies: BTreeSet<Arc<str>>,
    made_from: MadeFrom,
}

/// What a plan was made from.
#[derive(Debug, Default)]
pub(super) struct MadeFrom {
    pub(super) facts: BTreeMap<ServiceKey, Arc<Facts>>,
    pub(super) splits: FxHashMap<Arc<AssignmentKey>, SplitState>,
    /// A destination is used by nodes differently.
    pub(super) uses_node: bool,
}

/// What plans and their reasons depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SplitState {
    Used,
    /// The strategy leaves none of its endpoints.
    Emptied,
    WithoutEndpoints,
}

#[derive(Debug)]
struct KnownFacts {
    facts: Arc<Facts>,
    shapes: BTreeSet<u64>,
}

#[derive(Debug)]
struct KnownSplit {
    state: SplitState,
    shapes: BTreeSet<u64>,
}

/// More merged policies than any mesh needs at once.
const MOST_IN_FORCE: usize = 1 << 17;

impl ShapeKey {
    /// The client as far as the plan depends on it.
    pub(super) fn client(&self) -> Client {
        let place = [(label::ZONE, &self.topology_zone), (label::HOSTNAME, &self.node)];
        let place = place.into_iter().filter_map(|(key, value)| Some((key.into(), value.clone()?)));
        let values: Labels = self.values.clone().into_iter().chain(place).collect();
        let tags = values.iter();
        let tags = tags.map(|(key, value)| (key.clone(), BTreeSet::from([value.clone()])));
        Client { zone: self.zone.clone(), tags: tags.collect(), labels: BTreeMap::new() }
    }
}

impl Shapes {
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Policies changed: what was merged is not needed again.
    pub(super) fn forget_policies(&mut self) {
        self.in_force.clear();
    }

    fn find(&mut self, key: &ShapeKey, proxy: &Arc<str>) -> Option<(u64, Arc<OutboundPlan>)> {
        let id = *self.by_key.get(key)?;
        let shape = self.shapes.get_mut(&id)?;
        shape.proxies.insert(proxy.clone());
        Some((id, shape.plan.clone()))
    }

    fn insert(
        &mut self,
        key: ShapeKey,
        plan: Arc<OutboundPlan>,
        made_from: MadeFrom,
        proxy: &Arc<str>,
    ) -> u64 {
        let id = self.next_id();
        for (service, facts) in &made_from.facts {
            let known = self.facts.entry(service.clone());
            let new = || KnownFacts { facts: facts.clone(), shapes: BTreeSet::new() };
            known.or_insert_with(new).shapes.insert(id);
        }
        for (key, state) in &made_from.splits {
            let known = self.splits.entry(key.service.clone()).or_default().entry(key.clone());
            let new = || KnownSplit { state: *state, shapes: BTreeSet::new() };
            known.or_insert_with(new).shapes.insert(id);
        }
        let key = Arc::new(key);
        let proxies = BTreeSet::from([proxy.clone()]);
        self.by_key.insert(key.clone(), id);
        self.shapes.insert(id, Shape { key, plan, proxies, made_from });
        id
    }

    /// The proxies that had it.
    fn remove(&mut self, id: u64) -> BTreeSet<Arc<str>> {
        let Some(Shape { key, proxies, made_from, .. }) = self.shapes.remove(&id) else {
            return BTreeSet::new();
        };
        self.by_key.remove(&key);
        for service in made_from.facts.keys() {
            if let Some(known) = self.facts.get_mut(service) {
                known.shapes.remove(&id);
                if known.shapes.is_empty() {
                    self.facts.remove(service);
                }
            }
        }
        for key in made_from.splits.keys() {
            let Some(splits) = self.splits.get_mut(&key.service) else { continue };
            if let Some(known) = splits.get_mut(key) {
                known.shapes.remove(&id);
                if known.shapes.is_empty() {
                    splits.remove(key);
                }
            }
            if splits.is_empty() {
                self.splits.remove(&key.service);
            }
        }
        proxies
    }
}

impl MeshView {
    /// The plan of a proxy's outbounds: made once for all proxies alike.
    pub(super) fn outbound_plan(&mut self, name: &Arc<str>) -> Option<Arc<OutboundPlan>> {
        let proxy = self.dataplanes.get(name)?;
        if let Some(shape) = proxy.shape.and_then(|id| self.shapes.shapes.get(&id)) {
            return Some(shape.plan.clone());
        }
        let policies = self.policies_for(name);
        self.work += 1;
        let on_node = self.shape_key(name, &policies)?;
        let anywhere = ShapeKey { node: None, ..on_node.clone() };
        let known = self.shapes.find(&anywhere, name);
        let (id, plan) = match known.or_else(|| self.shapes.find(&on_node, name)) {
            Some(found) => found,
            None => {
                let (plan, made_from) = self.plan(&on_node, &policies);
                let plan = Arc::new(plan);
                let key = if made_from.uses_node { on_node } else { anywhere };
                (self.shapes.insert(key, plan.clone(), made_from, name), plan)
            }
        };
        self.dataplanes.get_mut(name)?.shape = Some(id);
        Some(plan)
    }

    fn shape_key(
        &self,
        name: &Arc<str>,
        policies: &[Arc<super::policies::PolicyEntry>],
    ) -> Option<ShapeKey> {
        let proxy = self.dataplanes.get(name)?;
        let client = proxy.client(self.settings.zone.as_ref());
        let keys = policies.iter().flat_map(|entry| &entry.affinity_keys);
        let values = keys.filter_map(|key| Some((key.clone(), client.value(key)?.clone())));
        let reachable: BTreeSet<&Arc<str>> = proxy.dataplane.reachable_services.iter().collect();
        let outbounds = proxy.dataplane.outbounds.iter();
        let told = outbounds
            .filter(|outbound| reachable.is_empty() || reachable.contains(&outbound.backend.name));
        Some(ShapeKey {
            policies: policies.iter().map(|entry| entry.id).collect(),
            zone: client.zone.clone(),
            topology_zone: client.topology_zone().cloned(),
            node: client.value(label::HOSTNAME).cloned(),
            values: values.collect(),
            outbounds: told.cloned().collect(),
        })
    }

    /// The proxy's plan is no longer that of the shape.
    pub(super) fn leave_shape(&mut self, name: &Arc<str>, id: u64) {
        if let Some(proxy) = self.dataplanes.get_mut(name) {
            proxy.shape = None;
        }
        let Some(shape) = self.shapes.shapes.get_mut(&id) else { return };
        shape.proxies.remove(name);
        if shape.proxies.is_empty() {
            self.shapes.remove(id);
        }
    }

    /// Endpoints or facts of a destination changed, or both.
    pub(super) fn destination_changed(&mut self, key: &ServiceKey, changes: &mut Changes) {
        changes.services.insert(key.clone());
        self.work += 1;
        let mut stale = self.shapes_with_other_facts(key);
        stale.extend(self.shapes_with_other_splits(key));
        for id in stale {
            for name in self.shapes.remove(id) {
                if let Some(proxy) = self.dataplanes.get_mut(&name) {
                    proxy.shape = None;
                }
                changes.proxies.insert(self.proxy_key(&name));
            }
        }
    }

    fn shapes_with_other_facts(&self, key: &ServiceKey) -> BTreeSet<u64> {
        match self.shapes.facts.get(key) {
            Some(known) if *known.facts != self.facts_of(key) => known.shapes.clone(),
            _ => BTreeSet::new(),
        }
    }

    fn shapes_with_other_splits(&mut self, key: &ServiceKey) -> BTreeSet<u64> {
        let mut stale = BTreeSet::new();
        let Some(splits) = self.shapes.splits.get(key) else { return stale };
        for (key, known) in splits {
            if self.split_state(key) != known.state {
                stale.extend(known.shapes.iter().copied());
            }
        }
        self.work += splits.len() as u64;
        stale
    }

    fn split_state(&self, key: &AssignmentKey) -> SplitState {
        let has_endpoints = || !self.endpoints_of(&key.service, key.port, &key.subset).is_empty();
        match self.assigned(key).assignment.groups.is_empty() {
            false => SplitState::Used,
            true if has_endpoints() => SplitState::Emptied,
            true => SplitState::WithoutEndpoints,
        }
    }

    /// Facts as plans know them.
    pub(super) fn known_facts(&self, key: &ServiceKey) -> Arc<Facts> {
        match self.shapes.facts.get(key) {
            Some(known) => known.facts.clone(),
            None => Arc::new(self.facts_of(key)),
        }
    }

    pub(super) fn known_split(&self, key: &AssignmentKey) -> SplitState {
        let known = self.shapes.splits.get(&key.service).and_then(|splits| splits.get(key));
        known.map_or_else(|| self.split_state(key), |known| known.state)
    }

    pub(super) fn keep_in_force(&mut self, key: InForceKey, in_force: &Arc<InForce>) {
        if self.shapes.in_force.len() >= MOST_IN_FORCE {
            self.shapes.in_force.clear();
        }
        self.shapes.in_force.insert(key, in_force.clone());
    }
}
