//! Simulates kubelets, a scheduler and the controllers of Nodes, workloads and ServiceAccounts, so
//! that objects behave as in a real cluster. No container runs.
//!
//! ```text
//! history ─► World ─► touched: (part, key) ─► Queue ─► part::reconcile ─► Step ─► carry_out ─► writer
//! ```
//!
//! Follows the history like any watcher, and re-examines everything after falling behind. Each
//! change queues some keys of some parts; a part decides from the World alone what to do for a key
//! (a pure function), and its actions take the same path as a client's writes. While the actions of
//! a key are in progress it is not examined again; afterwards the World has seen them. The cost is
//! proportional to the changes, except that a change of a Node re-examines the Pods on it and the
//! pending ones.

pub(crate) mod action;
mod carry_out;
mod conditions;
mod identity;
mod kubelet;
mod nodes;
mod queue;
mod scheduler;
mod selectors;
#[cfg(test)]
mod tests;
mod tolerations;
mod touched;
mod workloads;
pub(crate) mod world;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Bound,
    sync::Arc,
    time::Duration,
};

use evenkeel_admin::supervisor::caught;
use evenkeel_store::{Object, Revision};
use jiff::Timestamp;
use serde_json::Value;
use tokio::task::JoinSet;

pub use self::nodes::OUTAGE_UNTIL;
use self::{
    action::{Action, Step},
    carry_out::Outcome,
    queue::{Id, Queue},
    world::World,
};
use crate::{
    api::Api,
    kinds::{KINDS, Kind, KindRef},
    settings::{IpRange, Sandbox, Settings},
};

/// Keys with actions in progress. The writer batches concurrent writes, so this many share a sync
/// of the disk.
const AT_ONCE: usize = 64;
/// Keys examined in a row before yielding.
const LOOKS: usize = 512;
/// Whatever happens to the clock, the queue is checked this often.
const NAP: Duration = Duration::from_secs(1);

/// The part that handles a key. The order is that of the queue among keys due at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// A Node: its status, its heartbeat, and the consequences of a missing one.
    Node,
    Deployment,
    ReplicaSet,
    DaemonSet,
    /// A Pod without a Node.
    Scheduler,
    /// A Pod on a Node.
    Kubelet,
    /// A Pod on a Node that has taints or is gone.
    Eviction,
}

impl Part {
    fn reconcile(self, world: &World, key: &str, now: Timestamp, settings: &Sandbox) -> Step {
        let reconcile = match self {
            Part::Node => nodes::reconcile,
            Part::Deployment => workloads::deployment::reconcile,
            Part::ReplicaSet => workloads::replica_set::reconcile,
            Part::DaemonSet => workloads::daemon_set::reconcile,
            Part::Scheduler => scheduler::reconcile,
            Part::Kubelet => kubelet::reconcile,
            Part::Eviction => nodes::evict,
        };
        reconcile(world, key, now, settings)
    }
}

/// Runs until the server stops.
pub(crate) async fn run(api: Arc<Api>) {
    let Some(mut settings) = api.settings.sandbox.clone() else { return };
    settings.second_pod_cidr = second_range(&settings, &api.settings.service_ranges);
    let mut play =
        SandboxState { settings, world: World::default(), queue: Queue::default(), cursor: None };
    let mut under_way = JoinSet::new();
    loop {
        let changed = api.storage.any_change();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let now = Timestamp::now();
        play.follow(&api, now);
        play.look(now, AT_ONCE.saturating_sub(under_way.len()), |id, actions| {
            under_way.spawn(carried_out(api.clone(), id, actions));
        });
        let rest = play.rest(under_way.len());
        tokio::select! {
            () = changed => {}
            Some(done) = under_way.join_next() => {
                match done {
                    Ok((id, actions, outcome)) => {
                        play.done(&api, id, &actions, outcome, Timestamp::now());
                    }
                    // Panics are caught earlier, and nothing aborts the task.
                    Err(error) => tracing::error!(%error, "sandbox task failed"),
                }
            }
            () = tokio::time::sleep(rest) => {}
            () = api.stop.cancelled() => return,
        }
    }
}

/// A panic is a failure of this key alone, which is retried.
async fn carried_out(api: Arc<Api>, id: Id, actions: Vec<Action>) -> (Id, Vec<Action>, Outcome) {
    let done = caught(carry_out::all(&api, &id, &actions)).await;
    let outcome = done.unwrap_or_else(|problem| {
        tracing::error!(part = ?id.0, key = %id.1, error = problem, "sandbox action panicked");
        Outcome::Failed
    });
    (id, actions, outcome)
}

/// Adds the tolerations that a Pod gets at its creation: how long it stays on a lost Node.
pub(crate) fn default_tolerations(settings: &Settings, pod: &mut Value) {
    if let Some(sandbox) = &settings.sandbox {
        tolerations::default(pod, nodes::whole_seconds(sandbox.pod_eviction));
    }
}

