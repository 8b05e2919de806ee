//! What is simulated: flows of requests, and the configuration they meet.

use std::time::Duration;

use thiserror::Error;

use super::Draw;
use crate::{
    Groups, Request, Settings, Time, Width, config::Config, limits::nominal::NoShares, time::nanos,
};

/// More clients than this would be more memory than anyone expects.
pub const MAX_CLIENTS: u64 = 200_000;
/// Simulating more requests takes minutes.
pub const MAX_REQUESTS: u64 = 50_000_000;
/// More concurrent requests take gigabytes.
pub const MAX_AT_A_TIME: usize = 2_000_000;

/// The requests, independent of the configuration.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub duration: Duration,
    /// Simulated, but not measured.
    pub warmup: Duration,
    pub seed: u64,
    pub flows: Vec<Flow>,
}

/// A group of like clients, each with its own stream of requests.
#[derive(Clone, Debug)]
pub struct Flow {
    pub name: String,
    pub clients: u32,
    pub attributes: Attributes,
    pub arrivals: Arrivals,
    pub service: Draw,
    pub width: Width,
    pub wait_limit: Duration,
    /// When it starts and stops sending.
    pub from: Duration,
    pub until: Option<Duration>,
    pub burst: Option<Burst>,
}

/// The attributes of requests. In `user` and `namespace`, `{n}` is replaced by the number of the
/// client, from 1.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    pub user: String,
    pub groups: Vec<String>,
    pub verb: String,
    pub is_resource: bool,
    pub api_group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub path: String,
    pub method: String,
    pub headers: Vec<(String, String)>,
}

/// When one client sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Poisson arrivals with this mean rate.
    Poisson { per_second: f64 },
    /// At regular intervals, with a random phase.
    Constant { per_second: f64 },
    /// A fixed number of open requests; the next is sent after a response and the think time. A
    /// rejected client waits for as long as Retry-After says.
    Closed { outstanding: u32, think: Draw },
}

/// Alternates between sending and not sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    pub on: Duration,
    pub off: Duration,
}

/// The server that the requests are sent to.
#[derive(Clone, Debug)]
pub struct Setup {
    pub config: Config,
    /// The seats of the whole server.
    pub server_limit: u32,
    pub settings: Settings,
    /// By time.
    pub changes: Vec<Change>,
}

/// A change of the configuration.
#[derive(Clone, Debug)]
pub struct Change {
    pub at: Duration,
    pub config: Config,
    pub server_limit: u32,
}

/// Why a scenario can't be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SimulationError {
    #[error(
        "{clients} clients are more than the {MAX_CLIENTS} that can be simulated; lower `clients` or `outstanding`"
    )]
    TooManyClients { clients: u64 },
    #[error(
        "flow {flow:?} would send about {requests:.0} requests, more than the {MAX_REQUESTS} that can be simulated; lower the rate, `clients` or `duration`"
    )]
    TooManyArrivals { flow: String, requests: f64 },
    #[error(
        "more than {MAX_REQUESTS} requests by {at:?} of simulated time; lower rates or `duration`, or give closed loops a think or service time"
    )]
    TooManyRequests { at: Duration },
    #[error(
        "more than {MAX_AT_A_TIME} requests wait or run at the same time, at {at:?} of simulated time; lower rates, service times or queue lengths"
    )]
    TooManyAtATime { at: Duration },
    #[error(transparent)]
    NoShares(#[from] NoShares),
}

impl Scenario {
    /// Checks that this can be simulated in reasonable time and memory.
    pub fn check(&self) -> Result<(), SimulationError> {
        let outstanding = |flow: &Flow| match flow.arrivals {
            Arrivals::Closed { outstanding, .. } => outstanding.max(1),
            _ => 1,
        };
        let streams = |flow: &Flow| u64::from(flow.clients) * u64::from(outstanding(flow));
        let clients = self.flows.iter().map(streams).fold(0, u64::saturating_add);
        if clients > MAX_CLIENTS {
            return Err(SimulationError::TooManyClients { clients });
        }
        let mut total = 0.0;
        for flow in &self.flows {
            let requests = flow.expected(self.duration);
            total += requests;
            if total > MAX_REQUESTS as f64 {
                let flow = flow.name.clone();
                return Err(SimulationError::TooManyArrivals { flow, requests });
            }
        }
        Ok(())
    }
}

impl Flow {
    /// How many requests the flow sends; 0 for a closed loop, which depends on the responses.
    fn expected(&self, duration: Duration) -> f64 {
        let (Arrivals::Poisson { per_second } | Arrivals::Constant { per_second }) = self.arrivals
        else {
            return 0.0;
        };
        let until = self.until.unwrap_or(duration).min(duration);
        let duty = self.burst.map_or(1.0, |burst| burst.duty());
        let seconds = until.saturating_sub(self.from).as_secs_f64() * duty;
        f64::from(self.clients) * per_second * seconds
    }

    /// The time at which the flow has been sending for `sent`.
    pub(super) fn after_sending(&self, sent: Duration) -> Time {
        let Some(Burst { on, off }) = self.burst.filter(|burst| !burst.on.is_zero()) else {
            return Time(0) + self.from + sent;
        };
        let (sent, on) = (nanos(sent), nanos(on));
        let pauses = (sent / on).saturating_mul(nanos(off));
        Time(0) + self.from + Duration::from_nanos(sent.saturating_add(pauses))
    }

    /// That time, or the next at which the flow sends; none if it no longer does.
    pub(super) fn sends_from(&self, time: Time) -> Option<Time> {
        let from = Time(0) + self.from;
        let mut time = time.max(from);
        if let Some(Burst { on, off }) = self.burst {
            let (on, period) = (nanos(on), nanos(on).saturating_add(nanos(off)));
            let phase = nanos(time - from).checked_rem(period)?;
            if phase >= on {
                time = time + Duration::from_nanos(period - phase);
            }
        }
        (Some(time)).filter(|time| self.until.is_none_or(|until| *time < Time(0) + until))
    }
}

impl Burst {
    fn duty(&self) -> f64 {
        let (on, off) = (self.on.as_secs_f64(), self.off.as_secs_f64());
        if on + off > 0.0 { on / (on + off) } else { 1.0 }
    }
}

impl Attributes {
    pub fn request<'a>(&'a self, headers: &'a [(&'a str, &'a str)]) -> Request<'a> {
        Request {
            user: &self.user,
            groups: Groups::Owned(&self.groups),
            verb: &self.verb,
            is_resource: self.is_resource,
            api_group: &self.api_group,
            resource: &self.resource,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            path: &self.path,
            method: &self.method,
            headers,
        }
    }

    /// The headers as requests borrow them.
    pub fn borrowed_headers(&self) -> Vec<(&str, &str)> {
        self.headers.iter().map(|(name, value)| (&**name, &**value)).collect()
    }
}
