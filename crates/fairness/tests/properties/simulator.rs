//! Random events on one level, each done to the real one and to the oracle.

use evenkeel_fairness::{
    Settings, Time, Width,
    config::Handling,
    queues::{
        Arrival, Outcome, QueueSet, SeatLimit, Ticket, Verdict, Work,
        stats::{RejectReason, SchemaStats},
    },
    stripes::STRIPES,
};

use crate::{
    oracle::{Effects, Fate, Oracle, Phase},
    support::{MS, Rng, millis, nanos, queuing},
};

const SCHEMAS: u64 = 3;

pub(crate) struct Simulator {
    seed: u64,
    rng: Rng,
    settings: Settings,
    /// By how much seats are multiplied, so that R reaches its epoch within a run.
    scale: u32,
    now: u64,
    set: QueueSet<usize>,
    oracle: Oracle,
    tickets: Vec<Option<Ticket>>,
    ended: Vec<u32>,
    r: Work,
    /// Another head may have become able to go than was looked at last. Either seats were ceded:
    /// one as wide as the level is now wider than it, and so may go while others only linger; it
    /// does when they end. Or R was wound back by more than the age of a head.
    unsettled: bool,
    epochs: u64,
}

/// Whether all that can go must have gone.
#[derive(Clone, Copy, PartialEq)]
enum Busy {
    /// What can go has gone.
    Settled,
    /// Kubernetes leaves those that a time-out or a cancellation unblocked for the next event.
    MayIdle,
}

pub(crate) fn run(seed: u64, settings: &Settings, scale: u32, steps: u64) -> u64 {
    let mut simulator = Simulator::new(seed, settings, scale);
    for _ in 0..steps {
        simulator.step();
    }
    simulator.drain()
}

impl Simulator {
    fn new(seed: u64, settings: &Settings, scale: u32) -> Self {
        let mut rng = Rng::new(seed);
        let handling = handling(&mut rng);
        let limit = rng.within(1..7) as u32 * scale;
        let nominal = rng.within(1..7) as u32 * scale;
        let seats = SeatLimit { limit, nominal };
        let mut set = QueueSet::new(Time(0), handling, seats, settings);
        set.schemas_mut().resize_with(SCHEMAS as usize, SchemaStats::default);
        let oracle = Oracle::new(settings, handling, limit, nominal);
        let (tickets, ended) = (Vec::new(), Vec::new());
        let settings = settings.clone();
        Simulator {
            seed,
            rng,
            settings,
            scale,
            now: 0,
            set,
            oracle,
            tickets,
            ended,
            r: Work(0),
            unsettled: false,
            epochs: 0,
        }
    }

    fn step(&mut self) {
        self.pass_time();
        // Whose thread makes a call makes no difference.
        self.set.use_stripe(self.tickets.len() / 2 % STRIPES);
        match self.rng.below(100) {
            0..48 => self.arrive(),
            48..70 => self.leave_one(&[Phase::Executing, Phase::Responding]),
            70..76 => self.leave_one(&[Phase::Waiting]),
            76..80 => self.leave_one(&[Phase::Lingering, Phase::Detached, Phase::TimedOut]),
            80..88 => self.tick(),
            88..92 => self.respond(),
            92..94 => self.cede(),
            94..97 => self.change(false),
            _ => self.change(true),
        }
    }

    fn pass_time(&mut self) {
        let guess = nanos(self.settings.guess);
        let most = if self.scale > 1 { 20_000_000_000 } else { 2 * guess };
        self.now += match self.rng.below(10) {
            0..3 => 0,
            3..8 => self.rng.below(most / 4),
            _ => self.rng.below(most),
        };
    }

    fn width(&mut self) -> Width {
        let wide = self.rng.chance(25);
        let seats = if wide { self.rng.within(1..9) as u32 } else { 1 } * self.scale;
        if !self.rng.chance(20) {
            return Width::seats(seats);
        }
        let final_seats = self.rng.below(9) as u32 * self.scale;
        let additional_latency = millis(self.rng.below(9));
        Width { initial_seats: seats, final_seats, additional_latency }
    }

