//! Specs of priority levels, except what `declared` checks.

use super::{BadValue, Errors};
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
    let type_ = spec.r#type.as_str();
    if (name == EXEMPT) != (type_ == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.invalid("spec.type", BadValue::json(type_), detail);
    }
    match type_ {
        "Exempt" => {
            if let Some(exempt) = &spec.exempt {
                self::exempt(exempt, errors);
            }
        }
        "Limited" => {
            if let Some(limited) = &spec.limited {
                self::limited(limited, errors);
            }
        }
        "" => {}
        _ => errors.not_supported("spec.type", BadValue::json(type_), &["Exempt", "Limited"]),
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
    if let Some(percent) = limited.borrowing_limit_percent.filter(|percent| *percent < 0) {
        let detail = "if specified, must be a non-negative integer";
        errors.invalid("spec.limited.borrowingLimitPercent", BadValue::json(&percent), detail);
    }
}

fn shares(of: &str, shares: Option<i32>, errors: &mut Errors) {
    if let Some(shares) = shares.filter(|shares| *shares < 0) {
        let field = format!("{of}.nominalConcurrencyShares");
        errors.invalid(field, BadValue::json(&shares), "must be a non-negative integer");
    }
}

fn lendable(of: &str, percent: Option<i32>, errors: &mut Errors) {
    if let Some(percent) = percent.filter(|percent| !(0..=100).contains(percent)) {
        let field = format!("{of}.lendablePercent");
        errors.invalid(field, BadValue::json(&percent), "must be between 0 and 100, inclusive");
    }
}

fn response(response: &LimitResponse, errors: &mut Errors) {
    match (response.r#type.as_str(), &response.queuing) {
        ("Queue", Some(queuing)) => self::queuing(queuing, errors),
        ("" | "Reject" | "Queue", _) => {}
        (other, _) => {
            let field = "spec.limited.limitResponse.type";
            errors.not_supported(field, BadValue::json(other), &["Queue", "Reject"]);
        }
    }
}

fn queuing(queuing: &QueuingConfiguration, errors: &mut Errors) {
    let QueuingConfiguration { queues, hand_size, queue_length_limit } = *queuing;
    let mut invalid = |name: &str, value: i32, detail: String| {
        let field = format!("spec.limited.limitResponse.queuing.{name}");
        errors.invalid(field, BadValue::json(&value), detail);
    };
    if queue_length_limit <= 0 {
        invalid("queueLengthLimit", queue_length_limit, "must be positive".to_owned());
    }
    if queues <= 0 {
        invalid("queues", queues, "must be positive".to_owned());
    } else if queues > MAX_QUEUES {
        invalid("queues", queues, format!("must not be greater than {MAX_QUEUES}"));
    }
    if hand_size <= 0 {
        invalid("handSize", hand_size, "must be positive".to_owned());
    } else if hand_size > queues {
        invalid("handSize", hand_size, format!("should not be greater than queues ({queues})"));
    } else if needs_too_many_bits(queues, hand_size) {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand_size} should not be greater than 60"
        );
        invalid("handSize", hand_size, detail);
    }
}

/// Asked only of a hand within the deck. A deck beyond those that are dealt from is rejected
/// already, and then counts for its bits alone.
fn needs_too_many_bits(queues: i32, hand_size: i32) -> bool {
    !shard::fits_in_hash(queues.unsigned_abs(), hand_size.unsigned_abs())
}
