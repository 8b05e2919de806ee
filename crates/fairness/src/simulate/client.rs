//! The clients, and what each of them sends.

use std::time::Duration;

use super::{Arrivals, Attributes, Flow, Random, Scenario};
use crate::{Request, Time, Width};

/// A client with its attributes filled in.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) flow: u32,
    attributes: Attributes,
}

/// What one client sends.
#[derive(Debug)]
pub(super) struct Stream<'s> {
    pub(super) flow: &'s Flow,
    pub(super) flow_number: u32,
    attributes: &'s Attributes,
    headers: Vec<(&'s str, &'s str)>,
    gaps: Random,
    services: Random,
    /// For how long it has been sending, where arrivals don't depend on answers.
    sent: Duration,
}

/// Every client of a scenario.
pub(super) fn clients(scenario: &Scenario) -> Vec<Client> {
    let of = |(number, flow): (u32, &Flow)| {
        let fill = |text: &str, n: u32| text.replace("{n}", &n.to_string());
        let attributes = flow.attributes.clone();
        let client = move |n: u32| {
            let mut attributes = attributes.clone();
            attributes.user = fill(&attributes.user, n);
            attributes.namespace = fill(&attributes.namespace, n);
            Client { flow: number, attributes }
        };
        (1..=flow.clients).map(client)
    };
    (0..).zip(&scenario.flows).flat_map(of).collect()
}

// === impl Stream ===

impl<'s> Stream<'s> {
    pub(super) fn new(scenario: &'s Scenario, number: u64, client: &'s Client) -> Self {
        Stream {
            flow: &scenario.flows[client.flow as usize],
            flow_number: client.flow,
            attributes: &client.attributes,
            headers: client.attributes.borrowed_headers(),
            gaps: Random::new(scenario.seed, 2 * number),
            services: Random::new(scenario.seed, 2 * number + 1),
            sent: Duration::ZERO,
        }
    }

    pub(super) fn request(&self) -> Request<'_> {
        self.attributes.request(&self.headers)
    }

    pub(super) fn first(&mut self) -> Option<Time> {
        match self.flow.arrivals {
            Arrivals::Closed { .. } => self.flow.sends_from(Time(0)),
            Arrivals::Poisson { .. } => self.next_by_itself(),
            Arrivals::Constant { per_second } => {
                let phase = self.gaps.unit();
                self.after(phase / per_second)
            }
        }
    }

    /// The next arrival, where it does not depend on answers.
    pub(super) fn next_by_itself(&mut self) -> Option<Time> {
        match self.flow.arrivals {
            Arrivals::Poisson { per_second } => {
                let gap = self.gaps.exponential() / per_second;
                self.after(gap)
            }
            Arrivals::Constant { per_second } => self.after(per_second.recip()),
            Arrivals::Closed { .. } => None,
        }
    }

    /// The next arrival of a closed loop that was answered.
    pub(super) fn next_after(&mut self, answered: Time) -> Option<Time> {
        let Arrivals::Closed { think, .. } = self.flow.arrivals else { return None };
        let think = think.draw(&mut self.gaps);
        self.flow.sends_from(answered + think)
    }

    pub(super) fn service(&mut self) -> Duration {
        self.flow.service.draw(&mut self.services)
    }

    /// No estimate exceeds what a level lets one request have; 0: it lets it have anything.
    pub(super) fn width(&self, max_seats: u32) -> Width {
        let most = if max_seats == 0 { u32::MAX } else { max_seats };
        let Width { initial_seats, final_seats, additional_latency } = self.flow.width;
        Width {
            initial_seats: initial_seats.min(most),
            final_seats: final_seats.min(most),
            additional_latency,
        }
    }

    /// The arrival after `gap` more seconds of sending; none if the flow ends before.
    fn after(&mut self, gap: f64) -> Option<Time> {
        self.sent = self.sent.checked_add(Duration::try_from_secs_f64(gap).ok()?)?;
        let at = self.flow.after_sending(self.sent);
        Some(at).filter(|at| self.flow.until.is_none_or(|until| *at < Time(0) + until))
    }
}
