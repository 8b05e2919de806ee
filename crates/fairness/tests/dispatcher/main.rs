//! All levels together: seats that change hands, configurations that change, threads.

mod beyond;
mod detached;
mod keys;
mod random;
mod stripes;
#[path = "../support/mod.rs"]
mod support;
mod swaps;
mod threads;

use evenkeel_fairness::{
    Settings, Time,
    config::Config,
    dispatcher::{Admission, Cost, Dispatcher, Level, LevelLimits, RequestHandle},
    queues::{Verdict, stats::RejectReason},
};

use crate::support::{by, cost};

/// A dispatcher in simulated time. Those that wait are known by number; whom a call woke is noted.
struct Server {
    dispatcher: Dispatcher<usize>,
    now: Time,
    woken: Vec<usize>,
    next: usize,
}

impl Server {
    fn new(config: Config, seats: u32, settings: Settings) -> Self {
        let dispatcher = Dispatcher::new(Time(0), config, seats, settings).expect("has shares");
        Server { dispatcher, now: Time(0), woken: Vec::new(), next: 0 }
    }

    fn admit_with(&mut self, user: &str, namespace: &str, cost: Cost) -> Admission<usize> {
        let id = self.next;
        self.next += 1;
        let request = by(user, namespace);
        let Server { dispatcher, now, woken, .. } = self;
        dispatcher.admit(*now, &request, |_| cost, || id, woken).admission
    }

    fn admit(&mut self, user: &str) -> Admission<usize> {
        self.admit_with(user, "", cost(1))
    }

    /// It must be dispatched at once.
    fn run(&mut self, user: &str) -> RequestHandle<usize> {
        match self.admit(user) {
            Admission::Dispatched(handle) => handle,
            other => panic!("{user}: {other:?}"),
        }
    }

    fn runs(&mut self, user: &str, n: usize) -> Vec<RequestHandle<usize>> {
        (0..n).map(|_| self.run(user)).collect()
    }

    /// It must not be dispatched by its own level at once; returns its number too.
    fn wait(&mut self, user: &str) -> (usize, RequestHandle<usize>) {
        match self.admit(user) {
            Admission::Waiting(handle) => (self.next - 1, handle),
            other => panic!("{user}: {other:?}"),
        }
    }

    fn rejected(&mut self, user: &str) -> Option<RejectReason> {
        match self.admit(user) {
            Admission::Rejected { reason, .. } => Some(reason),
            _ => None,
        }
    }

    fn leave(&mut self, handle: RequestHandle<usize>) {
        self.dispatcher.leave(self.now, handle, &mut self.woken);
    }

    fn verdict(&self, handle: &RequestHandle<usize>) -> Verdict {
        self.dispatcher.verdict(handle, |old| old.expect("it waits")).0
    }

    fn adjust(&mut self) {
        self.dispatcher.adjust(self.now, &mut self.woken);
    }

    /// Does what is due in every level.
    fn tick(&mut self) {
        for level in self.dispatcher.levels() {
            if level.deadline().is_some_and(|deadline| deadline <= self.now) {
                self.dispatcher.tick(self.now, &level, &mut self.woken);
            }
        }
    }

    fn configure(&mut self, config: Config, seats: u32) {
        let done = self.dispatcher.configure(self.now, config, seats, &mut self.woken);
        done.expect("has shares");
    }

    fn limits(&self) -> Vec<LevelLimits> {
        self.dispatcher.limits().0
    }

    fn limit(&self, level: &str) -> u32 {
        self.limits().iter().find(|l| &*l.level == level).expect("is there").limits.current
    }

    fn nominal(&self, level: &str) -> u32 {
        self.limits().iter().find(|l| &*l.level == level).expect("is there").limits.nominal
    }

    fn sum(&self) -> u64 {
        self.limits().iter().map(|level| u64::from(level.limits.current)).sum()
    }

    fn take_woken(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.woken)
    }

    fn level(&self, name: &str) -> std::sync::Arc<Level<usize>> {
        let levels = self.dispatcher.levels();
        levels.into_iter().find(|level| &*level.name == name).expect("is there")
    }

    /// Nothing waits, runs, holds seats or has a timer.
    fn assert_idle(&self, what: &str) {
        for level in self.dispatcher.levels() {
            level.view(|view| {
                let set = &view.set;
                let left = [set.waiting().into(), set.executing().into(), set.seats_in_use()];
                assert_eq!(left, [0; 3], "{what}: {}", level.name);
                assert_eq!((set.seats_waiting(), set.claim()), (0, 0), "{what}: {}", level.name);
                for (schema, stats) in view.schemas() {
                    let gauges = [stats.waiting, stats.executing, stats.seats_executing];
                    assert_eq!(gauges, [0; 3], "{what}: {schema}");
                }
            });
            assert_eq!(level.deadline(), None, "{what}: {}", level.name);
        }
    }
}
