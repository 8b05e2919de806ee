//! The controller without its sockets: what it has seen goes in, what is to be done comes out.
//!
//! Level-triggered. Whatever a watch says only marks Services; a marked Service is planned from the
//! cache as it is then, and the plan's writes are carried out, first all that add, then all that
//! take away. At most one sync of a Service is under way, and at most [`Settings::max_in_flight`]
//! writes of all.
//!
//! **Its own writes.** What a write answered is put into the cache at once, so that the next plan
//! starts from it although the watch has not shown it yet. A watch that shows an older generation
//! of a slice than the cache has is behind, and is not believed; nor is one that shows a slice this
//! controller has deleted. A write whose end is not known (a timeout) changes nothing here: the
//! retry then meets `AlreadyExists` or `Conflict`, and the slice is read again. A server that stores
//! something else than it was sent is not sent the same again; conditions say what it stored.
//!
//! **Rivals.** A new slice is named after Service UID, family, ports and ordinal, so that a second
//! create of it is refused; updates and deletes carry the version they were planned from. A lease
//! only saves work: two leaders at once write no slice twice.
//!
//! Cost of one Pod's change: O(its labels) to find its Services, O(log dirty Services) to queue
//! them, and one plan for each; nothing depends on how many other Services there are.

mod cache;
mod conditions;
mod coverage;
mod effect;
mod event_reason;
mod job;
mod names;
mod ownership;
mod pairs;
mod queue;
mod reports;
mod settings;
mod sync;
mod table;
mod triggers;

pub use self::{
    effect::{Action, Effect, Outcome, Report, ServiceEvent, SyncResult, Ticket, Totals, Write},
    settings::{Scope, Settings},
};

use std::{collections::VecDeque, sync::Arc, time::Duration};

use evenkeel_model::{
    Node, SeenPod, SeenReport, SeenService, SeenSlice, ServiceId, ServiceKey, Topology, Watched,
};
use evenkeel_topology::{Capacity, Demand, NoHints, demand, measure, overload::AutoServices};
use rustc_hash::FxHashMap;

use self::{
    cache::Cache,
    job::{Job, JobEnd},
    queue::{Backoff, End, Queue},
    reports::Reports,
    sync::SyncContext,
};

/// So often in a row a sync may find its cache behind before it waits like after a failure.
const STALE_IN_A_ROW: u32 = 5;

/// How many writes of one Service are under way at once, so that a large one leaves room for others.
const PER_SERVICE: usize = 8;

#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    cache: Cache,
    queue: Queue,
    auto_services: AutoServices,
    reports: Reports,
    capacity: Result<Capacity, NoHints>,
    demand: Demand,
    /// Syncs under way, by the Service they are about: one has at most one.
    jobs: FxHashMap<ServiceId, Job>,
    tickets: FxHashMap<Ticket, ServiceId>,
    stale: FxHashMap<ServiceId, u32>,
    out: VecDeque<Effect>,
    next_ticket: u64,
    leading: bool,
    /// Which of the four lists were complete once.
    complete: [bool; 4],
}

// === what is seen ===

impl Engine {
    pub fn new(settings: Settings) -> Engine {
        Engine {
            settings,
            cache: Cache::default(),
            queue: Queue::default(),
            auto_services: AutoServices::default(),
            reports: Reports::default(),
            capacity: Err(NoHints::NodesUnknown),
            demand: Demand::default(),
            jobs: FxHashMap::default(),
            tickets: FxHashMap::default(),
            stale: FxHashMap::default(),
            out: VecDeque::new(),
            next_ticket: 0,
            leading: false,
            complete: [false; 4],
        }
    }

    /// Ids in everything given and taken are from this table.
    pub fn topology(&self) -> &Topology {
        &self.cache.topology
    }

    pub fn topology_mut(&mut self) -> &mut Topology {
        &mut self.cache.topology
    }

    pub fn node(&mut self, seen: Watched<Node>) {
        match seen {
            Watched::Restarted => self.cache.begin_nodes(),
            Watched::Listed(node) => self.cache.list_node(node),
            Watched::Complete => {
                self.cache.end_nodes();
                self.complete[0] = true;
            }
            Watched::Applied(node) => self.cache.apply_node(node),
            Watched::Deleted(gone) => self.cache.delete_node(&gone),
        }
    }

