//! `deletecollection`: all objects that a selector matches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_admin::supervisor::caught;
use futures_util::future::join_all;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    kinds::Kind,
    lifecycle::DeleteOptions,
    status::{Failure, Result},
    verbs::{delete, list},
};

/// Concurrent deletes per request: the writer batches them, so this many share a sync of the disk.
const AT_ONCE: usize = 32;

/// An object to be deleted.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// The stored kind.
    pub(crate) kind: &'a Kind,
    pub(crate) key: Box<str>,
    pub(crate) options: DeleteOptions,
}

/// Responds with the objects as they were before.
pub(crate) async fn delete(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let options = delete::options(call)?;
    let (page, continued) = list::page(api, call).await?;
    let target =
        |key: &str| Target { kind: kind.stored_kind(), key: key.into(), options: options.clone() };
    let targets: Vec<Target<'_>> = page.items.iter().map(|object| target(&object.key)).collect();
    let failures = remove_each(api, &targets, call.now(), false).await;
    if let Some((_, failure)) = failures.into_iter().next() {
        return Err(failure);
    }
    Ok(answer::list(kind, page, &continued, call.view))
}

/// Deletes objects concurrently, and returns the failures in order. A missing object is not a
/// failure. Without `keep_going` a failure starts no further delete; those in progress are
/// completed.
pub(crate) async fn remove_each(
    api: &Api,
    targets: &[Target<'_>],
    now: Timestamp,
    keep_going: bool,
) -> Vec<(usize, Failure)> {
    let (next, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failures = Mutex::new(Vec::new());
    let work = || async {
        while !ends.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(index) else { return };
            if let Err(failure) = remove_one(api, target, now).await {
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
async fn remove_one(api: &Api, target: &Target<'_>, now: Timestamp) -> Result<()> {
    let Target { kind, key, options } = target;
    match caught(delete::remove(api, kind, key, options, now)).await {
        Ok(Err(failure)) if failure.code == 404 => Ok(()),
        Ok(removed) => removed.map(drop),
        Err(panic) => Err(Failure::internal_error(&format!("panicked: {panic}"))),
    }
}
