//! Whether the nodes have the rules of each Service in force, by the reports of their proxies.
//!
//! A report names the revisions of Services and of slices up to which the rules of a node are in
//! force. A Service is in force everywhere once the lowest of each is not below what the Service
//! needs: its own revision, and the newest of its slices. So a report can only change something for
//! the Services whose needs lie between the lowest revision before and after it.
//!
//! **Cost.** O(log nodes) for a report that does not move the lowest revision, and O(log Services)
//! for each Service that it affects otherwise. A text is made where a Service is late: O(nodes
//! behind), at most once a minute for each.
//!
//! **Which nodes count.** Those whose Node exists, whose report can be compared, and whose report was
//! written again within its duration, by our own clock: those of nodes may be wrong. A report that is
//! already too old when it is first seen counts from its next renewal on. Others are unknown, and
//! make no Service late. When no node reports any more, what is shown stays for [`FORGOTTEN`]: more
//! likely than that all proxies are gone is that the API server was away.
//!
//! Deletions of slices have no revision here: a slice that is only deleted makes no node late.

mod levels;
mod nodes;
mod of_service;
mod standing;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use evenkeel_model::{Revision, SeenReport, ServiceId, ServiceKey, Watched, report_interval};
use rustc_hash::{FxHashMap, FxHashSet};

use self::{
    levels::Levels,
    nodes::NodeEntry,
    standing::{Floor, Patience, Standing, Verdict},
};
pub(super) use self::{
    of_service::{from_status, needs},
    standing::{Needs, Shown},
};

/// What a node has for a new state, besides the time that reports take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long conditions stay when no node reports any more.
const FORGOTTEN: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Reports {
    /// Taken in when the time is known. `true`: its own clock says that it is too old.
    inbox: Vec<(Watched<SeenReport>, bool)>,
    listed: Option<FxHashSet<Arc<str>>>,
    /// A list was complete once.
    is_complete: bool,
    /// By the name of the node.
    nodes: BTreeMap<Arc<str>, NodeEntry>,
    by_uid: FxHashMap<Arc<str>, Arc<str>>,
    /// Of nodes that count.
    n_active: usize,
    services: Levels,
    slices: Levels,
    /// When reports become too old, by the name of the node.
    deadlines: BTreeSet<(Duration, Arc<str>)>,
    exceptions: FxHashMap<ServiceKey, BTreeSet<Arc<str>>>,
    /// Nodes that did not list all of their exceptions.
    incomplete: BTreeSet<Arc<str>>,
    standings: FxHashMap<ServiceId, Tracked>,
    ids: FxHashMap<ServiceKey, ServiceId>,
    looks: BTreeSet<(Duration, ServiceId)>,
    /// Services with a condition about nodes.
    n_shown: usize,
    /// Since when no node reports, once a list was complete.
    nobody_since: Option<Duration>,
    /// Services to be looked at.
    affected: BTreeSet<ServiceId>,
    /// Services whose condition changes.
    changed: Vec<ServiceId>,
    #[cfg(test)]
    n_assessed: usize,
}

#[derive(Debug)]
struct Tracked {
    key: ServiceKey,
    standing: Standing,
    look_at: Option<Duration>,
}

// === what is seen ===

impl Reports {
    /// `wall` is the time of day, in seconds since 1970.
    pub(super) fn see(&mut self, seen: Watched<SeenReport>, wall: i64) {
        let is_old = match &seen {
            Watched::Listed(seen) | Watched::Applied(seen) => seen.renewed.is_none_or(|renewed| {
                let age = wall.saturating_sub(renewed);
                u64::try_from(age).is_ok_and(|age| age > seen.valid_for.as_secs())
            }),
            _ => false,
        };
        self.inbox.push((seen, is_old));
    }

    /// The state of a Service that nodes are to have. `from_status`: what its condition shows, for
    /// one that was not known before.
    pub(super) fn need(
        &mut self,
        id: ServiceId,
        key: &ServiceKey,
        needs: Needs,
        from_status: impl FnOnce() -> Option<Shown>,
        now: Duration,
    ) {
        let before = self.standings.get(&id).filter(|tracked| tracked.key == *key);
        let before = before.map(|tracked| tracked.standing.needs.clone());
        if before.as_ref() == Some(&needs) {
            return;
        }
        if before.is_none() {
            self.forget(id);
        }
        let old = before.as_ref();
        self.services.need(old.map(|old| &old.service), Some(&needs.service), id);
        self.slices.need(old.and_then(|old| old.slices.as_ref()), needs.slices.as_ref(), id);
        match self.standings.get_mut(&id) {
            Some(tracked) => tracked.standing.need(needs, now),
            None => {
                let standing = Standing::new(needs, now, from_status());
                self.n_shown += usize::from(standing.shown.is_some());
                let tracked = Tracked { key: key.clone(), standing, look_at: None };
                self.standings.insert(id, tracked);
                self.ids.insert(key.clone(), id);
            }
        }
        self.affected.insert(id);
    }

    /// The Service has no condition about nodes, or is gone.
    pub(super) fn forget(&mut self, id: ServiceId) {
        let Some(tracked) = self.standings.remove(&id) else { return };
        let Needs { service, slices } = &tracked.standing.needs;
        self.services.need(Some(service), None, id);
        self.slices.need(slices.as_ref(), None, id);
        self.ids.remove(&tracked.key);
        self.affected.remove(&id);
        self.n_shown -= usize::from(tracked.standing.shown.is_some());
        if let Some(at) = tracked.look_at {
            self.looks.remove(&(at, id));
        }
    }

