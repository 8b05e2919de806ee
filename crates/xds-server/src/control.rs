//! What all tasks share: the engine, who is connected, and how far each change has come.
//!
//! Locks are taken in the order engine, strategies, peers, propagation, and are never held across an await.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evenkeel_locality::{
    Compat, FoundIn, Strategies,
    view::{ProxyKey, View},
};
use evenkeel_xds::{Variant, session::TypeStatus};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::{
    clock::Clock,
    engine::{Engine, Push, Slot, Update},
    metrics::Metrics,
    propagation::{ChangeReport, End, Propagation},
    source::Problem,
    stream::{Identity, Mailbox, Notice},
};

#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<Metrics>,
    engine: Mutex<Engine>,
    peers: Mutex<Peers>,
    propagation: Mutex<Propagation>,
    /// What of the sources is not in force, and why.
    problems: Mutex<Problems>,
    strategies: Mutex<Strategies>,
    compat: Compat,
    is_synced: watch::Sender<bool>,
}

/// What is wrong with each file or object that has something wrong.
type Problems = BTreeMap<Arc<str>, Vec<Problem>>;

#[derive(Debug, Default)]
struct Peers {
    next: u64,
    by_proxy: FxHashMap<ProxyKey, Vec<Arc<Peer>>>,
}

/// A stream of a proxy.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) id: u64,
    pub(crate) identity: Identity,
    pub(crate) variant: Variant,
    pub(crate) since: Duration,
    pub(crate) mailbox: Mailbox,
    pub(crate) shown: Mutex<Shown>,
}

/// What a stream shows of itself, a moment old.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) types: Vec<TypeStatus>,
    /// The oldest change that is not acknowledged.
    pub(crate) behind: Option<u64>,
}

/// A stream's place among the peers. Dropping it leaves.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) control: Arc<Control>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) slot: Arc<Slot>,
}

// === impl Control ===

impl Control {
    pub(crate) fn new(view: View, compat: Compat, metrics: Arc<Metrics>) -> Self {
        Self {
            clock: Clock::start(),
            metrics,
            peers: Mutex::default(),
            propagation: Mutex::default(),
            problems: Mutex::default(),
            strategies: Mutex::new(Strategies::new(view.settings().zone.clone())),
            engine: Mutex::new(Engine::new(view)),
            compat,
            is_synced: watch::Sender::new(false),
        }
    }

    /// The mesh as a whole is known.
    pub(crate) fn set_synced(&self) {
        if self.is_synced() {
            return;
        }
        self.engine.lock().view().end_first_read();
        self.is_synced.send_replace(true);
        tracing::info!("caches synced");
    }

    pub(crate) fn is_synced(&self) -> bool {
        *self.is_synced.borrow()
    }

    pub(crate) async fn until_synced(&self) {
        // The sender is part of this, so it is never gone.
        let _ = self.is_synced.subscribe().wait_for(|is_synced| *is_synced).await;
    }

    /// Takes what was received at that time, and tells all whom it concerns.
    pub(crate) fn apply(&self, received: Duration, updates: Vec<Update>) {
        if updates.is_empty() {
            return;
        }
        let what = summary(&updates);
        let begun = self.clock.now();
        let mut engine = self.engine.lock();
        let mut strategies = self.strategies.lock();
        for update in &updates {
            match update {
                Update::Apply(resource) => strategies.apply(resource),
                Update::Delete(key) => strategies.delete(key),
                Update::Plain { .. } => {}
            }
        }
        drop(strategies);
        let pushes = engine.apply(updates);
        let (held, work) = (engine.held(), engine.work());
        let computed = self.clock.now();
        self.metrics.computed(computed - begun, held, work);
        self.tell(&what, (received, computed), &pushes);
        drop(engine);
    }

    fn tell(&self, what: &str, times: (Duration, Duration), pushes: &[Push]) {
        let peers = self.peers.lock();
        let of = |proxy: &ProxyKey| peers.by_proxy.get(proxy).into_iter().flatten();
        let mut told: Vec<(&Push, &Arc<Peer>)> = Vec::new();
        for push in pushes {
            told.extend(push.proxies.iter().flat_map(of).map(|peer| (push, peer)));
        }
        let mut ids: Vec<u64> = told.iter().map(|(_, peer)| peer.id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return;
        }
        let mut propagation = self.propagation.lock();
        let change = propagation.begin();
        propagation.computed(change, what, times, ids.len());
        drop(propagation);
        for (push, peer) in told {
            peer.mailbox.put(Notice { change, changed: Arc::clone(&push.changed) });
        }
    }

