//! What holds whatever slow flows do: nobody is lost, seats are never exceeded, no seat lies idle
//! beside a request that is not held back, and time alone serves everyone in the end.

use evenkeel_fairness::{
    Settings, SlowFlows, Time, Width,
    config::Handling,
    queues::{
        Arrival, LevelDump, Outcome, QueueSet, SeatLimit, Ticket, Verdict, Work, stats::SchemaStats,
    },
};

use crate::support::{MS, Rng, for_seeds, millis, queuing};

/// All durations a hundredth, so that a run of a second sees flows turn slow and fast again.
fn settings() -> Settings {
    let slow = SlowFlows {
        threshold: millis(10),
        half_life: millis(3_000),
        longest: millis(600),
        window: millis(100),
        remembered: 4,
    };
    Settings { slow_flows: Some(slow), response_hold: Some(millis(80)), ..Settings::default() }
}

struct Run {
    seed: u64,
    rng: Rng,
    now: u64,
    set: QueueSet<usize>,
    tickets: Vec<Option<Ticket>>,
    waiting: Vec<usize>,
    /// With the time they end.
    running: Vec<(u64, usize)>,
    /// All are of one seat.
    narrow: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let queues = rng.within(1..9);
        let hand = rng.within(1..queues.min(4) + 1);
        let handling = queuing(queues as u32, hand as u32, rng.within(1..12) as u32);
        let limit = rng.within(1..12) as u32;
        let seats = SeatLimit { limit, nominal: rng.within(1..12) as u32 };
        let mut set = QueueSet::new(Time(0), handling, seats, &settings());
        set.schemas_mut().push(SchemaStats::default());
        let narrow = rng.chance(60);
        let (tickets, waiting, running) = (Vec::new(), Vec::new(), Vec::new());
        Run { seed, rng, now: 0, set, tickets, waiting, running, narrow }
    }

    fn step(&mut self) {
        self.now += self.rng.below(4 * MS);
        match self.rng.below(100) {
            0..55 => self.arrive(),
            55..60 if !self.waiting.is_empty() => self.cancel(),
            60..64 if !self.running.is_empty() => {
                let (_, id) = self.rng.pick(&self.running);
                let ticket = self.tickets[id].expect("it runs");
                self.set.respond(Time(self.now), ticket);
            }
            64..68 => self.change(),
            68..70 => self.reconfigure(),
            70..72 => self.lend(),
            72..74 => self.look_back(),
            _ => {}
        }
        self.serve();
        self.check();
    }

    /// Even flows are slow, the last one is now and then.
    fn service(&mut self, flow: u64) -> u64 {
        match flow {
            0 | 2 | 4 => self.rng.within(10..100) * MS,
            5 if self.rng.chance(20) => 30 * MS,
            _ => self.rng.below(3 * MS),
        }
    }

    fn arrive(&mut self) {
        let flow = self.rng.below(6);
        let seats = if self.narrow { 1 } else { self.rng.within(1..5) as u32 };
        let wait_until =
            if self.rng.chance(30) { self.now + self.rng.below(90 * MS) } else { u64::MAX };
        let hash = flow.wrapping_mul(0x5851_f42d_4c95_7f2d);
        let mut width = Width::seats(seats);
        if !self.narrow && self.rng.chance(20) {
            (width.final_seats, width.additional_latency) = (seats + 1, millis(7));
        }
        let arrival =
            Arrival { flow: hash, width, wait_until: Time(wait_until), ..Arrival::default() };
        let id = self.tickets.len();
        let mut woken = Vec::new();
        let outcome = self.set.arrive(Time(self.now), arrival, || id, &mut woken);
        let end = self.now + self.service(flow);
        match outcome {
            Outcome::Dispatched(ticket) => {
                self.tickets.push(Some(ticket));
                self.running.push((end, id));
            }
            Outcome::Waiting(ticket) => {
                self.tickets.push(Some(ticket));
                self.waiting.push(id);
            }
            Outcome::Rejected(_) => self.tickets.push(None),
        }
        self.hear(woken);
    }

    fn cancel(&mut self) {
        let id = self.rng.pick(&self.waiting);
        self.waiting.retain(|other| *other != id);
        let mut woken = Vec::new();
        let ticket = self.tickets[id].take().expect("it waits");
        self.set.leave(Time(self.now), ticket, 0, &mut woken);
        self.hear(woken);
    }

    /// Other queues, or none for a while, whatever waits and runs.
    fn reconfigure(&mut self) {
        let queues = self.rng.within(1..9);
        let hand = self.rng.within(1..queues.min(4) + 1);
        let handling = match self.rng.below(8) {
            0 => Handling::Exempt,
            1 => Handling::Reject,
            _ => queuing(queues as u32, hand as u32, self.rng.within(1..12) as u32),
        };
        let mut woken = Vec::new();
        self.set.reconfigure(Time(self.now), handling, self.set.seats(), &mut woken);
        self.hear(woken);
    }

    /// Seats that the level claims come back; those that it has borrowed and spares go.
    fn lend(&mut self) {
        let mut woken = Vec::new();
        let claim = self.set.claim();
        let left = self.set.grant(Time(self.now), claim, &mut woken);
        assert!(left <= claim, "seed {}", self.seed);
        self.hear(woken);
        self.set.cede(Time(self.now), 2);
    }

    /// A thread that read the clock earlier comes later.
    fn look_back(&mut self) {
        let earlier = Time(self.now.saturating_sub(self.rng.below(30 * MS)));
        let mut woken = Vec::new();
        self.set.tick(earlier, 0, &mut woken);
        self.hear(woken);
        let now = std::mem::replace(&mut self.now, earlier.0);
        self.arrive();
        self.now = now;
    }

    fn change(&mut self) {
        let limit = self.rng.within(1..12) as u32;
        let seats = SeatLimit { limit, ..self.set.seats() };
        let mut woken = Vec::new();
        self.set.set_seats(Time(self.now), seats, &mut woken);
        self.hear(woken);
    }

    /// Timers that are due, then those that end, the earliest first.
    fn serve(&mut self) {
        let mut woken = Vec::new();
        if self.set.next_deadline().is_some_and(|at| at.0 <= self.now) {
            self.set.tick(Time(self.now), 0, &mut woken);
            let next = self.set.next_deadline();
            assert!(next.is_none_or(|at| at.0 > self.now), "seed {}: it fires at once", self.seed);
        }
        self.hear(woken);
        self.running.sort_unstable();
        while let Some((at, id)) = self.running.first().copied().filter(|(at, _)| *at <= self.now) {
            self.running.remove(0);
            let _ = at;
            let mut woken = Vec::new();
            let ticket = self.tickets[id].take().expect("it runs");
            self.set.leave(Time(self.now), ticket, 0, &mut woken);
            self.hear(woken);
            self.running.sort_unstable();
        }
        if self.rng.chance(10) {
            // Time passes, and nobody is dispatched.
            self.set.cede(Time(self.now), 1);
        }
    }

    fn hear(&mut self, woken: Vec<usize>) {
        for id in woken {
            let ticket = self.tickets[id].expect("it waited");
            assert!(self.waiting.contains(&id), "seed {}: {id} is woken twice", self.seed);
            self.waiting.retain(|other| *other != id);
            match self.set.verdict(ticket, |_| panic!("seed {}: woken in vain", self.seed)) {
                Verdict::Dispatched => {
                    let end = self.now + self.rng.within(1..60) * MS;
                    self.running.push((end, id));
                }
                _ => self.tickets[id] = None,
            }
        }
    }

    fn check(&mut self) {
        let (seed, now) = (self.seed, self.now);
        let LevelDump { waiting, seats_in_use, queues, slow_flows, .. } = self.set.dump();
        let slow = slow_flows.expect("they are told apart");
        assert_eq!(waiting as usize, self.waiting.len(), "seed {seed} at {now}: lost");
        let by_queue: u32 = queues.iter().map(|queue| queue.slow_waiting).sum();
        assert_eq!(slow.waiting, by_queue, "seed {seed} at {now}");
        assert!(slow.seats_in_use <= seats_in_use, "seed {seed} at {now}: {slow:?}");
        assert!(slow.remembered as u64 <= 4 + seats_in_use, "seed {seed} at {now}: {slow:?}");
        let limit = u64::from(self.set.seats().limit);
        let due = self.set.next_deadline().is_some_and(|at| at.0 <= now);
        let queues = matches!(self.set.handling(), Handling::Queue(_));
        if self.narrow && queues && seats_in_use < limit && !due {
            assert_eq!(waiting, slow.held_back, "seed {seed} at {now}: a seat lies idle, {slow:?}");
            let at_cap =
                slow.held_back == 0 || slow.cap.is_some_and(|cap| slow.seats_in_use >= cap.into());
            assert!(at_cap, "seed {seed} at {now}: held below the cap, {slow:?}");
        }
    }

    /// Nobody arrives any more: ends and timers alone serve all that wait.
    fn drain(mut self) -> u32 {
        let held = self.set.dump().slow_flows.map_or(0, |slow| slow.held_back);
        let mut steps = 0;
        while !self.set.is_idle() {
            let end = self.running.iter().map(|(at, _)| *at).min();
            let due = self.set.next_deadline().map(|at| at.0);
            let next = [end, due].into_iter().flatten().min();
            let Some(next) = next else {
                panic!("seed {}: {:?} wait for nothing", self.seed, self.waiting)
            };
            self.now = self.now.max(next);
            self.serve();
            self.check();
            steps += 1;
            assert!(steps < 5_000, "seed {}: it takes too many steps", self.seed);
        }
        assert!(self.waiting.is_empty(), "seed {}", self.seed);
        let slow = self.set.dump().slow_flows.expect("they are told apart");
        assert_eq!((slow.seats_in_use, slow.waiting), (0, 0), "seed {}", self.seed);
        let queues = self.set.dump().queues;
        assert!(queues.iter().all(|queue| queue.total_work_sum == Work(0)), "seed {}", self.seed);
        held
    }
}

#[test]
fn whatever_slow_flows_do_nobody_is_lost_and_no_seat_lies_idle() {
    let mut held = 0;
    for_seeds(0..2_000, |seed| {
        let mut run = Run::new(seed);
        for _ in 0..250 {
            run.step();
        }
        held += run.drain();
    });
    assert!(held > 100 || crate::support::one_seed().is_some(), "only {held} were ever held back");
}
