//! Limits and queues that change, and flows that come and go.

use super::*;

#[test]
fn a_limit_that_rises_lets_more_of_them_go_at_once() {
    let mut level = Level::new(4).that_knows_the_elephant();
    level.runs(MOUSE);
    level.runs(ELEPHANT);
    level.runs(ELEPHANT);
    for _ in 0..8 {
        level.waits(ELEPHANT);
    }
    level.set.set_seats(level.now, SeatLimit { limit: 10, nominal: 10 }, &mut level.woken);
    assert_eq!((level.woken.len(), level.slow().seats_in_use), (3, 5));
    level.set.reconfigure(level.now, Handling::Exempt, level.set.seats(), &mut level.woken);
    assert_eq!((level.woken.len(), level.set.waiting()), (8, 0), "an exempt level holds nobody");
}

/// A hundred cheap requests a second hold more seat-time than one that takes two seconds.
#[test]
fn one_long_request_does_not_make_a_busy_flow_slow() {
    let mut level = Level::new(20);
    let long = level.runs(MOUSE);
    for _ in 0..20 {
        level.others(9, 1);
    }
    level.leave(long);
    for _ in 0..20 {
        let running: Vec<_> = (0..9).map(|_| level.runs(MOUSE)).collect();
        level.pass(0.1);
        running.into_iter().for_each(|ticket| level.leave(ticket));
    }
    level.others(1, 1);
    let again = level.runs(MOUSE);
    level.pass(0.5);
    level.leave(again);
    assert_eq!(level.slow().seats_in_use, 0);
    assert!(level.now > Time(SECOND));
}

/// Each of the names is a flow that nobody knows, and slow; the elephant was for longer.
#[test]
fn thousands_of_slow_flows_are_forgotten_before_one_that_held_seats_for_long() {
    let mut level = Level::new(20).that_knows_the_elephant();
    for name in 0..500 {
        let tickets: Vec<_> = (0..10).map(|n| level.runs(MOUSE + 8 * (10 * name + n))).collect();
        level.pass(1.5);
        tickets.into_iter().for_each(|ticket| level.leave(ticket));
        // The elephant's seat-time loses half of its weight in five minutes.
        if name % 100 == 99 {
            let ticket = level.runs(ELEPHANT);
            level.pass(10.0);
            level.leave(ticket);
        }
    }
    assert_eq!(level.slow().remembered, 1024);
    level.runs(MOUSE + 80_000);
    let running = (0..15).filter(|_| matches!(level.send(ELEPHANT), Outcome::Dispatched(_)));
    assert_eq!((running.count(), level.slow().cap), (10, Some(10)), "it is known still");
}

/// A limit that falls below what slow flows hold takes nothing away; one that rises lets them go on.
#[test]
fn a_limit_that_falls_holds_slow_flows_back_until_they_have_fewer() {
    let mut level = Level::new(10).that_knows_the_elephant();
    level.runs(MOUSE);
    let mut running: Vec<_> = (0..5).map(|_| level.runs(ELEPHANT)).collect();
    level.waits(ELEPHANT);
    level.set.set_seats(level.now, SeatLimit { limit: 4, nominal: 4 }, &mut level.woken);
    assert_eq!((level.slow().seats_in_use, level.slow().cap), (5, Some(2)));
    for left in [4, 3, 2] {
        level.leave(running.pop().expect("one runs"));
        assert_eq!((level.slow().seats_in_use, level.woken.len()), (left, 0));
    }
    level.leave(running.pop().expect("one runs"));
    assert_eq!((level.slow().seats_in_use, level.woken.len()), (2, 1));
}

/// All wait in one queue, then in eight: each is where it was, and goes in the end.
#[test]
fn other_queues_lose_nobody_who_is_held_back() {
    let one = Queuing { queues: 1, hand_size: 1, queue_length_limit: 20 };
    let mut level = Level::with(one, 4).that_knows_the_elephant();
    let mouse = level.runs(MOUSE);
    let running = [level.runs(ELEPHANT), level.runs(ELEPHANT)];
    for _ in 0..3 {
        level.waits(ELEPHANT);
    }
    for queues in [8, 1, 3] {
        let queuing = Queuing { queues, ..one };
        let handling = Handling::Queue(queuing);
        level.set.reconfigure(level.now, handling, level.set.seats(), &mut level.woken);
        assert_eq!((level.slow().waiting, level.slow().held_back), (3, 3), "{queues} queues");
    }
    level.pass(0.5);
    level.leave(mouse);
    running.into_iter().for_each(|ticket| level.leave(ticket));
    assert_eq!((level.woken.len(), level.slow().waiting), (2, 1));
}