    pub(crate) fn enter(self: &Arc<Self>, identity: Identity, variant: Variant) -> Entered {
        let mut engine = self.engine.lock();
        let slot = engine.connect(&identity.proxy);
        let (held, work) = (engine.held(), engine.work());
        let mut peers = self.peers.lock();
        drop(engine);
        peers.next += 1;
        let peer = Arc::new(Peer {
            id: peers.next,
            variant,
            since: self.clock.now(),
            mailbox: Mailbox::default(),
            shown: Mutex::default(),
            identity,
        });
        let proxy = peer.identity.proxy.clone();
        peers.by_proxy.entry(proxy).or_default().push(Arc::clone(&peer));
        drop(peers);
        self.metrics.held(held, work);
        self.metrics.stream(variant, 1);
        Entered { control: Arc::clone(self), peer, slot }
    }

    fn leave(&self, peer: &Peer) {
        let proxy = &peer.identity.proxy;
        let mut engine = self.engine.lock();
        engine.disconnect(proxy);
        let (held, work) = (engine.held(), engine.work());
        let mut peers = self.peers.lock();
        drop(engine);
        if let Some(streams) = peers.by_proxy.get_mut(proxy) {
            streams.retain(|other| other.id != peer.id);
            if streams.is_empty() {
                peers.by_proxy.remove(proxy);
            }
        }
        drop(peers);
        self.metrics.held(held, work);
        self.metrics.stream(peer.variant, -1);
        self.ended(&peer.mailbox.close(), End::Dropped);
    }

    pub(crate) fn sent(&self, changes: &[u64]) {
        if !changes.is_empty() {
            let now = self.clock.now();
            let mut propagation = self.propagation.lock();
            changes.iter().for_each(|change| propagation.sent(*change, now));
        }
    }

    pub(crate) fn ended(&self, changes: &[u64], end: End) {
        if changes.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut propagation = self.propagation.lock();
        for change in changes {
            if let Some(took) = propagation.ended(*change, now, end) {
                self.metrics.propagated(took);
            }
        }
    }

    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock()
    }

    /// In the order of proxies, and of their streams.
    pub(crate) fn peers(&self) -> Vec<Arc<Peer>> {
        let peers = self.peers.lock();
        let mut peers: Vec<Arc<Peer>> = peers.by_proxy.values().flatten().cloned().collect();
        peers.sort_unstable_by(|a, b| (&a.identity.proxy, a.id).cmp(&(&b.identity.proxy, b.id)));
        peers
    }

    pub(crate) fn propagation(&self) -> Vec<ChangeReport> {
        self.propagation.lock().report(self.clock.now())
    }

    /// These are all that there are.
    pub(crate) fn set_problems(&self, problems: Vec<Problem>) {
        let mut all = Problems::new();
        for problem in problems {
            all.entry(Arc::clone(&problem.origin)).or_default().push(problem);
        }
        self.metrics.invalid(all.len());
        *self.problems.lock() = all;
    }

    /// These origins have these problems now, and others what they had.
    pub(crate) fn replace_problems(&self, changed: Vec<(Arc<str>, Vec<Problem>)>) {
        if changed.is_empty() {
            return;
        }
        let mut all = self.problems.lock();
        for (origin, problems) in changed {
            match problems.is_empty() {
                true => all.remove(&origin),
                false => all.insert(origin, problems),
            };
        }
        self.metrics.invalid(all.len());
    }

    pub(crate) fn findings(&self) -> Vec<FoundIn> {
        self.strategies.lock().findings(self.compat)
    }

    /// In the order of origins.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.problems.lock().values().flatten().cloned().collect()
    }
}

// === impl Entered ===

impl Drop for Entered {
    fn drop(&mut self) {
        self.control.leave(&self.peer);
    }
}

/// The first of the resources, and how many more there are.
fn summary(updates: &[Update]) -> String {
    let first = match updates.first() {
        None => String::new(),
        Some(Update::Apply(resource)) => resource.key.to_string(),
        Some(Update::Delete(key)) => format!("{key} deleted"),
        Some(Update::Plain { mesh, name, .. }) => format!("Service {mesh}/{name}"),
    };
    match updates.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}
