//! Requests of slow flows in one level: when they are held back, and when they go.

mod cap;
mod changes;
mod waiting;

use std::time::Duration;

use evenkeel_fairness::{
    Settings, Time, Width,
    config::{Handling, Queuing},
    queues::{
        Arrival, Outcome, QueueSet, SeatLimit, SlowFlowsDump, Ticket, Verdict, stats::RejectReason,
    },
};

const SECOND: u64 = 1_000_000_000;

/// With eight queues and hands of one a flow's queue is its number modulo eight.
const ELEPHANT: u64 = 0;
const MOUSE: u64 = 1;

struct Level {
    set: QueueSet<u32>,
    now: Time,
    woken: Vec<u32>,
    next: u32,
}

impl Level {
    fn new(limit: u32) -> Self {
        Level::with(Queuing { queues: 8, hand_size: 1, queue_length_limit: 20 }, limit)
    }

    fn with(queuing: Queuing, limit: u32) -> Self {
        let seats = SeatLimit { limit, nominal: limit };
        let handling = Handling::Queue(queuing);
        let mut set = QueueSet::new(Time(0), handling, seats, &Settings::default());
        set.schemas_mut().push(Default::default());
        Level { set, now: Time(0), woken: Vec::new(), next: 0 }
    }

    /// One of the elephant's requests has taken ten seconds.
    fn that_knows_the_elephant(mut self) -> Self {
        let ticket = self.runs(ELEPHANT);
        self.pass(10.0);
        self.leave(ticket);
        self
    }

    fn pass(&mut self, seconds: f64) {
        self.now = self.now + Duration::from_secs_f64(seconds);
    }

    fn arrive(&mut self, arrival: Arrival) -> Outcome {
        self.next += 1;
        self.set.arrive(self.now, arrival, || self.next, &mut self.woken)
    }

    fn send(&mut self, flow: u64) -> Outcome {
        self.arrive(Arrival { flow, ..Arrival::default() })
    }

    fn runs(&mut self, flow: u64) -> Ticket {
        match self.send(flow) {
            Outcome::Dispatched(ticket) => ticket,
            other => panic!("flow {flow}: {other:?}"),
        }
    }

    fn waits(&mut self, flow: u64) -> Ticket {
        match self.send(flow) {
            Outcome::Waiting(ticket) => ticket,
            other => panic!("flow {flow}: {other:?}"),
        }
    }

    fn leave(&mut self, ticket: Ticket) {
        self.set.leave(self.now, ticket, 0, &mut self.woken);
    }

    fn tick(&mut self) {
        self.set.tick(self.now, 0, &mut self.woken);
    }

    /// So many others at a time for so many half seconds; the last of them leave at its end.
    fn others(&mut self, n: u64, half_seconds: u32) {
        for _ in 0..half_seconds {
            let tickets: Vec<_> = (0..n).map(|i| self.runs(MOUSE + i % 7)).collect();
            self.pass(0.5);
            tickets.into_iter().for_each(|ticket| self.leave(ticket));
        }
    }

    fn slow(&self) -> SlowFlowsDump {
        self.set.dump().slow_flows.expect("slow flows are told apart")
    }
}