    fn arrive(&mut self) {
        let (flow, width) = (self.rng.below(9).wrapping_mul(0x5851_f42d_4c95_7f2d), self.width());
        let until = match self.rng.chance(40) {
            true => {
                self.now
                    + self
                        .rng
                        .below(20 * MS * if self.settings.guess > millis(3) { 1000 } else { 1 })
            }
            false => u64::MAX,
        };
        let id = self.tickets.len();
        let schema = self.rng.below(SCHEMAS) as u32;
        let arrival = Arrival { flow, width, wait_until: Time(until), schema, watch: false };
        let mut woken = Vec::new();
        let outcome = self.set.arrive(Time(self.now), arrival, || id, &mut woken);
        let mut effects = Effects::default();
        let fate = self.oracle.arrive(self.now, flow, width, until, &mut effects);
        let (ticket, got) = match outcome {
            Outcome::Dispatched(ticket) => (Some(ticket), Fate::Dispatched),
            Outcome::Waiting(ticket) => (Some(ticket), Fate::Waiting),
            Outcome::Rejected(RejectReason::QueueFull) => (None, Fate::QueueFull),
            Outcome::Rejected(_) => (None, Fate::ConcurrencyLimit),
        };
        let Self { seed, .. } = self;
        assert_eq!(got, fate, "seed {seed}: what became of arrival {id}");
        self.tickets.push(ticket);
        self.ended.push(u32::from(ticket.is_none()));
        let busy = if ticket.is_some() { Busy::Settled } else { Busy::MayIdle };
        self.compare(woken, effects, fate == Fate::Dispatched, busy);
    }

    fn leave_one(&mut self, phases: &[Phase]) {
        let of = self.oracle.ids(phases);
        if of.is_empty() {
            return;
        }
        let id = self.rng.pick(&of);
        self.leave(id);
    }

    fn leave(&mut self, id: usize) {
        let ceding = if self.rng.chance(20) { self.rng.below(4) as u32 * self.scale } else { 0 };
        let before = self.oracle.requests[id].phase;
        let ticket = self.tickets[id].expect("it was taken in");
        let mut woken = Vec::new();
        let ceded = self.set.leave(Time(self.now), ticket, ceding, &mut woken);
        let mut effects = Effects::default();
        let expected = self.oracle.leave(self.now, id, ceding, &mut effects);
        assert_eq!(ceded, expected, "seed {}: seats ceded by {id}", self.seed);
        if !matches!(before, Phase::Lingering | Phase::Gone) {
            self.ended[id] += 1;
        }
        let busy = match before {
            Phase::Executing | Phase::Responding => Busy::Settled,
            _ => Busy::MayIdle,
        };
        self.compare(woken, effects, false, busy);
        if self.rng.chance(30) {
            self.use_stale(ticket);
        }
    }

    /// A ticket whose request has left, or lingers, changes nothing.
    fn use_stale(&mut self, ticket: Ticket) {
        let seed = self.seed;
        let before = format!("{:?}", self.set.dump());
        let deadline = self.set.next_deadline();
        let mut woken = Vec::new();
        assert_eq!(self.set.leave(Time(self.now), ticket, 9, &mut woken), 0, "seed {seed}");
        self.set.respond(Time(self.now), ticket);
        let verdict = self.set.verdict(ticket, |_| panic!("seed {seed}: it does not wait"));
        assert_ne!(verdict, Verdict::Waiting, "seed {seed}");
        assert!(woken.is_empty(), "seed {seed}: a stale ticket woke {woken:?}");
        assert_eq!(format!("{:?}", self.set.dump()), before, "seed {seed}: a stale ticket");
        assert_eq!(self.set.next_deadline(), deadline, "seed {seed}: a stale ticket");
    }

    fn tick(&mut self) {
        let (mut woken, mut effects) = (Vec::new(), Effects::default());
        self.set.tick(Time(self.now), 0, &mut woken);
        self.oracle.tick(self.now, &mut effects);
        self.compare(woken, effects, false, Busy::MayIdle);
    }

