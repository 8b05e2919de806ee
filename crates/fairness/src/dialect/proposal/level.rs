//! One level, checked.

use super::{
    fault::Fault,
    object::{RequestPriority, RequestPrioritySpec},
};
use crate::{
    config::{Handling, Level, Queuing},
    dialect::{Located, Problem},
    shard,
};

/// The level, or what is wrong with it. Nothing is lent or borrowed: the proposal knows neither.
pub(super) fn compile(located: &Located<RequestPriority>) -> Result<Level, Vec<Problem>> {
    let spec = &located.object.spec;
    let mut faults = Vec::new();
    if located.object.metadata.name.is_empty() {
        faults.push(("metadata.name", Fault::EmptyName));
    }
    let handling = if spec.exempt {
        no_limits(spec, &mut faults);
        Handling::Exempt
    } else {
        Handling::Queue(queuing(spec, &mut faults))
    };
    if !faults.is_empty() {
        let at = |(field, fault)| Problem::at(&located.location, field, fault);
        return Err(faults.into_iter().map(at).collect());
    }
    Ok(Level {
        name: located.object.metadata.name.as_str().into(),
        uid: located.object.metadata.uid.as_str().into(),
        shares: spec.assured_concurrency_shares.unwrap_or(0),
        lendable_percent: 0,
        borrowing_limit_percent: Some(0),
        handling,
        implied: false,
    })
}

type Faults = Vec<(&'static str, Fault)>;

fn no_limits(spec: &RequestPrioritySpec, faults: &mut Faults) {
    let limits = [
        ("spec.assuredConcurrencyShares", spec.assured_concurrency_shares),
        ("spec.queues", spec.queues),
        ("spec.handSize", spec.hand_size),
        ("spec.queueLengthLimit", spec.queue_length_limit),
    ];
    let present = limits.into_iter().filter(|(_, value)| value.is_some());
    faults.extend(present.map(|(field, _)| (field, Fault::NotOfExempt)));
}

fn queuing(spec: &RequestPrioritySpec, faults: &mut Faults) -> Queuing {
    if spec.assured_concurrency_shares.is_none() {
        faults.push(("spec.assuredConcurrencyShares", Fault::NeededUnlessExempt));
    }
    let queues = positive("spec.queues", spec.queues, faults);
    let queue_length_limit = positive("spec.queueLengthLimit", spec.queue_length_limit, faults);
    let hand_size = match spec.hand_size {
        None if queues > 1 => {
            faults.push(("spec.handSize", Fault::HandNeeded));
            1
        }
        None => 1,
        hand_size => positive("spec.handSize", hand_size, faults),
    };
    if queues > shard::MAX_QUEUES {
        faults.push(("spec.queues", Fault::TooManyQueues { queues, limit: shard::MAX_QUEUES }));
    }
    if faults.is_empty() && !shard::proposal(queues, hand_size) {
        faults.push(("spec.handSize", Fault::Undealable { queues, hand_size }));
    }
    Queuing { queues, hand_size, queue_length_limit }
}

fn positive(field: &'static str, value: Option<u32>, faults: &mut Faults) -> u32 {
    let fault = match value {
        None => Fault::NeededUnlessExempt,
        Some(0) => Fault::NotPositive,
        Some(value) => return value,
    };
    faults.push((field, fault));
    1
}