    pub fn pod(&mut self, seen: Watched<SeenPod>) {
        match seen {
            Watched::Restarted => self.cache.begin_pods(),
            Watched::Listed(pod) | Watched::Applied(pod) => self.cache.apply_pod(pod),
            Watched::Complete => {
                self.cache.end_pods();
                self.complete[1] = true;
            }
            Watched::Deleted(gone) => self.cache.delete_pod(&gone),
        }
    }

    pub fn service(&mut self, seen: Watched<SeenService>) {
        match seen {
            Watched::Restarted => self.cache.begin_services(),
            Watched::Listed(service) => self.cache.list_service(service),
            Watched::Complete => {
                self.cache.end_services();
                self.complete[2] = true;
            }
            Watched::Applied(service) => {
                self.cache.apply_service(service);
            }
            Watched::Deleted(gone) => self.cache.delete_service(&gone),
        }
    }

    pub fn slice(&mut self, seen: Watched<SeenSlice>) {
        match seen {
            Watched::Restarted => self.cache.begin_slices(),
            Watched::Listed(slice) => self.cache.list_slice(slice),
            Watched::Complete => {
                self.cache.end_slices();
                self.complete[3] = true;
            }
            Watched::Applied(slice) => self.cache.apply_slice(slice),
            Watched::Deleted(gone) => self.cache.delete_slice(&gone),
        }
    }

    /// What the proxy of a node reports. `wall` is the time of day, in seconds since 1970. Nothing
    /// waits for the list of them to be complete.
    pub fn report(&mut self, seen: Watched<SeenReport>, wall: i64) {
        self.reports.see(seen, wall);
    }

    /// Whether this process may write. Writes under way are finished all the same.
    pub fn lead(&mut self, leading: bool) {
        self.leading = leading;
    }

    /// All four lists were complete once.
    pub fn is_synced(&self) -> bool {
        self.complete == [true; 4]
    }
}

// === what is done ===

impl Engine {
    /// The next thing to be done; to be called until it gives `None`. `now` is monotonic, counted
    /// from any fixed moment.
    pub fn poll(&mut self, now: Duration) -> Option<Effect> {
        self.cache.expire_nodes(now, self.settings.missing_node_grace);
        loop {
            if let Some(effect) = self.out.pop_front() {
                return Some(effect);
            }
            // Also as a standby, or what was touched would be remembered once for each change.
            self.mark_touched(now);
            if !self.may_begin() {
                return None;
            }
            let id = self.queue.next(now, self.settings.batch_period)?;
            self.begin(id, now);
        }
    }

    /// When [`Engine::poll`] has something to do without further input.
    pub fn next_due(&self) -> Option<Duration> {
        if !self.out.is_empty() {
            return Some(Duration::ZERO);
        }
        if !self.may_begin() {
            return None;
        }
        if !self.cache.touched.is_empty() || self.cache.nodes_changed {
            return Some(Duration::ZERO);
        }
        let (nodes, reports) = (self.cache.nodes_expire(), self.reports.next_due());
        self.queue.next_due().into_iter().chain(nodes).chain(reports).min()
    }

    /// Tells what became of a write.
    pub fn done(&mut self, now: Duration, ticket: Ticket, outcome: Outcome) {
        let Some(id) = self.tickets.remove(&ticket) else { return };
        let Some(mut job) = self.jobs.remove(&id) else { return };
        job.answer(&mut self.cache, id, ticket, outcome, now);
        if !self.leading && job.has_left() {
            // Somebody else leads: what is left is for them to do.
            job.again = true;
            job.stop();
        }
        self.go_on(id, job, now);
    }

