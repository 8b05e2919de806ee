//! Wakes those who wait for changes: of one resource, or of any.
//!
//! Resources are added while others wait and are notified. So each has its place in one of a few
//! blocks, each twice as large as the one before, which are made when they are first needed and
//! never move: finding a place takes no lock.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use evenkeel_store::ResourceId;
use tokio::sync::Notify;

/// The size of the first block.
const FIRST: u64 = 64;
/// Enough for all ids of 32 bits.
const N_BLOCKS: usize = 27;

#[derive(Debug, Default)]
pub(crate) struct ChangeNotifier {
    blocks: [OnceLock<Box<[Place]>>; N_BLOCKS],
    any: Notify,
}

#[derive(Debug, Default)]
struct Place {
    changed: Notify,
    /// How many batches have changed the resource.
    n_changes: AtomicU64,
}

impl ChangeNotifier {
    pub(crate) fn of(&self, resource: ResourceId) -> &Notify {
        &self.place(resource).changed
    }

    pub(crate) fn any(&self) -> &Notify {
        &self.any
    }

    pub(crate) fn n_changes(&self, resource: ResourceId) -> u64 {
        self.place(resource).n_changes.load(Ordering::Acquire)
    }

    pub(crate) fn notify(&self, resources: impl Iterator<Item = ResourceId>) {
        for resource in resources {
            let place = self.place(resource);
            place.n_changes.fetch_add(1, Ordering::Release);
            place.changed.notify_waiters();
        }
        self.any.notify_waiters();
    }

    fn place(&self, resource: ResourceId) -> &Place {
        let (block, offset) = block_of(resource);
        let size = FIRST << block;
        let places = || (0..size).map(|_| Place::default()).collect();
        &self.blocks[block].get_or_init(places)[offset]
    }
}

/// The block of a resource, and its offset there.
fn block_of(resource: ResourceId) -> (usize, usize) {
    let number = u64::from(resource.0) + FIRST;
    let block = number.ilog2() - FIRST.ilog2();
    (block as usize, (number - (FIRST << block)) as usize)
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::*;

    #[test]
    fn every_resource_has_a_place_of_its_own() {
        let mut expected = (0, 0);
        for id in 0..10_000 {
            assert_eq!(block_of(ResourceId(id)), expected);
            expected.1 += 1;
            if expected.1 == (FIRST as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        let (block, offset) = block_of(ResourceId(u32::MAX));
        assert!(block < N_BLOCKS && (offset as u64) < FIRST << block);
    }

    #[tokio::test]
    async fn a_resource_added_later_wakes_its_own_waiters() {
        let notifier = std::sync::Arc::new(ChangeNotifier::default());
        let (old, new) = (ResourceId(0), ResourceId(5_000));
        let waiting = [old, new].map(|resource| {
            let notifier = notifier.clone();
            tokio::spawn(async move { notifier.of(resource).notified().await })
        });
        yield_now().await;
        notifier.notify([new, new].into_iter());
        let [old_waits, new_waits] = waiting;
        new_waits.await.unwrap();
        assert!(!old_waits.is_finished());
        assert_eq!((notifier.n_changes(old), notifier.n_changes(new)), (0, 2));
    }
}
