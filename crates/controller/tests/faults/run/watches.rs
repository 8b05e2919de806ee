//! What processes are shown, and when.

use std::sync::Arc;

use evenkeel_model::Watched;
use evenkeel_testkit::sim::{Shelf, Store};

use super::{Event, Run};
use crate::{
    process::{KINDS, Kind, Process, Watch},
    trace::Brief,
};

impl Run {
    pub(super) fn watch(&mut self, process: usize) {
        self.processes[process].watches = [Watch { lists: true, ..Watch::default() }; 4];
        for kind in KINDS {
            self.schedule(process, kind);
        }
    }

    /// After a change: whoever follows is shown it in a while.
    pub(super) fn notify(&mut self) {
        if self.profile.built_in && !std::mem::replace(&mut self.built_in_due, true) {
            let delay = self.rng.millis(5, 3_000);
            self.agenda.after(delay, Event::BuiltIn);
        }
        for process in 0..self.processes.len() {
            for kind in KINDS {
                let watch = self.processes[process].watches[kind as usize];
                if watch.cursor.at() < head(&self.store, kind) && self.processes[process].alive {
                    self.schedule(process, kind);
                }
            }
        }
    }

    pub(super) fn schedule(&mut self, process: usize, kind: Kind) {
        let delay = if self.rng.chance(self.profile.watches.stall) {
            self.tally.stalls += 1;
            self.rng.millis(15_000, 120_000)
        } else if self.rng.chance(self.profile.watches.slow) {
            self.rng.millis(100, 15_000)
        } else {
            self.rng.millis(1, 60)
        };
        let life = self.processes[process].life;
        let watch = &mut self.processes[process].watches[kind as usize];
        if !std::mem::replace(&mut watch.due, true) {
            self.agenda.after(delay, Event::Deliver(process, life, kind));
        }
    }

    pub(super) fn deliver(&mut self, process: usize, life: u32, kind: Kind) -> Result<(), String> {
        if !self.lives(process, life) {
            return Ok(());
        }
        let rates = self.profile.watches;
        let cut = self.rng.chance(rates.cut);
        let watch = &mut self.processes[process].watches[kind as usize];
        watch.due = false;
        if cut {
            watch.lists |= self.rng.chance(rates.relist);
            watch.due = true;
            let delay = self.rng.millis(10, 10_000);
            self.agenda.after(delay, Event::Deliver(process, life, kind));
            return Ok(());
        }
        match kind {
            Kind::Nodes => {
                let now = self.agenda.now();
                let tell = |p: &mut Process, shown: &_, store: &_, step| {
                    p.show_node(shown, store, step, now);
                };
                self.show(process, kind, |s| &s.nodes, tell);
            }
            Kind::Pods => self.show(process, kind, |s| &s.pods, Process::show_pod),
            Kind::Services => {
                self.show(
                    process,
                    kind,
                    |s| &s.services,
                    |p, shown, _, step| {
                        p.show_service(shown, step);
                    },
                );
            }
            Kind::Slices => self.show(
                process,
                kind,
                |s| &s.slices,
                |p, shown, store, _| {
                    p.show_slice(shown, store);
                },
            ),
        }
        let watch = self.processes[process].watches[kind as usize];
        if watch.lists || watch.cursor.at() < head(&self.store, kind) {
            self.schedule(process, kind);
        }
        self.pump(process)
    }

    /// Shows a process some changes, or a list.
    pub(super) fn show<T: Brief>(
        &mut self,
        process: usize,
        kind: Kind,
        shelf: impl Fn(&Store) -> &Shelf<T>,
        mut tell: impl FnMut(&mut Process, &Watched<Arc<T>>, &Store, u64),
    ) {
        let target = &mut self.processes[process];
        let watch = &mut target.watches[kind as usize];
        let shelf = shelf(&self.store);
        let mut shown = Vec::new();
        if watch.lists {
            let rates = self.profile.watches;
            let low = if self.rng.chance(rates.back) { 0 } else { watch.cursor.at() };
            let low = low.max(self.base[kind as usize]);
            let behind = self.rng.chance(rates.behind);
            let at = if behind { self.rng.between(low, shelf.head()) } else { shelf.head() };
            // A start with an old list, or one that goes back, forgets what was written.
            let forgets = at < watch.cursor.at() || (behind && target.life > 0);
            self.rivals |= kind == Kind::Slices && forgets;
            shown = watch.cursor.list(shelf, at);
            watch.lists = self.rng.chance(rates.partial);
            if watch.lists {
                shown.truncate(self.rng.between(1, shown.len() - 1));
            }
            self.tally.lists += 1;
        } else {
            let most = self.rng.between(1, 4);
            shown.extend(std::iter::from_fn(|| watch.cursor.follow(shelf)).take(most));
        }
        for event in &shown {
            tell(target, event, &self.store, self.tally.events);
        }
        if target.able_since.is_none() && target.leading && target.engine.is_synced() {
            target.able_since = Some(self.tally.events);
        }
        self.note(|| {
            let shown: Vec<_> = shown.iter().map(Brief::brief).collect();
            format!(
                "process {process} is shown {kind:?}: {}",
                shown.join("\n                      ")
            )
        });
    }
}

pub(super) fn head(store: &Store, kind: Kind) -> usize {
    match kind {
        Kind::Nodes => store.nodes.head(),
        Kind::Pods => store.pods.head(),
        Kind::Services => store.services.head(),
        Kind::Slices => store.slices.head(),
    }
}
