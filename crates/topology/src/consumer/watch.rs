//! Services and slices as watches bring them, one by one or as a list that replaces all.

use evenkeel_model::{Gone, SeenService, SeenSlice, ServiceKey, Watched};

use super::{Detail, View};

impl<E: Detail> View<E> {
    /// What a watch says about Services.
    pub fn watch_service(&mut self, seen: Watched<SeenService>) {
        match seen {
            Watched::Restarted => self.begin_services(),
            Watched::Listed(seen) | Watched::Applied(seen) => self.apply_service(seen.service),
            Watched::Complete => self.complete_services(),
            Watched::Deleted(gone) => {
                let key = key(gone.clone());
                let known = self.find(&key).and_then(|id| self.service(id));
                // Another Service of the same name may be here already.
                if known.is_some_and(|service| service.uid == gone.uid) {
                    self.delete_service(&key);
                }
            }
        }
    }

    /// What a watch says about EndpointSlices.
    pub fn watch_slice(&mut self, seen: Watched<SeenSlice>) {
        match seen {
            Watched::Restarted => self.begin_slices(),
            Watched::Listed(seen) | Watched::Applied(seen) => {
                self.apply_slice(&seen.namespace, &seen.slice);
            }
            Watched::Complete => self.complete_slices(),
            Watched::Deleted(gone) => self.delete_slice(&key(gone)),
        }
    }

    /// A list of all Services begins: each is applied, and [`Self::complete_services`] ends it.
    pub fn begin_services(&mut self) {
        self.lists.0 = self.lists.0.wrapping_add(1);
    }

    /// Services that were not applied since the list began are gone.
    pub fn complete_services(&mut self) {
        let listed = self.lists.0;
        let entries =
            self.services.iter().filter(|(_, e)| e.listed != listed && e.service.is_some());
        let gone: Vec<ServiceKey> = entries.map(|(_, entry)| entry.key.clone()).collect();
        for key in gone {
            self.delete_service(&key);
        }
    }

    /// A list of all slices begins: each is applied, and [`Self::complete_slices`] ends it.
    pub fn begin_slices(&mut self) {
        self.lists.1 = self.lists.1.wrapping_add(1);
    }

    /// Slices that were not applied since the list began are gone.
    pub fn complete_slices(&mut self) {
        let listed = self.lists.1;
        let is_gone = |(id, index): &(_, u32)| {
            self.services.get(*id).is_some_and(|entry| entry.slice(*index).listed != listed)
        };
        let gone = self.slices.iter().filter(|(_, place)| is_gone(place));
        let gone: Vec<ServiceKey> = gone.map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.delete_slice(&key);
        }
    }
}

fn key(gone: Gone) -> ServiceKey {
    ServiceKey { namespace: gone.namespace, name: gone.name }
}
