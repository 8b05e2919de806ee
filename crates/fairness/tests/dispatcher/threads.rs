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
    dispatcher::{Admission, Dispatcher, Level, RequestHandle},
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
fn wait(dispatcher: &Dispatcher<Thread>, handle: &RequestHandle<Thread>, give_up: Instant) {
    loop {
        match dispatcher.verdict(handle, |old| old.unwrap_or_else(thread::current)).0 {
            Verdict::Dispatched => return,
            Verdict::Rejected(reason) => panic!("{reason:?}: it may wait for ever"),
            Verdict::Waiting => {}
        }
        thread::park_timeout(give_up.saturating_duration_since(Instant::now()));
        assert!(Instant::now() < give_up, "nobody woke it");
    }
}

fn requests(dispatcher: &Dispatcher<Thread>, start: Instant, seed: u64, give_up: Instant) -> u64 {
    let (mut rng, mut woken, mut rejected) = (Rng::new(seed), Vec::new(), 0);
    let mut held = Vec::new();
    for _ in 0..REQUESTS {
        let request = by(rng.pick(&["a", "b", "c"]), rng.pick(&["x", "y", "z"]));
        let width = cost(if rng.chance(5) { 2 } else { 1 });
        let admitted =
            dispatcher.admit(now(start), &request, |_| width, thread::current, &mut woken);
        wake(&mut woken);
        match admitted.admission {
            Admission::Dispatched(handle) => held.push(handle),
            Admission::Waiting(handle) if rng.chance(30) || !held.is_empty() => {
                dispatcher.leave(now(start), handle, &mut woken);
            }
            Admission::Waiting(handle) => {
                wait(dispatcher, &handle, give_up);
                held.push(handle);
            }
            Admission::Rejected { .. } => rejected += 1,
        }
        while held.len() > 2 || !held.is_empty() && rng.chance(70) {
            dispatcher.leave(now(start), held.remove(0), &mut woken);
        }
        wake(&mut woken);
    }
    held.into_iter().for_each(|handle| {
        dispatcher.leave(now(start), handle, &mut woken);
    });
    wake(&mut woken);
    rejected
}

