//! Storms leave nothing behind, and old tickets are worth nothing.

use evenkeel_fairness::{
    Settings, Time,
    queues::{
        Arrival, Outcome, QueueSet, SeatLimit, Ticket, Verdict,
        stats::{RejectReason, SchemaStats},
    },
};

use crate::support::{PROFILES, Rng, queuing};

fn level(limit: u32, settings: &Settings) -> QueueSet<u64> {
    let seats = SeatLimit { limit, nominal: limit };
    let mut set = QueueSet::new(Time(0), queuing(16, 4, 50), seats, settings);
    set.schemas_mut().push(SchemaStats::default());
    set
}

/// A storm: up to 200 requests at once, nearly all of which go away before they are served or wait
/// for too long.
fn storm(set: &mut QueueSet<u64>, rng: &mut Rng, from: u64, rounds: u64) {
    let (mut tickets, mut woken) = (Vec::with_capacity(200), Vec::with_capacity(400));
    for round in from..from + rounds {
        let now = Time(round * 1_000);
        for _ in 0..200 {
            let wait_until =
                if rng.chance(30) { Time(now.0 + rng.below(1_000)) } else { Time::MAX };
            let arrival = Arrival { flow: rng.next(), wait_until, ..Arrival::default() };
            match set.arrive(now, arrival, || round, &mut woken) {
                Outcome::Dispatched(ticket) | Outcome::Waiting(ticket) => tickets.push(ticket),
                Outcome::Rejected(_) => {}
            }
        }
        let end = Time(now.0 + 999);
        set.tick(end, 0, &mut woken);
        while !tickets.is_empty() {
            let ticket: Ticket = tickets.swap_remove(rng.below(tickets.len() as u64) as usize);
            set.leave(end, ticket, 0, &mut woken);
        }
        woken.clear();
        assert!(set.is_idle() && set.next_deadline().is_none(), "round {round}");
    }
}

#[test]
fn cancellation_storms_use_the_same_memory_again() {
    for settings in PROFILES {
        let mut set = level(3, &settings());
        let mut rng = Rng::new(1);
        storm(&mut set, &mut rng, 0, 20);
        let info = allocation_counter::measure(|| storm(&mut set, &mut rng, 20, 200));
        // What is freed and what is new balance but for nodes of the trees and the wakers' list.
        assert!(info.bytes_current.abs() < 4_096, "{} bytes are left", info.bytes_current);
    }
}

#[test]
fn a_ticket_is_not_valid_for_the_next_request_in_its_slot() {
    for settings in PROFILES {
        let mut set = level(1, &settings());
        let mut woken = Vec::new();
        let mut arrive = |set: &mut QueueSet<u64>, id| {
            set.arrive(Time(0), Arrival::default(), || id, &mut woken)
        };
        let Outcome::Dispatched(first) = arrive(&mut set, 1) else { panic!("a seat is free") };
        let Outcome::Waiting(second) = arrive(&mut set, 2) else { panic!("no seat is free") };
        let mut woken = Vec::new();
        set.leave(Time(1), second, 0, &mut woken);
        let third = set.arrive(Time(1), Arrival::default(), || 3, &mut woken);
        let Outcome::Waiting(third) = third else { panic!("no seat is free") };
        set.leave(Time(2), second, 0, &mut woken);
        let stale = set.verdict(second, |_| panic!("it has left"));
        assert_eq!(stale, Verdict::Rejected(RejectReason::Cancelled));
        assert_eq!(set.verdict(third, |old| old.expect("it waits")), Verdict::Waiting);
        assert_eq!(set.leave(Time(3), first, 0, &mut woken), 0);
        set.leave(Time(3), first, 0, &mut woken);
        assert_eq!((woken, set.executing(), set.waiting()), (vec![3], 1, 0));
    }
}
