//! One controller process: an engine, its watches, and what it knows and has under way.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evenkeel_controller::engine::{Action, Engine, Outcome, Settings, Ticket, Write};
use evenkeel_model::{Node, SeenPod, SeenService, SeenSlice, ServiceKey, Watched};
use evenkeel_testkit::sim::{Answer, Cursor, Key, Request, Rng, Store, Translation};

use crate::view::{View, same_pod};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Nodes,
    Pods,
    Services,
    Slices,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Nodes, Kind::Pods, Kind::Services, Kind::Slices];

/// One watch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) cursor: Cursor,
    /// It starts with a list.
    pub(crate) lists: bool,
    /// The agenda has its next delivery.
    pub(crate) due: bool,
}

pub(crate) struct Process {
    pub(crate) engine: Engine,
    pub(crate) alive: bool,
    /// Counts restarts: what was meant for an earlier life is lost.
    pub(crate) life: u32,
    pub(crate) leading: bool,
    pub(crate) watches: [Watch; 4],
    pub(crate) view: View,
    /// With the slice that each is about.
    pub(crate) open: BTreeMap<Ticket, (ServiceKey, Option<Arc<str>>)>,
    /// When the server wants to be asked again, by this process's clock.
    later: BTreeMap<ServiceKey, (Option<Arc<str>>, Duration)>,
    /// Where the plan of the next write of a Service can't be older than.
    pub(crate) synced: BTreeMap<ServiceKey, u64>,
    pub(crate) able_since: Option<u64>,
    /// How far its clock is ahead of the others'.
    pub(crate) ahead: Duration,
    pub(crate) paused_until: Duration,
    /// The moment of the timer that was set.
    pub(crate) timer: Option<Duration>,
}

impl Process {
    pub(crate) fn new(settings: &Settings, rng: &mut Rng) -> Self {
        let mut engine = Engine::new(settings.clone());
        // Ids differ from those of the store and of other processes.
        for number in 0..rng.below(4) {
            let topology = engine.topology_mut();
            topology.zones.intern(&format!("elsewhere-{number}"));
            topology.nodes.intern(&format!("nowhere-{number}"));
        }
        Process {
            engine,
            alive: true,
            life: 0,
            leading: false,
            watches: [Watch { lists: true, ..Watch::default() }; 4],
            view: View::default(),
            open: BTreeMap::new(),
            later: BTreeMap::new(),
            synced: BTreeMap::new(),
            able_since: None,
            ahead: rng.millis(0, 1_000_000),
            paused_until: Duration::ZERO,
            timer: None,
        }
    }

    pub(crate) fn lead(&mut self, leading: bool) {
        self.leading = leading;
        self.engine.lead(leading);
    }

    /// Before which step everything must have been known to be in the plan of a new write.
    pub(crate) fn planned_after(&self, service: &ServiceKey) -> u64 {
        let synced = self.synced.get(service).copied();
        synced.or(self.able_since).unwrap_or_default()
    }

    /// The server wants to be asked about this Service at `moment`, by this process's clock.
    pub(crate) fn ask_later(&mut self, service: ServiceKey, moment: Duration) {
        let uid = self.uid(&service);
        self.later.insert(service, (uid, moment));
    }

    /// When the server wants to be asked about this Service. One that came since is another.
    pub(crate) fn not_before(&self, service: &ServiceKey) -> Option<Duration> {
        let (uid, moment) = self.later.get(service)?;
        (*uid == self.uid(service)).then_some(*moment)
    }

    pub(crate) fn knows_as_opted_in(&self, service: &ServiceKey) -> bool {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let seen = self.view.services.before(&key, u64::MAX);
        seen.is_some_and(|seen| seen.service.opted_in)
    }

    fn uid(&self, service: &ServiceKey) -> Option<Arc<str>> {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let seen = self.view.services.before(&key, u64::MAX)?;
        Some(Arc::clone(&seen.service.uid))
    }

    /// Whether a write of the same object is under way.
    pub(crate) fn is_writing(&self, object: &(ServiceKey, Option<Arc<str>>)) -> bool {
        self.open.values().any(|open| open == object)
    }

    // === what it is shown ===

