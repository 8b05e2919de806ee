//! What Kubernetes fills in where a field is absent. Zero counts as absent where the field is not
//! optional, as it can't be told from it there.

use super::object::{Exempt, FlowSchemaSpec, Limited, PriorityLevelSpec, QueuingConfiguration};

impl FlowSchemaSpec {
    /// Fills in what is absent.
    pub fn set_defaults(&mut self) {
        or(&mut self.matching_precedence, 1000);
    }
}

impl PriorityLevelSpec {
    /// Fills in what is absent.
    pub fn set_defaults(&mut self) {
        if let Some(Limited {
            nominal_concurrency_shares, lendable_percent, limit_response, ..
        }) = &mut self.limited
        {
            nominal_concurrency_shares.get_or_insert(30);
            lendable_percent.get_or_insert(0);
            if let Some(queuing) = &mut limit_response.queuing {
                let QueuingConfiguration { queues, hand_size, queue_length_limit } = queuing;
                or(queues, 64);
                or(hand_size, 8);
                or(queue_length_limit, 50);
            }
        }
        if let Some(Exempt { nominal_concurrency_shares, lendable_percent }) = &mut self.exempt {
            nominal_concurrency_shares.get_or_insert(0);
            lendable_percent.get_or_insert(0);
        }
    }
}

fn or(value: &mut i32, default: i32) {
    if *value == 0 {
        *value = default;
    }
}
