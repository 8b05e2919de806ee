//! What all services, responses and the driver of one layer share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
    },
    task::Waker,
    time::Duration,
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use evenkeel_fairness::{
    Request as Attributes, Settings, Time,
    config::{Config, Field, Predicate, Source},
    dispatcher::{self, Admission, Cost, Dispatcher},
    queues::stats::RejectReason,
};
use http::{HeaderMap, HeaderName, Method, Response, header};
use parking_lot::Mutex;
use tokio::{runtime, sync::Notify};

use crate::{
    admit::Rejected,
    clock::Clock,
    driver,
    error::{ConfigureError, check},
    head::{Head, Kind, verb, with_headers},
    in_flight::{InFlight, Phase},
    policy::{Estimate, LongRunning, Policy, is_watch},
    rejection::{Rejection, RejectionIds, set_kubernetes_headers},
    seat::{HoldUntil, Seat},
    striped::Striped,
    watch_counts::WatchCounts,
};

/// The flow schema and the level of a request.
pub type Destination = dispatcher::Destination<Waker>;
pub(crate) type Level = dispatcher::Level<Waker>;
pub(crate) type RequestHandle = dispatcher::RequestHandle<Waker>;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) dispatcher: Dispatcher<Waker>,
    pub(crate) clock: Clock,
    pub(crate) policy: Policy,
    /// The headers that the configuration in force looks at.
    headers: ArcSwap<Vec<HeaderName>>,
    /// Held while a configuration is applied.
    configuring: Mutex<()>,
    pub(crate) in_flight: InFlight,
    pub(crate) watch_counts: WatchCounts,
    pub(crate) rejection_ids: RejectionIds,
    /// The runtimes that have a driver.
    pub(crate) driver_runtimes: Mutex<Vec<runtime::Id>>,
    /// When a driver wakes up next.
    pub(crate) next_wakeup: AtomicU64,
    /// When the limits are adjusted next; none before a driver first ran.
    pub(crate) adjust_at: Mutex<Option<Time>>,
    /// Wakes the drivers up; shared with them, so that it outlives this.
    pub(crate) drivers: Arc<Notify>,
}

/// What becomes of a request that arrives.
pub(crate) enum Entry {
    Bypass,
    Seated(Seat),
    /// With its flow, for a reason that may come later.
    Waiting(Seat, Box<str>),
    Rejected(Response<Bytes>),
}

/// A request that asks for a seat.
#[derive(Clone, Copy)]
pub(crate) struct Arriving<'r> {
    pub(crate) attributes: &'r Attributes<'r>,
    /// What it has used up of its limit already.
    pub(crate) waited: Duration,
    pub(crate) wait_limit: Duration,
    pub(crate) watch: bool,
    pub(crate) hold_until: HoldUntil,
}

/// Where a request that was not rejected is.
pub(crate) enum Placed {
    Seated(Seat),
    /// With its flow, for a reason that may come later.
    Waiting(Seat, Box<str>),
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        server_limit: u32,
        settings: Settings,
        policy: Policy,
    ) -> Result<Self, ConfigureError> {
        check(&config)?;
        let clock = Clock::start();
        let headers = ArcSwap::from_pointee(headers_of(&config));
        let in_flight = InFlight::default();
        in_flight.limit(&config, server_limit);
        Ok(Shared {
            dispatcher: Dispatcher::new(clock.now(), config, server_limit, settings)?,
            clock,
            policy,
            headers,
            configuring: Mutex::new(()),
            in_flight,
            watch_counts: WatchCounts::default(),
            rejection_ids: RejectionIds::default(),
            driver_runtimes: Mutex::default(),
            next_wakeup: AtomicU64::new(driver::NOBODY.0),
            adjust_at: Mutex::default(),
            drivers: Arc::default(),
        })
    }

    pub(crate) fn configure(
        &self,
        config: Config,
        server_limit: u32,
    ) -> Result<(), ConfigureError> {
        check(&config)?;
        let _one_at_a_time = self.configuring.lock();
        // While both configurations may be in use, each finds its headers.
        let (old, new) = (self.headers.load_full(), headers_of(&config));
        self.headers.store(Arc::new(old.iter().chain(&new).cloned().collect()));
        let limited = config.clone();
        let mut woken = Vec::new();
        let now = self.clock.now();
        let result = self.dispatcher.configure(now, config, server_limit, &mut woken);
        wake(woken);
        if let Err(error) = result {
            self.headers.store(old);
            return Err(error.into());
        }
        self.headers.store(Arc::new(new));
        self.in_flight.limit(&limited, server_limit);
        self.drivers.notify_waiters();
        Ok(())
    }

    /// Calls `then` with the headers that the configuration looks at.
    pub(crate) fn with_headers<T>(
        &self,
        headers: &HeaderMap,
        then: impl FnOnce(&[(&str, &str)]) -> T,
    ) -> T {
        with_headers(headers, &self.headers.load(), then)
    }

    fn estimate(
        &self,
        head: Head<'_>,
        attributes: &Attributes<'_>,
        destination: &Destination,
    ) -> Estimate {
        let estimate = self.policy.estimate.as_ref();
        estimate
            .map(|estimate| estimate(head, attributes, destination.max_seats))
            .unwrap_or_default()
    }

    pub(crate) fn reject(
        &self,
        head: Head<'_>,
        destination: &Destination,
        flow: &str,
        reason: RejectReason,
        retry_after: u32,
    ) -> Response<Bytes> {
        let (waiting, seats_in_use, limit) = destination
            .level
            .view(|view| (view.set.waiting(), view.set.seats_in_use(), view.set.seats().limit));
        let rejection = Rejection {
            id: self.rejection_ids.next(),
            head,
            reason,
            retry_after,
            flow_schema: &destination.schema,
            flow_schema_uid: &destination.schema_uid,
            priority_level: &destination.level.name,
            priority_level_uid: &destination.level_uid,
            flow,
            waiting,
            seats_in_use,
            limit,
        };
        rejection.log();
        let mut response = self.policy.respond(&rejection);
        if self.policy.kubernetes_headers {
            set_kubernetes_headers(response.headers_mut(), destination);
        }
        if head.method == Method::HEAD {
            remove_body(&mut response);
        }
        response
    }

    pub(crate) fn leave(&self, now: Time, handle: RequestHandle) {
        let mut woken = Vec::new();
        let earlier_deadline = self.dispatcher.leave(now, handle, &mut woken);
        wake(woken);
        self.notify_if_earlier(earlier_deadline);
    }

    /// Notifies the drivers if a deadline was brought forward to before they would wake up.
    ///
    /// A driver announces when it will wake up and then reads the deadlines once more; here the
    /// deadline is written first and the announcement is read then. So one of both sees the other.
    pub(crate) fn notify_if_earlier(&self, deadline: Option<Time>) {
        let Some(deadline) = deadline else { return };
        fence(Ordering::SeqCst);
        if deadline < Time(self.next_wakeup.load(Ordering::Relaxed)) {
            self.drivers.notify_waiters();
        }
    }
}

