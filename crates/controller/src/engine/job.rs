//! A sync under way: its writes phase by phase, and what each answer means.
//!
//! The writes of one phase don't depend on each other and go at the same time; a phase begins when
//! the one before has been answered. What adds comes before what takes away, and records before
//! what they are about: see `sync.rs`.
//!
//! An answer that shows the cache to be behind ends the job once all that was sent is answered: the
//! Service is planned anew when the watch has caught up, or what is in doubt was read. A plan from
//! one slice read ahead of the watch and others as the watch had them would mix two states of the
//! cluster.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use evenkeel_model::{Condition, SeenSlice, ServiceId, label};
use evenkeel_topology::plan::FamilyPlan;

use super::{Action, Outcome, Report, SyncResult, Ticket, cache::Cache, sync::SyncWork};

/// How long the watch has to show what a conflict tells of, before it is read.
const WATCH_PATIENCE: Duration = Duration::from_secs(2);

/// When a busy server is asked again that does not say, as Kubernetes' clients do.
const BUSY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Job {
    open: Vec<Open>,
    left: VecDeque<VecDeque<Action>>,
    end: JobEnd,
    /// When the server wants to be asked again, if it said so.
    ask_at: Option<Duration>,
    began: Duration,
    pub(super) why: Arc<[FamilyPlan]>,
    pub(super) report: Report,
    pub(super) again: bool,
    pub(super) rest: Duration,
}

/// A write that was sent.
#[derive(Debug)]
struct Open {
    ticket: Ticket,
    action: Action,
    /// The uid that the cache had for the slice being read, when the read was sent.
    read_uid: Option<Arc<str>>,
}

/// How a job ends, the worst last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JobEnd {
    Done,
    /// The cache is behind.
    Stale,
    /// The server is busy.
    Throttled,
    Failed(String),
}

impl Job {
    pub(super) fn new(work: SyncWork, now: Duration) -> Job {
        let SyncWork { phases, why, report, again, rest, .. } = work;
        let left = phases.into_iter().map(VecDeque::from).collect();
        let (open, end, ask_at) = (Vec::new(), JobEnd::Done, None);
        Job { open, left, end, ask_at, began: now, why, report, again, rest }
    }

    /// How many writes are under way.
    pub(super) fn n_open(&self) -> usize {
        self.open.len()
    }

    /// Takes the next write that may be sent now.
    pub(super) fn next(&mut self, cache: &Cache, id: ServiceId, ticket: Ticket) -> Option<Action> {
        while self.open.is_empty() && self.left.front().is_some_and(VecDeque::is_empty) {
            self.left.pop_front();
            // What was planned to be taken away may be wanted now.
            if cache.slots.get(id).is_some_and(|slot| slot.outdated) && self.has_left() {
                self.stop();
                self.again = true;
            }
        }
        let action = self.left.front_mut()?.pop_front()?;
        let read_uid = match &action {
            Action::Read { name } => {
                let known = cache.slots.get(id).and_then(|slot| slot.slices.get(name));
                known.map(|known| Arc::clone(&known.version.uid))
            }
            _ => None,
        };
        self.open.push(Open { ticket, action: action.clone(), read_uid });
        Some(action)
    }

    /// Sends nothing more.
    pub(super) fn stop(&mut self) {
        self.left.clear();
    }

    pub(super) fn has_left(&self) -> bool {
        self.left.iter().any(|phase| !phase.is_empty())
    }

    /// Takes in what became of a write.
    pub(super) fn answer(
        &mut self,
        cache: &mut Cache,
        id: ServiceId,
        ticket: Ticket,
        outcome: Outcome,
        now: Duration,
    ) {
        let Some(at) = self.open.iter().position(|open| open.ticket == ticket) else { return };
        let Open { action, read_uid, .. } = self.open.swap_remove(at);
        match outcome {
            Outcome::Unknown { after, message } => {
                if let Some(name) = action.slice_name() {
                    cache.doubt(id, name, Duration::ZERO);
                }
                self.ask_at = self.ask_at.max(after.map(|after| now + after));
                self.ends(JobEnd::Failed(message));
            }
            Outcome::Busy { after } => {
                self.ask_at = self.ask_at.max(Some(now + after.unwrap_or(BUSY)));
                self.ends(JobEnd::Throttled);
            }
            Outcome::Refused { code, message } => {
                self.ends(JobEnd::Failed(format!("{message} ({code})")));
            }
            Outcome::NamespaceTerminating => self.stop(),
            Outcome::Stored(seen) => self.stored(cache, id, &action, *seen),
            Outcome::Done => done(cache, id, &action),
            Outcome::Read(seen) => {
                if let Some(slot) = cache.slots.get_mut(id) {
                    slot.doubts.remove(&seen.slice.name);
                }
                cache.read_slice(*seen);
            }
            Outcome::Gone => self.gone(cache, id, &action, read_uid.as_ref()),
            Outcome::Conflict | Outcome::Exists => self.behind(cache, id, &action, now),
        }
    }

