//! The reports of nodes, and which of them count.

use std::{sync::Arc, time::Duration};

use evenkeel_model::{ProxyReport, SeenReport, Watched};
use rustc_hash::FxHashSet;

use super::Reports;

#[derive(Debug)]
pub(super) struct NodeEntry {
    pub(super) seen: SeenReport,
    /// `None`: too old.
    pub(super) deadline: Option<Duration>,
    pub(super) is_active: bool,
}

impl Reports {
    pub(super) fn take(
        &mut self,
        seen: Watched<SeenReport>,
        is_old: bool,
        now: Duration,
        exists: &impl Fn(&str) -> bool,
    ) {
        match seen {
            Watched::Restarted => self.listed = Some(FxHashSet::default()),
            Watched::Listed(seen) => {
                if let Some(listed) = &mut self.listed {
                    listed.insert(Arc::clone(&seen.report.node));
                }
                self.apply(seen, is_old, now, exists);
            }
            Watched::Applied(seen) => self.apply(seen, is_old, now, exists),
            Watched::Complete => {
                let listed = self.listed.take().unwrap_or_default();
                let gone = self.nodes.keys().filter(|node| !listed.contains(*node));
                for node in gone.cloned().collect::<Vec<_>>() {
                    self.remove(&node);
                }
                self.is_complete = true;
            }
            Watched::Deleted(gone) => {
                if let Some(node) = self.by_uid.get(&gone.uid).cloned() {
                    self.remove(&node);
                }
            }
        }
    }

    fn apply(
        &mut self,
        seen: SeenReport,
        is_old: bool,
        now: Duration,
        exists: &impl Fn(&str) -> bool,
    ) {
        let node = Arc::clone(&seen.report.node);
        let old = self.nodes.get(&node);
        if old.is_some_and(|old| old.seen.version == seen.version) {
            return;
        }
        if let Some(old) = self.nodes.get_mut(&node).filter(|old| old.is_heartbeat(&seen)) {
            let deadline = now + seen.valid_for;
            let before = old.deadline.replace(deadline);
            old.seen = seen;
            before.map(|before| self.deadlines.remove(&(before, Arc::clone(&node))));
            self.deadlines.insert((deadline, node));
            return;
        }
        // One that was written since we know it is of a proxy that lives, whatever its clock says.
        let is_fresh = self.nodes.contains_key(&node) || !is_old;
        self.remove(&node);
        let deadline = is_fresh.then(|| now + seen.valid_for);
        self.deadlines.extend(deadline.map(|at| (at, Arc::clone(&node))));
        self.by_uid.insert(Arc::clone(&seen.version.uid), Arc::clone(&node));
        self.nodes.insert(Arc::clone(&node), NodeEntry { seen, deadline, is_active: false });
        self.activate(&node, exists);
    }

    fn remove(&mut self, node: &Arc<str>) {
        self.activate(node, &|_: &str| false);
        let Some(old) = self.nodes.remove(node) else { return };
        self.by_uid.remove(&old.seen.version.uid);
        if let Some(at) = old.deadline {
            self.deadlines.remove(&(at, Arc::clone(node)));
        }
    }

    /// Counts the node, or no longer.
    pub(super) fn activate(&mut self, node: &Arc<str>, exists: &impl Fn(&str) -> bool) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        let ProxyReport { services, slices, exceptions, left_out, .. } = &entry.seen.report;
        let (Some(services), Some(slices)) = (services, slices) else { return };
        let is_active = entry.deadline.is_some() && exists(node);
        if entry.is_active == is_active {
            return;
        }
        entry.is_active = is_active;
        if is_active {
            self.n_active += 1;
            self.services.insert(services.clone(), Arc::clone(node));
            self.slices.insert(slices.clone(), Arc::clone(node));
        } else {
            self.n_active -= 1;
            self.services.remove(services, node);
            self.slices.remove(slices, node);
        }
        for exception in exceptions {
            let listing = self.exceptions.entry(exception.service.clone()).or_default();
            match is_active {
                true => drop(listing.insert(Arc::clone(node))),
                false => drop(listing.remove(node)),
            }
            if listing.is_empty() {
                self.exceptions.remove(&exception.service);
            }
            self.affected.extend(self.ids.get(&exception.service));
        }
        if *left_out > 0 {
            match is_active {
                true => drop(self.incomplete.insert(Arc::clone(node))),
                false => drop(self.incomplete.remove(node)),
            }
            self.affected.extend(self.standings.keys());
        }
    }
}

// === impl NodeEntry ===

impl NodeEntry {
    /// The same again, from a node that counts.
    fn is_heartbeat(&self, seen: &SeenReport) -> bool {
        self.is_active
            && self.seen.version.uid == seen.version.uid
            && self.seen.report == seen.report
    }
}