    /// Sums over all Services. O(Services).
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            pods: self.cache.n_pods(),
            nodes: self.cache.nodes.iter().count(),
            reporting_nodes: self.reports.n_active(),
            waiting: self.queue.waiting(),
            in_flight: self.tickets.len(),
            ..Totals::default()
        };
        for slot in self.cache.slots.ids().filter_map(|id| self.cache.slots.get(id)) {
            let Some(entry) = &slot.service else { continue };
            totals.services += 1;
            totals.endpoints += slot.sums.endpoints;
            totals.slices += slot.sums.slices;
            totals.desired_slices += slot.sums.desired_slices;
            totals.withdrawn += usize::from(slot.sums.withdrawn);
            totals.stale_slices += slot.sums.stale;
            totals.with_shares += usize::from(slot.sums.shares);
            if let Some(value) = &entry.seen.service.traffic_distribution {
                let known = matches!(&**value, "PreferClose" | "PreferSameZone" | "PreferSameNode");
                let value =
                    if known { Arc::clone(value) } else { "implementation-specific".into() };
                *totals.by_traffic_distribution.entry(value).or_default() += 1;
            }
        }
        totals
    }

    fn begin(&mut self, id: ServiceId, now: Duration) {
        let doubts = self.cache.slots.get(id).map(|slot| &slot.doubts);
        let until = doubts.and_then(|doubts| doubts.values().max()).filter(|until| **until > now);
        if let Some(&until) = until {
            self.queue.finish(id, now, End::Waits { until }, &self.backoff());
            return;
        }
        let capacity = self.capacity.as_ref();
        let honored = self.reports.shown(id).cloned();
        let (demand, settings) = (&self.demand, &self.settings);
        let context = SyncContext { capacity, demand, settings, honored };
        let work = sync::begin(&mut self.cache, &mut self.auto_services, id, &context);
        let Some(mut work) = work else {
            self.queue.finish(id, now, End::Settled { rest: Duration::ZERO }, &self.backoff());
            self.forget_if_empty(id);
            return;
        };
        self.out.extend(work.events.drain(..).map(Effect::Event));
        self.cache.run(id, true);
        self.go_on(id, Job::new(work, now), now);
    }

    /// Sends what may be sent. The sync is over when nothing is, and nothing is under way.
    fn go_on(&mut self, id: ServiceId, mut job: Job, now: Duration) {
        // Each sync has a write of its own among those under way, so that none waits for others.
        while job.n_open() == 0 || (job.n_open() < PER_SERVICE && self.has_room()) {
            let ticket = Ticket(self.next_ticket);
            let Some(action) = job.next(&self.cache, id, ticket) else { break };
            self.next_ticket += 1;
            let (service, why) = (job.report.service.clone(), Arc::clone(&job.why));
            self.out.push_back(Effect::Write(Write { ticket, service, action, why }));
            self.tickets.insert(ticket, id);
        }
        if job.n_open() > 0 {
            self.jobs.insert(id, job);
            return;
        }
        self.end(id, job, now);
    }

    fn end(&mut self, id: ServiceId, job: Job, now: Duration) {
        let (again, rest, after) = (job.again, job.rest, job.pause(now));
        let (end, report) = job.result(now);
        let again = again || end == JobEnd::Stale;
        let end = match end {
            JobEnd::Done => {
                self.stale.remove(&id);
                End::Settled { rest }
            }
            JobEnd::Stale => {
                let times = self.stale.entry(id).or_default();
                *times += 1;
                match *times > STALE_IN_A_ROW {
                    true => End::Failed { after: None },
                    false => End::Settled { rest: Duration::ZERO },
                }
            }
            JobEnd::Throttled => End::Throttled { after: after.unwrap_or_default() },
            JobEnd::Failed(message) => {
                self.tell_failure(id, &message);
                End::Failed { after }
            }
        };
        self.cache.run(id, false);
        self.follow(id, now);
        let retry_in = self.queue.finish(id, now, end, &self.backoff());
        self.out.push_back(Effect::Synced(Report { retry_in, ..report }));
        if again && matches!(end, End::Settled { .. }) {
            self.queue.mark(id);
        }
        self.forget_if_empty(id);
    }

    /// Whether one more write may be under way.
    fn has_room(&self) -> bool {
        self.tickets.len() < self.settings.max_in_flight
    }

    fn may_begin(&self) -> bool {
        self.is_synced() && self.leading && self.has_room()
    }

    /// A failed sync is an Event on the Service, the first time and then ever more rarely.
    fn tell_failure(&mut self, id: ServiceId, message: &str) {
        let service = self.cache.slots.get(id).and_then(|slot| slot.service.as_ref());
        let Some(service) = service else { return };
        if !(self.queue.failures(id) + 1).is_power_of_two() {
            return;
        }
        let key = &service.seen.service.key;
        self.out.push_back(Effect::Event(ServiceEvent {
            service: key.clone(),
            uid: Arc::clone(&service.seen.version.uid),
            warning: true,
            reason: event_reason::FAILED,
            message: format!("Error updating Endpoint Slices for Service {key}: {message}"),
        }));
    }

    /// What nodes must have in force for the Service, now that it changed.
    fn follow(&mut self, id: ServiceId, now: Duration) {
        let slot = self.cache.slots.get(id);
        let needs = slot.and_then(|slot| reports::needs(slot, &self.settings));
        let seen = slot.and_then(|slot| Some(&slot.service.as_ref()?.seen));
        match (seen, needs) {
            (Some(seen), Some(needs)) => {
                let from_status = || reports::from_status(seen, &self.settings);
                self.reports.need(id, &seen.service.key, needs, from_status, now);
            }
            _ => self.reports.forget(id),
        }
    }

    /// Marks the Services whose condition changes by what nodes report, or by the time.
    fn take_reports(&mut self, now: Duration) {
        let Cache { nodes, topology, nodes_changed, .. } = &self.cache;
        let is_due = self.reports.next_due().is_some_and(|due| due <= now);
        if !is_due && !nodes_changed {
            return;
        }
        let exists = |name: &str| {
            let id = topology.nodes.find(name);
            id.is_some_and(|id| nodes.get(id).is_some())
        };
        for id in self.reports.advance(now, *nodes_changed, exists) {
            self.queue.mark(id);
        }
    }

    fn mark_touched(&mut self, now: Duration) {
        self.take_reports(now);
        if self.is_synced() && std::mem::take(&mut self.cache.nodes_changed) {
            self.measure();
        }
        for id in std::mem::take(&mut self.cache.touched) {
            if !self.forget_if_empty(id) {
                self.follow(id, now);
                self.queue.mark(id);
            }
        }
        // What changed may be in force already.
        self.take_reports(now);
    }

    /// Zone capacity anew, and the Services that its change carries over a threshold.
    fn measure(&mut self) {
        let nodes: Vec<Node> = self.cache.nodes.iter().cloned().collect();
        let settings = &self.settings.topology;
        let capacity = measure(&nodes, &self.cache.topology, settings);
        let demand = demand(&nodes, &self.cache.topology);
        if capacity == self.capacity && demand == self.demand {
            // It may know more names.
            self.demand = demand;
            return;
        }
        let due = self.auto_services.resync(capacity.as_ref().ok(), settings);
        let mut due: Vec<ServiceKey> = due.into_iter().map(|(key, _)| key.clone()).collect();
        // Where there is another reason for having no hints, Services are to say so.
        let (before, after) = (self.capacity.as_ref(), capacity.as_ref());
        due.extend(self.auto_services.refused_otherwise(before, after, settings).cloned());
        // Where zone shares no longer do, or regions have other zones.
        due.extend(
            self.auto_services.reshared(&self.demand, &demand, settings).into_iter().cloned(),
        );
        for ServiceKey { namespace, name } in due {
            self.cache.touched.extend(self.cache.slots.id(&(namespace, name)));
        }
        (self.capacity, self.demand) = (capacity, demand);
    }

    fn forget_if_empty(&mut self, id: ServiceId) -> bool {
        let name = self.cache.slots.name(id).cloned();
        if !self.cache.forget_if_empty(id) {
            return false;
        }
        self.queue.forget(id);
        self.reports.forget(id);
        self.stale.remove(&id);
        if let Some((namespace, name)) = name {
            self.auto_services.forget(&ServiceKey { namespace, name });
        }
        true
    }

    fn backoff(&self) -> Backoff {
        Backoff { first: self.settings.backoff, max: self.settings.max_backoff }
    }
}