    fn ends(&mut self, end: JobEnd) {
        self.stop();
        if end > self.end {
            self.end = end;
        }
    }

    /// What the server stored may differ from what was sent: a webhook changed it, or the server
    /// does not know a field. Conditions are then to say what is there, and not what was planned.
    fn stored(&mut self, cache: &mut Cache, id: ServiceId, action: &Action, seen: SeenSlice) {
        let sent = match action {
            Action::Create { slice, .. } | Action::Update { slice, .. } => slice.clone(),
            Action::Relabel { name, manager, .. } => {
                let known = cache.slots.get(id).and_then(|slot| slot.slices.get(name));
                let Some(mut slice) = known.map(|known| known.slice.clone()) else { return };
                slice.labels.insert(label::MANAGED_BY.into(), Arc::clone(manager));
                slice.shares = None;
                slice
            }
            Action::Delete { .. } | Action::Read { .. } | Action::Conditions { .. } => return,
        };
        let name = Arc::clone(&sent.name);
        if cache.wrote(id, sent, seen) {
            self.report.altered = Some(name);
            self.again = true;
            for phase in &mut self.left {
                phase.retain(|action| !matches!(action, Action::Conditions { .. }));
            }
        }
    }

    /// What it was planned from is not what the server has.
    fn behind(&mut self, cache: &mut Cache, id: ServiceId, action: &Action, now: Duration) {
        if let Action::Conditions { uid, .. } = action {
            return self.status_conflict(cache, id, uid);
        }
        if let Action::Create { slice, .. } = action
            && let Some(slot) = cache.slots.get_mut(id)
        {
            // Should it turn out to be another's, the next name is tried.
            slot.taken.insert(Arc::clone(&slice.name));
        }
        if let Some(name) = action.slice_name() {
            cache.doubt(id, name, now + WATCH_PATIENCE);
        }
        self.ends(JobEnd::Stale);
    }

    /// Another Service has taken the name, or the server gave up against other writers.
    fn status_conflict(&mut self, cache: &Cache, id: ServiceId, uid: &Arc<str>) {
        let service = cache.slots.get(id).and_then(|slot| slot.service.as_ref());
        if service.is_some_and(|service| service.seen.version.uid == *uid) {
            let message = "the status of the Service was changed by another process".to_owned();
            self.ends(JobEnd::Failed(message));
        }
    }

    fn gone(
        &mut self,
        cache: &mut Cache,
        id: ServiceId,
        action: &Action,
        read_uid: Option<&Arc<str>>,
    ) {
        match action {
            Action::Update { slice: evenkeel_model::Slice { name, .. }, version, .. }
            | Action::Relabel { name, version, .. } => {
                cache.removed(id, name, &version.uid);
                self.ends(JobEnd::Stale);
            }
            Action::Delete { name, version } => cache.removed(id, name, &version.uid),
            Action::Read { name } => {
                // What came since is not what was asked about.
                if let Some(uid) = read_uid {
                    cache.removed(id, name, uid);
                }
                if let Some(slot) = cache.slots.get_mut(id) {
                    slot.doubts.remove(name);
                    slot.taken.remove(name);
                }
            }
            // The Service or its namespace is gone: the watch will tell.
            Action::Create { .. } | Action::Conditions { .. } => self.stop(),
        }
    }

    /// For how long the server is not to be asked.
    pub(super) fn pause(&self, now: Duration) -> Option<Duration> {
        self.ask_at.map(|at| at.saturating_sub(now))
    }

    /// How it ended, and what is to be told of it.
    pub(super) fn result(self, now: Duration) -> (JobEnd, Report) {
        let mut report = Report { took: now.saturating_sub(self.began), ..self.report };
        if report.problem.is_none() {
            (report.result, report.problem) = match &self.end {
                JobEnd::Done => (SyncResult::Success, None),
                JobEnd::Stale => (SyncResult::Stale, None),
                JobEnd::Throttled => (SyncResult::Throttled, None),
                JobEnd::Failed(message) => (SyncResult::Error, Some(message.clone())),
            };
        }
        (self.end, report)
    }
}

fn done(cache: &mut Cache, id: ServiceId, action: &Action) {
    if let Action::Conditions { uid, set, remove } = action {
        conditions(cache, id, uid, set, remove);
    }
}

/// The Service's status says this now, so that its own echo is no news.
fn conditions(
    cache: &mut Cache,
    id: ServiceId,
    uid: &Arc<str>,
    set: &[(Condition, bool)],
    remove: &[Arc<str>],
) {
    let service = cache.slots.get_mut(id).and_then(|slot| slot.service.as_mut());
    let Some(service) = service.filter(|service| service.seen.version.uid == *uid) else { return };
    let present = &mut service.seen.conditions;
    let replaced = |kind: &Arc<str>| {
        remove.contains(kind) || set.iter().any(|(condition, _)| condition.kind == *kind)
    };
    present.retain(|condition| !replaced(&condition.kind));
    present.extend(set.iter().map(|(condition, _)| condition.clone()));
    // As watches show them.
    present.sort_by(|a, b| a.kind.cmp(&b.kind));
}
