//! Whether levels have seats enough at a given size of the server.

use super::{Dialect, Finding};
use crate::{
    config::{Config, Handling, Level},
    limits::{Limits, nominal},
    width::MAX_CHANGE_SEATS,
};

/// Findings about levels that requests are sent to. Implied levels are left out.
pub(in crate::dialect) fn lint_seats(
    config: &Config,
    dialect: Dialect,
    server_limit: u32,
) -> Vec<Finding> {
    let Ok(limits) = nominal::limits(config.levels.iter(), server_limit) else { return Vec::new() };
    let shares: u64 = config.levels.iter().map(|level| u64::from(level.shares)).sum();
    let is_used = |number: usize| config.schemas.iter().any(|schema| schema.level == number);
    let mut findings = Vec::new();
    for (number, (level, limits)) in config.levels.iter().zip(&limits).enumerate() {
        let limited = level.handling != Handling::Exempt && level.shares > 0;
        if level.implied || !limited || !is_used(number) {
            continue;
        }
        if limits.nominal == 1 {
            let needed = least_limit(level, shares, 2).unwrap_or(u32::MAX);
            findings.push(Finding::SingleSeat {
                level: level.name.to_string(),
                server_limit,
                needed,
            });
        }
        // How wide requests are is known of Kubernetes' only.
        if dialect == Dialect::Kubernetes {
            findings.extend(narrow(level, limits, shares));
            findings.extend(wide_rejected(level, limits, server_limit));
        }
    }
    findings
}

/// The level has several seats and none of its requests may take more than one.
fn narrow(level: &Level, limits: &Limits, shares: u64) -> Option<Finding> {
    let Handling::Queue(queuing) = level.handling else { return None };
    let is_narrow = limits.nominal > 1 && limits.max_seats == Some(1);
    is_narrow.then(|| Finding::OneSeatPerRequest {
        level: level.name.to_string(),
        seats: limits.nominal,
        hand_size: queuing.hand_size,
        // More than 6 seats, so that 15 % are more than one, and two for each queue of a hand.
        needed: least_limit(level, shares, queuing.hand_size.saturating_mul(2).max(7)),
    })
}

fn wide_rejected(level: &Level, limits: &Limits, server_limit: u32) -> Option<Finding> {
    let rejects = level.handling == Handling::Reject && limits.max < MAX_CHANGE_SEATS;
    rejects.then(|| Finding::WideRequestsRejected {
        level: level.name.to_string(),
        server_limit,
        max: limits.max,
        widest: MAX_CHANGE_SEATS,
    })
}

/// The smallest size of the server at which a level has `seats`: the least C with
/// ⌈C · shares / S⌉ ≥ seats.
fn least_limit(level: &Level, all_shares: u64, seats: u32) -> Option<u32> {
    let least = u64::from(seats - 1) * all_shares / u64::from(level.shares) + 1;
    u32::try_from(least).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Predicate, Queuing, Schema};

    fn level(name: &str, shares: u32, handling: Handling) -> Level {
        Level {
            name: name.into(),
            uid: "".into(),
            shares,
            lendable_percent: 0,
            borrowing_limit_percent: Some(0),
            handling,
            implied: false,
        }
    }

    /// With a schema for each level but the last.
    fn config(levels: Vec<Level>) -> Config {
        let schema = |level: usize| Schema {
            name: "s".into(),
            uid: "".into(),
            precedence: 1,
            level,
            distinguisher: None,
            predicate: Predicate::Match(Vec::new()),
            implied: false,
        };
        let schemas = (0..levels.len() - 1).map(schema).collect();
        Config { levels, schemas, fallback: 0 }
    }

    fn queue(hand_size: u32) -> Handling {
        Handling::Queue(Queuing { queues: 64, hand_size, queue_length_limit: 50 })
    }

    fn codes(config: &Config, dialect: Dialect, server_limit: u32) -> Vec<(&'static str, String)> {
        let findings = lint_seats(config, dialect, server_limit);
        findings.iter().map(|finding| (finding.code(), finding.to_string())).collect()
    }

    #[test]
    fn levels_that_are_too_small_for_the_server_are_found_with_the_number_that_is_enough() {
        let levels = vec![
            level("one", 1, queue(8)),
            level("ten", 10, queue(8)),
            level("most", 989, queue(8)),
            level("exempt", 0, Handling::Exempt),
            level("unused", 1, queue(8)),
        ];
        let config = config(levels);
        let found = codes(&config, Dialect::Kubernetes, 600);
        let expected = [("SingleSeat", "1002"), ("OneSeatPerRequest", "1502")];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((code, sentence), (expected, number)) in found.iter().zip(expected) {
            assert_eq!(*code, expected, "{found:?}");
            assert!(sentence.contains(number), "{sentence}");
        }
        // At the numbers that the sentences name, they are gone.
        let large_enough = codes(&config, Dialect::Kubernetes, 1502);
        assert_eq!(large_enough.len(), 1, "{large_enough:?}");
        assert!(large_enough[0].1.contains("priority level one has 2 seats"), "{large_enough:?}");
        let own = codes(&config, Dialect::Proposal, 600);
        assert_eq!(own.len(), 1, "a server of its own says how wide requests are: {own:?}");
    }

    /// 20 seats, of which a hand of 11 leaves one for each of its queues.
    #[test]
    fn a_hand_that_is_too_large_for_the_seats_is_found_with_one_that_is_not() {
        let with_hand = |hand| config(vec![level("a", 10, queue(hand)), level("b", 10, queue(1))]);
        let found = codes(&with_hand(11), Dialect::Kubernetes, 40);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "OneSeatPerRequest");
        assert!(found[0].1.ends_with("choose a handSize of at most 10"), "{found:?}");
        assert_eq!(codes(&with_hand(10), Dialect::Kubernetes, 40), []);
    }

    #[test]
    fn a_level_that_rejects_needs_seats_for_the_widest_request() {
        let small = || level("small", 1, Handling::Reject);
        let borrows = Level { borrowing_limit_percent: None, ..small() };
        for (small, found) in [(small(), 1), (borrows, 0)] {
            let config =
                config(vec![small, level("most", 99, queue(6)), level("rest", 1, queue(6))]);
            let codes = codes(&config, Dialect::Kubernetes, 600);
            assert_eq!(codes.len(), found, "{codes:?}");
            assert!(codes.iter().all(|(code, _)| *code == "WideRequestsRejected"), "{codes:?}");
        }
    }
}
