//! Slices, as the watch shows them: not believed where it is behind our own writes.

use std::{sync::Arc, time::Duration};

use evenkeel_model::{Gone, SeenSlice, label};

use super::{Cache, SliceEntry, is_older};
use crate::engine::table::Name;

impl Cache {
    pub(in crate::engine) fn begin_slices(&mut self) {
        self.listed_slices.clear();
        for id in self.slots.ids().collect::<Vec<_>>() {
            let slot = self.slots.get_mut(id).expect("ids name what is there");
            slot.deleted.iter_mut().for_each(|deleted| deleted.listed = false);
        }
    }

    pub(in crate::engine) fn list_slice(&mut self, seen: SeenSlice) {
        let name = (Arc::clone(&seen.namespace), Arc::clone(&seen.slice.name));
        self.listed_slices.insert(name);
        self.apply_slice(seen);
    }

    /// A list is complete: what it lacked is gone, but for slices of our own making that it may
    /// be too old to have.
    pub(in crate::engine) fn end_slices(&mut self) {
        self.slice_lists = self.slice_lists.wrapping_add(1);
        let listed = std::mem::take(&mut self.listed_slices);
        let gone = self.homes.keys().filter(|name| !listed.contains(*name));
        let gone: Vec<Name> = gone.cloned().collect();
        for name in gone {
            let Some(id) = self.homes.get(&name).and_then(|home| self.slots.id(home)) else {
                continue;
            };
            let slot = self.slots.get_mut(id).expect("ids name what is there");
            match slot.slices.get(&name.1) {
                Some(entry) if !entry.confirmed => self.doubt(id, &name.1, Duration::ZERO),
                _ => self.drop_slice(&name),
            }
        }
        for id in self.slots.ids().collect::<Vec<_>>() {
            let slot = self.slots.get_mut(id).expect("ids name what is there");
            slot.deleted.retain(|deleted| deleted.listed);
        }
    }

    pub(in crate::engine) fn apply_slice(&mut self, seen: SeenSlice) {
        self.take_in(seen, true);
    }

    /// What a read by ourselves has shown.
    pub(in crate::engine) fn read_slice(&mut self, seen: SeenSlice) {
        self.take_in(seen, false);
    }

    pub(super) fn take_in(&mut self, seen: SeenSlice, by_watch: bool) {
        let SeenSlice { namespace, slice, version, deleting } = seen;
        let namespace = self.namespace(&namespace);
        let name = (Arc::clone(&namespace), Arc::clone(&slice.name));
        let Some(service) = slice.labels.get(label::SERVICE_NAME).cloned() else {
            self.drop_slice(&name);
            return;
        };
        let home = (namespace, service);
        if self.homes.get(&name).is_some_and(|old| *old != home) {
            self.drop_slice(&name);
        }
        let id = self.slot(home.clone());
        let slot = self.slots.get_mut(id).expect("just made");
        if let Some(deleted) = slot.deleted.iter_mut().find(|d| d.uid == version.uid) {
            deleted.listed = true;
            return;
        }
        if let Some(known) = slot.slices.get_mut(&slice.name) {
            if is_older(&version, &known.version) {
                known.confirmed |= by_watch && known.version.uid == version.uid;
                return;
            }
            known.confirmed |= by_watch;
            if known.version == version && known.deleting == deleting {
                return;
            }
        }
        let known = slot.slices.get(&slice.name);
        let confirmed =
            by_watch || known.is_some_and(|k| k.confirmed && k.version.uid == version.uid);
        let entry = SliceEntry { slice, altered: None, version, deleting, confirmed };
        slot.slices.insert(Arc::clone(&name.1), entry);
        // Whatever was in doubt was about an older version.
        slot.doubts.remove(&name.1);
        self.homes.insert(name, home);
        self.touched.push(id);
    }

    pub(in crate::engine) fn delete_slice(&mut self, gone: &Gone) {
        let name = (Arc::clone(&gone.namespace), Arc::clone(&gone.name));
        let Some(id) = self.homes.get(&name).and_then(|home| self.slots.id(home)) else { return };
        let slot = self.slots.get_mut(id).expect("ids name what is there");
        slot.end(&gone.uid);
        // A newer slice of the same name stays.
        if slot.slices.get(&name.1).is_none_or(|entry| entry.version.uid == gone.uid) {
            self.drop_slice(&name);
        }
    }

    pub(super) fn drop_slice(&mut self, name: &Name) {
        let Some(home) = self.homes.remove(name) else { return };
        let Some(id) = self.slots.id(&home) else { return };
        let slot = self.slots.get_mut(id).expect("ids name what is there");
        if slot.slices.remove(&name.1).is_some() {
            self.touched.push(id);
        }
    }
}
