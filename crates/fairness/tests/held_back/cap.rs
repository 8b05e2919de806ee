//! How many seats slow flows may hold, and when time alone gives them more.

use super::*;

#[test]
fn only_the_default_profile_tells_slow_flows_apart() {
    assert!(Settings::default().slow_flows.is_some());
    assert_eq!(Settings::kubernetes().slow_flows, None);
    assert_eq!(Settings::proposal().slow_flows, None);
}

#[test]
fn slow_flows_leave_seats_to_others_and_it_can_be_said_why() {
    let mut level = Level::new(4).that_knows_the_elephant();
    level.runs(MOUSE);
    let running = [level.runs(ELEPHANT), level.runs(ELEPHANT)];
    level.waits(ELEPHANT);
    level.waits(ELEPHANT);
    let slow = level.slow();
    assert_eq!((slow.waiting, slow.held_back, slow.seats_in_use, slow.cap), (2, 2, 2, Some(2)));
    assert_eq!(slow.to_string(), "2 held back: slow flows hold 2 of 2 seats");
    assert_eq!(level.set.dump().queues[0].slow_waiting, 2);
    let mouse = level.runs(MOUSE);
    level.pass(0.1);
    level.leave(mouse);
    assert!(level.woken.is_empty(), "the seat stays free for others");
    level.leave(running[0]);
    assert_eq!(level.woken.len(), 1, "the seat of a slow flow goes to a slow flow");
}

#[test]
fn all_slow_flows_together_are_held_to_the_cap() {
    let mut level = Level::new(10);
    let elephants: Vec<_> = (0..5).map(|flow| level.runs(8 * flow)).collect();
    level.pass(10.0);
    elephants.into_iter().for_each(|ticket| level.leave(ticket));
    level.runs(MOUSE);
    for flow in 0..5 {
        level.runs(8 * flow);
    }
    for flow in 0..5 {
        level.waits(8 * flow);
    }
    assert_eq!((level.slow().seats_in_use, level.slow().cap), (5, Some(5)));
}

#[test]
fn after_ten_quiet_seconds_time_alone_gives_them_all_seats() {
    let mut level = Level::new(4).that_knows_the_elephant();
    let mouse = level.runs(MOUSE);
    level.runs(ELEPHANT);
    level.runs(ELEPHANT);
    let held = [level.waits(ELEPHANT), level.waits(ELEPHANT)];
    level.pass(0.5);
    level.leave(mouse);
    let opens = level.now + Duration::from_secs(10);
    assert_eq!(level.set.next_deadline(), Some(opens));
    level.now = Time(opens.0 - 1);
    level.tick();
    assert!(level.woken.is_empty());
    level.now = opens;
    level.tick();
    assert_eq!(level.woken.len(), 2);
    for ticket in held {
        assert_eq!(level.set.verdict(ticket, |_| panic!("it waits")), Verdict::Dispatched);
    }
    assert_eq!(level.set.next_deadline(), None, "nothing is left to wait for");
}

#[test]
fn as_the_demand_of_others_is_forgotten_time_alone_gives_them_seats() {
    let mut level = Level::new(10).that_knows_the_elephant();
    level.others(8, 80);
    level.runs(ELEPHANT);
    level.waits(ELEPHANT);
    let (from, deadline) = (level.now, level.set.next_deadline().expect("the mean decays"));
    assert!(deadline > from && deadline < from + Duration::from_secs(10), "{deadline:?}");
    let mut ticks = 0;
    while level.woken.is_empty() {
        level.now = level.set.next_deadline().expect("one is still held back");
        level.tick();
        ticks += 1;
    }
    assert!(level.now < from + Duration::from_secs(10) && ticks <= 2, "{ticks} ticks");
}

#[test]
fn a_timer_never_fires_again_at_once() {
    let mut level = Level::new(10).that_knows_the_elephant();
    level.others(8, 80);
    level.runs(ELEPHANT);
    for _ in 0..9 {
        level.waits(ELEPHANT);
    }
    let mut ticks = 0;
    while let Some(deadline) = level.set.next_deadline() {
        assert!(deadline > level.now, "a timer that is due does what is due");
        level.now = deadline;
        level.tick();
        ticks += 1;
        assert!(ticks < 30, "a handful of timers is enough");
    }
    assert_eq!(level.set.waiting(), 0, "all seats are theirs in the end");
}

#[test]
fn a_flow_that_is_alone_is_not_held_back() {
    let mut level = Level::new(4);
    let first: Vec<_> = (0..4).map(|_| level.runs(ELEPHANT)).collect();
    for _ in 0..4 {
        level.waits(ELEPHANT);
    }
    level.pass(10.0);
    first.into_iter().for_each(|ticket| level.leave(ticket));
    assert_eq!((level.woken.len(), level.set.seats_in_use()), (4, 4));
}

#[test]
fn a_level_of_one_seat_serves_slow_flows_too() {
    let mut level = Level::new(1).that_knows_the_elephant();
    let mouse = level.runs(MOUSE);
    level.pass(0.1);
    level.leave(mouse);
    let elephant = level.runs(ELEPHANT);
    level.waits(MOUSE);
    level.waits(ELEPHANT);
    level.pass(10.0);
    level.leave(elephant);
    assert_eq!(level.woken, [4], "the mouse waited longer");
}

#[test]
fn a_slow_request_wider_than_the_cap_goes_when_no_other_slow_one_runs() {
    let mut level = Level::new(4).that_knows_the_elephant();
    level.runs(MOUSE);
    let slow = level.runs(ELEPHANT);
    let wide = Arrival { flow: ELEPHANT, width: Width::seats(3), ..Arrival::default() };
    assert!(matches!(level.arrive(wide), Outcome::Waiting(_)));
    level.pass(0.1);
    level.leave(slow);
    assert_eq!((level.woken.len(), level.set.seats_in_use()), (1, 4));
}
