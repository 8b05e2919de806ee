//! Where we go beyond Kubernetes, each against what Kubernetes does.

use evenkeel_fairness::{
    Settings, Time, Width,
    config::{Config, Handling},
    dispatcher::{Admission, Cost, RequestHandle},
    queues::{Verdict, stats::RejectReason},
};

use crate::{
    Server,
    support::{MS, config, cost, lending, level, ms, queuing},
};

/// `lender` and `borrower` have 10 nominal seats each and may lend all of them.
fn two() -> Config {
    config(vec![
        lending("borrower", 50, 100, queuing(4, 1, 100)),
        lending("lender", 50, 100, queuing(4, 1, 100)),
    ])
}

/// Requests of the borrower, twice as many as there are seats.
fn forty(server: &mut Server) -> Vec<RequestHandle<usize>> {
    let mut admit = |_| match server.admit("borrower") {
        Admission::Dispatched(handle) | Admission::Waiting(handle) => handle,
        Admission::Rejected { .. } => panic!("queues are long"),
    };
    (0..40).map(&mut admit).collect()
}

/// The borrower has so many running that it has borrowed all seats.
fn lent(settings: Settings) -> (Server, Vec<RequestHandle<usize>>) {
    let mut server = Server::new(two(), 20, settings);
    let mut handles = forty(&mut server);
    server.now = ms(10_000);
    server.adjust();
    assert_eq!((server.limit("borrower"), server.limit("lender")), (20, 0));
    handles.retain(|handle| server.verdict(handle) == Verdict::Dispatched || server.waits(handle));
    server.take_woken();
    (server, handles)
}

impl Server {
    fn waits(&self, handle: &RequestHandle<usize>) -> bool {
        self.verdict(handle) == Verdict::Waiting
    }
}

/// kubernetes/kubernetes#121982
#[test]
fn a_level_below_its_nominal_seats_gets_every_one_that_a_borrower_frees_at_once() {
    let (mut server, mut handles) = lent(Settings::default());
    let waiting: Vec<_> = (0..12).map(|_| server.wait("lender")).collect();
    assert!(server.take_woken().is_empty(), "no borrowed seat lies idle");
    for (n, (id, _)) in waiting.iter().enumerate().take(10) {
        let running = handles.remove(0);
        assert_eq!(server.verdict(&running), Verdict::Dispatched);
        server.leave(running);
        assert_eq!(server.take_woken(), [*id], "seat {n} goes to its owner");
        assert_eq!(server.limit("lender"), n as u32 + 1);
        assert_eq!(server.sum(), 20, "seats only change hands");
    }
    server.leave(handles.remove(0));
    assert_eq!((server.limit("borrower"), server.limit("lender")), (10, 10), "nominal is enough");
    let woken = server.take_woken();
    assert!(woken.iter().all(|id| *id < 40), "the borrower's own go now: {woken:?}");
    assert_eq!(woken.len(), 1);
}

#[test]
fn in_kubernetes_seats_that_are_lent_come_back_at_the_next_adjustment() {
    let (mut server, mut handles) = lent(Settings::kubernetes());
    let (id, waiting) = server.wait("lender");
    server.leave(handles.remove(0));
    assert_eq!(server.limit("lender"), 0);
    assert_eq!(server.verdict(&waiting), Verdict::Waiting);
    assert!(!server.take_woken().contains(&id));
    server.now = ms(20_000);
    server.adjust();
    assert_eq!(server.verdict(&waiting), Verdict::Dispatched);
    assert!(server.take_woken().contains(&id));
}

/// The borrower has nothing running any more, but still has the seats.
fn idle_borrower(settings: Settings) -> Server {
    let (mut server, handles) = lent(settings);
    handles.into_iter().for_each(|handle| server.leave(handle));
    server.take_woken();
    assert_eq!((server.limit("borrower"), server.limit("lender")), (20, 0));
    server
}

#[test]
fn borrowed_seats_that_lie_idle_are_taken_back_by_an_arrival_at_once() {
    let mut server = idle_borrower(Settings::default());
    for n in 1..=10 {
        let (id, handle) = server.wait("lender");
        assert_eq!(server.take_woken(), [id]);
        assert_eq!(server.verdict(&handle), Verdict::Dispatched);
        assert_eq!((server.limit("lender"), server.sum()), (n, 20));
    }
    server.wait("lender");
    assert_eq!(server.limit("lender"), 10, "no more than its own");
    assert!(server.take_woken().is_empty());
}

