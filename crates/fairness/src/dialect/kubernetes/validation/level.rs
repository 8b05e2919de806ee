//! Specs of priority levels.

use super::Errors;
use crate::{
    dialect::kubernetes::{
        defaults::EXEMPT,
        object::{Exempt, LimitResponse, Limited, PriorityLevelSpec, QueuingConfiguration},
    },
    shard,
};

/// More queues than this are rejected though they could be dealt from.
const MAX_QUEUES: i32 = 10_000_000;

pub(super) fn spec(name: &str, spec: &PriorityLevelSpec, errors: &mut Errors) {
    if (name == EXEMPT) != (spec.r#type == "Exempt") {
        errors.invalid("spec.type", "the level named exempt is of type Exempt, and no other is");
    }
    match spec.r#type.as_str() {
        "Exempt" => {
            if spec.limited.is_some() {
                errors.forbidden("spec.limited", "only for type Limited");
            }
            if let Some(exempt) = &spec.exempt {
                self::exempt(exempt, errors);
            }
        }
        "Limited" => {
            if spec.exempt.is_some() {
                errors.forbidden("spec.exempt", "only for type Exempt");
            }
            match &spec.limited {
                Some(limited) => self::limited(limited, errors),
                None => errors.required("spec.limited", "needed for type Limited"),
            }
        }
        "" => errors.required("spec.type", "Exempt or Limited"),
        _ => errors.not_supported("spec.type", &["Exempt", "Limited"]),
    }
}

fn exempt(exempt: &Exempt, errors: &mut Errors) {
    shares("spec.exempt", exempt.nominal_concurrency_shares, errors);
    lendable("spec.exempt", exempt.lendable_percent, errors);
}

fn limited(limited: &Limited, errors: &mut Errors) {
    shares("spec.limited", limited.nominal_concurrency_shares, errors);
    response(&limited.limit_response, errors);
    lendable("spec.limited", limited.lendable_percent, errors);
    if limited.borrowing_limit_percent.is_some_and(|percent| percent < 0) {
        errors.invalid("spec.limited.borrowingLimitPercent", "must not be negative");
    }
}

fn shares(of: &str, shares: Option<i32>, errors: &mut Errors) {
    if shares.is_some_and(|shares| shares < 0) {
        errors.invalid(format!("{of}.nominalConcurrencyShares"), "must not be negative");
    }
}

fn lendable(of: &str, percent: Option<i32>, errors: &mut Errors) {
    if percent.is_some_and(|percent| !(0..=100).contains(&percent)) {
        errors.invalid(format!("{of}.lendablePercent"), "must be from 0 to 100");
    }
}

fn response(response: &LimitResponse, errors: &mut Errors) {
    const FIELD: &str = "spec.limited.limitResponse";
    match (response.r#type.as_str(), &response.queuing) {
        ("Reject", Some(_)) => {
            errors.forbidden(format!("{FIELD}.queuing"), "only for type Queue");
        }
        ("Reject", None) => {}
        ("Queue", Some(queuing)) => self::queuing(queuing, errors),
        ("Queue", None) => {
            errors.required(format!("{FIELD}.queuing"), "needed for type Queue");
        }
        ("", _) => errors.required(format!("{FIELD}.type"), "Queue or Reject"),
        _ => errors.not_supported(format!("{FIELD}.type"), &["Queue", "Reject"]),
    }
}

fn queuing(queuing: &QueuingConfiguration, errors: &mut Errors) {
    const FIELD: &str = "spec.limited.limitResponse.queuing";
    let QueuingConfiguration { queues, hand_size, queue_length_limit } = *queuing;
    if queue_length_limit <= 0 {
        errors.invalid(format!("{FIELD}.queueLengthLimit"), "must be positive");
    }
    if queues <= 0 {
        errors.invalid(format!("{FIELD}.queues"), "must be positive");
    } else if queues > MAX_QUEUES {
        errors.invalid(format!("{FIELD}.queues"), format!("must be at most {MAX_QUEUES}"));
    }
    let hand = if hand_size <= 0 {
        "must be positive"
    } else if hand_size > queues {
        "must not be greater than queues"
    } else if needs_too_many_bits(queues, hand_size) {
        "log2(queues) * handSize must be at most 60"
    } else {
        return;
    };
    errors.invalid(format!("{FIELD}.handSize"), hand);
}

/// Asked only of a hand within the deck. A deck beyond those that are dealt from is rejected
/// already, and then counts for its bits alone.
fn needs_too_many_bits(queues: i32, hand_size: i32) -> bool {
    !shard::fits_in_hash(queues.unsigned_abs(), hand_size.unsigned_abs())
}