    fn respond(&mut self) {
        let of = self.oracle.ids(&[Phase::Executing, Phase::Responding, Phase::Waiting]);
        if of.is_empty() {
            return;
        }
        let id = self.rng.pick(&of);
        self.set.respond(Time(self.now), self.tickets[id].expect("it was taken in"));
        self.oracle.respond(self.now, id);
        self.compare(Vec::new(), Effects::default(), false, Busy::MayIdle);
    }

    fn cede(&mut self) {
        let wanted = self.rng.within(1..4) as u32 * self.scale;
        let ceded = self.set.cede(Time(self.now), wanted);
        self.oracle.advance(self.now);
        assert_eq!(ceded, self.oracle.cede(wanted), "seed {}: seats ceded", self.seed);
        self.unsettled = true;
        self.compare(Vec::new(), Effects::default(), false, Busy::MayIdle);
    }

    fn change(&mut self, all: bool) {
        let handling = if all { handling(&mut self.rng) } else { self.set.handling() };
        let limit = self.rng.below(8) as u32 * self.scale;
        let nominal = self.rng.within(1..7) as u32 * self.scale;
        let (mut woken, mut effects) = (Vec::new(), Effects::default());
        let seats = SeatLimit { limit, nominal };
        self.set.reconfigure(Time(self.now), handling, seats, &mut woken);
        self.oracle.reconfigure(self.now, handling, limit, nominal, &mut effects);
        self.compare(woken, effects, false, Busy::Settled);
    }

    fn compare(&mut self, woken: Vec<usize>, effects: Effects, seated: bool, busy: Busy) {
        let (seed, now) = (self.seed, self.now);
        let (mut dispatched, mut timed_out) = (Vec::new(), Vec::new());
        for id in woken {
            let ticket = self.tickets[id].expect("it waited");
            match self.oracle.requests[id].phase {
                // The verdict on a time-out ends the request.
                Phase::TimedOut if self.rng.chance(50) => {
                    let verdict = self.set.verdict(ticket, |_| panic!("seed {seed}: still waits"));
                    assert_eq!(verdict, Verdict::Rejected(RejectReason::TimeOut), "seed {seed}");
                    self.oracle.requests[id].phase = Phase::Gone;
                    self.ended[id] += 1;
                    timed_out.push(id);
                }
                Phase::TimedOut => timed_out.push(id),
                _ => {
                    let verdict = self.set.verdict(ticket, |_| panic!("seed {seed}: still waits"));
                    assert_eq!(verdict, Verdict::Dispatched, "seed {seed}: {id}");
                    dispatched.push(id);
                }
            }
        }
        timed_out.sort_unstable();
        let Effects { dispatched: expected, timed_out: mut late } = effects;
        late.sort_unstable();
        assert_eq!(dispatched, expected, "seed {seed} at {now}: dispatched");
        assert_eq!(timed_out, late, "seed {seed} at {now}: timed out");
        self.compare_state();
        self.check_seats(seated || !dispatched.is_empty());
        self.unsettled |= self.oracle.epochs > self.epochs;
        self.epochs = self.oracle.epochs;
        self.unsettled &= busy == Busy::MayIdle;
        if busy == Busy::Settled || self.settings.dispatch_after_timeout && !self.unsettled {
            // No seat idles while the chosen head fits.
            assert_eq!(self.oracle.can_go(), None, "seed {seed} at {now}: could go");
        }
    }

