//! In which order requests are dispatched that go at one instant.

use evenkeel_fairness::{
    Settings, Time, Width,
    config::{Handling, Queuing},
    queues::{Arrival, Outcome, QueueSet, SeatLimit, Ticket},
};

const MS: u64 = 1_000_000;

struct Level {
    set: QueueSet<()>,
    woken: Vec<()>,
}

impl Level {
    /// With hands of one a flow's queue is its number.
    fn new(settings: &Settings) -> Self {
        let queuing = Queuing { queues: 8, hand_size: 1, queue_length_limit: 9 };
        let seats = SeatLimit { limit: 3, nominal: 3 };
        let mut set = QueueSet::new(Time(0), Handling::Queue(queuing), seats, settings);
        set.schemas_mut().push(Default::default());
        Level { set, woken: Vec::new() }
    }

    fn arrive(&mut self, ms: u64, arrival: Arrival) -> Outcome {
        self.set.arrive(Time(ms * MS), arrival, || (), &mut self.woken)
    }

    fn number(&self, ticket: Ticket) -> Option<u64> {
        self.set.dispatch_number(ticket)
    }
}

/// A request for all three seats blocks that of the next flow until it times out. Kubernetes looks
/// again at the next arrival only, which is of that flow.
#[test]
fn when_a_wide_head_has_timed_out_who_waited_longer_is_dispatched_before_the_newcomer() {
    let mut level = Level::new(&Settings::kubernetes());
    let of = |flow| Arrival { flow, ..Arrival::default() };
    let Outcome::Dispatched(running) = level.arrive(0, of(0)) else { panic!("seats are free") };
    let wait_until = Time(20 * MS);
    let wide = Arrival { width: Width::seats(3), wait_until, ..of(2) };
    assert!(matches!(level.arrive(1, wide), Outcome::Waiting(_)));
    let Outcome::Waiting(waits) = level.arrive(19, of(1)) else { panic!("the head is wide") };
    level.set.tick(wait_until, 0, &mut level.woken);
    assert_eq!(level.number(waits), None, "it waits for an event");
    let Outcome::Dispatched(newcomer) = level.arrive(30, of(1)) else { panic!("seats are free") };
    let numbers = [running, waits, newcomer].map(|ticket| level.number(ticket));
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
}
