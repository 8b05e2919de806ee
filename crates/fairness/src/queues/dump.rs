//! A dump of a level, for display.

use super::{QueueSet, slow::SlowFlowsDump, work::Work};

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

impl<W> QueueSet<W> {
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
