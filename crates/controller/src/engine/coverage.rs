//! Whether slices of ours can go, because others' list the Pods of the Service.
//!
//! A slice is covered if every Pod of it that is to be listed is in the other's slices of the same
//! address family, and as ready if it is ready. Pods that are gone or no longer selected need nobody
//! to list them. Without a selector nobody knows which are, and all that ours list as ready count.
//! O(endpoints).

use std::sync::Arc;

use evenkeel_model::{Address, AddressType, Endpoint, Pod, Service, Slice};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cache::{Cache, ServiceEntry, SliceEntry};

/// The names of those of `mine` that are covered.
pub(super) fn covered(
    cache: &Cache,
    entry: &ServiceEntry,
    mine: &[&SliceEntry],
    theirs: &[&SliceEntry],
) -> Vec<Arc<str>> {
    if theirs.is_empty() {
        return Vec::new();
    }
    let service = &entry.seen.service;
    let wanted = wanted(cache, entry);
    let listed = Listed::new(theirs);
    let is_covered = |entry: &&&SliceEntry| {
        let slice = entry.stored();
        !is_of_use(service, slice)
            || (listed.serves(service, &wanted, slice.address_type)
                && slice.endpoints.iter().all(|e| listed.has(service, &wanted, slice, e)))
    };
    mine.iter().filter(is_covered).map(|entry| Arc::clone(&entry.slice.name)).collect()
}

/// The Pods that are to be listed, by uid.
type Wanted<'a> = FxHashMap<&'a str, &'a Pod>;

fn wanted<'a>(cache: &'a Cache, entry: &ServiceEntry) -> Wanted<'a> {
    let publish = entry.seen.service.publish_not_ready;
    let pods = cache.pods_of(entry).into_iter().map(|(pod, _)| pod);
    let pods = pods.filter(|pod| pod.has_endpoint() && (cache.has_node(pod) || publish));
    pods.map(|pod| (&*pod.uid, pod)).collect()
}

fn is_ready(service: &Service, pod: &Pod) -> bool {
    (pod.ready && !pod.terminating) || service.publish_not_ready
}

/// A slice of a family that the Service no longer has is of no use, nor is an empty one.
fn is_of_use(service: &Service, slice: &Slice) -> bool {
    !slice.endpoints.is_empty()
        && (service.selector.is_none() || service.families.contains(&slice.address_type))
}

/// What is behind an endpoint: a Pod by its uid, or an address that names none.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Backend<'a> {
    Pod(&'a str),
    Address(&'a Address),
}

/// What the other's slices list, by address family, and whether as ready.
#[derive(Debug, Default)]
struct Listed<'a> {
    backends: FxHashMap<(AddressType, Backend<'a>), bool>,
    families: FxHashSet<AddressType>,
    ready_families: FxHashSet<AddressType>,
}

impl<'a> Listed<'a> {
    fn new(theirs: &[&'a SliceEntry]) -> Listed<'a> {
        let mut listed = Listed::default();
        for slice in theirs.iter().map(|entry| entry.stored()) {
            let family = slice.address_type;
            listed.families.insert(family);
            for endpoint in &slice.endpoints {
                let pod = endpoint.target.iter().map(|target| Backend::Pod(&target.uid));
                for backend in pod.chain(endpoint.address().map(Backend::Address)) {
                    *listed.backends.entry((family, backend)).or_default() |= endpoint.is_ready();
                }
                if endpoint.is_ready() {
                    listed.ready_families.insert(family);
                }
            }
        }
        listed
    }

    /// Whether the family has ready endpoints, or none are to be had. An empty slice may be one that
    /// the other has yet to fill.
    fn serves(&self, service: &Service, wanted: &Wanted<'_>, family: AddressType) -> bool {
        let has_address =
            |pod: &Pod| pod.ips.iter().any(|ip| ip.is_ipv4() == (family == AddressType::IPv4));
        self.ready_families.contains(&family)
            || (self.families.contains(&family)
                && !wanted.values().any(|pod| is_ready(service, pod) && has_address(pod)))
    }

    /// Whether an endpoint of ours is there, if it is needed.
    fn has(
        &self,
        service: &Service,
        wanted: &Wanted<'_>,
        slice: &Slice,
        endpoint: &Endpoint,
    ) -> bool {
        let target = endpoint.target.as_ref();
        let pod = target.and_then(|target| wanted.get(&*target.uid));
        let (is_needed, is_ready) = match service.selector {
            Some(_) => (pod.is_some(), pod.is_some_and(|pod| is_ready(service, pod))),
            None => (endpoint.is_ready(), false),
        };
        let backend = match (target, endpoint.address()) {
            (Some(target), _) => Backend::Pod(&target.uid),
            (None, Some(address)) => Backend::Address(address),
            (None, None) => return true,
        };
        let there = self.backends.get(&(slice.address_type, backend));
        !is_needed || there.is_some_and(|ready| *ready || !is_ready)
    }
}
