//! One level, literally: plain lists, every sum and every choice by looking at all there is.
//!
//! Written from the description of the algorithm, with nothing of the real one but the constants.

mod ends;

use std::collections::VecDeque;

use evenkeel_fairness::{Pick, Settings, Width, config::Handling};

use crate::support::nanos;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    Waiting,
    Executing,
    Responding,
    Detached,
    Lingering,
    TimedOut,
    Gone,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    Dispatched,
    Waiting,
    QueueFull,
    ConcurrencyLimit,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: usize,
    pub(crate) phase: Phase,
    pub(crate) width: Width,
    /// How wide it was before its final seats were cut.
    pub(crate) asked: u32,
    arrived: u64,
    arrival_r: u64,
    dispatched: u64,
    until: u64,
    /// Which queue, by a number that never changes; none if it went through none.
    queue: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    number: u64,
    pub(crate) waiting: VecDeque<usize>,
    pub(crate) start: u64,
}

/// What an event brought about.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) dispatched: Vec<usize>,
    pub(crate) timed_out: Vec<usize>,
}

pub(crate) struct Oracle {
    settings: Settings,
    handling: Handling,
    pub(crate) limit: u32,
    pub(crate) nominal: u32,
    now: u64,
    pub(crate) r: u64,
    pub(crate) epochs: u64,
    pub(crate) queues: Vec<Queue>,
    queues_made: u64,
    /// The queue served last, by index.
    served_last: i64,
    arrivals: u64,
    pub(crate) requests: Vec<Request>,
    /// Those that are not gone, and some that are.
    live: Vec<usize>,
    /// Responses on their way, in the order they began.
    holds: Vec<usize>,
}

const HALF_RANGE: u64 = u64::MAX / 2;

fn units(seats: f64, nanos: f64) -> u64 {
    (seats * nanos / 10.0).round() as i64 as u64
}

fn latency(width: &Width) -> u64 {
    nanos(width.additional_latency)
}

impl Oracle {
    pub(crate) fn new(settings: &Settings, handling: Handling, limit: u32, nominal: u32) -> Self {
        let mut oracle = Oracle {
            settings: settings.clone(),
            handling,
            limit,
            nominal,
            now: 0,
            r: 0,
            epochs: 0,
            queues: Vec::new(),
            queues_made: 0,
            served_last: 0,
            arrivals: 0,
            requests: Vec::new(),
            live: Vec::new(),
            holds: Vec::new(),
        };
        oracle.add_queues();
        oracle
    }

    // === What there is ===

    fn all(&self, phases: &[Phase]) -> impl Iterator<Item = &Request> {
        let live = self.live.iter().map(|id| &self.requests[*id]);
        live.filter(move |request| phases.contains(&request.phase))
    }

    pub(crate) fn waiting(&self) -> u32 {
        self.all(&[Phase::Waiting]).count() as u32
    }

    pub(crate) fn executing(&self) -> u32 {
        self.all(&[Phase::Executing, Phase::Responding]).count() as u32
    }

    pub(crate) fn seats_waiting(&self) -> u64 {
        self.all(&[Phase::Waiting]).map(|r| u64::from(r.width.max_seats())).sum()
    }

    pub(crate) fn seats_in_use(&self) -> u64 {
        let seated = [Phase::Executing, Phase::Responding, Phase::Lingering];
        self.all(&seated).map(|r| u64::from(r.width.max_seats())).sum()
    }

    fn executing_of(&self, number: u64) -> usize {
        let running = self.all(&[Phase::Executing, Phase::Responding]);
        running.filter(|request| request.queue == Some(number)).count()
    }

    fn is_active(&self, queue: &Queue) -> bool {
        !queue.waiting.is_empty() || self.executing_of(queue.number) > 0
    }

    pub(crate) fn work(&self, width: &Width) -> u64 {
        let guess = self.settings.guess.as_nanos() as f64;
        let first = units(width.initial_seats.into(), guess);
        first.wrapping_add(units(width.final_seats.into(), latency(width) as f64))
    }

    pub(crate) fn work_waiting(&self, queue: &Queue) -> u64 {
        let works = queue.waiting.iter().map(|id| self.work(&self.requests[*id].width));
        works.fold(0, u64::wrapping_add)
    }

    pub(crate) fn ids(&self, phases: &[Phase]) -> Vec<usize> {
        self.all(phases).map(|request| request.id).collect()
    }