    /// What the condition of the Service is to show.
    pub(super) fn shown(&self, id: ServiceId) -> Option<&Shown> {
        self.standings.get(&id)?.standing.shown.as_ref()
    }

    /// Nodes that count.
    pub(super) fn n_active(&self) -> usize {
        self.n_active
    }
}

// === what follows ===

impl Reports {
    /// Takes in what was seen, and what time brings. `exists`: whether there is a Node of this name;
    /// `nodes_changed`: it may be otherwise than before. Returns the Services whose condition
    /// changes.
    pub(super) fn advance(
        &mut self,
        now: Duration,
        nodes_changed: bool,
        exists: impl Fn(&str) -> bool,
    ) -> Vec<ServiceId> {
        let floor = self.floor();
        let was_complete = self.is_complete;
        let inbox = std::mem::take(&mut self.inbox);
        for (seen, is_old) in inbox {
            self.take(seen, is_old, now, &exists);
        }
        while let Some((_, node)) = self.deadlines.first().filter(|(at, _)| *at <= now).cloned() {
            self.deadlines.pop_first();
            self.nodes.get_mut(&node).expect("it has a deadline").deadline = None;
            self.activate(&node, &exists);
        }
        if nodes_changed {
            for node in self.nodes.keys().cloned().collect::<Vec<_>>() {
                self.activate(&node, &exists);
            }
        }
        if !self.is_complete {
            return Vec::new();
        }
        self.affect_between(&floor, !was_complete);
        self.await_nobody(now);
        self.look(now);
        std::mem::take(&mut self.changed)
    }

    /// When [`Reports::advance`] has something to do.
    pub(super) fn next_due(&self) -> Option<Duration> {
        if !self.inbox.is_empty() || (self.is_complete && !self.affected.is_empty()) {
            return Some(Duration::ZERO);
        }
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let look = self.looks.first().map(|(at, _)| *at);
        let nobody = self.nobody_since.map(|since| since + FORGOTTEN);
        deadline.into_iter().chain(look).chain(nobody).min()
    }

    fn floor(&self) -> Option<(Revision, Revision)> {
        Some((self.services.floor()?.clone(), self.slices.floor()?.clone()))
    }

    /// The Services for which it matters that the floor is another one.
    fn affect_between(&mut self, before: &Option<(Revision, Revision)>, is_first: bool) {
        let after = self.floor();
        match (before, &after) {
            (Some(before), Some(after)) if !is_first => {
                self.affected.extend(self.services.between(&before.0, &after.0));
                self.affected.extend(self.slices.between(&before.1, &after.1));
            }
            (None, None) if !is_first => {}
            _ => self.affected.extend(self.standings.keys()),
        }
    }

    /// Conditions are removed when no node has reported for long.
    fn await_nobody(&mut self, now: Duration) {
        if self.n_active > 0 {
            self.nobody_since = None;
            return;
        }
        if self.n_shown > 0 && self.nobody_since.is_none() {
            self.nobody_since = Some(now);
        }
        if self.nobody_since.is_some_and(|since| since + FORGOTTEN <= now) {
            (self.nobody_since, self.n_shown) = (None, 0);
            for (id, tracked) in &mut self.standings {
                if tracked.standing.show(None) {
                    self.changed.push(*id);
                }
            }
        }
    }

    fn look(&mut self, now: Duration) {
        while let Some((at, id)) = self.looks.first().filter(|(at, _)| *at <= now).copied() {
            self.looks.remove(&(at, id));
            self.affected.insert(id);
        }
        let affected = std::mem::take(&mut self.affected);
        let (Some(services), Some(slices)) = (self.services.floor(), self.slices.floor()) else {
            return;
        };
        let (services, slices) = (services.clone(), slices.clone());
        let floor = Floor { services: &services, slices: &slices };
        for id in affected {
            self.assess(id, now, floor);
        }
    }

    fn assess(&mut self, id: ServiceId, now: Duration, floor: Floor<'_>) {
        #[cfg(test)]
        {
            self.n_assessed += 1;
        }
        let patience = self.patience();
        let Some(tracked) = self.standings.get(&id) else { return };
        let is_excepted = self.excepting(&tracked.key).next().is_some();
        let tracked = self.standings.get_mut(&id).expect("just found");
        tracked.standing.except(is_excepted, now);
        let (verdict, look_at) = tracked.standing.assess(now, floor, patience);
        if tracked.look_at != look_at {
            if let Some(at) = tracked.look_at {
                self.looks.remove(&(at, id));
            }
            tracked.look_at = look_at;
        }
        self.looks.extend(look_at.map(|at| (at, id)));
        let shown = match verdict {
            Verdict::Keep => return,
            Verdict::InForce => text::in_force(),
            Verdict::Late => self.late(id),
        };
        let tracked = self.standings.get_mut(&id).expect("just found");
        self.n_shown += usize::from(tracked.standing.shown.is_none());
        if tracked.standing.show(Some(shown)) {
            self.changed.push(id);
        }
    }

    /// Nodes need the longer for a report, the more of them there are.
    fn patience(&self) -> Patience {
        let late =
            PATIENCE + 2 * report_interval(self.n_active).saturating_sub(Duration::from_secs(1));
        Patience { late, settle: 2 * late }
    }

    /// The active nodes that list the Service as an exception, with the reason.
    fn excepting<'a>(
        &'a self,
        key: &'a ServiceKey,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a str)> {
        let listing = self.exceptions.get(key).into_iter().flatten();
        listing.chain(&self.incomplete).filter_map(|node| {
            let entry = self.nodes.get(node).filter(|entry| entry.is_active)?;
            Some((node, entry.seen.report.exception(key)?))
        })
    }
}

#[cfg(test)]
mod tests;
