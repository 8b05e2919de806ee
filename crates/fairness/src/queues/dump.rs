//! A dump of a level, for display.

use super::{
    QueueSet, Ticket,
    slots::{NONE, Slot, State},
    slow::SlowFlowsDump,
    work::Work,
};
use crate::{Time, Width};

#[derive(Clone, Debug)]
pub struct LevelDump {
    pub r: Work,
    pub waiting: u32,
    pub executing: u32,
    pub detached: u32,
    pub seats_in_use: u64,
    pub seats_waiting: u64,
    pub queues: Vec<QueueDump>,
    /// None where slow flows are treated like others.
    pub slow_flows: Option<SlowFlowsDump>,
}

#[derive(Clone, Debug)]
pub struct QueueDump {
    pub waiting: u32,
    /// Those of them that are of slow flows.
    pub slow_waiting: u32,
    pub executing: u32,
    pub seats_in_use: u64,
    pub next_dispatch_r: Work,
    pub initial_seats_sum: u64,
    pub max_seats_sum: u64,
    pub total_work_sum: Work,
}

/// A request that waits or runs.
#[derive(Clone, Copy, Debug)]
pub struct RequestDump {
    pub ticket: Ticket,
    /// The number of its flow schema in the level.
    pub schema: u32,
    /// None: it went through no queue, or its queue was removed.
    pub queue: Option<u32>,
    /// Its place in the queue, by order of arrival; none: it runs.
    pub position: Option<u32>,
    pub width: Width,
    pub arrived: Time,
    pub dispatched: Option<Time>,
}

impl<W> QueueSet<W> {
    /// The requests that wait or run, by queue and position; those that run come first. Bound:
    /// O(n log n).
    pub fn requests(&self) -> Vec<RequestDump> {
        let mut found: Vec<_> = self
            .slots
            .iter()
            .filter(|(_, slot)| !matches!(slot.state, State::TimedOut | State::Lingering))
            .map(|(ticket, slot)| (slot.queue, slot.state == State::Waiting, slot.number, ticket))
            .collect();
        found.sort_unstable_by_key(|(queue, waits, number, _)| (*queue, *waits, *number));
        let mut before = (NONE, 0);
        let dumped = found.into_iter().map(|(queue, waits, _, ticket)| {
            let position = if before.0 == queue { before.1 } else { 0 };
            before = (queue, position + u32::from(waits));
            request(ticket, &self.slots[ticket.slot], waits.then_some(position))
        });
        dumped.collect()
    }

    pub fn dump(&self) -> LevelDump {
        LevelDump {
            r: self.r,
            waiting: self.waiting,
            executing: self.executing,
            detached: self.detached,
            seats_in_use: self.seats_in_use,
            seats_waiting: self.seats_waiting,
            queues: self.queues.iter().map(queue).collect(),
            slow_flows: self.slow_flows(),
        }
    }
}

fn request<W>(ticket: Ticket, slot: &Slot<W>, position: Option<u32>) -> RequestDump {
    RequestDump {
        ticket,
        schema: slot.schema,
        queue: Some(slot.queue).filter(|queue| *queue != NONE),
        position,
        width: slot.width,
        arrived: slot.arrived,
        dispatched: position.is_none().then_some(slot.dispatched),
    }
}

fn queue(queue: &super::Queue) -> QueueDump {
    QueueDump {
        waiting: queue.len(),
        slow_waiting: queue.slow.len,
        executing: queue.executing,
        seats_in_use: queue.seats_in_use,
        next_dispatch_r: queue.start,
        initial_seats_sum: queue.initial_seats_waiting,
        max_seats_sum: queue.seats_waiting,
        total_work_sum: queue.work_waiting,
    }
}