    fn compare_state(&mut self) {
        let (seed, now, oracle) = (self.seed, self.now, &self.oracle);
        let dump = self.set.dump();
        let got = (dump.waiting, dump.executing, dump.seats_in_use, dump.seats_waiting, dump.r.0);
        let expected = (
            oracle.waiting(),
            oracle.executing(),
            oracle.seats_in_use(),
            oracle.seats_waiting(),
            oracle.r,
        );
        assert_eq!(got, expected, "seed {seed} at {now}: waiting, executing, seats, R");
        let schemas = self.set.schemas();
        let sum = |of: fn(&SchemaStats) -> u64| schemas.iter().map(of).sum::<u64>();
        let got = [sum(|s| s.waiting), sum(|s| s.executing), sum(|s| s.detached)];
        let expected = [dump.waiting, dump.executing, dump.detached].map(u64::from);
        assert_eq!(got, expected, "seed {seed} at {now}: waiting, executing, detached by schema");
        let got = [sum(|s| s.seats_waiting), sum(|s| s.seats_executing)];
        assert_eq!(got, [dump.seats_waiting, dump.seats_in_use], "seed {seed} at {now}: seats");
        let epochs = self.set.stats(Time(now)).epochs;
        assert_eq!(epochs, oracle.epochs, "seed {seed}");
        assert!(dump.r >= self.r || epochs > self.epochs, "seed {seed} at {now}: R ran back");
        self.r = dump.r;
        assert_eq!(self.set.seats().limit, oracle.limit, "seed {seed}: limit");
        let queues = dump.queues.iter();
        let got: Vec<_> =
            queues.map(|q| (q.waiting, q.next_dispatch_r, q.total_work_sum)).collect();
        let queues = oracle.queues.iter();
        let expected: Vec<_> = queues
            .map(|q| (q.waiting.len() as u32, Work(q.start), Work(oracle.work_waiting(q))))
            .collect();
        assert_eq!(got, expected, "seed {seed} at {now}: queues");
        let deadline = self.set.next_deadline().map(|time| time.0);
        assert_eq!(deadline, oracle.next_deadline(), "seed {seed} at {now}: deadline");
    }

    /// Seats in use exceed the limit at a dispatch only for one that is wider than all there are.
    fn check_seats(&self, dispatched: bool) {
        let SeatLimit { limit, .. } = self.set.seats();
        if !dispatched || self.set.seats_in_use() <= limit.into() || self.is_exempt() {
            return;
        }
        let running = self.oracle.ids(&[Phase::Executing, Phase::Responding]);
        let wide = running.iter().all(|id| self.oracle.requests[*id].asked > limit);
        assert!(running.len() == 1 && wide, "seed {} at {}: over the limit", self.seed, self.now);
    }

    fn is_exempt(&self) -> bool {
        self.set.handling() == Handling::Exempt
    }

    /// Everyone leaves; nothing may be left.
    fn drain(mut self) -> u64 {
        let all =
            [Phase::Executing, Phase::Responding, Phase::Waiting, Phase::Detached, Phase::TimedOut];
        while let Some(id) = self.oracle.ids(&all).first().copied() {
            self.leave(id);
        }
        self.now += 3_600_000 * MS;
        self.tick();
        let seed = self.seed;
        assert_eq!(self.set.next_deadline(), None, "seed {seed}: a timer is left");
        assert!(self.set.is_idle(), "seed {seed}");
        assert_eq!((self.set.seats_in_use(), self.set.seats_waiting()), (0, 0), "seed {seed}");
        assert!(self.ended.iter().all(|n| *n == 1), "seed {seed}: {:?}", self.ended);
        let mut sum = 0;
        for stats in self.set.schemas() {
            let gauges =
                [stats.waiting, stats.seats_waiting, stats.executing, stats.seats_executing];
            assert_eq!(gauges, [0; 4], "seed {seed}");
            assert_eq!(stats.wait.count(), stats.dispatched, "seed {seed}");
            assert_eq!(stats.execution.count(), stats.dispatched, "seed {seed}");
            assert_eq!(
                stats.wait_rejected.count(),
                stats.rejected.iter().sum::<u64>(),
                "seed {seed}"
            );
            sum += stats.dispatched + stats.rejected.iter().sum::<u64>();
        }
        assert_eq!(sum, self.tickets.len() as u64, "seed {seed}: each arrival is counted once");
        for queue in self.set.dump().queues {
            let left = [queue.seats_in_use, queue.initial_seats_sum, queue.max_seats_sum];
            assert_eq!((left, queue.executing), ([0; 3], 0), "seed {seed}");
        }
        self.oracle.epochs
    }
}

fn handling(rng: &mut Rng) -> Handling {
    match rng.below(20) {
        0 => Handling::Reject,
        1 => Handling::Exempt,
        _ => {
            let queues = rng.within(1..9);
            let hand = rng.within(1..queues.min(4) + 1);
            queuing(queues as u32, hand as u32, rng.within(1..6) as u32)
        }
    }
}
