//! The revisions that nodes report of one resource, in order, and the Services that need which.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use evenkeel_model::{Id as _, Revision, ServiceId};

#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    nodes: BTreeSet<(Revision, Arc<str>)>,
    services: BTreeSet<(Revision, ServiceId)>,
}

impl Levels {
    pub(super) fn insert(&mut self, revision: Revision, node: Arc<str>) {
        self.nodes.insert((revision, node));
    }

    pub(super) fn remove(&mut self, revision: &Revision, node: &Arc<str>) {
        self.nodes.remove(&(revision.clone(), Arc::clone(node)));
    }

    /// The lowest revision of all nodes.
    pub(super) fn floor(&self) -> Option<&Revision> {
        self.nodes.first().map(|(revision, _)| revision)
    }

    /// The nodes below a revision, the lowest first.
    pub(super) fn below(&self, revision: &Revision) -> impl Iterator<Item = &Arc<str>> {
        let end = (revision.clone(), Arc::from(""));
        self.nodes.range(..end).map(|(_, node)| node)
    }

    pub(super) fn need(
        &mut self,
        before: Option<&Revision>,
        after: Option<&Revision>,
        id: ServiceId,
    ) {
        if before != after {
            before.map(|before| self.services.remove(&(before.clone(), id)));
            after.map(|after| self.services.insert((after.clone(), id)));
        }
    }

    /// The Services that need more than the one revision and no more than the other, whichever is
    /// lower: for no other Service does it matter which of both is the floor.
    pub(super) fn between(&self, a: &Revision, b: &Revision) -> impl Iterator<Item = ServiceId> {
        let (low, high) = (a.min(b).clone(), a.max(b));
        let last = ServiceId::from_index(u32::MAX);
        let range = (Bound::Excluded((low, last)), Bound::Included((high.clone(), last)));
        self.services.range(range).map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_services_between_two_floors_are_affected() {
        let revision = |n: u32| Revision::new(&n.to_string()).unwrap();
        let mut levels = Levels::default();
        for n in [5, 7, 9, 11] {
            levels.need(None, Some(&revision(n)), ServiceId::from_index(n));
        }
        let between = |a, b| -> Vec<usize> {
            levels.between(&revision(a), &revision(b)).map(ServiceId::index).collect()
        };
        assert_eq!(between(5, 9), [7, 9]);
        assert_eq!(between(9, 5), [7, 9]);
        assert!(between(6, 6).is_empty());
        assert!(between(7, 7).is_empty());
        assert_eq!(between(0, 100), [5, 7, 9, 11]);
    }
}
