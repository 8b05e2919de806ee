//! Where the slices of a Service stand once its plan is carried out. O(endpoints).

use std::collections::BTreeMap;

use evenkeel_model::{AddressType, EndpointPort};
use evenkeel_topology::Plan;

use crate::engine::cache::{Slot, Sums};

/// Where the slices stand once the plan is carried out.
pub(super) struct After {
    pub(super) ready: BTreeMap<AddressType, usize>,
    pub(super) unhinted: usize,
    pub(super) sums: Sums,
}

impl After {
    pub(super) fn of(plan: &Plan, slot: &Slot, max: usize) -> After {
        let unchanged =
            plan.unchanged.iter().filter_map(|name| Some(&slot.slices.get(name)?.slice));
        let slices = plan.create.iter().chain(&plan.update).chain(unchanged);
        let mut after = After { ready: BTreeMap::new(), unhinted: 0, sums: Sums::default() };
        let mut groups: BTreeMap<(AddressType, &[EndpointPort]), usize> = BTreeMap::new();
        for slice in slices {
            let ready = slice.endpoints.iter().filter(|e| e.is_ready());
            *after.ready.entry(slice.address_type).or_default() += ready.clone().count();
            after.unhinted += ready.filter(|e| e.zone_hints().is_empty()).count();
            after.sums.slices += 1;
            after.sums.endpoints += slice.endpoints.len();
            *groups.entry((slice.address_type, &slice.ports)).or_default() += slice.endpoints.len();
        }
        let needed = groups.values().map(|endpoints| endpoints.div_ceil(max).max(1));
        after.sums.desired_slices = needed.sum();
        after
    }
}
