//! Many threads at once.

use std::{
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use evenkeel_fairness::{
    Settings, Time,
    config::Config,
    dispatcher::{Admission, Dispatcher, Turn},
    queues::Verdict,
};

use crate::support::{Rng, by, config, cost, lending, queuing};

const THREADS: u64 = 4;
const REQUESTS: u64 = 20_000;

fn levels(n: usize, queues: u32) -> Config {
    let names = ["a", "b", "c"];
    config(names[..n].iter().map(|name| lending(name, 10, 80, queuing(queues, 1, 100))).collect())
}

fn now(start: Instant) -> Time {
    Time(u64::try_from(start.elapsed().as_nanos()).expect("a short run"))
}

fn wake(woken: &mut Vec<Thread>) {
    woken.drain(..).for_each(|thread| thread.unpark());
}

/// Parks until its turn has come. Nobody but who dispatched it unparks it in time.
fn wait(dispatcher: &Dispatcher<Thread>, turn: &Turn<Thread>, give_up: Instant) {
    loop {
        match dispatcher.verdict(turn, |old| old.unwrap_or_else(thread::current)).0 {
            Verdict::Dispatched => return,
            Verdict::Refused(refusal) => panic!("{refusal:?}: it may wait for ever"),
            Verdict::Waiting => {}
        }
        thread::park_timeout(give_up.saturating_duration_since(Instant::now()));
        assert!(Instant::now() < give_up, "nobody woke it");
    }
}

fn requests(dispatcher: &Dispatcher<Thread>, start: Instant, seed: u64, give_up: Instant) -> u64 {
    let (mut rng, mut woken, mut refused) = (Rng::new(seed), Vec::new(), 0);
    let mut held = Vec::new();
    for _ in 0..REQUESTS {
        let request = by(rng.pick(&["a", "b", "c"]), rng.pick(&["x", "y", "z"]));
        let width = cost(if rng.chance(5) { 2 } else { 1 });
        let admitted =
            dispatcher.admit(now(start), &request, |_| width, thread::current, &mut woken);
        wake(&mut woken);
        match admitted.admission {
            Admission::Dispatched(turn) => held.push(turn),
            Admission::Waiting(turn) if rng.chance(30) || !held.is_empty() => {
                dispatcher.leave(now(start), turn, &mut woken);
            }
            Admission::Waiting(turn) => {
                wait(dispatcher, &turn, give_up);
                held.push(turn);
            }
            Admission::Refused { .. } => refused += 1,
        }
        while held.len() > 2 || !held.is_empty() && rng.chance(70) {
            dispatcher.leave(now(start), held.remove(0), &mut woken);
        }
        wake(&mut woken);
    }
    held.into_iter().for_each(|turn| {
        dispatcher.leave(now(start), turn, &mut woken);
    });
    wake(&mut woken);
    refused
}

/// Four threads of requests, one that changes the configuration and the limits.
fn storm(settings: Settings) {
    let start = Instant::now();
    let give_up = start + Duration::from_secs(60);
    let dispatcher = Dispatcher::new(Time(0), levels(3, 4), 6, settings).expect("has shares");
    let (done, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let control = scope.spawn(|| {
            let (mut rng, mut woken) = (Rng::new(9), Vec::new());
            while !done.load(Ordering::Acquire) {
                match rng.chance(30) {
                    true => {
                        let config = levels(rng.within(1..4) as usize, rng.within(1..9) as u32);
                        let done = dispatcher.configure(now(start), config, 6, &mut woken);
                        done.expect("has shares");
                    }
                    false => dispatcher.adjust(now(start), &mut woken),
                }
                wake(&mut woken);
                thread::yield_now();
            }
        });
        let clients: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (dispatcher, refused) = (&dispatcher, &refused);
                scope.spawn(move || {
                    let n = requests(dispatcher, start, seed, give_up);
                    refused.fetch_add(n, Ordering::Relaxed);
                })
            })
            .collect();
        let ended: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Release);
        control.join().expect("control");
        ended.into_iter().for_each(|ended| ended.expect("client"));
    });
    let mut woken = Vec::new();
    dispatcher.configure(now(start), levels(3, 4), 6, &mut woken).expect("has shares");
    assert!(woken.is_empty(), "nobody waits");
    let (limits, _) = dispatcher.limits();
    assert_eq!(limits.len(), 3, "what drained is gone");
    for level in dispatcher.levels() {
        level.view(|view| {
            let set = &view.set;
            let left = [set.waiting().into(), set.executing().into(), set.seats_in_use()];
            assert_eq!((left, set.seats_waiting()), ([0; 3], 0), "{}", level.name);
        });
        assert_eq!(level.deadline(), None, "{}", level.name);
    }
}

/// Runs on a thread of its own, so that a deadlock fails the test instead of the whole run.
fn watched(run: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    let storm = thread::spawn(move || {
        run();
        ended.send(()).expect("the watchdog waits");
    });
    match end.recv_timeout(Duration::from_secs(100)) {
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => storm.join().expect("no panic"),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("a deadlock"),
    }
}

#[test]
fn threads_that_come_and_go_leave_nothing_behind_and_all_are_woken() {
    watched(|| storm(Settings::default()));
}

#[test]
fn threads_that_come_and_go_leave_nothing_behind_in_kubernetes() {
    watched(|| storm(Settings::kubernetes()));
}

/// A seat that is freed while its owner begins to wait must reach it: nobody looks again later.
#[test]
fn a_claim_and_a_free_seat_never_miss_each_other() {
    watched(|| {
        for round in 0..2_000 {
            miss_each_other(round);
        }
    });
}

fn miss_each_other(round: u64) {
    let settings = Settings::default();
    let two = || {
        let queues = queuing(1, 1, 100);
        config(vec![lending("borrower", 1, 100, queues), lending("lender", 1, 100, queues)])
    };
    let dispatcher = Dispatcher::new(Time(0), two(), 2, settings).expect("has shares");
    let admit = |user: &str, at: u64, woken: &mut Vec<Thread>| {
        dispatcher.admit(Time(at), &by(user, ""), |_| cost(1), thread::current, woken).admission
    };
    let mut woken = Vec::new();
    let mut turns = Vec::new();
    for _ in 0..2 {
        match admit("borrower", 0, &mut woken) {
            Admission::Dispatched(turn) | Admission::Waiting(turn) => turns.push(turn),
            Admission::Refused { .. } => panic!("queues are long"),
        }
    }
    dispatcher.adjust(Time(10), &mut woken);
    let ready = AtomicU64::new(0);
    let start_together = || {
        ready.fetch_add(1, Ordering::SeqCst);
        while ready.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
    };
    let freed = turns.remove(0);
    let lender = thread::scope(|scope| {
        scope.spawn(|| {
            start_together();
            dispatcher.leave(Time(20), freed, &mut Vec::new());
        });
        start_together();
        // The window is a few instructions wide: each round looks for it elsewhere.
        (0..round % 64).for_each(|_| std::hint::spin_loop());
        admit("lender", 20, &mut Vec::new())
    });
    let (Admission::Dispatched(turn) | Admission::Waiting(turn)) = lender else {
        panic!("queues are long")
    };
    let (verdict, _) = dispatcher.verdict(&turn, |old| old.expect("it waits"));
    assert_eq!(verdict, Verdict::Dispatched, "round {round}");
}
