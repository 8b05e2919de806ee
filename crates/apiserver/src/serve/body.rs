//! The body of a response while it is sent.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

use super::{connections::Open, metrics::ConnectionMetrics, stall::Progress};
use crate::{logs::Trace, shutdown};

/// Maximum chunk passed to HTTP at once, so that progress of a slow client is noticed.
const PIECE: usize = 64 << 10;

/// A body in chunks, whose request counts as open until its end. A panic ends it with an error.
#[derive(Debug)]
pub(super) struct Sending {
    body: Body,
    /// The rest of the last frame.
    rest: Bytes,
    progress: Progress,
    trace: Trace,
    metrics: ConnectionMetrics,
    _in_flight: Option<shutdown::Request>,
    _open: Open,
}

impl Sending {
    pub(super) fn new(
        body: Body,
        trace: Trace,
        progress: Progress,
        metrics: ConnectionMetrics,
        in_flight: Option<shutdown::Request>,
        open: Open,
    ) -> Sending {
        let rest = Bytes::new();
        Sending { body, rest, progress, trace, metrics, _in_flight: in_flight, _open: open }
    }

    fn next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let polled =
                catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.body).poll_frame(context)));
            let Ok(polled) = polled else { return Poll::Ready(Some(Err(self.after_panic()))) };
            let frame = match polled {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => return other,
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    /// The panic hook has logged the panic.
    fn after_panic(&mut self) -> axum::Error {
        let broken = mem::replace(&mut self.body, Body::empty());
        let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
        self.metrics.panics.inc();
        self.trace.error("the response caused a panic");
        axum::Error::new("the response caused a panic")
    }
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.progress.moves();
        let next = self.next(context);
        if matches!(next, Poll::Ready(Some(_))) {
            self.progress.waits();
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(body.lower() + rest);
        hint
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        // HTTP holds little more of it, which is freed with an idle connection at the latest.
        self.progress.moves();
    }
}