#[test]
fn a_wide_request_takes_back_as_many_seats_as_it_needs() {
    let mut server = idle_borrower(Settings::default());
    let Admission::Waiting(handle) = server.admit_with("lender", "", cost(7)) else {
        panic!("it has no seats")
    };
    assert_eq!(server.verdict(&handle), Verdict::Dispatched);
    assert_eq!((server.limit("borrower"), server.limit("lender")), (13, 7));
}

#[test]
fn nobody_is_pushed_below_its_nominal_seats() {
    let levels = ["a", "b", "c"].map(|name| lending(name, 10, 50, queuing(4, 1, 100)));
    let mut server = Server::new(config(levels.into()), 30, Settings::default());
    let a = (0..40).map(|_| server.admit("a")).collect::<Vec<_>>();
    server.now = ms(10_000);
    server.adjust();
    assert_eq!([server.limit("a"), server.limit("b"), server.limit("c")], [20, 5, 5]);
    let mut handles: Vec<_> = a
        .into_iter()
        .map(|admission| match admission {
            Admission::Dispatched(handle) | Admission::Waiting(handle) => handle,
            Admission::Rejected { .. } => panic!("queues are long"),
        })
        .collect();
    for user in ["b", "c"] {
        server.runs(user, 5);
        (0..9).for_each(|_| drop(server.wait(user)));
    }
    for _ in 0..15 {
        server.leave(handles.remove(0));
        assert_eq!(server.sum(), 30);
        for name in ["a", "b", "c"] {
            assert!(server.limit(name) >= 10 || name != "a", "{name}");
            assert!(server.limit(name) <= 10 || name == "a", "{name}");
        }
    }
    assert_eq!([server.limit("a"), server.limit("b"), server.limit("c")], [10, 10, 10]);
}

/// What an exempt level used is no pool of seats: the others have all of theirs besides.
#[test]
fn seats_of_an_exempt_level_are_no_seats_to_take() {
    let levels = vec![
        lending("borrower", 50, 100, queuing(4, 1, 100)),
        level("exempt", 0, Handling::Exempt),
        lending("lender", 50, 100, queuing(4, 1, 100)),
    ];
    let mut server = Server::new(config(levels), 20, Settings::default());
    let exempt = server.runs("exempt", 5);
    (0..40).for_each(|_| drop(server.admit("borrower")));
    server.now = ms(10_000);
    server.adjust();
    exempt.into_iter().for_each(|handle| server.leave(handle));
    let of_limited = |server: &Server| server.limit("borrower") + server.limit("lender");
    let before = of_limited(&server);
    (0..9).for_each(|_| drop(server.wait("lender")));
    assert_eq!(of_limited(&server), before, "seats that nobody gave up");
}

/// kubernetes/kubernetes#134196
#[test]
fn a_level_without_shares_that_rejects_admits_nothing() {
    let levels =
        || config(vec![level("closed", 0, Handling::Reject), level("open", 10, queuing(4, 1, 10))]);
    let mut server = Server::new(levels(), 10, Settings::default());
    assert_eq!(server.rejected("closed"), Some(RejectReason::ConcurrencyLimit));
    let mut server = Server::new(levels(), 10, Settings::proposal());
    assert_eq!(server.rejected("closed"), Some(RejectReason::ConcurrencyLimit));
    let mut server = Server::new(levels(), 10, Settings::kubernetes());
    let one = server.run("closed");
    assert_eq!(server.rejected("closed"), Some(RejectReason::ConcurrencyLimit), "one at a time");
    server.leave(one);
    server.run("closed");
}

