//! Many threads count, each in its stripe, while another reads: nothing is lost, nothing is counted twice,
//! and no number that was read becomes smaller.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use evenkeel_fairness::{
    Settings, Time,
    dispatcher::{Admission, Dispatcher, Level},
    queues::stats::RejectReason,
    stripes::STRIPES,
};

use crate::support::{by, config, cost, level, queuing};

/// More than there are stripes, so that some share one.
const THREADS: u64 = STRIPES as u64 + 2;
const REQUESTS: u64 = 2_000;

/// What one thread saw.
#[derive(Default)]
struct Seen {
    dispatched: u64,
    cancelled: u64,
    full: u64,
}

/// Time goes on with every look at it, whoever looks.
struct Clock(AtomicU64);

impl Clock {
    fn now(&self) -> Time {
        Time(self.0.fetch_add(1_000, Ordering::SeqCst))
    }
}

fn requests(dispatcher: &Dispatcher<()>, clock: &Clock) -> Seen {
    let (mut seen, mut woken) = (Seen::default(), Vec::new());
    for _ in 0..REQUESTS {
        let admitted = dispatcher.admit(clock.now(), &by("a", ""), |_| cost(1), || (), &mut woken);
        match admitted.admission {
            Admission::Dispatched(handle) => {
                dispatcher.leave(clock.now(), handle, &mut woken);
                seen.dispatched += 1;
            }
            Admission::Waiting(handle) => {
                dispatcher.leave(clock.now(), handle, &mut woken);
                seen.cancelled += 1;
            }
            Admission::Rejected { .. } => seen.full += 1,
        }
    }
    seen
}

/// Arrivals, time at any utilisation, and seat-nanoseconds.
fn read(level: &Level<()>, clock: &Clock) -> [u64; 3] {
    level.view(|view| {
        let arrived = view.schemas().map(|(_, stats)| stats.seats.count()).sum();
        let stats = view.set.stats(clock.now());
        [arrived, stats.seats.nanos().iter().sum(), stats.seats.sum() as u64]
    })
}

#[test]
fn what_threads_count_adds_up_and_never_becomes_smaller() {
    let config = config(vec![level("a", 10, queuing(2, 1, 2))]);
    // One seat for each thread but two: some wait, some are rejected, most run.
    let seats = THREADS as u32 - 2;
    let dispatcher = Dispatcher::new(Time(0), config, seats, Settings::default());
    let dispatcher = dispatcher.expect("has shares");
    let (clock, done) = (Clock(AtomicU64::new(0)), AtomicBool::new(false));
    let level = &dispatcher.in_force().levels[0];
    let seen: Vec<Seen> = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut before = [0; 3];
            while !done.load(Ordering::Acquire) {
                let now = read(level, &clock);
                assert!(now.iter().zip(&before).all(|(n, b)| n >= b), "{before:?} then {now:?}");
                before = now;
            }
        });
        let clients: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| requests(&dispatcher, &clock))).collect();
        let seen = clients.into_iter().map(|client| client.join().expect("client")).collect();
        done.store(true, Ordering::Release);
        reader.join().expect("reader");
        seen
    });
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let schemas: Vec<_> = level.view(|view| view.schemas().map(|(_, stats)| stats).collect());
    let [stats] = &schemas[..] else { panic!("one schema") };
    assert_eq!(stats.seats.count(), THREADS * REQUESTS);
    let ran_after_waiting = stats.dispatched - sum(|s| s.dispatched);
    let rejected = |reason: RejectReason| stats.rejected[reason as usize];
    assert_eq!(rejected(RejectReason::QueueFull), sum(|s| s.full));
    assert_eq!(rejected(RejectReason::Cancelled) + ran_after_waiting, sum(|s| s.cancelled));
    assert_eq!((stats.wait.count(), stats.execution.count()), (stats.dispatched, stats.dispatched));
    assert!(stats.is_idle());
}
