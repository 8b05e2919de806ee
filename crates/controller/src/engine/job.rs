//! A sync under way: its writes one after the other, and what each answer means.
//!
//! An answer that shows the cache to be behind ends the job: the Service is planned anew once the
//! watch has caught up, or what is in doubt was read. A plan from one slice read ahead of the watch
//! and others as the watch had them would mix two states of the cluster.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use evenkeel_model::{Condition, Version, label};
use evenkeel_topology::plan::FamilyPlan;

use super::{Action, Outcome, Report, SyncResult, cache::Cache, sync::Begun};

/// How long the watch has to show what a conflict tells of, before it is read.
const WATCH_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Job {
    current: Option<Action>,
    left: VecDeque<Action>,
    /// The uid that the cache had for the slice being read, when the read was sent.
    read_uid: Option<Arc<str>>,
    pub(super) why: Arc<[FamilyPlan]>,
    pub(super) report: Report,
    pub(super) again: bool,
    pub(super) rest: Duration,
}

/// How a job goes on.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Next(Action),
    Done,
    /// The cache is behind.
    Stale,
    Failed {
        after: Option<Duration>,
        message: String,
    },
}

impl Job {
    pub(super) fn new(begun: Begun) -> Job {
        let Begun { actions, why, report, again, rest, .. } = begun;
        Job { current: None, left: actions, read_uid: None, why, report, again, rest }
    }

    /// The next write.
    pub(super) fn next(&mut self, cache: &Cache, id: u32) -> Step {
        let Some(action) = self.left.pop_front() else { return Step::Done };
        if let Action::Read { name } = &action {
            let known = cache.slots.get(id).and_then(|slot| slot.slices.get(name));
            self.read_uid = known.map(|known| Arc::clone(&known.version.uid));
        }
        self.current = Some(action.clone());
        Step::Next(action)
    }

    /// Takes in what became of the write under way.
    pub(super) fn answer(
        &mut self,
        cache: &mut Cache,
        id: u32,
        outcome: Outcome,
        now: Duration,
    ) -> Step {
        let Some(action) = self.current.take() else { return Step::Done };
        match outcome {
            Outcome::Unknown { after, message } => {
                if let Some(name) = action.slice_name() {
                    cache.doubt(id, name, Duration::ZERO);
                }
                Step::Failed { after, message }
            }
            Outcome::Refused { code, message } => {
                Step::Failed { after: None, message: format!("{message} ({code})") }
            }
            Outcome::Done(version) => {
                done(cache, id, &action, version);
                self.next(cache, id)
            }
            Outcome::Read(seen) => {
                if let Some(slot) = cache.slots.get_mut(id) {
                    slot.doubts.remove(&seen.slice.name);
                }
                cache.read_slice(*seen);
                self.next(cache, id)
            }
            Outcome::Gone => self.gone(cache, id, &action),
            Outcome::Conflict | Outcome::Exists => self.behind(cache, id, &action, now),
        }
    }

    /// What it was planned from is not what the server has.
    fn behind(&mut self, cache: &mut Cache, id: u32, action: &Action, now: Duration) -> Step {
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
        Step::Stale
    }

    /// Another Service has taken the name, or the server gave up against other writers.
    fn status_conflict(&mut self, cache: &Cache, id: u32, uid: &Arc<str>) -> Step {
        let service = cache.slots.get(id).and_then(|slot| slot.service.as_ref());
        if service.is_some_and(|service| service.seen.version.uid == *uid) {
            let message = "the status of the Service changed meanwhile".to_owned();
            return Step::Failed { after: None, message };
        }
        self.next(cache, id)
    }

    fn gone(&mut self, cache: &mut Cache, id: u32, action: &Action) -> Step {
        match action {
            Action::Update { slice: evenkeel_model::Slice { name, .. }, version, .. }
            | Action::Relabel { name, version, .. } => {
                cache.removed(id, name, &version.uid);
                return Step::Stale;
            }
            Action::Delete { name, version } => cache.removed(id, name, &version.uid),
            Action::Read { name } => {
                // What came since is not what was asked about.
                if let Some(uid) = self.read_uid.take() {
                    cache.removed(id, name, &uid);
                }
                if let Some(slot) = cache.slots.get_mut(id) {
                    slot.doubts.remove(name);
                    slot.taken.remove(name);
                }
            }
            // The Service or its namespace is gone: the watch will tell.
            Action::Create { .. } | Action::Conditions { .. } => self.left.clear(),
        }
        self.next(cache, id)
    }

    pub(super) fn result(&mut self, result: SyncResult, problem: Option<String>) -> Report {
        let mut report = self.report.clone();
        if report.problem.is_none() {
            report.result = result;
            report.problem = problem;
        }
        report
    }
}

fn done(cache: &mut Cache, id: u32, action: &Action, version: Version) {
    match action {
        Action::Create { slice, .. } | Action::Update { slice, .. } => {
            cache.wrote(id, slice, version);
        }
        Action::Relabel { name, manager, .. } => {
            let known = cache.slots.get(id).and_then(|slot| slot.slices.get(name));
            if let Some(mut slice) = known.map(|known| known.slice.clone()) {
                slice.labels.insert(label::MANAGED_BY.into(), Arc::clone(manager));
                cache.wrote(id, &slice, version);
            }
        }
        Action::Delete { name, version } => cache.removed(id, name, &version.uid),
        Action::Read { .. } => {}
        Action::Conditions { uid, set, remove } => conditions(cache, id, uid, set, remove),
    }
}

/// The Service's status says this now, so that its own echo is no news.
fn conditions(
    cache: &mut Cache,
    id: u32,
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
