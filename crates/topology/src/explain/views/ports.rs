//! Ports that see different endpoints. Consumers select for each port name by itself, from the
//! slices that have it: a hint missing on one port does not affect another.

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_model::{AddressType, Endpoint, Slice};

use super::super::{Subject, once_each};

/// Ports with the endpoints that all of them see.
pub(super) struct Group<'a> {
    /// Empty: all ports.
    pub ports: Vec<Arc<str>>,
    pub endpoints: Vec<&'a Endpoint>,
    pub slices: Vec<&'a Slice>,
}

/// The ports of one family, those together that see the same endpoints with the same hints.
pub(super) fn groups<'a>(subject: &Subject<'a>, family: AddressType) -> Vec<Group<'a>> {
    // The controller keeps a slice without endpoints and ports where there are no Pods.
    let filled = |s: &&Slice| s.address_type == family && !s.endpoints.is_empty();
    let slices: Vec<&Slice> = subject.state.slices.iter().filter(filled).collect();
    let alike = slices.windows(2).all(|pair| names(pair[0]) == names(pair[1]));
    if alike {
        let endpoints = subject.endpoints(family);
        return vec![Group { ports: Vec::new(), endpoints, slices }];
    }
    let all: BTreeSet<&Arc<str>> = slices.iter().flat_map(|slice| names(slice)).collect();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for port in all {
        let has_port = |s: &&Slice| s.ports.iter().any(|p| p.name == *port);
        let slices: Vec<&Slice> = slices.iter().copied().filter(has_port).collect();
        let endpoints = once_each(slices.iter().flat_map(|s| &s.endpoints));
        match groups.iter_mut().find(|group| group.endpoints == endpoints) {
            Some(group) => group.ports.push(Arc::clone(port)),
            None => groups.push(Group { ports: vec![Arc::clone(port)], endpoints, slices }),
        }
    }
    if let [group] = groups.as_mut_slice() {
        group.ports.clear();
    }
    groups
}

fn names(slice: &Slice) -> BTreeSet<&Arc<str>> {
    slice.ports.iter().map(|port| &port.name).collect()
}
