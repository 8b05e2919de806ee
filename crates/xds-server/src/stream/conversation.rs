//! One stream, from its first request to its end.

use std::{sync::Arc, time::Duration};

use evenkeel_xds::{
    Outcome, ResourceType, Session,
    session::{Limits, Protocol},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};

use super::{
    Identity,
    body::Outgoing,
    budget::Budget,
    mailbox::Mail,
    outstanding::{Kinds, Outstanding},
    request::AdsRequest,
};
use crate::{
    control::{Control, Entered, Shown},
    propagation::End,
};

/// How long a client may wait with its first request.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// How long a stream may keep others from their first responses.
const TURN: Duration = Duration::from_secs(2);
/// How old what a stream shows of itself may be.
const SHOWN: Duration = Duration::from_millis(200);
/// How long the end of a stream waits for a client that does not read.
const LAST_WORD: Duration = Duration::from_secs(5);

/// What a stream is given.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    pub(super) control: Arc<Control>,
    /// Streams that compute and send their first responses at the same time.
    pub(super) turns: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
}

/// The state of a stream whose client is known.
struct Conversation<P> {
    entered: Entered,
    session: Session<P>,
    budget: Budget,
    outstanding: Outstanding,
    /// Types of which a response is not answered.
    in_flight: Kinds,
    /// Something may be due. Requests wait meanwhile.
    has_work: bool,
    turn: Option<OwnedSemaphorePermit>,
    turn_ends: Instant,
    show_at: Option<Instant>,
}

/// Runs a stream, and tells the client how it ended.
pub(super) async fn run<P>(
    surroundings: Surroundings,
    requests: Streaming<(P::Request, usize)>,
    outgoing: mpsc::Sender<Outgoing>,
) where
    P: Protocol,
    P::Request: AdsRequest,
{
    let metrics = Arc::clone(&surroundings.control.metrics);
    let status = match talk::<P>(surroundings, requests, &outgoing).await {
        Ok(()) => Status::ok(""),
        Err(status) => status,
    };
    match status.code() {
        tonic::Code::ResourceExhausted => metrics.refused("resource_exhausted"),
        tonic::Code::InvalidArgument => metrics.refused("invalid_argument"),
        tonic::Code::DeadlineExceeded => metrics.refused("deadline_exceeded"),
        _ => {}
    }
    let _ = timeout(LAST_WORD, outgoing.send(Outgoing::End(status))).await;
}

async fn talk<P>(
    surroundings: Surroundings,
    mut requests: Streaming<(P::Request, usize)>,
    outgoing: &mpsc::Sender<Outgoing>,
) -> Result<(), Status>
where
    P: Protocol,
    P::Request: AdsRequest,
{
    let Surroundings { control, turns, stop } = surroundings;
    let Ok(first) = timeout(FIRST_REQUEST, requests.message()).await else {
        return Err(Status::deadline_exceeded("no request came in time"));
    };
    let Some((mut first, len)) = first? else { return Ok(()) };
    let identity = Identity::of(first.take_node().as_ref());
    let identity = identity.map_err(|why| {
        tracing::debug!(%why, "client refused");
        Status::invalid_argument(why.to_string())
    })?;
    let admitted = async {
        control.until_synced().await;
        turns.acquire_owned().await.ok()
    };
    let turn = tokio::select! {
        biased;
        () = stop.cancelled() => return Err(stopping()),
        () = outgoing.closed() => return Ok(()),
        turn = admitted => turn,
    };
    let now = control.clock.now();
    let mut conversation = Conversation::<P> {
        entered: control.enter(identity, P::VARIANT),
        session: Session::new(Limits::default()),
        budget: Budget::new(now),
        outstanding: Outstanding::default(),
        in_flight: Kinds::default(),
        has_work: false,
        turn,
        turn_ends: Instant::now() + TURN,
        show_at: None,
    };
    conversation.on_request(first, len)?;
    conversation.run(requests, outgoing, &stop).await
}

fn stopping() -> Status {
    Status::unavailable("the control plane is shutting down")
}

// === impl Conversation ===

