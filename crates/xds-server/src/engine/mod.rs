//! Keeps for each connected proxy what it is sent, encoded once for all proxies alike.
//!
//! ```text
//!   resources ─► View ─┬─ services that changed ─► their assignments ─► bundles that hold them ─► proxies
//!                      └─ proxies whose plan changed ─► plan ─► bundle, compared with the last one
//! ```
//!
//! An assignment is computed once for each place and service that some connected proxy needs. It stays in
//! the bundles that hold it while its endpoints change, so that such a change costs the number of places, plus one
//! entry for each proxy that is told. Proxies that are sent the same share one bundle. What no connected proxy
//! needs is dropped. No clock, no task, no I/O.

mod assignment;
mod bundle;
mod encoded;
mod pool;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_locality::{
    resource::{Key, Resource},
    view::{Changes, OutboundPlan, ProxyKey, ProxyPlan, View},
};
use evenkeel_model::mesh::{Listener, PlainService, ProxyConfig};
use evenkeel_xds::{ResourceType, encode};

pub use self::{
    assignment::Assignment,
    bundle::{Bundle, Changed, Served, Slot},
};
use self::{
    assignment::Cause,
    encoded::Encoded,
    pool::{BundleId, Pool},
};

/// What happened to one resource.
#[derive(Clone, Debug)]
pub enum Update {
    Apply(Box<Resource>),
    Delete(Key),
    /// A port of a Service of Kubernetes; `None` if it is gone.
    Plain {
        mesh: Arc<str>,
        name: Arc<str>,
        service: Option<Box<PlainService>>,
    },
}

/// What some proxies have to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub proxies: Arc<BTreeSet<ProxyKey>>,
    /// In the order of types and names.
    pub changed: Arc<[Changed]>,
}

#[derive(Debug)]
pub struct Engine {
    view: View,
    connected: BTreeMap<ProxyKey, Connected>,
    pool: Pool,
    encoded: Encoded,
    work: Work,
}

#[derive(Debug)]
struct Connected {
    n_streams: usize,
    slot: Arc<Slot>,
    bundle: BundleId,
}

/// Who exchanges one bundle for another, and what differs between them.
type Exchange = (BTreeSet<ProxyKey>, Arc<[Changed]>);

/// What was computed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub plans: u64,
    pub assignments: u64,
    pub encoded: u64,
}

/// What is held at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub proxies: usize,
    pub bundles: usize,
    pub assignments: usize,
    /// At most twice as many as are used.
    pub resources: usize,
}

// === impl Engine ===

impl Engine {
    pub fn new(view: View) -> Self {
        Self {
            view,
            connected: BTreeMap::new(),
            pool: Pool::default(),
            encoded: Encoded::default(),
            work: Work::default(),
        }
    }

    /// To look at. Nothing of it may change but what is computed on demand.
    pub fn view(&mut self) -> &mut View {
        &mut self.view
    }

    /// One more stream of this proxy. Without a Dataplane it is sent nothing until there is one.
    pub fn connect(&mut self, proxy: &ProxyKey) -> Arc<Slot> {
        if let Some(connected) = self.connected.get_mut(proxy) {
            connected.n_streams += 1;
            return Arc::clone(&connected.slot);
        }
        let (bundle, served) = self.serve(proxy);
        let slot = Arc::new(Slot::default());
        slot.replace(served);
        let connected = Connected { n_streams: 1, slot: Arc::clone(&slot), bundle };
        self.connected.insert(proxy.clone(), connected);
        self.encoded.sweep_if_due();
        slot
    }

    /// One stream fewer.
    pub fn disconnect(&mut self, proxy: &ProxyKey) {
        let Some(connected) = self.connected.get_mut(proxy) else { return };
        connected.n_streams -= 1;
        if connected.n_streams == 0 {
            let bundle = connected.bundle;
            self.connected.remove(proxy);
            self.pool.release(bundle, proxy);
            self.encoded.sweep_if_due();
        }
    }

    /// Takes what happened. Connected proxies are told by the pushes; each sees the new state already.
    pub fn apply(&mut self, updates: Vec<Update>) -> Vec<Push> {
        let mut changes = Changes::default();
        for update in updates {
            changes.merge(match update {
                Update::Apply(resource) => self.view.apply(*resource),
                Update::Delete(key) => self.view.delete(&key),
                Update::Plain { mesh, name, service } => {
                    self.view.set_plain(&mesh, &name, service.map(|service| *service))
                }
            });
        }
        let mut changed = Vec::new();
        for service in &changes.services {
            for assignment in self.pool.of_service(service) {
                let resource = self.assigned(&assignment.cause);
                if assignment.replace(resource) {
                    changed.push(assignment);
                }
            }
        }
        // Before plans change: these proxies hold what these assignments were.
        let mut pushes = self.pushes(&changed);
        pushes.extend(self.plan_again(&changes.proxies));
        self.encoded.sweep_if_due();
        pushes
    }

    pub fn is_connected(&self, proxy: &ProxyKey) -> bool {
        self.connected.contains_key(proxy)
    }

    pub fn work(&self) -> Work {
        Work { encoded: self.encoded.n_encoded, ..self.work }
    }

    pub fn held(&self) -> Held {
        Held {
            proxies: self.connected.len(),
            bundles: self.pool.n_bundles(),
            assignments: self.pool.n_assignments(),
            resources: self.encoded.len(),
        }
    }

