//! Endpoints into groups.

use core::net::IpAddr;
use std::{cmp::Ordering, collections::HashMap, iter, num::NonZeroU32, sync::Arc};

use evenkeel_model::mesh::{EndpointHealth, Group, MeshEndpoint};
use rustc_hash::FxBuildHasher;

use super::{
    AssignReason, Place,
    duplicates::without_duplicates,
    zone::{LeftOut, Verdict, Zones},
};
use crate::Strategy;

/// A group in the making.
pub(super) struct Bucket<'a> {
    verdict: Verdict,
    pub(super) zone: Option<Arc<str>>,
    /// The tag that its endpoints share with the client, and its rank among those tried.
    tag: Option<(usize, SharedTag)>,
    pub(super) endpoints: Vec<&'a Arc<MeshEndpoint>>,
}

#[derive(Clone)]
struct SharedTag {
    key: Arc<str>,
    value: Arc<str>,
    weight: NonZeroU32,
}

/// The groups in their order, and the reasons for them and for what is left out.
pub(super) fn groups(
    place: &Place,
    endpoints: &[Arc<MeshEndpoint>],
    strategy: &Strategy,
) -> (Vec<Group>, Vec<AssignReason>) {
    let (mut buckets, left_out) = buckets(place, endpoints, strategy);
    buckets.sort_by(Bucket::compare);
    let duplicates = without_duplicates(&mut buckets);
    buckets.retain(|bucket| !bucket.endpoints.is_empty());
    let mut reasons: Vec<AssignReason> = buckets.iter().map(Bucket::reason).collect();
    reasons.extend(left_out.into_iter().map(|(zone, why, n)| left_out_reason(place, zone, why, n)));
    reasons.extend(duplicates);
    let groups = buckets.into_iter().map(|bucket| bucket.into_group(strategy));
    (groups.collect(), reasons)
}

/// Zones that are left out, by name, with the number of their endpoints.
type LeftOutZones<'a> = Vec<(&'a str, LeftOut, usize)>;

fn buckets<'a>(
    place: &'a Place,
    endpoints: &'a [Arc<MeshEndpoint>],
    strategy: &'a Strategy,
) -> (Vec<Bucket<'a>>, LeftOutZones<'a>) {
    let tags: Vec<SharedTag> = place.affinity(strategy).map(SharedTag::new).collect();
    let mut zones = Zones::new(place, strategy);
    let mut buckets: Vec<Bucket<'_>> = Vec::new();
    let mut left_out: LeftOutZones<'_> = Vec::new();
    let mut by_key: HashMap<(Option<&str>, usize), usize, FxBuildHasher> = HashMap::default();
    for endpoint in endpoints {
        let verdict = zones.verdict(endpoint.zone.as_deref());
        let rank = match verdict {
            Verdict::Own => tags.iter().position(|tag| tag.is_of(endpoint)).unwrap_or(tags.len()),
            _ => tags.len(),
        };
        let key = (endpoint.zone.as_deref(), rank);
        if let Verdict::LeftOut(why) = verdict {
            let index = *by_key.entry(key).or_insert_with(|| {
                left_out.push((key.0.unwrap_or_default(), why, 0));
                left_out.len() - 1
            });
            left_out[index].2 += 1;
            continue;
        }
        let index = *by_key.entry(key).or_insert_with(|| {
            let tag = tags.get(rank).map(|tag| (rank, tag.clone()));
            let zone = group_zone(endpoint, strategy);
            buckets.push(Bucket { verdict, zone, tag, endpoints: Vec::new() });
            buckets.len() - 1
        });
        buckets[index].endpoints.push(endpoint);
    }
    left_out.sort_unstable_by_key(|(zone, ..)| *zone);
    (buckets, left_out)
}

/// To a policy an endpoint without a zone is in a zone without a name.
fn group_zone(endpoint: &MeshEndpoint, strategy: &Strategy) -> Option<Arc<str>> {
    match strategy {
        Strategy::OwnZoneFirst | Strategy::AllAlike | Strategy::Topology { .. } => {
            endpoint.zone.clone()
        }
        Strategy::Ranked(_) => Some(endpoint.zone.clone().unwrap_or_default()),
    }
}

/// Ordered as the texts of the addresses are. That of an IPv4 address fits a number, which saves its
/// allocation; a text that ends is smaller than one that goes on, so it is filled with zeros.
pub(super) fn text_key(ip: IpAddr) -> (u128, String) {
    let IpAddr::V4(ip) = ip else {
        let text = ip.to_string();
        return (text.bytes().chain(iter::repeat(0)).take(16).fold(0, push), text);
    };
    let mut key = 0;
    let mut len = 0;
    for (index, octet) in ip.octets().into_iter().enumerate() {
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let n_digits = 1 + usize::from(octet >= 10) + usize::from(octet >= 100);
        let dot = (index > 0).then_some(b'.');
        let text = dot.into_iter().chain(digits.into_iter().skip(3 - n_digits).map(|d| b'0' + d));
        for byte in text {
            key = push(key, byte);
            len += 1;
        }
    }
    (key << (8 * (16 - len)), String::new())
}

fn push(key: u128, byte: u8) -> u128 {
    key << 8 | u128::from(byte)
}

