//! Deletes many objects concurrently.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_admin::supervisor::caught;
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::{DeleteOptions, Error, Registry, Removed, Result};
use crate::kinds::KindRef;

/// Concurrent deletes per caller: the writer batches them, so this many share a sync of the disk.
const AT_ONCE: usize = 32;

/// An object to be deleted.
#[derive(Debug)]
pub(crate) struct Target {
    /// The stored kind.
    pub(crate) kind: KindRef,
    pub(crate) key: Box<str>,
    pub(crate) options: DeleteOptions,
}

impl Registry<'_> {
    /// Deletes objects concurrently. A failure starts no further delete.
    pub(crate) async fn delete_each<'a>(&'a self, targets: &'a [Target]) -> Vec<(usize, Error)> {
        let one = |target: &'a Target| self.delete(&target.kind, &target.key, &target.options);
        delete_each(targets, false, one).await
    }
}

/// Returns the failures in order. A missing object is not a failure. Without `keep_going` a failure
/// starts no further delete; those in progress are completed.
pub(crate) async fn delete_each<'a, F: Future<Output = Result<Removed>>>(
    targets: &'a [Target],
    keep_going: bool,
    delete: impl Fn(&'a Target) -> F,
) -> Vec<(usize, Error)> {
    let (next, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failures = Mutex::new(Vec::new());
    let work = || async {
        while !ends.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(index) else { return };
            if let Err(failure) = outcome(caught(delete(target)).await) {
                failures.lock().push((index, failure));
                ends.store(!keep_going, Ordering::Relaxed);
            }
        }
    };
    join_all((0..AT_ONCE.min(targets.len())).map(|_| work())).await;
    let mut failures = failures.into_inner();
    failures.sort_unstable_by_key(|(index, _)| *index);
    failures
}

/// A panic caused by one object is a failure of that object only.
fn outcome(deleted: std::result::Result<Result<Removed>, String>) -> Result<()> {
    match deleted {
        Ok(Err(Error::NotFound { .. })) => Ok(()),
        Ok(deleted) => deleted.map(drop),
        Err(panic) => Err(Error::Internal(format!("panicked: {panic}"))),
    }
}
