//! Services, and the slots they live in.

use std::sync::Arc;

use evenkeel_model::{Gone, SeenService, ServiceId};
use rustc_hash::FxHashSet;

use super::{Cache, ServiceEntry, Slot};
use crate::engine::{table::Name, triggers::Triggers};

impl Cache {
    pub(in crate::engine) fn begin_services(&mut self) {
        self.listed_services.clear();
    }

    pub(in crate::engine) fn list_service(&mut self, seen: SeenService) {
        let id = self.apply_service(seen);
        self.listed_services.insert(id);
    }

    pub(in crate::engine) fn end_services(&mut self) {
        let has = |id: &ServiceId| self.slots.get(*id).is_some_and(|slot| slot.service.is_some());
        let gone = self.slots.ids().filter(|id| !self.listed_services.contains(id));
        let gone: Vec<ServiceId> = gone.filter(has).collect();
        for id in gone {
            self.drop_service(id);
        }
        self.listed_services = FxHashSet::default();
    }

    pub(in crate::engine) fn apply_service(&mut self, mut seen: SeenService) -> ServiceId {
        seen.conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
        seen.service.key.namespace = self.namespace(&seen.service.key.namespace);
        let key = &seen.service.key;
        let id = self.slot((Arc::clone(&key.namespace), Arc::clone(&key.name)));
        let slot = self.slots.get_mut(id).expect("just made");
        let old = slot.service.take();
        let unchanged = old.as_ref().is_some_and(|old| {
            let SeenService {
                service,
                version,
                conditions,
                problem,
                created: _,
                frontend_problem: _,
            } = &old.seen;
            (service, conditions, problem) == (&seen.service, &seen.conditions, &seen.problem)
                && version.uid == seen.version.uid
        });
        if old.as_ref().is_some_and(|old| old.seen.version.uid != seen.version.uid) {
            // Another Service of the same name: nothing of the old one holds.
            slot.triggers = Triggers::default();
            slot.told = Vec::new();
            slot.taken = FxHashSet::default();
            slot.doubts.clear();
            slot.without_node = None;
        }
        // Conditions are no concern of proxies, and writing one must not set all nodes back.
        let same = old.as_ref().filter(|old| {
            old.seen.service == seen.service && old.seen.version.uid == seen.version.uid
        });
        let revision = same.map_or(&seen.version.resource_version, |old| &old.revision);
        let revision = Arc::clone(revision);
        if let Some(selector) = old.as_ref().and_then(|old| old.selector.as_ref()) {
            self.pairs.remove_service(id, selector);
        }
        let pairs = seen.service.selector.as_ref().map(|selector| {
            let pairs = selector.iter().map(|(key, value)| (&**key, &**value));
            self.pairs.add_service(id, &seen.service.key.namespace, pairs)
        });
        let slot = self.slots.get_mut(id).expect("just made");
        slot.service = Some(Box::new(ServiceEntry { seen, selector: pairs, revision }));
        if !unchanged {
            slot.outdated = slot.running;
            self.touched.push(id);
        }
        id
    }

    pub(in crate::engine) fn delete_service(&mut self, gone: &Gone) {
        let name = (Arc::clone(&gone.namespace), Arc::clone(&gone.name));
        if let Some(id) = self.slots.id(&name) {
            self.drop_service(id);
        }
    }

    pub(super) fn drop_service(&mut self, id: ServiceId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let Some(old) = slot.service.take() else { return };
        slot.triggers = Triggers::default();
        slot.told = Vec::new();
        if let Some(selector) = &old.selector {
            self.pairs.remove_service(id, selector);
        }
        self.touched.push(id);
    }

    pub(super) fn slot(&mut self, name: Name) -> ServiceId {
        if let Some(id) = self.slots.id(&name) {
            return id;
        }
        self.slots.insert(name, Slot::default()).0
    }

    /// Forgets a slot that holds nothing any more. Says whether it did.
    pub(in crate::engine) fn forget_if_empty(&mut self, id: ServiceId) -> bool {
        let Some(slot) = self.slots.get(id) else { return false };
        if slot.service.is_some() || !slot.slices.is_empty() || slot.running {
            return false;
        }
        let name = self.slots.name(id).cloned().expect("the slot is there");
        self.slots.remove(&name);
        true
    }
}
