//! The proposal of 2019, "Queuing", "Dispatching" and "Fair Queuing for Server Requests", worked by
//! hand. G is one minute; times are in seconds, and so is virtual time, for requests of one seat.

mod support;

use evenkeel_fairness::{
    Settings, Time,
    config::Handling,
    dispatcher::{Admission, Dispatcher},
    queues::{
        Arrival, Outcome, QueueSet, SeatLimit, Ticket, Verdict,
        stats::{RejectReason, SchemaStats},
    },
};

use crate::support::{SECOND, by, config, cost, level, queuing};

const G: f64 = 60.0;

/// One level whose requests are known by name.
struct Queues {
    set: QueueSet<&'static str>,
    woken: Vec<&'static str>,
}

fn at(seconds: u64) -> Time {
    Time(seconds * SECOND)
}

impl Queues {
    fn new(handling: Handling, limit: u32, settings: &Settings) -> Self {
        let seats = SeatLimit { limit, nominal: limit };
        let mut set = QueueSet::new(at(0), handling, seats, settings);
        set.schemas_mut().push(SchemaStats::default());
        Queues { set, woken: Vec::new() }
    }

    fn proposal(handling: Handling, limit: u32) -> Self {
        Queues::new(handling, limit, &Settings::proposal())
    }

    fn arrive(&mut self, seconds: u64, flow: u64, name: &'static str) -> Outcome {
        self.arrive_with(seconds, Arrival { flow, ..Arrival::default() }, name)
    }

    fn arrive_with(&mut self, seconds: u64, arrival: Arrival, name: &'static str) -> Outcome {
        self.set.arrive(at(seconds), arrival, || name, &mut self.woken)
    }

