//! The order in which a server stops: it reports that it is not ready, refuses new connections,
//! finishes its requests, ends the watches, and then lets its writer sync.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Signals shutdown and its progress. Clones share the signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    stopping: CancellationToken,
    watches: CancellationToken,
    in_flight: InFlight,
}

/// The number of requests in progress; long-running ones are not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight(Arc<Count>);

#[derive(Debug, Default)]
struct Count {
    requests: AtomicUsize,
    none_left: Notify,
}

/// One request, until this is dropped.
#[derive(Debug)]
pub(crate) struct Request(InFlight);

// === impl Stop ===

impl Stop {
    /// Begins shutdown; readiness fails from now on.
    pub(crate) fn begin(&self) {
        self.stopping.cancel();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    pub(crate) async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    /// Cancelled when watches and other endless streams must end.
    pub(crate) fn watches_end(&self) -> &CancellationToken {
        &self.watches
    }

    pub(crate) fn end_watches(&self) {
        self.watches.cancel();
    }

    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }
}

// === impl InFlight ===

impl InFlight {
    pub(crate) fn enter(&self) -> Request {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        Request(self.clone())
    }

    pub(crate) fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Acquire)
    }

    /// Returns when no request is left.
    pub(crate) async fn drained(&self) {
        loop {
            let mut none_left = std::pin::pin!(self.0.none_left.notified());
            // Before the count is read, so that the last notification is not missed.
            none_left.as_mut().enable();
            if self.requests() == 0 {
                return;
            }
            none_left.await;
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let Count { requests, none_left } = &*self.0.0;
        if requests.fetch_sub(1, Ordering::AcqRel) == 1 {
            none_left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn draining_waits_for_the_last_request() {
        let stop = Stop::default();
        stop.in_flight().drained().await;
        let (one, two) = (stop.in_flight().enter(), stop.in_flight().enter());
        let waiting = tokio::spawn({
            let in_flight = stop.in_flight().clone();
            async move { in_flight.drained().await }
        });
        drop(one);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(two);
        waiting.await.unwrap();
    }
}
