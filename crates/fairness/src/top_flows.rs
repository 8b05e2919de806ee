//! The heaviest flows, in bounded memory.
//!
//! Each of K slots counts one flow. A flow without a slot takes that of the least weight, and
//! inherits its weight as its possible error. So no weight shown is too small, none is too large by
//! more than its error, no error exceeds W/K for W the total, and every flow whose true weight
//! exceeds W/K has a slot.
//!
//! Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
//! Data Streams", 2005 (Space-Saving). Bound: O(K) time and memory; K is small, so a scan of the
//! hashes beats the paper's linked buckets. A flow that has a slot allocates nothing.

use std::{
    cmp::Reverse,
    fmt::{self, Display, Write},
};

/// How many flows are kept by default.
pub const DEFAULT_FLOWS: usize = 32;

/// The maximum length of labels in bytes; longer ones are truncated.
pub const MAX_LABEL: usize = 120;

/// Weighs flows and keeps the heaviest.
#[derive(Clone, Debug)]
pub struct TopFlows {
    capacity: usize,
    /// The hash of each slot's flow, apart from the rest so that the scan is short.
    hashes: Vec<u64>,
    slots: Vec<Slot>,
    total: u64,
}

/// A flow and its weight. Its true weight is in `weight - error ..= weight`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TopFlow<'t> {
    pub hash: u64,
    pub weight: u64,
    pub error: u64,
    /// Cut to [`MAX_LABEL`] bytes.
    pub label: &'t str,
}

#[derive(Clone, Debug)]
struct Slot {
    weight: u64,
    error: u64,
    label: Label,
}

#[derive(Clone, Debug)]
struct Label(String);

impl TopFlows {
    /// Keeps up to `capacity` flows, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let (hashes, slots) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        TopFlows { capacity, hashes, slots, total: 0 }
    }

    /// Adds to the weight of a flow. Its label is formatted only if the flow had no slot.
    pub fn add(&mut self, hash: u64, weight: u64, label: impl Display) {
        if weight == 0 {
            return;
        }
        self.total = self.total.saturating_add(weight);
        if let Some(at) = self.hashes.iter().position(|h| *h == hash) {
            let slot = &mut self.slots[at];
            slot.weight = slot.weight.saturating_add(weight);
        } else if self.slots.len() < self.capacity {
            let mut slot = Slot { weight, error: 0, label: Label::new() };
            slot.label.set(label);
            self.hashes.push(hash);
            self.slots.push(slot);
        } else if let Some((at, slot)) =
            self.slots.iter_mut().enumerate().min_by_key(|(_, slot)| slot.weight)
        {
            slot.error = slot.weight;
            slot.weight = slot.weight.saturating_add(weight);
            slot.label.set(label);
            self.hashes[at] = hash;
        }
    }

    /// The weight of all flows, of those without a slot too.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The flows kept, the heaviest first, equals by hash.
    pub fn top(&self) -> Vec<TopFlow<'_>> {
        let flows = self.hashes.iter().zip(&self.slots);
        let flows = flows.map(|(&hash, slot)| {
            let Slot { weight, error, label: Label(label) } = slot;
            TopFlow { hash, weight: *weight, error: *error, label }
        });
        let mut flows: Vec<_> = flows.collect();
        flows.sort_unstable_by_key(|flow| (Reverse(flow.weight), flow.hash));
        flows
    }
}

impl Default for TopFlows {
    fn default() -> Self {
        TopFlows::new(DEFAULT_FLOWS)
    }
}

impl Label {
    fn new() -> Self {
        Label(String::with_capacity(MAX_LABEL))
    }

    fn set(&mut self, label: impl Display) {
        self.0.clear();
        // The only error is that of a full label, or a caller's own, for which there is no better.
        let _ = write!(self, "{label}");
    }
}

impl Write for Label {
    /// Takes what there is room for, up to the end of a character.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_LABEL - self.0.len();
        let end = text.floor_char_boundary(room);
        self.0.push_str(&text[..end]);
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn flows_are_listed_by_weight_with_their_labels() {
        let mut flows = TopFlows::new(3);
        flows.add(1, 5, "one");
        flows.add(2, 9, format_args!("{}/{}", "schema", "two"));
        flows.add(1, 1, "not used");
        flows.add(3, 0, "weighs nothing");
        let flow = |hash, weight, label| TopFlow { hash, weight, error: 0, label };
        assert_eq!(flows.top(), [flow(2, 9, "schema/two"), flow(1, 6, "one")]);
        assert_eq!(flows.total(), 15);
    }

    #[test]
    fn a_new_flow_takes_the_slot_of_the_lightest_and_its_weight_as_error() {
        let mut flows = TopFlows::new(2);
        flows.add(1, 5, "one");
        flows.add(2, 3, "two");
        flows.add(3, 4, "three");
        let three = TopFlow { hash: 3, weight: 7, error: 3, label: "three" };
        assert_eq!(flows.top()[0], three);
        assert_eq!(flows.top().len(), 2);
        flows.add(3, u64::MAX, "");
        assert_eq!(flows.top()[0].weight, u64::MAX);
    }

    #[test]
    fn labels_are_cut_between_characters() {
        let mut flows = TopFlows::new(0);
        flows.add(1, 1, "é".repeat(100));
        assert_eq!(flows.top()[0].label, "é".repeat(60));
        let text = format!("x{}", "é".repeat(100));
        flows.add(2, 1, &text);
        assert_eq!(flows.top()[0].label.len(), 119);
        flows.add(3, 1, format_args!("{text}{text}"));
        assert_eq!(flows.top()[0].label.len(), 119);
    }

    #[test]
    fn flows_that_are_kept_allocate_nothing_and_new_ones_only_while_there_is_room() {
        let mut flows = TopFlows::new(4);
        for hash in 0..4 {
            flows.add(hash, 1, "label");
        }
        let long = "long".repeat(100);
        let allocated = allocation_counter::measure(|| {
            for hash in 0..100 {
                flows.add(hash % 9, 3, &long);
            }
        });
        assert_eq!(allocated.count_total, 0);
    }

    proptest! {
        #[test]
        fn weights_are_within_the_bounds_and_no_heavy_flow_is_missed(
            capacity in 1..10_usize,
            adds in proptest::collection::vec((0..20_u64, 0..100_u64), 0..300),
        ) {
            let (mut flows, mut exact) = (TopFlows::new(capacity), HashMap::<u64, u64>::new());
            for (hash, weight) in &adds {
                flows.add(*hash, *weight, hash);
                *exact.entry(*hash).or_default() += weight;
            }
            let total: u64 = exact.values().sum();
            prop_assert_eq!(flows.total(), total);
            let top = flows.top();
            for TopFlow { hash, weight, error, label } in &top {
                let exact = exact[hash];
                prop_assert!(weight - error <= exact && exact <= *weight);
                prop_assert!(*error <= total / capacity as u64);
                prop_assert_eq!(*label, hash.to_string());
            }
            prop_assert!(top.is_sorted_by(|a, b| a.weight >= b.weight));
            for (hash, weight) in exact {
                let kept = top.iter().any(|flow| flow.hash == hash);
                prop_assert!(kept || weight <= total / capacity as u64);
            }
        }
    }
}
