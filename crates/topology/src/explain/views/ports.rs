//! Ports that see different endpoints. Consumers select for each port name by itself, from the
//! slices that have it: a hint missing on one port does not affect another.

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_model::{AddressType, Endpoint, Slice};

use super::super::Subject;
use crate::consumer::{Place, merge};

/// Ports with the endpoints that all of them see.
pub(super) struct Group<'a> {
    /// Empty: all ports.
    pub ports: Vec<Arc<str>>,
    pub places: Vec<Place<'a>>,
    pub slices: Vec<&'a Slice>,
}

/// The ports of one family, those together that see the same endpoints with the same hints.
pub(super) fn groups<'a>(subject: &Subject<'a>, family: AddressType) -> Vec<Group<'a>> {
    // The controller keeps a slice without endpoints and ports where there are no Pods.
    let filled = |s: &&Slice| s.address_type == family && !s.endpoints.is_empty();
    let slices: Vec<&Slice> = subject.state.slices.iter().filter(filled).collect();
    let alike = slices.windows(2).all(|pair| names(pair[0]) == names(pair[1]));
    if alike {
        let number = |slice: &Slice| slice.ports.iter().min_by_key(|port| &port.name)?.port;
        let places = merge(&slices, number);
        return vec![Group { ports: Vec::new(), places, slices }];
    }
    let all: BTreeSet<&Arc<str>> = slices.iter().flat_map(|slice| names(slice)).collect();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for port in all {
        let in_slice = |slice: &'a Slice| slice.ports.iter().find(|p| p.name == *port);
        let has_port = |slice: &&'a Slice| in_slice(slice).is_some();
        let slices: Vec<&Slice> = slices.iter().copied().filter(has_port).collect();
        let places = merge(&slices, |slice| in_slice(slice)?.port);
        match groups.iter_mut().find(|group| endpoints(&group.places).eq(endpoints(&places))) {
            Some(group) => group.ports.push(Arc::clone(port)),
            None => groups.push(Group { ports: vec![Arc::clone(port)], places, slices }),
        }
    }
    if let [group] = groups.as_mut_slice() {
        group.ports.clear();
    }
    groups
}

pub(super) fn endpoints<'a>(places: &[Place<'a>]) -> impl Iterator<Item = &'a Endpoint> {
    places.iter().map(|place| place.endpoint)
}

fn names(slice: &Slice) -> BTreeSet<&Arc<str>> {
    slice.ports.iter().map(|port| &port.name).collect()
}
