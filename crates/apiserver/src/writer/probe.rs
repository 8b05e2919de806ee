//! Recovers a journal that has rejected writes, even without new writes.

use std::time::Duration;

use tokio::sync::watch;

use crate::{journal::Writable, storage::Storage};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Makes the journal try again, with backoff, while it rejects writes.
pub(crate) async fn probe(storage: &Storage, mut writable: watch::Receiver<Writable>) {
    loop {
        if writable.wait_for(Result::is_err).await.is_err() {
            // Nothing is stored, or the server is stopping.
            return std::future::pending().await;
        }
        let mut wait = FIRST;
        while writable.borrow().is_err() {
            tokio::time::sleep(wait).await;
            storage.probe().await;
            wait = (wait * 2).min(LONGEST);
        }
    }
}