impl<P> Conversation<P>
where
    P: Protocol,
    P::Request: AdsRequest,
{
    async fn run(
        &mut self,
        mut requests: Streaming<(P::Request, usize)>,
        outgoing: &mpsc::Sender<Outgoing>,
        stop: &CancellationToken,
    ) -> Result<(), Status> {
        let entered = Arc::clone(&self.entered.peer);
        loop {
            let again = self.session.deadline().filter(|_| !self.has_work);
            let again = again.map(|at| self.entered.control.clock.instant(at));
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(stopping()),
                () = outgoing.closed() => return Ok(()),
                mail = entered.mailbox.take() => self.on_mail(&mail),
                room = outgoing.reserve(), if self.has_work => {
                    let Ok(room) = room else { return Ok(()) };
                    if let Some(response) = self.poll() {
                        room.send(response);
                    }
                }
                () = at(again) => self.has_work = true,
                () = at(self.turn.as_ref().map(|_| self.turn_ends)) => self.turn = None,
                () = at(self.show_at) => self.show(),
                request = requests.message(), if !self.has_work => {
                    let Some((request, len)) = request? else { return Ok(()) };
                    self.on_request(request, len)?;
                }
            }
        }
    }

    fn on_request(&mut self, mut request: P::Request, len: usize) -> Result<(), Status> {
        let control = &self.entered.control;
        let now = control.clock.now();
        control.metrics.request();
        if !self.budget.take(now, len) {
            let proxy = &self.entered.peer.identity.proxy;
            tracing::warn!(%proxy, "stream ended: too many requests");
            return Err(Status::resource_exhausted("too many requests; connect again later"));
        }
        // Some clients send it each time.
        drop(request.take_node());
        let outcome = self.session.on_request(now, &request);
        let outcome = outcome.map_err(|refused| Status::resource_exhausted(refused.to_string()))?;
        self.on_outcome(outcome);
        self.has_work = true;
        self.show_soon();
        Ok(())
    }

    fn on_outcome(&mut self, outcome: Outcome) {
        let control = &self.entered.control;
        match outcome {
            Outcome::Acked(acked) => {
                control.metrics.acked(acked.kind);
                self.in_flight.remove(acked.kind);
                if let Some(changes) = acked.changes {
                    let done = self.outstanding.settled(acked.kind, changes.newest);
                    control.ended(&done, End::Acked);
                }
            }
            Outcome::Nacked { kind, message, names } => {
                control.metrics.nacked(kind);
                self.in_flight.remove(kind);
                control.ended(&self.outstanding.rejected(kind), End::Nacked);
                let proxy = &self.entered.peer.identity.proxy;
                let (n, first) = (names.len(), names.first());
                let message = evenkeel_model::harmless(&message);
                tracing::warn!(%proxy, %kind, n, ?first, %message, "proxy rejected resources");
            }
            Outcome::Stale { kind } => control.metrics.stale(kind),
            Outcome::Subscribed { .. } => {}
            Outcome::UnknownType { first } => {
                let proxy = &self.entered.peer.identity.proxy;
                if first {
                    tracing::info!(%proxy, "proxy asks for a type that is not served");
                }
            }
        }
    }

    fn on_mail(&mut self, mail: &Mail) {
        let Mail { notices, lost } = mail;
        let mut unconcerned = Vec::new();
        for notice in notices {
            let mut kinds = Kinds::default();
            for (kind, name) in &*notice.changed {
                if self.session.on_change(notice.change, *kind, name) {
                    kinds.insert(*kind);
                }
            }
            match kinds.is_empty() {
                true => unconcerned.push(notice.change),
                false => self.outstanding.add(notice.change, kinds),
            }
        }
        if let Some(newest) = lost.last() {
            self.session.on_snapshot(*newest);
            lost.iter().for_each(|change| self.outstanding.add(*change, Kinds::ALL));
        }
        self.entered.control.ended(&unconcerned, End::Dropped);
        self.has_work = true;
        self.show_soon();
    }

    /// The next response, if one is due. Nothing is due otherwise until something happens.
    fn poll(&mut self) -> Option<Outgoing> {
        let control = &self.entered.control;
        let now = control.clock.now();
        let Some(response) = self.session.poll(now, &self.entered.slot.served()) else {
            self.has_work = false;
            self.turn = None;
            self.settle();
            return None;
        };
        self.budget.responded();
        self.in_flight.insert(response.kind);
        control.metrics.response(response.kind);
        control.sent(&self.outstanding.sent(response.kind));
        Some(Outgoing::Response(Box::new(response)))
    }

    /// Changes of which nothing is left to send or to answer were seen before they were announced.
    fn settle(&mut self) {
        if self.outstanding.is_empty() || self.session.deadline().is_some() {
            return;
        }
        for kind in ResourceType::ALL.into_iter().filter(|kind| !self.in_flight.contains(*kind)) {
            let done = self.outstanding.settled(kind, u64::MAX);
            self.entered.control.ended(&done, End::Acked);
        }
    }

    fn show_soon(&mut self) {
        self.show_at.get_or_insert_with(|| Instant::now() + SHOWN);
    }

    fn show(&mut self) {
        self.show_at = None;
        let types = ResourceType::ALL.map(|kind| self.session.status(kind)).to_vec();
        let behind = self.outstanding.oldest();
        *self.entered.peer.shown.lock() = Shown { types, behind };
    }
}

impl<P> Drop for Conversation<P> {
    fn drop(&mut self) {
        self.entered.control.ended(&self.outstanding.all(), End::Dropped);
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