fn left_out_reason(place: &Place, zone: &str, why: LeftOut, endpoints: usize) -> AssignReason {
    let zone = zone.into();
    match why {
        LeftOut::NoRules => AssignReason::NoRules { zone, endpoints },
        LeftOut::NoRuleForClient => {
            let client_zone = place.zone_name().into();
            AssignReason::NoRuleForClient { zone, client_zone, endpoints }
        }
        LeftOut::NoRuleAccepts => AssignReason::NoRuleAccepts { zone, endpoints },
        LeftOut::Excluded(rule) => AssignReason::ExcludedByRule { zone, rule, endpoints },
        LeftOut::Stopped(rule) => AssignReason::StoppedByRule { zone, rule, endpoints },
    }
}

// === impl SharedTag ===

impl SharedTag {
    fn new((tag, value): (&crate::strategy::Affinity, &Arc<str>)) -> Self {
        SharedTag { key: tag.key.clone(), value: value.clone(), weight: tag.weight }
    }

    fn is_of(&self, endpoint: &MeshEndpoint) -> bool {
        endpoint.tag(&self.key) == Some(&*self.value)
    }
}

// === impl Bucket ===

impl Bucket<'_> {
    pub(super) fn priority(&self) -> u32 {
        match self.verdict {
            Verdict::Own | Verdict::Alike | Verdict::LeftOut(_) => 0,
            Verdict::OtherZone => 1,
            Verdict::Accepted(rule) => rule,
        }
    }

    pub(super) fn zone_name(&self) -> &str {
        self.zone.as_deref().unwrap_or_default()
    }

    /// Among the groups of the client's zone: the place of its tag; the rest comes last.
    pub(super) fn rank(&self) -> usize {
        self.tag.as_ref().map_or(usize::MAX, |(rank, _)| *rank)
    }

    fn sub_zone(&self) -> Arc<str> {
        let text = |(_, tag): &(usize, SharedTag)| format!("{}={}", tag.key, tag.value).into();
        self.tag.as_ref().map_or_else(|| "".into(), text)
    }

    /// By zone directly followed by sub-zone, as one text.
    fn compare(&self, other: &Self) -> Ordering {
        let (sub, other_sub) = (self.sub_zone(), other.sub_zone());
        let text = self.zone_name().bytes().chain(sub.bytes());
        let other_text = other.zone_name().bytes().chain(other_sub.bytes());
        let text = text.cmp(other_text);
        let rest = || (self.priority(), &self.zone, &sub);
        let other_rest = || (other.priority(), &other.zone, &other_sub);
        text.then_with(|| rest().cmp(&other_rest()))
    }

    /// How many endpoints are: as a weight it gives each of them the same, in whichever group.
    fn healthy(&self) -> NonZeroU32 {
        let healthy = self.endpoints.iter().filter(|e| e.health == EndpointHealth::Healthy);
        let n = u32::try_from(healthy.count()).unwrap_or(u32::MAX);
        NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN)
    }

    fn reason(&self) -> AssignReason {
        let zone: Arc<str> = self.zone.clone().unwrap_or_default();
        let endpoints = self.endpoints.len();
        let priority = self.priority();
        match (self.verdict, &self.tag) {
            (Verdict::Own, Some((_, SharedTag { key, value, weight }))) => {
                let (key, value, weight) = (key.clone(), value.clone(), weight.get());
                AssignReason::SharesTag { zone, key, value, weight, endpoints }
            }
            (Verdict::Own, None) => AssignReason::OwnZone { zone, endpoints },
            (Verdict::OtherZone, _) => AssignReason::OtherZone { zone, priority, endpoints },
            (Verdict::Accepted(rule), _) => {
                AssignReason::AcceptedByRule { zone, rule, priority, endpoints }
            }
            (Verdict::Alike | Verdict::LeftOut(_), _) => AssignReason::AllAlike { zone, endpoints },
        }
    }

    fn into_group(self, strategy: &Strategy) -> Group {
        let weight = match (&self.tag, self.verdict, strategy) {
            (Some((_, tag)), ..) => Some(tag.weight),
            (None, Verdict::Own, Strategy::Ranked(_)) => Some(NonZeroU32::MIN),
            _ => strategy.weighs_all().then(|| self.healthy()),
        };
        let (priority, sub_zone) = (self.priority(), self.sub_zone());
        let mut endpoints: Vec<Arc<MeshEndpoint>> = self.endpoints.into_iter().cloned().collect();
        endpoints.sort_by_cached_key(|e| (text_key(e.address.ip()), e.address.port()));
        Group { priority, weight, zone: self.zone, sub_zone, endpoints }
    }
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn keys_of_addresses_are_ordered_as_their_texts() {
        let parts = [0, 1, 9, 10, 19, 99, 100, 199, 255_u8];
        let pairs = parts.iter().flat_map(|&a| parts.map(|b| (a, b)));
        let v4 = pairs.flat_map(|(a, b)| [Ipv4Addr::new(a, b, 0, 1), Ipv4Addr::new(10, 0, a, b)]);
        let v6 = ["::1", "::", "1::", "10::1", "fd00::1:2:3:4:5:6", "fd00::1:2:3:4:5:66"];
        let v6 = v6.map(|text| IpAddr::V6(text.parse::<Ipv6Addr>().unwrap()));
        let mut by_key: Vec<IpAddr> = v4.map(IpAddr::V4).chain(v6).collect();
        let mut by_text = by_key.clone();
        by_key.sort_by_cached_key(|ip| text_key(*ip));
        by_text.sort_by_cached_key(ToString::to_string);
        assert_eq!(by_key, by_text);
    }
}