/// Four threads of requests, one that changes the configuration and the limits.
fn storm(settings: Settings) {
    let start = Instant::now();
    let give_up = start + Duration::from_secs(60);
    let dispatcher = Dispatcher::new(Time(0), levels(3, 4), 6, settings).expect("has shares");
    let (done, rejected) = (AtomicBool::new(false), AtomicU64::new(0));
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
                let (dispatcher, rejected) = (&dispatcher, &rejected);
                scope.spawn(move || {
                    let n = requests(dispatcher, start, seed, give_up);
                    rejected.fetch_add(n, Ordering::Relaxed);
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
    let mut handles = Vec::new();
    for _ in 0..2 {
        match admit("borrower", 0, &mut woken) {
            Admission::Dispatched(handle) | Admission::Waiting(handle) => handles.push(handle),
            Admission::Rejected { .. } => panic!("queues are long"),
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
    let freed = handles.remove(0);
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
    let (Admission::Dispatched(handle) | Admission::Waiting(handle)) = lender else {
        panic!("queues are long")
    };
    let (verdict, _) = dispatcher.verdict(&handle, |old| old.expect("it waits"));
    assert_eq!(verdict, Verdict::Dispatched, "round {round}");
}

const THREE: [&str; 3] = ["a", "b", "c"];

/// Three levels of one seat each, all lent to `b`, which runs two requests and has one waiting.
fn lent_to_b() -> (Dispatcher<Thread>, Vec<RequestHandle<Thread>>) {
    let levels = THREE.map(|name| lending(name, 1, 100, queuing(1, 1, 100)));
    let config = config(levels.into());
    let dispatcher = Dispatcher::new(Time(0), config, 3, Settings::default()).expect("has shares");
    let handles = (0..3).map(|_| admit(&dispatcher, "b")).collect();
    dispatcher.adjust(Time(10), &mut Vec::new());
    (dispatcher, handles)
}

fn admit(dispatcher: &Dispatcher<Thread>, user: &str) -> RequestHandle<Thread> {
    let request = by(user, "");
    let admitted =
        dispatcher.admit(Time(20), &request, |_| cost(1), thread::current, &mut Vec::new());
    match admitted.admission {
        Admission::Dispatched(handle) | Admission::Waiting(handle) => handle,
        Admission::Rejected { .. } => panic!("queues are long"),
    }
}

/// Runs all at once, each after so many turns of an idle loop: the windows are a few instructions
/// wide, and each round looks for them elsewhere.
fn together(round: u64, parts: [Box<dyn FnOnce() + Send + '_>; 3]) {
    let ready = AtomicU64::new(0);
    thread::scope(|scope| {
        for (n, part) in (1..).zip(parts) {
            let ready = &ready;
            scope.spawn(move || {
                ready.fetch_add(1, Ordering::SeqCst);
                while ready.load(Ordering::SeqCst) < 3 {
                    std::hint::spin_loop();
                }
                (0..(round * n * 7) % 64).for_each(|_| std::hint::spin_loop());
                part();
            });
        }
    });
}

/// Claims, and borrowed seats that are idle, of all levels.
fn claimed_and_spare(dispatcher: &Dispatcher<Thread>) -> (u32, u32) {
    let levels = dispatcher.levels();
    let of = |level: &std::sync::Arc<Level<Thread>>| {
        level.view(|view| (view.set.claim(), view.set.spare()))
    };
    levels.iter().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// `b` frees seats that `a` claims; `a` gives up; `c` claims meanwhile. Whoever still waits for its
/// own seats must have got those that are idle: nobody looks again before the next adjustment.
#[test]
fn a_third_level_that_claims_while_seats_change_hands_gets_those_that_are_left() {
    watched(|| {
        for round in 0..1_500 {
            let (dispatcher, handles) = lent_to_b();
            let given_up = admit(&dispatcher, "a");
            let dispatcher = &dispatcher;
            together(
                round,
                [
                    Box::new(move || {
                        for handle in handles {
                            dispatcher.leave(Time(20), handle, &mut Vec::new());
                        }
                    }),
                    Box::new(move || {
                        dispatcher.leave(Time(20), given_up, &mut Vec::new());
                    }),
                    Box::new(|| {
                        admit(dispatcher, "c");
                    }),
                ],
            );
            let (claimed, spare) = claimed_and_spare(dispatcher);
            assert!(claimed == 0 || spare == 0, "round {round}: {claimed} beside {spare}");
        }
    });
}

/// Seats change hands while limits are set: those that are on their way must be neither given out
/// twice nor lost. Limits are rounded, so that they may miss the server's by one; but they sum to
/// what the last adjustment set, whenever someone looks.
#[test]
fn limits_that_are_set_while_seats_change_hands_sum_to_the_same_ever_after() {
    watched(|| {
        for round in 0..1_500 {
            let (dispatcher, handles) = lent_to_b();
            let dispatcher = &dispatcher;
            let sum = || {
                let (limits, _) = dispatcher.limits();
                limits.iter().map(|level| u64::from(level.limits.current)).sum::<u64>()
            };
            assert_eq!(sum(), 3);
            let set = AtomicU64::new(0);
            together(
                round,
                [
                    Box::new(move || {
                        for handle in handles {
                            dispatcher.leave(Time(20), handle, &mut Vec::new());
                        }
                    }),
                    Box::new(|| {
                        for user in ["a", "c"] {
                            admit(dispatcher, user);
                        }
                    }),
                    Box::new(|| {
                        for _ in 0..4 {
                            dispatcher.adjust(Time(20), &mut Vec::new());
                            set.store(sum(), Ordering::SeqCst);
                            for _ in 0..4 {
                                assert_eq!(sum(), set.load(Ordering::SeqCst), "round {round}");
                            }
                        }
                    }),
                ],
            );
            assert_eq!(sum(), set.load(Ordering::SeqCst), "round {round}");
        }
    });
}
