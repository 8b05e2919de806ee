//! What the script does to the cluster.

use std::{sync::Arc, time::Duration};

use evenkeel_model::{Node, SeenSlice, label};
use evenkeel_testkit::sim::Key;

use super::{Event, Run};
use crate::{
    checks,
    script::{self, Step},
};

impl Run {
    pub(super) fn step(&mut self) {
        if self.steps_left == 0 {
            self.agenda.after(Duration::from_secs(45), Event::Heal);
            return;
        }
        self.steps_left -= 1;
        self.trouble();
        if self.special() {
            return self.step_later();
        }
        let others = self.rng.chance(self.profile.third_party);
        let done = others.then(|| script::third_party(&mut self.store, &mut self.rng)).flatten();
        let done = done.unwrap_or_else(|| self.script.step(&mut self.store, &mut self.rng));
        match done {
            Step::Cluster(what) => self.note(|| what),
            Step::Orphaned(what) => {
                self.note(|| what);
                let delay = self.rng.millis(1, 30_000);
                self.agenda.after(delay, Event::Collect);
            }
            Step::Ending(service) => {
                self.note(|| format!("{service} is being deleted"));
                let delay = self.rng.millis(1, 20_000);
                self.agenda.after(delay, Event::RemoveService(service));
            }
            Step::EndingSlice(slice, before) => {
                self.note(|| format!("slice {slice} is being deleted by a third party"));
                self.disturb(&before);
                let delay = self.rng.millis(1, 30_000);
                let uid = Arc::clone(&before.version.uid);
                self.agenda.after(delay, Event::RemoveSlice(slice, uid));
            }
            Step::Rolling(service) => self.agenda.after(Duration::ZERO, Event::Roll(service, 16)),
            Step::Slice(what, before) => {
                self.note(|| what);
                let slice = Key::new(before.namespace.clone(), before.slice.name.clone());
                let stored = self.store.slices.get(&slice);
                if stored.is_some_and(|seen| checks::managed_by(&seen.slice, &[label::BUILT_IN]))
                    && let Some(service) = before.slice.labels.get(label::SERVICE_NAME)
                {
                    self.released.insert(Key::new(before.namespace.clone(), service.clone()));
                }
                self.disturb(&before);
            }
        }
        self.step_later();
    }

    fn step_later(&mut self) {
        self.notify();
        let delay = match self.rng.below(10) {
            0..4 => self.rng.millis(0, 30),
            4..9 => self.rng.millis(50, 3_000),
            _ => self.rng.millis(3_000, 60_000),
        };
        self.agenda.after(delay, Event::Script);
    }

    /// What only some runs have. Says whether anything happened.
    fn special(&mut self) -> bool {
        if self.rng.chance(self.profile.blinks) {
            self.blink()
        } else if self.rng.chance(self.profile.opts) {
            self.tally.opts += 1;
            let what = self.script.opt(&mut self.store, &mut self.rng);
            self.note(|| what);
            true
        } else if self.rng.chance(self.profile.ends) && self.store.terminating.is_empty() {
            self.note(|| "a namespace is being deleted".into());
            self.tally.ended += 1;
            self.store.terminating.insert(script::PASSING.into());
            let delay = self.rng.millis(100, 40_000);
            self.agenda.after(delay, Event::EndNamespace(script::PASSING.into()));
            true
        } else {
            false
        }
    }

    /// A Node goes, and is back within the grace.
    fn blink(&mut self) -> bool {
        let nodes = self.store.nodes.iter().map(|(key, node)| (key.clone(), (**node).clone()));
        let nodes: Vec<(Key, Node)> = nodes.collect();
        let Some((key, node)) = self.rng.pick(&nodes).cloned() else { return false };
        self.note(|| format!("{} goes for a moment", key.name));
        self.tally.blinks += 1;
        self.store.nodes.remove(&key);
        let delay = self.rng.millis(10, 8_000);
        self.agenda.after(delay, Event::NodeIsBack(key, node));
        true
    }

    pub(super) fn node_is_back(&mut self, key: &Key, node: Node) {
        if self.store.nodes.get(key).is_none() {
            self.note(|| format!("{} is back", key.name));
            self.store.put_node(&key.name, node);
            self.notify();
        }
    }

    pub(super) fn end_namespace(&mut self, namespace: &str) {
        self.note(|| format!("namespace {namespace} is gone"));
        self.store.end_namespace(namespace);
        self.notify();
    }

    pub(super) fn roll(&mut self, service: &Key, left: usize) {
        let what = self.script.roll(service, &mut self.store, &mut self.rng);
        self.note(|| what);
        self.notify();
        if left > 0 {
            let delay = self.rng.millis(10, 2_000);
            self.agenda.after(delay, Event::Roll(service.clone(), left - 1));
        }
    }

    /// From here on the endpoints of this slice may be gone without the controller's doing.
    pub(super) fn disturb(&mut self, slice: &SeenSlice) {
        let targets = slice.slice.endpoints.iter().filter_map(|e| e.target.as_ref());
        self.disturbed.extend(targets.map(|target| Arc::clone(&target.uid)));
    }

    pub(super) fn remove_service(&mut self, key: &Key) {
        if self.store.services.get(key).is_some_and(|seen| seen.service.deleting) {
            self.note(|| format!("{key} goes"));
            self.store.services.remove(key);
            self.notify();
            let delay = self.rng.millis(1, 30_000);
            self.agenda.after(delay, Event::Collect);
        }
    }

    pub(super) fn remove_slice(&mut self, key: &Key, uid: &str) {
        if self.store.slices.get(key).is_some_and(|seen| &*seen.version.uid == uid) {
            self.note(|| format!("slice {key} goes"));
            self.store.remove_slice(key);
            self.notify();
        }
    }

    pub(super) fn collect(&mut self) {
        for key in self.store.orphans() {
            self.note(|| format!("slice {key} is collected"));
            self.store.remove_slice(&key);
        }
        self.notify();
    }
}
