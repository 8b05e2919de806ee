//! What requests that are held back do to others, and others to them.

use super::*;

/// All flows share one queue.
#[test]
fn who_is_held_back_blocks_nobody_behind_it_and_takes_no_room() {
    let one = Queuing { queues: 1, hand_size: 1, queue_length_limit: 2 };
    let mut level = Level::with(one, 4).that_knows_the_elephant();
    level.runs(MOUSE);
    level.runs(ELEPHANT);
    level.runs(ELEPHANT);
    level.waits(ELEPHANT);
    level.waits(ELEPHANT);
    assert_eq!(level.send(ELEPHANT), Outcome::Rejected(RejectReason::QueueFull), "a seat is free");
    let mouse = level.runs(MOUSE);
    level.waits(MOUSE);
    level.waits(MOUSE);
    assert_eq!(level.send(MOUSE), Outcome::Rejected(RejectReason::QueueFull));
    level.pass(0.1);
    level.leave(mouse);
    assert_eq!(level.woken, [9], "the first mouse, past the elephants");
}

#[test]
fn who_is_held_back_claims_no_lent_seats_and_is_no_demand() {
    let mut level = Level::new(8).that_knows_the_elephant();
    level.set.set_seats(level.now, SeatLimit { limit: 4, nominal: 8 }, &mut level.woken);
    level.runs(MOUSE);
    level.runs(ELEPHANT);
    level.runs(ELEPHANT);
    for _ in 0..5 {
        level.waits(ELEPHANT);
    }
    level.set.take_demand(level.now);
    assert_eq!(level.set.claim(), 0);
    assert_eq!(level.set.take_demand(level.now).high_watermark, 3);
    level.runs(MOUSE);
    level.waits(MOUSE);
    assert_eq!(level.set.claim(), 1, "a mouse that waits does");
}

#[test]
fn a_slow_reader_gives_its_place_to_the_next_slow_request() {
    let mut level = Level::new(4).that_knows_the_elephant();
    level.others(1, 2);
    let reader = level.runs(ELEPHANT);
    level.runs(ELEPHANT);
    level.waits(ELEPHANT);
    level.set.respond(level.now, reader);
    // Others stay active until then.
    for _ in 0..20 {
        level.others(1, 1);
    }
    level.tick();
    assert_eq!((level.woken.len(), level.slow().seats_in_use), (1, 2));
    level.leave(reader);
    assert_eq!(level.slow().seats_in_use, 2, "its seat was given up before");
}

#[test]
fn who_is_held_back_may_give_up_or_wait_for_too_long() {
    let mut level = Level::new(4).that_knows_the_elephant();
    level.runs(MOUSE);
    level.runs(ELEPHANT);
    level.runs(ELEPHANT);
    let cancelled = level.waits(ELEPHANT);
    let wait_until = level.now + Duration::from_millis(500);
    let late = Arrival { flow: ELEPHANT, wait_until, ..Arrival::default() };
    let Outcome::Waiting(late) = level.arrive(late) else { panic!("it is held back") };
    level.leave(cancelled);
    assert_eq!(level.slow().held_back, 1);
    level.now = wait_until;
    level.tick();
    let verdict = level.set.verdict(late, |_| panic!("it waits"));
    assert_eq!(verdict, Verdict::Rejected(RejectReason::TimeOut));
    assert_eq!((level.slow().waiting, level.set.waiting(), level.set.seats_waiting()), (0, 0, 0));
}
