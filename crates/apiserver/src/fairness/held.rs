//! The seat of a request, and how long it is held.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use tower_fairness::{Destination, Seat};

use super::{TooManyRequests, max_in_flight::Counted, requests::Entry};
use crate::answer::Answer;

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// Seats, until it is dropped.
#[derive(Debug)]
pub(crate) struct SeatGuard(Holds);

#[derive(Debug)]
enum Holds {
    /// The entry is dropped after the seat, so that a dump finds all that hold one.
    Seat { seat: Seat, _entry: Option<Entry> },
    /// Fairness is switched off.
    Counted { _counted: Option<Counted> },
}

/// What a request holds from its admission to the end of its work.
#[derive(Debug, Default)]
pub(crate) struct HeldSeat {
    /// None: not admitted, or already released.
    seat: Mutex<Option<SeatGuard>>,
    /// The UIDs of flow schema and level, once they are known.
    uids: OnceLock<[HeaderValue; 2]>,
}

/// A body that is still being encoded, with the seat for that.
struct SeatedBody {
    body: Body,
    seat: Option<SeatGuard>,
}

// === impl SeatGuard ===

impl SeatGuard {
    pub(super) fn seated(seat: Seat, entry: Option<Entry>) -> SeatGuard {
        SeatGuard(Holds::Seat { seat, _entry: entry })
    }

    pub(super) fn counted(counted: Option<Counted>) -> SeatGuard {
        SeatGuard(Holds::Counted { _counted: counted })
    }

    fn destination(&self) -> Option<&Arc<Destination>> {
        match &self.0 {
            Holds::Seat { seat, .. } => seat.destination(),
            Holds::Counted { .. } => None,
        }
    }

    /// The response has begun: from now on the seat is held for a limited time.
    pub(crate) fn respond(&self) {
        if let Holds::Seat { seat, .. } = &self.0 {
            seat.respond();
        }
    }
}

// === impl HeldSeat ===

impl HeldSeat {
    pub(crate) fn set(&self, seat: SeatGuard) {
        if let Some(destination) = seat.destination() {
            self.mark(destination);
        }
        *self.seat.lock() = Some(seat);
    }

    /// The response of a rejected request has the UIDs too.
    pub(crate) fn rejected(&self, by: &TooManyRequests) {
        if let Some(rejected) = &by.rejected {
            self.mark(&rejected.destination);
        }
    }

    fn mark(&self, to: &Destination) {
        let value =
            |uid: &str| HeaderValue::from_str(uid).unwrap_or_else(|_| HeaderValue::from_static(""));
        self.uids.get_or_init(|| [value(&to.schema_uid), value(&to.level_uid)]);
    }

    /// Where the request is, if it has a seat.
    pub(crate) fn destination(&self) -> Option<Arc<Destination>> {
        self.seat.lock().as_ref().and_then(SeatGuard::destination).cloned()
    }

    /// The seat, for work that outlives the handler.
    pub(crate) fn take(&self) -> Option<SeatGuard> {
        self.seat.lock().take()
    }

    /// Sets the headers of the response. A body that is encoded while it is sent keeps the seat; if
    /// all is encoded, the seat is free.
    pub(crate) fn finish(self, mut answer: Answer) -> Answer {
        if let Some([schema, level]) = self.uids.into_inner() {
            answer.headers.push((FLOW_SCHEMA_UID, schema));
            answer.headers.push((LEVEL_UID, level));
        }
        if let Some(seat) = self.seat.into_inner().filter(|_| answer.encodes_while_sent) {
            seat.respond();
            let body = std::mem::take(&mut answer.body);
            answer.body = Body::new(SeatedBody { body, seat: Some(seat) });
        }
        answer
    }
}

// === impl SeatedBody ===

impl http_body::Body for SeatedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let over = matches!(polled, Poll::Ready(None | Some(Err(_))));
        if over || self.body.is_end_stream() {
            self.seat = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
