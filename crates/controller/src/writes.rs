//! Writes, carried out: each in a task of its own, under the version the engine planned it from.
//!
//! How many there are at once is the engine's matter, and nothing here slows them down: whoever
//! answers 429 is asked again when the engine says so.

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

pub(crate) use self::request::Verb;
use self::{outcome::outcome, request::Request};
use crate::{
    ask::ask,
    engine::{Action, Outcome, Ticket, Write},
};

/// The writes under way.
pub(crate) struct Writes {
    client: Client,
    tasks: JoinSet<Answer>,
    under_way: FxHashMap<Id, UnderWay>,
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

/// What came of a write. A slice that was read or written takes the engine's table of names to
/// understand.
#[derive(Debug)]
pub(crate) enum Answer {
    Told(Outcome),
    Slice(Box<watched::EndpointSlice>),
}

struct UnderWay {
    ticket: Ticket,
    verb: Verb,
    since: Instant,
    trigger: Option<i64>,
}

// === impl Writes ===

impl Writes {
    pub(crate) fn new(client: Client) -> Writes {
        Writes { client, tasks: JoinSet::new(), under_way: FxHashMap::default() }
    }

    /// `now`: the time of day, as conditions carry it.
    pub(crate) fn start(&mut self, write: &Write, topology: &Topology, now: jiff::Timestamp) {
        log(write, topology);
        let request = Request::new(&write.service, &write.action, topology, now);
        let verb = request.verb;
        let task = self.tasks.spawn(carry_out(self.client.clone(), request));
        let trigger = match &write.action {
            Action::Create { trigger, .. } | Action::Update { trigger, .. } => *trigger,
            _ => None,
        };
        let since = Instant::now();
        self.under_way.insert(task.id(), UnderWay { ticket: write.ticket, verb, since, trigger });
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The next that ends; `None` when none is under way.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        let joined = self.tasks.join_next_with_id().await?;
        self.ended(joined)
    }

    /// The next that has ended already.
    pub(crate) fn try_next(&mut self) -> Option<Ended> {
        let joined = self.tasks.try_join_next_with_id()?;
        self.ended(joined)
    }

    fn ended(&mut self, joined: Result<(Id, Answer), JoinError>) -> Option<Ended> {
        let (id, answer) = joined.unwrap_or_else(|error| {
            // Nothing is known of a write whose task broke off: its end must be told all the same.
            let message = format!("the write broke off: {error}");
            (error.id(), Answer::Told(Outcome::Unknown { after: None, message }))
        });
        let UnderWay { ticket, verb, since, trigger } = self.under_way.remove(&id)?;
        Some(Ended { ticket, verb, answer, took: since.elapsed(), trigger })
    }
}

impl fmt::Debug for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writes").field("under_way", &self.under_way.len()).finish_non_exhaustive()
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

/// What is written, the version it is written over, and why endpoints leave zones by it.
fn log(write: &Write, topology: &Topology) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let Write { ticket: _, service, action, why } = write;
    let slice = action.slice_name().map(tracing::field::display);
    let from = match action {
        Action::Update { version, .. }
        | Action::Relabel { version, .. }
        | Action::Delete { version, .. } => Some(&*version.resource_version),
        Action::Create { .. } | Action::Read { .. } | Action::Conditions { .. } => None,
    };
    let moves = Moves { why, topology };
    tracing::debug!(%service, slice, from, %moves, "{}", Verb::of(action).name());
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
