//! Where the slices of a Service stand once its plan is carried out. O(endpoints).

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{AddressType, EndpointPort};
use evenkeel_topology::Plan;

use crate::engine::cache::{SliceEntry, Slot, Sums};

/// Where the slices stand once the plan is carried out.
pub(super) struct After {
    pub(super) ready: BTreeMap<AddressType, usize>,
    pub(super) unhinted: usize,
    /// A slice that the server did not store as it was sent.
    pub(super) altered: Option<Arc<str>>,
    pub(super) sums: Sums,
}

impl After {
    pub(super) fn of(plan: &Plan, slot: &Slot, max: usize) -> After {
        let kept = || plan.unchanged.iter().filter_map(|name| slot.slices.get(name));
        let altered = kept().find(|entry| entry.is_altered());
        let altered = altered.map(|entry| Arc::clone(&entry.slice.name));
        let slices = plan.create.iter().chain(&plan.update).chain(kept().map(SliceEntry::stored));
        let (ready, sums) = (BTreeMap::new(), Sums::default());
        let mut after = After { ready, unhinted: 0, altered, sums };
        let mut groups: BTreeMap<(AddressType, &[EndpointPort]), usize> = BTreeMap::new();
        for slice in slices {
            let ready = slice.endpoints.iter().filter(|e| e.is_ready());
            *after.ready.entry(slice.address_type).or_default() += ready.clone().count();
            after.unhinted += ready.filter(|e| e.zone_hints().is_empty()).count();
            after.sums.slices += 1;
            after.sums.shares |= slice.shares.is_some();
            after.sums.endpoints += slice.endpoints.len();
            *groups.entry((slice.address_type, &slice.ports)).or_default() += slice.endpoints.len();
        }
        let needed = groups.values().map(|endpoints| endpoints.div_ceil(max).max(1));
        after.sums.desired_slices = needed.sum();
        after
    }
}
