//! Executes writes, each in a task of its own, under the version that the engine planned it from.
//!
//! The engine limits how many there are at once and decides on retries, also after a 429.

mod outcome;
mod request;

use std::{fmt, time::Duration};

use evenkeel_k8s::watched;
use evenkeel_model::Topology;
use evenkeel_topology::plan::FamilyPlan;
use kube::Client;
use rustc_hash::FxHashMap;
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::Instant,
};
use tracing::Instrument as _;

pub(crate) use self::request::Verb;
use self::{outcome::outcome, request::Request};
use crate::{
    ask::ask,
    engine::{Action, Outcome, Ticket, Write},
};

/// The writes in flight.
pub(crate) struct Writes {
    client: Client,
    tasks: JoinSet<Answer>,
    in_flight: FxHashMap<Id, InFlight>,
}

/// A write that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ticket: Ticket,
    pub(crate) verb: Verb,
    pub(crate) answer: Answer,
    pub(crate) took: Duration,
    /// When the change happened that the write was for, in seconds since 1970.
    pub(crate) trigger: Option<i64>,
}

/// The result of a write. A slice must be converted with the engine's table of names.
#[derive(Debug)]
pub(crate) enum Answer {
    Told(Outcome),
    Slice(Box<watched::EndpointSlice>),
}

struct InFlight {
    ticket: Ticket,
    verb: Verb,
    since: Instant,
    trigger: Option<i64>,
}

// === impl Writes ===

impl Writes {
    pub(crate) fn new(client: Client) -> Writes {
        Writes { client, tasks: JoinSet::new(), in_flight: FxHashMap::default() }
    }

    /// `now`: the time of day, as conditions carry it.
    pub(crate) fn start(&mut self, write: &Write, topology: &Topology, now: jiff::Timestamp) {
        log(write, topology);
        let request = Request::new(&write.service, &write.action, topology, now);
        let verb = request.verb;
        let carried_out = carry_out(self.client.clone(), request).in_current_span();
        let task = self.tasks.spawn(carried_out);
        let trigger = match &write.action {
            Action::Create { trigger, .. } | Action::Update { trigger, .. } => *trigger,
            _ => None,
        };
        let since = Instant::now();
        self.in_flight.insert(task.id(), InFlight { ticket: write.ticket, verb, since, trigger });
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The next result; `None` when no write is in flight.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        let joined = self.tasks.join_next_with_id().await?;
        self.ended(joined)
    }

    /// The next result that has arrived already.
    pub(crate) fn try_next(&mut self) -> Option<Ended> {
        let joined = self.tasks.try_join_next_with_id()?;
        self.ended(joined)
    }

    fn ended(&mut self, joined: Result<(Id, Answer), JoinError>) -> Option<Ended> {
        let (id, answer) = joined.unwrap_or_else(|error| {
            // The result of a write whose task panicked is unknown, and the engine must get one.
            let message = format!("the task of the write failed: {error}");
            (error.id(), Answer::Told(Outcome::Unknown { after: None, message }))
        });
        let InFlight { ticket, verb, since, trigger } = self.in_flight.remove(&id)?;
        Some(Ended { ticket, verb, answer, took: since.elapsed(), trigger })
    }
}

impl fmt::Debug for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writes").field("in_flight", &self.in_flight.len()).finish_non_exhaustive()
    }
}

async fn carry_out(client: Client, request: Request) -> Answer {
    let verb = request.verb;
    let built = request.build();
    let failed = |failure| Answer::Told(outcome(verb, failure));
    match verb {
        Verb::Read | Verb::Create | Verb::Update | Verb::Relabel => {
            ask(&client, built).await.map_or_else(failed, Answer::Slice)
        }
        Verb::Conditions => {
            let asked = ask::<serde::de::IgnoredAny>(&client, built).await;
            asked.map_or_else(failed, |_| Answer::Told(Outcome::Done))
        }
        Verb::Delete => {
            // The answer is the slice or a Status, and neither says more than that it is gone.
            let asked = ask::<serde::de::IgnoredAny>(&client, built).await;
            asked.map_or_else(failed, |_| Answer::Told(Outcome::Gone))
        }
    }
}

/// The write, the version it replaces, and why endpoints move between zones.
fn log(write: &Write, topology: &Topology) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let Write { ticket: _, service: _, action, why } = write;
    let slice = action.slice_name().map(tracing::field::display);
    let from = match action {
        Action::Update { version, .. }
        | Action::Relabel { version, .. }
        | Action::Delete { version, .. } => Some(&*version.resource_version),
        Action::Create { .. } | Action::Read { .. } | Action::Conditions { .. } => None,
    };
    let moves = Moves { why, topology };
    tracing::debug!(slice, from, %moves, "{}", Verb::of(action).name());
}

/// The moves of a plan in one line: `ADDRESS from ZONE: REASON`, divided by `; `.
struct Moves<'a> {
    why: &'a [FamilyPlan],
    topology: &'a Topology,
}

impl fmt::Display for Moves<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, moved) in self.why.iter().flat_map(|family| &family.moves).enumerate() {
            let divider = if n == 0 { "" } else { "; " };
            let zone = self.topology.zones.name(moved.from);
            write!(f, "{divider}{} from {zone}: {}", moved.endpoint, moved.why)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
