//! Merging from scratch: what [`View`](super::View) keeps up to date.

use core::cmp::Ordering;

use evenkeel_model::{Address, Endpoint, Selectable, Slice};
use rustc_hash::FxHashMap;

/// An endpoint with the slice it is in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub slice: &'a Slice,
    pub endpoint: &'a Endpoint,
}

/// The endpoints of slices of one address family, each address and target port once, in the order in
/// which the slices list them first. `number`: the target port of a slice. Endpoints without an
/// address are left out.
pub fn merge<'a>(
    slices: &[&'a Slice],
    number: impl Fn(&'a Slice) -> Option<u16>,
) -> Vec<Place<'a>> {
    let mut merged: Vec<Place<'a>> = Vec::new();
    let mut known: FxHashMap<(&Address, Option<u16>), usize> = FxHashMap::default();
    for &slice in slices {
        let number = number(slice);
        for endpoint in &slice.endpoints {
            let Some(address) = endpoint.address() else { continue };
            let place = Place { slice, endpoint };
            let at = *known.entry((address, number)).or_insert(merged.len());
            match merged.get_mut(at) {
                None => merged.push(place),
                Some(first) if place.is_before(first) => *first = place,
                Some(_) => {}
            }
        }
    }
    merged
}

/// Which of two endpoints of one address counts, as far as they alone can say: ready before
/// serving-terminating before the rest.
pub(super) fn better(a: &impl Selectable, b: &impl Selectable) -> Ordering {
    fn rank(endpoint: &impl Selectable) -> u8 {
        match (endpoint.ready(), endpoint.serving_terminating()) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        }
    }
    rank(a).cmp(&rank(b))
}

// === impl Place ===

impl Place<'_> {
    /// Counts instead of the other, which was listed earlier.
    fn is_before(&self, other: &Self) -> bool {
        let by_name = || self.slice.name.cmp(&other.slice.name);
        better(self.endpoint, other.endpoint).then_with(by_name).is_lt()
    }
}
