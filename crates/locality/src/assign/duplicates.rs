//! Endpoints with one address and port.
//!
//! Of all entries of a load assignment with equal address and port Envoy keeps the first, and says
//! nothing. Which comes first must not decide: the lowest priority keeps the address, within
//! a zone the most preferred group. Only between zones of one priority both are kept, as Kuma does
//! for zones behind one ingress; what Envoy makes of them is said as a reason.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use evenkeel_model::mesh::MeshEndpoint;
use rustc_hash::FxBuildHasher;

use super::{AssignReason, group::Bucket};

/// Removes what Envoy would not use; one reason for each pair of zones.
pub(super) fn without_duplicates(buckets: &mut [Bucket<'_>]) -> Vec<AssignReason> {
    let shared = shared_addresses(buckets);
    if shared.is_empty() {
        return Vec::new();
    }
    let mut same: BTreeMap<SocketAddr, Vec<Entry<'_>>> = BTreeMap::new();
    for (index, bucket) in buckets.iter_mut().enumerate() {
        let (duplicates, unique) =
            bucket.endpoints.drain(..).partition(|endpoint| shared.contains(&endpoint.address));
        bucket.endpoints = unique;
        for endpoint in duplicates {
            same.entry(endpoint.address).or_default().push(Entry { bucket: index, endpoint });
        }
    }
    let mut reasons = Reasons::default();
    for (address, mut entries) in same {
        entries.sort_by(|a, b| a.preference(buckets).cmp(&b.preference(buckets)));
        keep_best(buckets, address, &entries, &mut reasons);
    }
    reasons.into_vec()
}

#[derive(Clone, Copy)]
struct Entry<'a> {
    bucket: usize,
    endpoint: &'a Arc<MeshEndpoint>,
}

#[derive(Default)]
struct Reasons(BTreeMap<Pair, Count>);

/// The zone, the one that keeps the address, and whether the entry is sent all the same.
type Pair = (Arc<str>, Arc<str>, bool);

/// An example, and how many.
type Count = (SocketAddr, usize);

fn shared_addresses(buckets: &[Bucket<'_>]) -> HashSet<SocketAddr, FxBuildHasher> {
    let n = buckets.iter().map(|bucket| bucket.endpoints.len()).sum();
    let mut seen = HashSet::with_capacity_and_hasher(n, FxBuildHasher);
    let addresses = buckets.iter().flat_map(|b| &b.endpoints).map(|endpoint| endpoint.address);
    addresses.filter(|&address| !seen.insert(address)).collect()
}

/// Puts the first entry, and the first of every other zone of its priority, back into its bucket.
fn keep_best<'a>(
    buckets: &mut [Bucket<'a>],
    address: SocketAddr,
    entries: &[Entry<'a>],
    reasons: &mut Reasons,
) {
    let Some(best) = entries.first() else { return };
    let kept_in = Arc::clone(&zone(&buckets[best.bucket]));
    let priority = buckets[best.bucket].priority();
    let mut last_zone = None;
    for entry in entries {
        let bucket = &mut buckets[entry.bucket];
        let zone = zone(bucket);
        let is_sent = bucket.priority() == priority && last_zone.as_ref() != Some(&zone);
        if is_sent {
            bucket.endpoints.push(entry.endpoint);
            last_zone = Some(Arc::clone(&zone));
        }
        if !is_sent || zone != kept_in {
            reasons.count(zone, &kept_in, is_sent, address);
        }
    }
}

fn zone(bucket: &Bucket<'_>) -> Arc<str> {
    bucket.zone.clone().unwrap_or_default()
}

// === impl Entry ===

impl Entry<'_> {
    /// Smaller is better. The last parts only make the choice independent of the order of the input.
    fn preference(&self, buckets: &[Bucket<'_>]) -> impl Ord {
        let bucket = &buckets[self.bucket];
        let MeshEndpoint { tags, weight, health, .. } = &**self.endpoint;
        let place = (bucket.priority(), zone(bucket), bucket.rank());
        (place, *health, Arc::clone(tags), *weight)
    }
}

// === impl Reasons ===

impl Reasons {
    fn count(&mut self, zone: Arc<str>, kept_in: &Arc<str>, is_sent: bool, example: SocketAddr) {
        let key = (zone, Arc::clone(kept_in), is_sent);
        self.0.entry(key).or_insert((example, 0)).1 += 1;
    }

    fn into_vec(self) -> Vec<AssignReason> {
        let reason = |((zone, other, is_sent), (address, endpoints))| {
            if is_sent {
                AssignReason::AddressInTwoZones { zone, address, used_in: other, endpoints }
            } else {
                AssignReason::SameAddress { zone, address, kept_in: other, endpoints }
            }
        };
        self.0.into_iter().map(reason).collect()
    }
}