    fn pushes(&self, changed: &[Arc<Assignment>]) -> Vec<Push> {
        let mut by_bundle: BTreeMap<BundleId, Vec<Changed>> = BTreeMap::new();
        for assignment in changed {
            for bundle in self.pool.users(assignment) {
                let name = Arc::clone(assignment.name());
                by_bundle.entry(bundle).or_default().push((ResourceType::Endpoint, name));
            }
        }
        let push = |(bundle, mut changed): (BundleId, Vec<Changed>)| {
            changed.sort_unstable();
            Push { proxies: self.pool.proxies(bundle), changed: changed.into() }
        };
        by_bundle.into_iter().map(push).collect()
    }

    /// Proxies that exchange the same bundles are told together, so that lists of names are made once.
    fn plan_again(&mut self, proxies: &BTreeSet<ProxyKey>) -> Vec<Push> {
        let mut together: BTreeMap<(BundleId, BundleId), Exchange> = BTreeMap::new();
        let mut pushes = Vec::new();
        for proxy in proxies {
            if !self.connected.contains_key(proxy) {
                continue;
            }
            let (bundle, new) = self.serve(proxy);
            let Some(connected) = self.connected.get_mut(proxy) else { continue };
            let old = connected.slot.served();
            connected.slot.replace(new.clone());
            let before = std::mem::replace(&mut connected.bundle, bundle);
            if !new.own.is_same(&old.own) {
                let changed = changed(|changed| {
                    old.shared.diff(&new.shared, changed);
                    old.own.diff(&new.own, changed);
                });
                pushes.push(Push { proxies: Arc::new([proxy.clone()].into()), changed });
            } else if before != bundle {
                let exchange = together.entry((before, bundle));
                let (proxies, _) = exchange.or_insert_with(|| {
                    (BTreeSet::new(), changed(|changed| old.shared.diff(&new.shared, changed)))
                });
                proxies.insert(proxy.clone());
            }
            if before != bundle {
                self.pool.release(before, proxy);
            }
        }
        let together = together.into_values();
        pushes.extend(
            together.map(|(proxies, changed)| Push { proxies: Arc::new(proxies), changed }),
        );
        pushes.retain(|push| !push.changed.is_empty());
        pushes
    }

    /// What a proxy is to be sent now. It uses the bundle from now on.
    fn serve(&mut self, proxy: &ProxyKey) -> (BundleId, Served) {
        self.work.plans += 1;
        let Some(plan) = self.view.proxy(proxy) else {
            let (id, shared) = self.pool.acquire(Arc::default(), proxy);
            return (id, Served { shared, own: Arc::default() });
        };
        let own = Arc::new(self.own(&plan));
        // Rarely, an inbound has the address of an outbound, which then is left out for this proxy only.
        let outbound = &plan.outbound.config.listeners;
        let inbound = &plan.inbound.config.listeners;
        let is_free = |address| inbound.iter().all(|own| own.address != address);
        let is_common = outbound.iter().all(|listener| is_free(listener.address));
        if let (true, Some((id, shared))) = (is_common, self.pool.of_plan(&plan.outbound, proxy)) {
            return (id, Served { shared, own });
        }
        let listeners = outbound.iter().filter(|listener| is_free(listener.address));
        let shared = self.shared(&plan.outbound, listeners);
        let (id, shared) = self.pool.acquire(Arc::new(shared), proxy);
        if is_common {
            self.pool.remember(&plan.outbound, id);
        }
        (id, Served { shared, own })
    }

    fn own(&mut self, plan: &ProxyPlan) -> Bundle {
        let ProxyConfig { clusters, listeners, routes } = &plan.inbound.config;
        let mut own = Bundle {
            clusters: clusters.iter().map(|one| self.encoded.cluster(one)).collect(),
            listeners: listeners.iter().map(|one| self.encoded.listener(one)).collect(),
            routes: routes.iter().map(|one| self.encoded.route_table(one)).collect(),
            endpoints: Vec::new(),
        };
        own.sort();
        own
    }

    fn shared<'a>(
        &mut self,
        plan: &OutboundPlan,
        listeners: impl Iterator<Item = &'a Arc<Listener>>,
    ) -> Bundle {
        let ProxyConfig { clusters, routes, .. } = &plan.config;
        let mut shared = Bundle {
            clusters: clusters.iter().map(|one| self.encoded.cluster(one)).collect(),
            listeners: listeners.map(|one| self.encoded.listener(one)).collect(),
            routes: routes.iter().map(|one| self.encoded.route_table(one)).collect(),
            endpoints: Vec::new(),
        };
        for (name, key) in &plan.assignments {
            let cause = Cause { name: Arc::clone(name), key: Arc::clone(key) };
            let assignment = self.assignment(cause);
            shared.endpoints.push(assignment);
        }
        shared.sort();
        shared
    }

    fn assignment(&mut self, cause: Cause) -> Arc<Assignment> {
        if let Some(known) = self.pool.assignment(&cause) {
            return known;
        }
        let resource = self.assigned(&cause);
        self.pool.add(cause, resource)
    }

    fn assigned(&mut self, cause: &Cause) -> Arc<evenkeel_xds::Resource> {
        self.work.assignments += 1;
        let assigned = self.view.assignment(&cause.key);
        let resource = encode::load_assignment(&cause.name, &assigned.assignment);
        self.encoded.share(resource)
    }
}

/// In their order, each once.
fn changed(diff: impl FnOnce(&mut Vec<Changed>)) -> Arc<[Changed]> {
    let mut changed = Vec::new();
    diff(&mut changed);
    changed.sort_unstable();
    changed.dedup();
    changed.into()
}
