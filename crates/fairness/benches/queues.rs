//! What one level costs: a request from its arrival to its end, alone and with others waiting, with
//! a real clock and all that is counted.

use std::{collections::VecDeque, hint::black_box, time::Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use evenkeel_fairness::{
    Settings, Time,
    config::{Handling, Queuing},
    queues::{Arrival, Outcome, QueueSet, SeatLimit, Ticket},
};

/// A clock as the shell has it.
struct Clock(Instant);

impl Clock {
    fn now(&self) -> Time {
        Time(self.0.elapsed().as_nanos() as u64)
    }
}

fn set(queues: u32, limit: u32) -> QueueSet<usize> {
    // The largest that can be dealt from 4,096 queues.
    let hand_size = 5;
    let handling = Handling::Queue(Queuing { queues, hand_size, queue_length_limit: 1_000_000 });
    let seats = SeatLimit { limit, nominal: limit };
    let mut set = QueueSet::new(Time(0), handling, seats, &Settings::default());
    set.schemas_mut().push(Default::default());
    set
}

/// A hash for the n-th of so many flows.
fn flow(n: u64, flows: u64) -> u64 {
    (n % flows).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
}

fn arrival(flow: u64, now: Time) -> Arrival {
    Arrival { flow, wait_until: Time(now.0 + 15_000_000_000), ..Arrival::default() }
}

fn uncontended(c: &mut Criterion) {
    let mut group = c.benchmark_group("start to finish, nothing waits");
    for queues in [16, 128, 4096] {
        let (clock, mut set, mut woken, mut n) =
            (Clock(Instant::now()), set(queues, 10), vec![], 0);
        group.bench_function(BenchmarkId::new("queues", queues), |b| {
            b.iter(|| {
                n += 1;
                let now = clock.now();
                let outcome = set.arrive(now, arrival(flow(n, 100_000), now), || 0, &mut woken);
                let Outcome::Dispatched(ticket) = outcome else { panic!("a seat is free") };
                set.leave(clock.now(), black_box(ticket), 0, &mut woken);
            });
        });
    }
    group.finish();
}

/// The same while the level remembers as many slow flows as it may, and one of them runs.
fn beside_slow_flows(c: &mut Criterion) {
    const SECONDS: u64 = 1_000_000_000;
    let (mut set, mut woken, mut n) = (set(128, 10), vec![], 0);
    let mut now = Time(0);
    let mut dispatch = |set: &mut QueueSet<usize>, now, flow| match set.arrive(
        now,
        arrival(flow, now),
        || 0,
        &mut woken,
    ) {
        Outcome::Dispatched(ticket) => ticket,
        other => panic!("{other:?}, though a seat is free"),
    };
    for slow in 0..1024 {
        let ticket = dispatch(&mut set, now, !flow(slow, 1024));
        now = Time(now.0 + 2 * SECONDS);
        set.leave(now, ticket, 0, &mut Vec::new());
    }
    dispatch(&mut set, now, !flow(0, 1024));
    let clock = Clock(Instant::now());
    c.bench_function("start to finish beside 1,024 slow flows, nothing waits", |b| {
        b.iter(|| {
            n += 1;
            let later = |clock: &Clock| Time(now.0 + clock.now().0);
            let ticket = dispatch(&mut set, later(&clock), flow(n, 100_000));
            set.leave(later(&clock), black_box(ticket), 0, &mut Vec::new());
        });
    });
}

/// Of `waiting` requests, one ends and another arrives.
fn contended(c: &mut Criterion) {
    let mut group = c.benchmark_group("start to finish, others wait");
    let cases = [(16, 100_000, 1000), (128, 100_000, 1000), (4096, 100_000, 1000)];
    let cases =
        cases.into_iter().chain([(128, 100, 1000), (128, 1_000_000, 1000), (128, 100_000, 10_000)]);
    for (queues, flows, waiting) in cases {
        let mut bench = Backlog::new(queues, flows, waiting);
        let name = format!("{queues} queues, {flows} flows, {waiting} waiting");
        group.bench_function(name, |b| b.iter(|| bench.step()));
    }
    group.finish();
}

struct Backlog {
    clock: Clock,
    set: QueueSet<usize>,
    flows: u64,
    n: u64,
    tickets: Vec<Option<Ticket>>,
    free: Vec<usize>,
    running: VecDeque<usize>,
    woken: Vec<usize>,
}

impl Backlog {
    fn new(queues: u32, flows: u64, waiting: usize) -> Self {
        let room = waiting + 20;
        let mut backlog = Backlog {
            clock: Clock(Instant::now()),
            set: set(queues, 10),
            flows,
            n: 0,
            tickets: vec![None; room],
            free: (0..room).collect(),
            running: VecDeque::new(),
            woken: Vec::new(),
        };
        (0..waiting + 10).for_each(|_| backlog.arrive());
        backlog
    }

    fn step(&mut self) {
        let done = self.running.pop_front().expect("ten run");
        let ticket = self.tickets[done].take().expect("it runs");
        self.set.leave(self.clock.now(), ticket, 0, &mut self.woken);
        self.running.extend(self.woken.drain(..));
        self.free.push(done);
        self.arrive();
    }

    fn arrive(&mut self) {
        self.n += 1;
        let id = self.free.pop().expect("room for all");
        let now = self.clock.now();
        let arrival = arrival(flow(self.n, self.flows), now);
        match self.set.arrive(now, arrival, || id, &mut self.woken) {
            Outcome::Dispatched(ticket) => {
                self.tickets[id] = Some(ticket);
                self.running.push_back(id);
            }
            Outcome::Waiting(ticket) => self.tickets[id] = Some(ticket),
            Outcome::Rejected(_) => panic!("queues are long"),
        }
        self.running.extend(self.woken.drain(..));
    }
}

criterion_group!(benches, uncontended, beside_slow_flows, contended);
criterion_main!(benches);
