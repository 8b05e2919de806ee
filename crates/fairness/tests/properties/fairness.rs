//! How far seat-time may diverge from equal shares.

use std::collections::BTreeSet;

use evenkeel_fairness::{
    Settings, Time,
    config::Handling,
    queues::{Arrival, Outcome, QueueSet, SeatLimit, Ticket, stats::SchemaStats},
};

use crate::support::{MS, Rng, for_seeds, nanos, queuing};

/// Requests of one seat on queues that always have something waiting, as many at once as there are
/// seats.
struct Backlog {
    set: QueueSet<usize>,
    now: u64,
    /// The queue of each request, and its ticket.
    requests: Vec<(usize, Ticket)>,
    /// When each that runs was dispatched, and when it ends.
    running: BTreeSet<(u64, usize)>,
    began: Vec<u64>,
    /// Seat-time and number of those that ended, by queue.
    served: Vec<u64>,
    n_served: Vec<u64>,
}

impl Backlog {
    fn new(queues: usize, limit: u32, settings: &Settings) -> Self {
        let handling: Handling = queuing(queues as u32, 1, u32::MAX);
        let seats = SeatLimit { limit, nominal: limit };
        let mut set = QueueSet::new(Time(0), handling, seats, settings);
        set.schemas_mut().push(SchemaStats::default());
        Backlog {
            set,
            now: 0,
            requests: Vec::new(),
            running: BTreeSet::new(),
            began: Vec::new(),
            served: vec![0; queues],
            n_served: vec![0; queues],
        }
    }

    fn arrive(&mut self, queue: usize, mut service: impl FnMut(usize) -> u64) {
        let id = self.requests.len();
        let arrival = Arrival { flow: queue as u64, ..Arrival::default() };
        let mut woken = Vec::new();
        let outcome = self.set.arrive(Time(self.now), arrival, || id, &mut woken);
        let (Outcome::Dispatched(ticket) | Outcome::Waiting(ticket)) = outcome else {
            panic!("a backlog has no limit")
        };
        assert_eq!(self.set.queue_of(ticket), Some(queue as u32));
        self.requests.push((queue, ticket));
        self.began.push(self.now);
        if let Outcome::Dispatched(_) = outcome {
            self.running.insert((self.now + service(queue), id));
        }
        assert!(woken.is_empty(), "a seat was free before");
    }

    /// The next one ends; returns its queue.
    fn end_one(&mut self, mut service: impl FnMut(usize) -> u64) -> usize {
        let (at, id) = self.running.pop_first().expect("seats are always busy");
        let (queue, ticket) = self.requests[id];
        self.now = at;
        self.served[queue] += at - self.began[id];
        self.n_served[queue] += 1;
        let mut woken = Vec::new();
        self.set.leave(Time(at), ticket, 0, &mut woken);
        for id in woken {
            self.began[id] = at;
            self.running.insert((at + service(self.requests[id].0), id));
        }
        queue
    }

    /// Seat-time received until now, those that still run included.
    fn received(&self) -> Vec<i64> {
        let mut received: Vec<i64> = self.served.iter().map(|nanos| *nanos as i64).collect();
        for (_, id) in &self.running {
            received[self.requests[*id].0] += (self.now - self.began[*id]) as i64;
        }
        received
    }
}

/// Let all queues have something waiting from time 0 on, width 1, C seats, and no service time above
/// L; let M = max(G, L). S of a queue is what its requests that ended took, plus G for each of the n
/// that run. Take queues i and j, and i's last dispatch before t; S_i <= S_j then. Afterwards i can
/// at most finish what runs, so it receives at most S_i − n_i·G + (n_i + 1)·L in all, while j has
/// received at least S_j − n_j·G. The difference is at most n_i·(L − G) + n_j·G + L. As one seat was
/// free, n_i + n_j <= C − 1, hence it is at most C·M: the C requests of the proposal.
///
/// The difference at any time being within ±C·M, over any window it is within ±2·C·M.
fn diverges_by_at_most_c_requests(seed: u64, settings: &Settings, unit: u64, top_up: bool) {
    let mut rng = Rng::new(seed);
    let (queues, limit) = (rng.within(2..6) as usize, rng.within(1..7));
    let mut backlog = Backlog::new(queues, limit as u32, settings);
    let longest = rng.within(1..unit);
    // Each queue has its own mix of short and long requests.
    let mixes: Vec<u64> = (0..queues).map(|_| rng.within(1..longest + 1)).collect();
    let mut service = |queue: usize| match rng.chance(70) {
        true => 1 + rng.below(mixes[queue]),
        false => 1 + rng.below(longest),
    };
    const ENDS: usize = 60;
    let depth = if top_up { limit as usize + 1 } else { ENDS + limit as usize };
    for queue in 0..queues {
        for _ in 0..depth {
            backlog.arrive(queue, &mut service);
        }
    }
    let guess = nanos(settings.guess);
    let bound = (limit * guess.max(longest)) as i64;
    for _ in 0..ENDS {
        backlog.end_one(&mut service);
        for queue in 0..queues {
            while top_up && backlog.set.dump().queues[queue].waiting < 2 {
                backlog.arrive(queue, &mut service);
            }
        }
        let received = backlog.received();
        let (most, least) = (
            received.iter().max().expect("there are queues"),
            received.iter().min().expect("there are queues"),
        );
        assert!(most - least <= bound, "seed {seed}: {received:?} differ by more than {bound}");
    }
}

#[test]
fn backlogged_queues_diverge_by_at_most_as_many_requests_as_there_are_seats_in_kubernetes() {
    for_seeds(0..700, |seed| {
        diverges_by_at_most_c_requests(seed, &Settings::kubernetes(), 40 * MS, false);
    });
}

#[test]
fn backlogged_queues_diverge_by_at_most_as_many_requests_as_there_are_seats_in_the_proposal() {
    for_seeds(0..700, |seed| {
        diverges_by_at_most_c_requests(seed, &Settings::proposal(), 60_000 * MS, seed % 2 == 0);
    });
}

#[test]
fn requests_that_take_x_times_as_long_are_served_at_a_rate_of_one_x_th() {
    for settings in [Settings::kubernetes(), Settings::proposal(), Settings::default()] {
        for (limit, x) in [(1, 2), (1, 10), (4, 3), (7, 5), (10, 10)] {
            let mut backlog = Backlog::new(2, limit, &settings);
            let service = |queue: usize| [7 * MS, 7 * MS * x][queue];
            let mut waiting = [0_u32; 2];
            for _ in 0..4_000 {
                for (queue, waiting) in waiting.iter_mut().enumerate() {
                    while *waiting < 2 * limit {
                        backlog.arrive(queue, service);
                        *waiting += 1;
                    }
                }
                waiting[backlog.end_one(service)] -= 1;
            }
            let ratio = backlog.n_served[0] as f64 / backlog.n_served[1] as f64 / x as f64;
            assert!((0.95..1.05).contains(&ratio), "{limit} seats, {x} times: {ratio}");
        }
    }
}
