//! `shuffle_deal.jsonl`: hands, and which sizes of hands are valid.

use evenkeel_fairness::shard::{Dealer, proposal, today};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Case {
    Deal { hash_value: String, deck_size: u32, hand_size: u32, hand: Value },
    Valid { deck_size: i64, hand_size: i64, accept_today: Value, accept_seed: Value },
}

pub(super) fn shuffle_deal(case: Value) -> Outcome {
    Ok(match serde_json::from_value(case)? {
        Case::Deal { hash_value, deck_size, hand_size, hand } => {
            diff("", &hand, &deal(&hash_value, deck_size, hand_size))
        }
        Case::Valid { deck_size, hand_size, accept_today, accept_seed } => {
            let accepted = |rule: fn(u32, u32) -> bool| match (deck_size, hand_size) {
                (0.., 0..) => rule(size(deck_size), size(hand_size)),
                _ => false,
            };
            let expected = json!({ "today": accept_today, "seed": accept_seed });
            diff("", &expected, &json!({ "today": accepted(today), "seed": accepted(proposal) }))
        }
    })
}

fn deal(hash: &str, queues: u32, hand_size: u32) -> Value {
    match (hash.parse(), Dealer::new(queues, hand_size)) {
        (Ok(hash), Ok(dealer)) => json!(*dealer.deal(hash)),
        (Err(problem), _) => json!(format!("{hash}: {problem}")),
        (_, Err(problem)) => json!(problem.to_string()),
    }
}

/// Sizes beyond the range are as invalid as its end.
fn size(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