/// If Services are dual-stack, so are Pods.
fn second_range(settings: &Sandbox, services: &[IpRange]) -> Option<IpRange> {
    let first_is_v4 = settings.pod_cidr.first.is_ipv4();
    let both = services.iter().any(|range| range.first.is_ipv4() != first_is_v4);
    let other = match first_is_v4 {
        true => IpRange {
            first: IpAddr::V6(Ipv6Addr::new(0xfd00, 10, 0x244, 0, 0, 0, 0, 0)),
            prefix: 64,
        },
        false => IpRange { first: IpAddr::V4(Ipv4Addr::new(10, 244, 0, 0)), prefix: 16 },
    };
    settings.second_pod_cidr.or(both.then_some(other))
}

/// The cluster as observed, and the queue.
#[derive(Debug)]
struct SandboxState {
    settings: Sandbox,
    world: World,
    queue: Queue,
    cursor: Option<Revision>,
}

type Changed = (&'static KindRef, Box<str>, Option<Arc<Object>>);

impl SandboxState {
    /// Takes in the changes after the cursor, or everything.
    fn follow(&mut self, api: &Api, now: Timestamp) {
        let (known, changes) = changes(api, &mut self.cursor);
        if !known {
            self.world = World::default();
        }
        for (kind, key, object) in changes {
            self.take(kind, &key, object.as_deref(), now);
        }
    }

    /// Takes in an object, and queues the keys that it affects.
    fn take(&mut self, kind: &Kind, key: &str, object: Option<&Object>, now: Timestamp) {
        let (before, after) = self.world.put(kind, key, object, now);
        touched::by(&self.world, key, before.as_ref(), after.as_ref(), |part, key, after| {
            self.queue.push((part, key.into()), now + after);
        });
    }

    /// Examines due keys and starts their actions, for at most `room` keys.
    fn look(&mut self, now: Timestamp, room: usize, mut start: impl FnMut(Id, Vec<Action>)) {
        let mut started = 0;
        for _ in 0..LOOKS {
            if started >= room {
                return;
            }
            let Some(id) = self.queue.pop(now) else { return };
            if id == (Part::Scheduler, touched::EVERYONE.into()) {
                for key in self.world.waiting() {
                    self.queue.push((Part::Scheduler, key.into()), now);
                }
                continue;
            }
            let step = id.0.reconcile(&self.world, &id.1, now, &self.settings);
            if let Some(at) = step.again {
                self.queue.push(id.clone(), at);
            }
            if step.actions.is_empty() {
                continue;
            }
            for action in &step.actions {
                self.world.assume(action, now);
                if matches!(action, Action::Bind { .. }) {
                    // The history contains nothing new about it.
                    let everyone = (Part::Scheduler, touched::EVERYONE.into());
                    self.queue.push(everyone, now + touched::GATHERED);
                }
            }
            self.queue.begin(&id);
            start(id, step.actions);
            started += 1;
        }
    }

    fn done(&mut self, api: &Api, id: Id, actions: &[Action], outcome: Outcome, now: Timestamp) {
        if outcome != Outcome::Done {
            // An action that was assumed done has failed.
            for (kind, key) in actions.iter().filter_map(Action::target) {
                let present = api.storage.object(kind, key);
                self.take(kind, key, present.as_deref(), now);
            }
        }
        match outcome {
            Outcome::Done => self.queue.end(id, None),
            Outcome::Overtaken => self.queue.end(id, Some(now + queue::SOON)),
            Outcome::Failed => self.queue.failed(id, now),
        }
    }

    fn rest(&self, n_under_way: usize) -> Duration {
        let Some(due) = self.queue.next_due() else { return NAP };
        let left = Timestamp::now().duration_until(due);
        match Duration::try_from(left) {
            Ok(left) => left.min(NAP),
            // Due, but at the limit: an action will finish soon.
            Err(_) if n_under_way >= AT_ONCE => NAP,
            Err(_) => Duration::ZERO,
        }
    }
}

/// Whether the cursor was still valid, and the changes after it. Only pointers are copied while the
/// state is locked.
fn changes(api: &Api, cursor: &mut Option<Revision>) -> (bool, Vec<Changed>) {
    let state = api.storage.state();
    let known = cursor.filter(|cursor| *cursor >= state.history().oldest());
    *cursor = Some(state.revision());
    let mut changes = Vec::new();
    for &kind in KINDS.iter().filter(|kind| world::KEPT.contains(&&*kind.plural)) {
        match known {
            Some(known) => {
                let events = state.history().since(kind.id(), known).into_iter().flatten();
                changes
                    .extend(events.map(|event| (kind, event.key().into(), event.object.clone())));
            }
            None => {
                let objects = state.range(kind.id(), Bound::Unbounded);
                changes
                    .extend(objects.map(|object| (kind, object.key.clone(), Some(object.clone()))));
            }
        }
    }
    (known.is_some(), changes)
}
