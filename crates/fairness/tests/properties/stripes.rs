//! Statistics that were counted in stripes add up to those that were counted in one place.

use evenkeel_fairness::{
    Settings, Time, Width,
    queues::{
        Arrival, Outcome, QueueSet, SeatLimit, Ticket,
        stats::{LevelStats, SchemaStats},
    },
    stripes::STRIPES,
};

use crate::{
    default_settings,
    support::{MS, Rng, for_seeds, queuing},
};

const SCHEMAS: u32 = 3;

/// A run of random events, all from one stripe or each from a random one. Both draw the same numbers.
fn run(seed: u64, settings: &Settings, striped: bool) -> (Vec<SchemaStats>, LevelStats) {
    let mut rng = Rng::new(seed);
    let handling = queuing(4, 2, rng.within(1..6) as u32);
    let seats = SeatLimit { limit: 3, nominal: 4 };
    let mut set = QueueSet::new(Time(0), handling, seats, settings);
    set.schemas_mut().resize_with(SCHEMAS as usize, SchemaStats::default);
    let (mut now, mut tickets, mut woken) = (Time(0), Vec::new(), Vec::new());
    for _ in 0..200 {
        let stripe = rng.below(STRIPES as u64) as usize;
        set.use_stripe(if striped { stripe } else { 0 });
        now = Time(now.0 + rng.below(20 * MS));
        step(&mut set, &mut rng, now, &mut tickets, &mut woken);
    }
    (set.schemas(), set.stats(now))
}

fn step(
    set: &mut QueueSet<()>,
    rng: &mut Rng,
    now: Time,
    tickets: &mut Vec<Ticket>,
    woken: &mut Vec<()>,
) {
    match rng.below(10) {
        0..5 => {
            let arrival = Arrival {
                flow: rng.below(9),
                width: Width::seats(rng.within(1..4) as u32),
                wait_until: Time(now.0 + rng.below(60 * MS)),
                schema: rng.below(SCHEMAS.into()) as u32,
                watch: rng.chance(20),
            };
            match set.arrive(now, arrival, || (), woken) {
                Outcome::Dispatched(ticket) | Outcome::Waiting(ticket) => tickets.push(ticket),
                Outcome::Rejected(_) => {}
            }
        }
        5 => {
            set.tick(now, 0, woken);
        }
        _ if tickets.is_empty() => {}
        6 => set.respond(now, tickets[rng.below(tickets.len() as u64) as usize]),
        _ => {
            let ticket = tickets.swap_remove(rng.below(tickets.len() as u64) as usize);
            set.leave(now, ticket, 0, woken);
        }
    }
}

#[test]
fn statistics_in_stripes_add_up_to_those_counted_in_one_place() {
    for_seeds(0..1_000, |seed| {
        let settings = default_settings();
        let (striped, whole) = (run(seed, &settings, true), run(seed, &settings, false));
        assert_eq!(format!("{striped:#?}"), format!("{whole:#?}"), "seed {seed}");
        let counted: u64 = whole.0.iter().map(|stats| stats.seats.count()).sum();
        assert!(counted > 0, "seed {seed}: nothing arrived");
    });
}
