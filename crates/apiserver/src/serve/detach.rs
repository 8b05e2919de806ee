//! Requests that run to completion although their client has disconnected.
//!
//! HTTP signals a disconnected client by dropping the request's future. Before it changes anything,
//! a request should be cancelled by that. From then on it sets its [`DetachFlag`], and a drop only
//! moves the future to its own task, where it continues with everything it holds (its entry in the
//! count of requests, its span, its reservations). While the client is connected, this costs
//! nothing.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::runtime::Handle;

/// An extension of each request: whether it runs to completion.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetachFlag(Arc<AtomicBool>);

/// A future that continues after a drop if its flag is set.
pub(super) struct DetachOnDrop<T: Send + 'static> {
    future: Option<Running<T>>,
    detach: DetachFlag,
}

type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl DetachFlag {
    /// From now on a disconnect does not cancel the request.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<T: Send + 'static> DetachOnDrop<T> {
    pub(super) fn new(
        future: impl Future<Output = T> + Send + 'static,
        detach: DetachFlag,
    ) -> Self {
        DetachOnDrop { future: Some(Box::pin(future)), detach }
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        let Some(future) = self.future.take().filter(|_| self.detach.is_set()) else { return };
        // Without a runtime the process is exiting.
        if let Ok(runtime) = Handle::try_current() {
            tracing::debug!("client disconnected, completing the request");
            runtime.spawn(async move { drop(future.await) });
        }
    }
}
