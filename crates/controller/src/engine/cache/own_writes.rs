//! What our own writes have answered, before the watch shows it.

use std::{sync::Arc, time::Duration};

use evenkeel_model::{SeenSlice, ServiceId, Slice, Version};

use super::{Cache, Deleted, SliceEntry, is_older};
use crate::engine::table::Name;

impl Cache {
    /// A slice was created or updated: what was sent, and what the server made of it. Says whether
    /// endpoints, hints or ports differ.
    pub(in crate::engine) fn wrote(
        &mut self,
        id: ServiceId,
        sent: Slice,
        stored: SeenSlice,
    ) -> bool {
        let Some(home) = self.slots.name(id).cloned() else { return false };
        let SeenSlice { slice: stored, version, deleting, .. } = stored;
        if self.has_moved(&home, &sent.name, &version) {
            self.touched.push(id);
            return false;
        }
        let slot = self.slots.get_mut(id).expect("it has a name");
        let known = slot.slices.get(&sent.name);
        if slot.ended.contains(&version.uid)
            || known.is_some_and(|known| is_older(&version, &known.version))
        {
            self.touched.push(id);
            return false;
        }
        let confirmed = known.is_some_and(|k| k.confirmed && k.version.uid == version.uid);
        // A list that came in between may have been made after the slice had gone again.
        let is_doubtful = slot.begun_at_list != self.slice_lists;
        let name = Arc::clone(&sent.name);
        let altered = (stored != sent).then(|| Box::new(stored));
        let entry = SliceEntry { slice: sent, altered, version, deleting, confirmed };
        let is_altered = entry.is_altered();
        slot.slices.insert(Arc::clone(&name), entry);
        self.homes.insert((Arc::clone(&home.0), Arc::clone(&name)), home);
        if is_doubtful {
            self.doubt(id, &name, Duration::ZERO);
        }
        is_altered
    }

    /// Somebody has given the slice to another Service since, and the watch has shown it.
    fn has_moved(&self, home: &Name, slice: &Arc<str>, version: &Version) -> bool {
        let name = (Arc::clone(&home.0), Arc::clone(slice));
        let other = self.homes.get(&name).filter(|other| *other != home);
        let slot = other.and_then(|other| self.slots.get(self.slots.id(other)?));
        let known = slot.and_then(|slot| slot.slices.get(slice));
        known.is_some_and(|known| is_older(version, &known.version))
    }

    /// What the server has under this name is not known: it is to be read before the Service is
    /// planned again, unless the watch shows it by then.
    pub(in crate::engine) fn doubt(&mut self, id: ServiceId, name: &Arc<str>, until: Duration) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.doubts.insert(Arc::clone(name), until);
            self.touched.push(id);
        }
    }

    /// A sync of the Service begins or is over.
    pub(in crate::engine) fn run(&mut self, id: ServiceId, running: bool) {
        let slice_lists = self.slice_lists;
        let Some(slot) = self.slots.get_mut(id) else { return };
        slot.running = running;
        slot.outdated = false;
        slot.begun_at_list = slice_lists;
        slot.ended.clear();
    }

    /// A slice was deleted, or was not there.
    pub(in crate::engine) fn removed(&mut self, id: ServiceId, name: &Arc<str>, uid: &Arc<str>) {
        let Some((namespace, _)) = self.slots.name(id).cloned() else { return };
        let slot = self.slots.get_mut(id).expect("it has a name");
        let Some(known) = slot.slices.get(name).filter(|known| known.version.uid == *uid) else {
            return;
        };
        if !slot.ended.contains(&known.version.uid) {
            let uid = Arc::clone(&known.version.uid);
            slot.deleted.push(Deleted { uid, listed: false });
        }
        // Its home is kept until the watch shows that it is gone, if it ever showed it.
        let shown = slot.slices.remove(name).is_some_and(|known| known.confirmed);
        if !shown {
            self.homes.remove(&(namespace, Arc::clone(name)));
        }
    }
}