impl Striped {
    /// Classifies a request and admits it.
    pub(crate) fn enter(&self, head: Head<'_>) -> Entry {
        let verb = verb(head.method);
        let names = self.headers.load();
        with_headers(head.headers, &names, |headers| {
            let plain = Attributes { headers, ..head.attributes(&verb) };
            match &self.policy.identify {
                Some(identify) => self.admit(head, &identify(head, plain)),
                None => self.admit(head, &plain),
            }
        })
    }

    fn admit(&self, head: Head<'_>, attributes: &Attributes<'_>) -> Entry {
        let long_running = self.policy.long_running(head, attributes);
        if long_running == Some(LongRunning::Bypass) {
            return Entry::Bypass;
        }
        let arriving = Arriving {
            attributes,
            waited: Duration::ZERO,
            wait_limit: self.policy.wait_limit(head),
            watch: long_running.is_some() && is_watch(attributes),
            hold_until: HoldUntil::of(head, long_running),
        };
        let estimate = |destination: &Destination| self.estimate(head, attributes, destination);
        match self.seat(&arriving, estimate) {
            Ok(Placed::Seated(seat)) => Entry::Seated(seat),
            Ok(Placed::Waiting(seat, flow)) => Entry::Waiting(seat, flow),
            Err(Rejected { destination, flow, reason, retry_after }) => {
                Entry::Rejected(self.reject(head, &destination, &flow, reason, retry_after))
            }
        }
    }

    /// Takes a seat or a place in a queue.
    pub(crate) fn seat(
        &self,
        arriving: &Arriving<'_>,
        estimate: impl Fn(&Destination) -> Estimate,
    ) -> Result<Placed, Rejected> {
        let Arriving { attributes, waited, wait_limit, watch, hold_until } = *arriving;
        let now = self.clock.now();
        driver::ensure(self, now);
        let wait_until = now + wait_limit.saturating_sub(waited);
        let cost = |destination: &Destination| {
            let Estimate { width, watches } = estimate(destination);
            if let Some(watches) = watches {
                self.watch_counts.observe(&destination.level.name, &destination.schema, watches);
            }
            Cost { width, wait_until, watch }
        };
        let mut woken = Vec::new();
        // The task's own waker replaces this one when the response is first polled.
        let waker = || Waker::noop().clone();
        let admitted = self.dispatcher.admit(now, attributes, cost, waker, &mut woken);
        wake(woken);
        self.notify_if_earlier(admitted.earlier_deadline);
        let kind = Kind::of(attributes);
        let seat = |handle, phase| {
            self.in_flight.enter(now, phase, kind);
            Seat::new(self.own(), handle, phase, kind, hold_until)
        };
        let flow = admitted.flow.distinguisher;
        match admitted.admission {
            Admission::Dispatched(handle) => Ok(Placed::Seated(seat(handle, Phase::Executing))),
            Admission::Waiting(handle) => {
                Ok(Placed::Waiting(seat(handle, Phase::Waiting), flow.into()))
            }
            Admission::Rejected { reason, retry_after } => {
                let destination = admitted.destination;
                Err(Rejected { destination, flow: flow.into(), reason, retry_after })
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The drivers find that the layer is gone, and end.
        self.drivers.notify_waiters();
    }
}

/// No lock may be held: a waker is foreign code.
pub(crate) fn wake(woken: Vec<Waker>) {
    woken.into_iter().for_each(Waker::wake);
}

/// Not every server does this for HTTP/2.
fn remove_body(response: &mut Response<Bytes>) {
    let length = std::mem::take(response.body_mut()).len();
    response.headers_mut().entry(header::CONTENT_LENGTH).or_insert_with(|| length.into());
}

/// The headers a configuration looks at, in tests and as distinguishers.
fn headers_of(config: &Config) -> Vec<HeaderName> {
    let mut names = Vec::new();
    for schema in &config.schemas {
        if let Some(Source::Header(name)) = schema.distinguisher.as_ref().map(|by| &by.source) {
            names.extend(name.parse::<HeaderName>());
        }
        let Predicate::Match(any) = &schema.predicate else { continue };
        for test in any.iter().flat_map(|all| &all.tests) {
            if let Field::Header(name) = &test.field {
                names.extend(name.parse::<HeaderName>());
            }
        }
    }
    names.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    names
}
