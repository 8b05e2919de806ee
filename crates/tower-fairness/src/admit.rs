//! Admission without HTTP, for a server that has a handler chain of its own and knows its requests
//! better than a layer could.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use evenkeel_fairness::{
    Request as Attributes,
    queues::{Ticket, Verdict, stats::RejectReason},
};

use crate::{
    driver,
    policy::Estimate,
    seat::{HoldUntil, Seat},
    shared::{Arriving, Destination, Placed},
    striped::Striped,
};

/// A request, and what its server decides about it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'r> {
    pub attributes: &'r Attributes<'r>,
    /// Since when it has been in the server; this counts as waiting.
    pub waited: Duration,
    pub wait_limit: Duration,
    /// Whether it is a watch, which holds its seats until it is set up.
    pub watch: bool,
}

/// A request that has its seats, or waits for them.
#[derive(Debug)]
pub enum Admission {
    Seated(Seat),
    Waiting(Waiting),
}

/// A request in a queue. As a future it ends with a seat or a rejection; dropping it leaves the
/// queue.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Waiting {
    /// None after it was ready.
    seat: Option<Seat>,
    flow: Box<str>,
}

/// A request that was rejected, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rejected {
    pub destination: Arc<Destination>,
    /// The flow distinguisher; empty where the level does not tell flows apart.
    pub flow: Box<str>,
    pub reason: RejectReason,
    /// After how many seconds the client is asked to retry.
    pub retry_after: u32,
}

pub(crate) fn admit(
    shared: &Striped,
    arrival: Arrival<'_>,
    estimate: impl Fn(&Destination) -> Estimate,
) -> Result<Admission, Rejected> {
    let Arrival { attributes, waited, wait_limit, watch } = arrival;
    let hold_until = HoldUntil::ByPolicy;
    let arriving = Arriving { attributes, waited, wait_limit, watch, hold_until };
    Ok(match shared.seat(&arriving, estimate)? {
        Placed::Seated(seat) => Admission::Seated(seat),
        Placed::Waiting(seat, flow) => Admission::Waiting(Waiting { seat: Some(seat), flow }),
    })
}

impl Waiting {
    /// The flow schema and the level of the request.
    pub fn destination(&self) -> Option<&Arc<Destination>> {
        self.seat.as_ref().and_then(Seat::destination)
    }

    /// Identifies the request in a dump of its level.
    pub fn ticket(&self) -> Option<Ticket> {
        self.seat.as_ref().and_then(Seat::ticket)
    }
}

impl Future for Waiting {
    type Output = Result<Seat, Rejected>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let seat = self.seat.as_mut().expect("polled after it was ready");
        driver::ensure_here(seat.shared());
        let (verdict, retry_after) = seat.verdict(cx.waker());
        let reason = match verdict {
            Verdict::Waiting => return Poll::Pending,
            Verdict::Dispatched => None,
            Verdict::Rejected(reason) => Some(reason),
        };
        let seat = self.seat.take().expect("it was there a moment ago");
        let flow = std::mem::take(&mut self.flow);
        Poll::Ready(match reason {
            None => Ok(seat),
            Some(reason) => {
                let destination = seat.destination().expect("it has not left yet").clone();
                Err(Rejected { destination, flow, reason, retry_after })
            }
        })
    }
}