    fn position(&self, number: u64) -> usize {
        self.queues.iter().position(|queue| queue.number == number).expect("it is there")
    }

    fn wanted_queues(&self) -> usize {
        match self.handling {
            Handling::Queue(queuing) => queuing.queues as usize,
            _ => 0,
        }
    }

    // === Time ===

    pub(crate) fn advance(&mut self, now: u64) {
        let elapsed = now - self.now;
        self.now = now;
        self.live.retain(|id| self.requests[*id].phase != Phase::Gone);
        let active = self.queues.iter().filter(|queue| self.is_active(queue)).count();
        if active == 0 || elapsed == 0 {
            return;
        }
        let held = [Phase::Waiting, Phase::Executing, Phase::Responding, Phase::Lingering];
        let in_queues = self.all(&held).filter(|r| {
            r.queue.is_some_and(|number| self.queues.iter().any(|queue| queue.number == number))
        });
        let seats: u64 = in_queues.map(|r| u64::from(r.width.max_seats())).sum();
        let rate = (seats as f64).min(f64::from(self.limit)) / active as f64;
        self.r = self.r.wrapping_add(units(rate, elapsed as f64));
        if self.r >= HALF_RANGE + HALF_RANGE / 2 {
            self.wind_back();
        }
    }

    fn wind_back(&mut self) {
        self.epochs += 1;
        self.r -= HALF_RANGE;
        for index in 0..self.queues.len() {
            let active = self.is_active(&self.queues[index]);
            let start = self.queues[index].start;
            self.queues[index].start = if active { start.wrapping_sub(HALF_RANGE) } else { 0 };
        }
        for request in &mut self.requests {
            request.arrival_r = request.arrival_r.wrapping_sub(HALF_RANGE);
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let mut phases = vec![Phase::Waiting, Phase::Lingering];
        phases.extend(self.may_detach().then_some(Phase::Responding));
        let timed = self.all(&phases);
        timed.map(|request| request.until).filter(|until| *until < u64::MAX).min()
    }

    /// First what lingered, then what was held for too long, then waits.
    pub(crate) fn tick(&mut self, now: u64, effects: &mut Effects) {
        self.advance(now);
        let mut due: Vec<_> = self.all(&[Phase::Lingering]).filter(|r| r.until <= now).collect();
        due.sort_by_key(|request| (request.until, request.arrived, request.id));
        for id in due.iter().map(|request| request.id).collect::<Vec<_>>() {
            self.free_seats(id, Phase::Gone);
            self.dispatch(effects);
        }
        self.detach(0, effects);
        let mut late: Vec<_> = self.all(&[Phase::Waiting]).filter(|r| r.until <= now).collect();
        late.sort_by_key(|request| (request.until, request.arrived, request.id));
        let late: Vec<_> = late.iter().map(|request| request.id).collect();
        for id in &late {
            self.give_up(*id, Phase::TimedOut);
        }
        if !late.is_empty() && self.settings.dispatch_after_timeout {
            self.dispatch(effects);
        }
        effects.timed_out.extend(late);
    }

    // === Arrivals ===

    pub(crate) fn arrive(
        &mut self,
        now: u64,
        flow: u64,
        width: Width,
        until: u64,
        effects: &mut Effects,
    ) -> Fate {
        self.tick(now, effects);
        let id = self.requests.len();
        let (arrived, arrival_r) = (now, self.r);
        let phase = Phase::Gone;
        let request = Request {
            id,
            phase,
            width,
            asked: width.max_seats(),
            arrived,
            arrival_r,
            dispatched: 0,
            until,
            queue: None,
        };
        self.requests.push(request);
        self.live.push(id);
        let Handling::Queue(queuing) = self.handling else {
            if self.fits(width.max_seats()) {
                (self.requests[id].phase, self.requests[id].dispatched) = (Phase::Executing, now);
                return Fate::Dispatched;
            }
            return Fate::ConcurrencyLimit;
        };
        let index = self.choose(queuing.queues, queuing.hand_size, flow);
        let full = self.queues[index].waiting.len() >= queuing.queue_length_limit as usize;
        let seat_free = self.seats_in_use() < self.limit.into();
        if full && !(self.settings.grows_while_seats_are_free && seat_free) {
            return Fate::QueueFull;
        }
        if !self.is_active(&self.queues[index]) {
            self.queues[index].start = self.r;
        }
        self.requests[id].queue = Some(self.queues[index].number);
        self.requests[id].phase = Phase::Waiting;
        self.queues[index].waiting.push_back(id);
        self.no_credit(index);
        let mut all = Effects::default();
        self.dispatch(&mut all);
        let at_once = all.dispatched.contains(&id);
        effects.dispatched.extend(all.dispatched.into_iter().filter(|other| *other != id));
        if at_once { Fate::Dispatched } else { Fate::Waiting }
    }

    fn choose(&mut self, queues: u32, hand_size: u32, mut flow: u64) -> usize {
        let mut left: Vec<usize> = (0..queues as usize).collect();
        let mut hand = Vec::new();
        for _ in 0..hand_size {
            let card = (flow % left.len() as u64) as usize;
            flow /= left.len() as u64;
            hand.push(left.remove(card));
        }
        if self.settings.pick == Pick::LeastWork {
            let by = (self.arrivals % u64::from(hand_size)) as usize;
            hand.rotate_left(by);
            self.arrivals += 1;
        }
        let mut best = hand[0];
        for &card in &hand[1..] {
            let (a, b) = (&self.queues[card], &self.queues[best]);
            let better = match self.settings.pick {
                Pick::Shortest => a.waiting.len() < b.waiting.len(),
                Pick::LeastWork => self.work_waiting(a) < self.work_waiting(b),
            };
            if better {
                best = card;
            }
        }
        best
    }

    // === Dispatching ===

    fn fits(&self, seats: u32) -> bool {
        if self.handling == Handling::Exempt {
            return true;
        }
        let closed = self.handling == Handling::Reject && self.limit == 0;
        if closed && !self.settings.zero_limit_admits_one {
            return false;
        }
        if seats > self.limit {
            return self.executing() == 0;
        }
        self.seats_in_use() + u64::from(seats) <= self.limit.into()
    }

    /// The head whose turn it is, if a seat is free for anyone.
    pub(crate) fn chosen(&self) -> Option<usize> {
        let seat_free = self.seats_in_use() < self.limit.into();
        if self.waiting() == 0 || !(seat_free || self.handling == Handling::Exempt) {
            return None;
        }
        let n = self.queues.len() as i64;
        let mut best: Option<(u64, usize)> = None;
        for step in 1..=n {
            let queue = &self.queues[(self.served_last + step).rem_euclid(n) as usize];
            let Some(&head) = queue.waiting.front() else { continue };
            let finish = queue.start.wrapping_add(self.work(&self.requests[head].width));
            if best.is_none_or(|(least, _)| finish < least) {
                best = Some((finish, head));
            }
        }
        best.map(|(_, head)| head)
    }

    /// The head whose turn it is, if it can go now.
    pub(crate) fn can_go(&self) -> Option<usize> {
        self.chosen().filter(|id| self.fits(self.requests[*id].width.max_seats()))
    }

    fn dispatch(&mut self, effects: &mut Effects) {
        while let Some(id) = self.can_go() {
            let index = self.position(self.requests[id].queue.expect("it waited in one"));
            let work = self.work(&self.requests[id].width);
            self.queues[index].waiting.pop_front();
            self.queues[index].start = self.queues[index].start.wrapping_add(work);
            self.served_last = index as i64;
            self.cut(id);
            self.requests[id].phase = Phase::Executing;
            self.requests[id].dispatched = self.now;
            self.no_credit(index);
            effects.dispatched.push(id);
        }
    }

    fn cut(&mut self, id: usize) {
        let width = &mut self.requests[id].width;
        if self.handling != Handling::Exempt && width.final_seats > self.limit {
            let work = units(width.final_seats.into(), latency(width) as f64);
            width.final_seats = self.limit;
            let nanos = (work as f64 / f64::from(self.limit) * 10.0) as u64;
            width.additional_latency = std::time::Duration::from_nanos(nanos);
        }
    }

    fn no_credit(&mut self, index: usize) {
        if let (true, Some(&head)) =
            (self.settings.no_credit_from_the_past, self.queues[index].waiting.front())
        {
            let start = self.queues[index].start.max(self.requests[head].arrival_r);
            self.queues[index].start = start;
        }
    }

    fn add_queues(&mut self) {
        while self.queues.len() < self.wanted_queues() {
            let number = self.queues_made;
            self.queues_made += 1;
            self.queues.push(Queue { number, waiting: VecDeque::new(), start: 0 });
        }
    }
}