/// kubernetes/kubernetes#115409
#[test]
fn slow_readers_cannot_hold_all_seats() {
    for (settings, others_go) in [(Settings::default(), true), (Settings::kubernetes(), false)] {
        let mut server = Server::new(config(vec![level("a", 1, queuing(4, 1, 9))]), 2, settings);
        let slow = server.runs("a", 2);
        slow.iter().for_each(|handle| {
            server.dispatcher.respond(server.now, handle);
        });
        let (id, waiting) = server.wait("a");
        server.now = ms(9_999);
        server.tick();
        assert_eq!(server.verdict(&waiting), Verdict::Waiting);
        server.now = ms(10_000);
        server.tick();
        let woken = server.take_woken();
        if !others_go {
            assert!(woken.is_empty());
            continue;
        }
        assert_eq!(woken, [id]);
        let level = server.level("a");
        assert_eq!(level.view(|view| (view.set.executing(), view.set.seats_in_use())), (1, 1));
        server.now = ms(60_000);
        slow.into_iter().for_each(|handle| server.leave(handle));
        server.leave(waiting);
        server.assert_idle("all have left");
        level.view(|view| {
            let (_, stats) = view.schemas().next().expect("one schema");
            assert_eq!((stats.dispatched, stats.execution.count()), (3, 3), "each ended once");
        });
    }
}

#[test]
fn when_a_wide_head_gives_up_others_go_at_once_save_in_kubernetes() {
    for (settings, at_once) in
        [(Settings::default(), true), (Settings::proposal(), true), (Settings::kubernetes(), false)]
    {
        for cancelled in [false, true] {
            let levels = vec![level("a", 1, queuing(1, 1, 9))];
            let mut server = Server::new(config(levels), 4, settings.clone());
            let running = server.run("a");
            let wide = Cost { wait_until: Time(5 * MS), ..cost(4) };
            let Admission::Waiting(wide) = server.admit_with("a", "", wide) else {
                panic!("it does not fit")
            };
            let (id, _) = server.wait("a");
            server.now = ms(5);
            match cancelled {
                true => server.leave(wide),
                false => {
                    server.tick();
                    assert_eq!(server.verdict(&wide), Verdict::Rejected(RejectReason::TimeOut));
                }
            }
            assert_eq!(server.take_woken().contains(&id), at_once, "{settings:?}");
            server.leave(running);
            assert_eq!(server.take_woken().contains(&id), !at_once, "{settings:?}");
        }
    }
}

/// Its seats are free when they no longer linger, and go to their owner then, even where an arrival
/// notices it before a timer does.
#[test]
fn seats_that_an_arrival_finds_freed_go_to_their_owner_too() {
    let mut server = Server::new(two(), 20, Settings::default());
    let width =
        Width { final_seats: 1, additional_latency: crate::support::millis(5), ..Width::ONE };
    let mut handles = Vec::new();
    for _ in 0..40 {
        match server.admit_with("borrower", "", Cost { width, ..cost(1) }) {
            Admission::Dispatched(handle) | Admission::Waiting(handle) => handles.push(handle),
            Admission::Rejected { .. } => panic!("queues are long"),
        }
    }
    server.now = ms(10_000);
    server.adjust();
    server.take_woken();
    let (id, _) = server.wait("lender");
    server.leave(handles.remove(0));
    assert!(server.take_woken().is_empty(), "the seat lingers");
    server.now = ms(10_006);
    drop(server.admit("borrower"));
    assert_eq!(server.take_woken(), [id]);
}

/// A level that rejects never has anyone waiting to claim seats for.
#[test]
fn a_level_that_rejects_gets_its_idle_seats_back_at_once() {
    let levels = vec![
        lending("borrower", 50, 100, queuing(4, 1, 100)),
        lending("rejecting", 50, 100, Handling::Reject),
    ];
    let mut server = Server::new(config(levels), 20, Settings::default());
    let handles = forty(&mut server);
    server.now = ms(10_000);
    server.adjust();
    assert_eq!((server.limit("borrower"), server.limit("rejecting")), (20, 0));
    assert_eq!(
        server.rejected("rejecting"),
        Some(RejectReason::ConcurrencyLimit),
        "all are in use"
    );
    server.now = ms(20_000);
    server.adjust();
    assert!(server.limit("rejecting") > 0, "what was rejected is demand as well");
    handles.into_iter().for_each(|handle| server.leave(handle));
    server.runs("rejecting", 10);
    assert_eq!((server.limit("borrower"), server.limit("rejecting")), (10, 10));
    assert_eq!(server.rejected("rejecting"), Some(RejectReason::ConcurrencyLimit));
}