    fn run(&mut self, seconds: u64, flow: u64, name: &'static str) -> Ticket {
        match self.arrive(seconds, flow, name) {
            Outcome::Dispatched(ticket) => ticket,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn wait(&mut self, seconds: u64, flow: u64, name: &'static str) -> Ticket {
        match self.arrive(seconds, flow, name) {
            Outcome::Waiting(ticket) => ticket,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// A request ends; returns who goes next.
    fn end(&mut self, seconds: u64, ticket: Ticket) -> Vec<&'static str> {
        self.set.leave(at(seconds), ticket, 0, &mut self.woken);
        std::mem::take(&mut self.woken)
    }

    /// The virtual start of each queue, in seconds.
    fn starts(&self) -> Vec<f64> {
        let queues = self.set.dump().queues;
        queues.iter().map(|queue| queue.next_dispatch_r.seat_seconds()).collect()
    }

    fn virtual_now(&mut self, seconds: u64) -> f64 {
        self.set.release(at(seconds), 0, &mut Vec::new());
        self.set.r().seat_seconds()
    }
}

#[test]
fn a_request_joins_the_shortest_queue_of_its_hand_and_of_equals_the_first_dealt() {
    // Of four queues, hash 2 is dealt queue 2 (2 mod 4), then the first that is left, queue 0.
    let mut queues = Queues::proposal(queuing(4, 2, 9), 1);
    queues.run(0, 2, "running");
    for (n, expected) in [2, 0, 2, 0, 2].into_iter().enumerate() {
        let ticket = queues.wait(n as u64, 2, "waiting");
        assert_eq!(queues.set.queue_of(ticket), Some(expected), "arrival {n}");
    }
    // Hash 0 is dealt queues 0 and 1: two wait in the one, nobody in the other.
    let ticket = queues.wait(9, 0, "other");
    assert_eq!(queues.set.queue_of(ticket), Some(1));
}

#[test]
fn a_request_is_rejected_for_the_length_of_its_queue_alone() {
    let wide =
        |seats| Arrival { width: evenkeel_fairness::Width::seats(seats), ..Arrival::default() };
    for (settings, grows) in [(Settings::proposal(), false), (Settings::kubernetes(), true)] {
        let mut queues = Queues::new(queuing(1, 1, 1), 4, &settings);
        assert!(matches!(queues.arrive_with(0, wide(3), "runs"), Outcome::Dispatched(_)));
        assert!(matches!(queues.arrive_with(0, wide(2), "blocked"), Outcome::Waiting(_)));
        let next = queues.arrive(0, 0, "next");
        let rejected = Outcome::Rejected(RejectReason::QueueFull);
        assert_eq!(next == rejected, !grows, "one seat is free: {next:?}");
    }
}

#[test]
fn those_that_have_waited_for_too_long_are_evicted_by_the_next_arrival() {
    let mut queues = Queues::proposal(queuing(1, 1, 2), 1);
    queues.run(0, 0, "running");
    let until = |seconds| Arrival { wait_until: at(seconds), ..Arrival::default() };
    let Outcome::Waiting(old) = queues.arrive_with(1, until(10), "old") else { panic!("waits") };
    let Outcome::Waiting(young) = queues.arrive_with(2, until(20), "young") else {
        panic!("waits")
    };
    let full = queues.arrive_with(9, until(99), "too early");
    assert_eq!(full, Outcome::Rejected(RejectReason::QueueFull));
    assert!(matches!(queues.arrive_with(10, until(99), "newcomer"), Outcome::Waiting(_)));
    assert_eq!(queues.woken, ["old"]);
    let verdict = |queues: &mut Queues, ticket| queues.set.verdict(ticket, |old| old.unwrap());
    assert_eq!(verdict(&mut queues, old), Verdict::Rejected(RejectReason::TimeOut));
    assert_eq!(verdict(&mut queues, young), Verdict::Waiting);
}

#[test]
fn virtual_time_advances_by_running_and_waiting_requests_up_to_c_per_queue_that_is_not_empty() {
    let mut queues = Queues::proposal(queuing(2, 1, 9), 3);
    assert_eq!(queues.virtual_now(100), 0.0, "no queue has a request");
    let alone = queues.run(100, 0, "alone");
    assert_eq!(queues.virtual_now(110), 10.0, "1 request, 1 queue");
    let more = [queues.run(110, 0, "b"), queues.run(110, 0, "c")];
    queues.wait(110, 0, "d");
    assert_eq!(queues.virtual_now(120), 40.0, "4 requests of which 3 count, 1 queue");
    queues.wait(120, 1, "e");
    assert_eq!(queues.virtual_now(130), 55.0, "5 requests of which 3 count, 2 queues");
    queues.end(130, alone);
    more.into_iter().for_each(|ticket| drop(queues.end(130, ticket)));
    assert_eq!(queues.virtual_now(140), 65.0, "2 requests, 2 queues");
}

#[test]
fn the_virtual_start_of_a_queue_is_set_to_now_when_a_request_comes_to_it_empty_and_idle() {
    let mut queues = Queues::proposal(queuing(2, 1, 9), 1);
    let first = queues.run(0, 0, "first");
    assert_eq!(queues.starts(), [G, 0.0], "dequeued: advanced by G");
    queues.end(10, first);
    assert_eq!(queues.starts(), [10.0, 0.0], "served for 10 s: decremented by 60 - 10");
    // Nothing runs between 10 and 50, so that virtual time stands at 10.
    let second = queues.run(50, 1, "second");
    assert_eq!(queues.starts(), [10.0, 10.0 + G]);
    queues.end(55, second);
    assert_eq!(queues.starts(), [10.0, 15.0]);
    queues.run(55, 0, "third");
    assert_eq!(queues.starts(), [15.0 + G, 15.0], "now() is 15, not its old start");
    // Not empty and idle: nothing is reset, though virtual time has gone on.
    queues.wait(70, 0, "fourth");
    assert_eq!(queues.starts(), [15.0 + G, 15.0]);
}

#[test]
fn with_a_true_guess_the_finish_of_number_j_is_j_g_after_the_virtual_start() {
    let mut queues = Queues::proposal(queuing(2, 1, 9), 1);
    let running = queues.run(0, 0, "a0");
    let waiting = [(0, "a1"), (0, "a2"), (1, "b1"), (1, "b2")]
        .map(|(flow, name)| (name, queues.wait(0, flow, name)));
    // Virtual start a: G, b: 0. Finish a1: 2G, a2: 3G, b1: 1G, b2: 2G. The tie of a1 and b2 goes
    // to the queue behind the one served last.
    let (mut order, mut ticket) = (Vec::new(), running);
    for minute in 1..=4 {
        let woken = queues.end(60 * minute, ticket);
        let [name] = woken[..] else { panic!("one goes at a time: {woken:?}") };
        order.push(name);
        ticket = waiting.iter().find(|(waiting, _)| *waiting == name).expect("it waited").1;
    }
    assert_eq!(order, ["b1", "a1", "b2", "a2"]);
    assert_eq!(queues.starts(), [3.0 * G, 2.0 * G]);
}

#[test]
fn when_a_request_ends_the_virtual_start_is_decremented_by_what_the_guess_was_too_long() {
    let mut queues = Queues::proposal(queuing(2, 1, 9), 1);
    let a0 = queues.run(0, 0, "a0");
    let a1 = queues.wait(0, 0, "a1");
    let a2 = queues.wait(0, 0, "a2");
    let b1 = queues.wait(0, 1, "b1");
    let b2 = queues.wait(0, 1, "b2");
    // The requests of a take 10 s, those of b 30 s.
    let table = [
        // ends, at, goes, virtual starts after it has gone
        (a0, 10, "b1", [10.0, 60.0]), // a1 would finish at 70, b1 at 60
        (b1, 40, "a1", [70.0, 30.0]), // a1 at 70, b2 at 90
        (a1, 50, "a2", [80.0, 30.0]), // a2 at 80, b2 at 90
        (a2, 60, "b2", [30.0, 90.0]),
    ];
    for (ticket, seconds, next, starts) in table {
        assert_eq!(queues.end(seconds, ticket), [next], "at {seconds}");
        assert_eq!(queues.starts(), starts, "at {seconds}");
    }
    queues.end(90, b2);
    assert_eq!(queues.starts(), [30.0, 60.0], "what each was served for");
}

/// ACV(l) = ceil(SCL · ACS(l) / Σ ACS(k)).
#[test]
fn assured_concurrency_values_are_rounded_up_and_stay() {
    let table: [(u32, &[u32], &[u32]); 5] = [
        (100, &[10, 10, 10], &[34, 34, 34]),
        (600, &[30, 40, 10, 100, 20], &[90, 120, 30, 300, 60]),
        (10, &[1, 100], &[1, 10]),
        (1, &[5, 5], &[1, 1]),
        (7, &[3, 0], &[7, 0]),
    ];
    for (server_limit, shares, acvs) in table {
        let mut levels: Vec<_> = shares
            .iter()
            .enumerate()
            .map(|(n, shares)| level(&format!("level-{n}"), *shares, queuing(4, 1, 9)))
            .collect();
        levels.push(level("zz-exempt", 0, Handling::Exempt));
        let dispatcher =
            Dispatcher::<()>::new(at(0), config(levels), server_limit, Settings::proposal());
        let dispatcher = dispatcher.expect("has shares");
        for minute in 0..3 {
            dispatcher.adjust(at(60 * minute), &mut Vec::new());
            let (limits, _) = dispatcher.limits();
            let current: Vec<_> = limits.iter().map(|level| level.limits.current).collect();
            assert_eq!(current[..acvs.len()], *acvs, "{server_limit} by {shares:?}");
        }
    }
}

#[test]
fn an_exempt_request_never_waits_and_is_not_counted_against_others() {
    let levels = vec![level("exempt", 0, Handling::Exempt), level("other", 10, queuing(4, 1, 9))];
    let dispatcher = Dispatcher::new(at(0), config(levels), 5, Settings::proposal());
    let dispatcher = dispatcher.expect("has shares");
    let admit = |user, seconds| {
        let request = by(user, "");
        dispatcher.admit(at(seconds), &request, |_| cost(1), || (), &mut Vec::new()).admission
    };
    let exempt: Vec<_> = (0..50).map(|_| admit("exempt", 0)).collect();
    assert!(exempt.iter().all(|admission| matches!(admission, Admission::Dispatched(_))));
    dispatcher.adjust(at(10), &mut Vec::new());
    let others: Vec<_> = (0..6).map(|_| admit("other", 11)).collect();
    let dispatched = |admission: &&Admission<()>| matches!(admission, Admission::Dispatched(_));
    assert_eq!(others.iter().filter(dispatched).count(), 5, "all seats are theirs");
    assert!(matches!(admit("exempt", 12), Admission::Dispatched(_)), "however many wait");
}