    pub(crate) fn show_node(
        &mut self,
        shown: &Watched<Arc<Node>>,
        store: &Store,
        step: u64,
        now: Duration,
    ) {
        let name = |node: &Node| Key::new("", store.topology.nodes.name(node.id).clone());
        let before = self.view.nodes.keys();
        self.view.nodes.see(shown, step, name, |_, _| true);
        let after = self.view.nodes.keys();
        for gone in before.difference(&after) {
            self.view.gone_nodes.insert(gone.clone(), now + self.ahead);
        }
        let mut ids = Translation { from: &store.topology, to: self.engine.topology_mut() };
        let seen = map(shown, |node| ids.node(node));
        self.engine.node(seen);
    }

    pub(crate) fn show_pod(&mut self, shown: &Watched<Arc<SeenPod>>, store: &Store, step: u64) {
        let key = |seen: &SeenPod| Key::new(seen.pod.namespace.clone(), seen.pod.name.clone());
        self.view.pods.see(shown, step, key, same_pod);
        let mut ids = Translation { from: &store.topology, to: self.engine.topology_mut() };
        let seen = map(shown, |pod| ids.pod(pod));
        self.engine.pod(seen);
    }

    pub(crate) fn show_service(&mut self, shown: &Watched<Arc<SeenService>>, step: u64) {
        let key = |seen: &SeenService| {
            Key::new(seen.service.key.namespace.clone(), seen.service.key.name.clone())
        };
        self.view.services.see(shown, step, key, |a, b| a.service == b.service);
        self.engine.service(map(shown, SeenService::clone));
    }

    pub(crate) fn show_slice(&mut self, shown: &Watched<Arc<SeenSlice>>, store: &Store) {
        let mut ids = Translation { from: &store.topology, to: self.engine.topology_mut() };
        let seen = map(shown, |slice| ids.seen_slice(slice));
        self.engine.slice(seen);
    }

    // === what it wants ===

    /// The request behind a write, with the ids of the store.
    pub(crate) fn request(&self, write: &Write, store: &mut Store) -> Request {
        let key = |name: &Arc<str>| Key::new(write.service.namespace.clone(), name.clone());
        let mut ids = Translation { from: self.engine.topology(), to: &mut store.topology };
        match write.action.clone() {
            Action::Create { slice, trigger } => {
                Request::Create { key: key(&slice.name), slice: ids.slice(&slice), trigger }
            }
            Action::Update { slice, version, gone, trigger } => {
                let key = key(&slice.name);
                Request::Update { key, slice: ids.slice(&slice), version, gone, trigger }
            }
            Action::Relabel { name, version, manager } => {
                Request::Relabel { key: key(&name), version, manager }
            }
            Action::Delete { name, version } => Request::Delete { key: key(&name), version },
            Action::Read { name } => Request::Read { key: key(&name) },
            Action::Conditions { uid, set, remove } => {
                let set = set.into_iter().map(|(condition, _)| condition).collect();
                Request::Conditions { key: key(&write.service.name), uid, set, remove }
            }
        }
    }

    /// The outcome an answer is to it, with its own ids.
    pub(crate) fn outcome(&mut self, answer: Answer, store: &Store) -> Outcome {
        match answer {
            Answer::Stored(seen) => {
                let mut ids = Translation { from: &store.topology, to: self.engine.topology_mut() };
                Outcome::Stored(Box::new(ids.seen_slice(&seen)))
            }
            Answer::Done => Outcome::Done,
            Answer::Terminating => Outcome::NamespaceTerminating,
            Answer::Gone | Answer::Missing => Outcome::Gone,
            Answer::Found(seen) => {
                let mut ids = Translation { from: &store.topology, to: self.engine.topology_mut() };
                Outcome::Read(Box::new(ids.seen_slice(&seen)))
            }
            Answer::Exists => Outcome::Exists,
            Answer::Conflict => Outcome::Conflict,
            Answer::Invalid(field) => Outcome::Refused { code: 422, message: field.into() },
        }
    }
}

fn map<T, U>(shown: &Watched<Arc<T>>, change: impl FnOnce(&T) -> U) -> Watched<U> {
    match shown {
        Watched::Restarted => Watched::Restarted,
        Watched::Listed(value) => Watched::Listed(change(value)),
        Watched::Complete => Watched::Complete,
        Watched::Applied(value) => Watched::Applied(change(value)),
        Watched::Deleted(gone) => Watched::Deleted(gone.clone()),
    }
}
