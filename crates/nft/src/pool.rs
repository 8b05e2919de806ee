//! The endpoints of a Service port for one kind of traffic, in numbered slots.
//!
//! An endpoint keeps its slot while it is in use, so that a change costs as many elements as endpoints
//! changed: a new endpoint takes a slot that became free, or a new one at the end; a slot that stays
//! free is filled by the last endpoint. Under zone shares each zone has slots of its own, and a list of
//! *zone slots* says how often each zone is picked: as few as keep every zone within 1 % of its share,
//! at most 100. When shares change, only as many zone slots change hands as the shares moved.

use evenkeel_model::{Backend, ZoneId};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash as _, Hasher as _};

/// The most slots for shares of zones.
pub const MOST_ZONE_SLOTS: u64 = 100;

/// By how much the part of a zone may differ from its share, in percent of all traffic.
const TOLERANCE_PERCENT: u64 = 1;

/// The most endpoints of a group: its indexes must not reach those of the next.
pub const MOST_ENDPOINTS: usize = 1 << 20;

/// The most zones: the indexes of the last must fit.
const MOST_ZONES: usize = 2046;

/// An endpoint in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub backend: Backend,
    pub zone: ZoneId,
    /// It runs on this node.
    pub is_local: bool,
}

/// The share of a zone. Its endpoints have equal parts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShare {
    pub zone: ZoneId,
    /// Its part, of the sum of all.
    pub part: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// One of rank 0, or one for each zone in use, sorted by rank; none if there is no endpoint.
    pub(crate) groups: Vec<Group>,
    /// Ranks; empty if all endpoints are alike.
    pub(crate) zone_slots: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// From 1 on under zone shares, otherwise 0.
    pub rank: u16,
    pub zone: ZoneId,
    pub slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub member: Member,
    /// For session affinity: it says which endpoint this is, wherever its slot is. Never 0.
    pub id: u32,
}

/// How much a pool is that of certain endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Likeness {
    /// It has all of them, and no others.
    is_same: bool,
    /// How many it has.
    known: usize,
}

// === impl Pool ===

impl Pool {
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.groups.iter().flat_map(|group| &group.slots)
    }

    /// How much it is the pool of these endpoints.
    pub(crate) fn likeness(&self, members: &[Member]) -> Likeness {
        let slots: FxHashSet<Backend> = self.slots().map(|slot| slot.member.backend).collect();
        let known = members.iter().filter(|member| slots.contains(&member.backend)).count();
        Likeness { known, is_same: known == members.len() && known == slots.len() && known > 0 }
    }

    /// The pool of these endpoints, with as little changed as possible. `shares` is empty if all
    /// endpoints are alike; endpoints of zones that have no share are not used then.
    pub(crate) fn next(&self, members: &[Member], shares: &[ZoneShare]) -> Pool {
        let mut ids = Ids::new(members.len());
        if shares.is_empty() {
            let old = self.groups.first().filter(|group| group.rank == 0);
            let group = Group::next(old, (0, ZoneId::EMPTY), members.iter().copied(), &mut ids);
            return Pool { groups: group.into_iter().collect(), zone_slots: Vec::new() };
        }
        ids.reserve(self, members);
        let mut groups = Vec::new();
        let mut parts = Vec::new();
        let mut ranks = Ranks::of(self, members);
        for share in shares.iter().take(MOST_ZONES).filter(|share| share.part > 0) {
            let of_zone = members.iter().copied().filter(|member| member.zone == share.zone);
            let rank = ranks.of_zone(share.zone);
            let old = self.groups.iter().find(|group| group.rank == rank);
            let group = Group::next(old, (rank, share.zone), of_zone, &mut ids);
            if let Some(group) = group {
                groups.push(group);
                parts.push((rank, share.part));
            }
        }
        groups.sort_unstable_by_key(|group| group.rank);
        parts.sort_unstable();
        Pool { groups, zone_slots: zone_slots(&self.zone_slots, &parts) }
    }
}

// === impl Group ===

impl Group {
    fn next(
        old: Option<&Group>,
        (rank, zone): (u16, ZoneId),
        members: impl Iterator<Item = Member>,
        ids: &mut Ids,
    ) -> Option<Group> {
        let old = old.map_or(&[][..], |group| &group.slots);
        let slots = place(old, members, ids);
        (!slots.is_empty()).then_some(Group { rank, zone, slots })
    }
}

fn place(old: &[Slot], members: impl Iterator<Item = Member>, ids: &mut Ids) -> Vec<Slot> {
    let mut wanted: FxHashMap<Backend, Member> =
        members.take(MOST_ENDPOINTS).map(|member| (member.backend, member)).collect();
    let mut slots: Vec<Option<Slot>> = Vec::with_capacity(wanted.len().max(old.len()));
    for slot in old {
        let kept = wanted.remove(&slot.member.backend);
        slots.push(kept.map(|member| Slot { member, id: ids.keep(slot.id) }));
    }
    let mut new: Vec<Member> = wanted.into_values().collect();
    new.sort_unstable_by_key(|member| member.backend);
    let mut new = new.into_iter().map(|member| Slot { member, id: ids.new_for(member.backend) });
    for slot in slots.iter_mut().filter(|slot| slot.is_none()) {
        *slot = new.next();
    }
    slots.extend(new.map(Some));
    close_gaps(slots)
}

/// Fills each free slot with the last endpoint.
fn close_gaps(mut slots: Vec<Option<Slot>>) -> Vec<Slot> {
    let mut at = 0;
    while at < slots.len() {
        if slots[at].is_none() {
            slots.swap_remove(at);
        } else {
            at += 1;
        }
    }
    slots.into_iter().flatten().collect()
}

/// Ids in use, so that no two endpoints of a pool have the same.
///
/// They are below 65,536 as long as there is enough room: the first packet of a connection may leave
/// with the id as its priority, which would name a class of traffic control from there on.
struct Ids {
    taken: FxHashSet<u32>,
    /// Of endpoints that stay: a zone that is placed before theirs must not give them away.
    reserved: FxHashMap<Backend, u32>,
    most: u32,
}

impl Ids {
    fn new(endpoints: usize) -> Ids {
        let most = if endpoints < 0x8000 { 0xffff } else { u32::MAX };
        Ids { taken: FxHashSet::default(), reserved: FxHashMap::default(), most }
    }

    fn reserve(&mut self, pool: &Pool, members: &[Member]) {
        let known: FxHashMap<Backend, u32> =
            pool.slots().map(|slot| (slot.member.backend, slot.id)).collect();
        for member in members {
            if let Some(id) = known.get(&member.backend)
                && self.taken.insert(*id)
            {
                self.reserved.insert(member.backend, *id);
            }
        }
    }

    fn keep(&mut self, id: u32) -> u32 {
        self.taken.insert(id);
        id
    }

    /// The same endpoint gets the same id again, if it is free.
    fn new_for(&mut self, backend: Backend) -> u32 {
        if let Some(id) = self.reserved.get(&backend) {
            return *id;
        }
        let mut hasher = FxHasher::default();
        backend.hash(&mut hasher);
        let hash = hasher.finish();
        let mut id = (((hash >> 32) as u32 ^ hash as u32) & self.most).max(1);
        while !self.taken.insert(id) {
            id = (id.wrapping_add(1) & self.most).max(1);
        }
        id
    }
}

/// Ranks of zones.
struct Ranks(FxHashMap<ZoneId, u16>);

impl Ranks {
    /// A group whose zone is not known, because it was found in the kernel, is that of its endpoints.
    fn of(pool: &Pool, members: &[Member]) -> Ranks {
        let zone_of = |group: &Group| {
            let is_here = |member: &&Member| {
                group.slots.iter().any(|slot| slot.member.backend == member.backend)
            };
            match group.zone {
                ZoneId::EMPTY => members.iter().find(is_here).map(|member| member.zone),
                zone => Some(zone),
            }
        };
        let zoned = pool.groups.iter().filter(|group| group.rank > 0);
        Ranks(zoned.filter_map(|group| Some((zone_of(group)?, group.rank))).collect())
    }

    fn of_zone(&mut self, zone: ZoneId) -> u16 {
        if let Some(rank) = self.0.get(&zone) {
            return *rank;
        }
        let free = (1..=u16::MAX).find(|rank| !self.0.values().any(|taken| taken == rank));
        let rank = free.unwrap_or(u16::MAX);
        self.0.insert(zone, rank);
        rank
    }
}

/// Which rank each slot leads to, with as few slots changed as possible. `parts`: rank and part.
///
/// The number of slots stays while it fits, and grows rather than shrinks: slots that stay cost nothing.
fn zone_slots(old: &[u16], parts: &[(u16, u32)]) -> Vec<u16> {
    let shares: Vec<u64> = parts.iter().map(|(_, part)| u64::from(*part)).collect();
    let fits = |n: &u64| is_near(&apportion(&shares, *n), &shares, *n);
    let known = (old.len() as u64).clamp(1, MOST_ZONE_SLOTS);
    let n = (known..=MOST_ZONE_SLOTS).find(fits).unwrap_or(MOST_ZONE_SLOTS);
    let counts = apportion(&shares, n);
    let mut left: FxHashMap<u16, u64> =
        parts.iter().zip(counts).map(|((rank, _), count)| (*rank, count)).collect();
    let mut slots: Vec<Option<u16>> = (0..n as usize).map(|at| old.get(at).copied()).collect();
    for slot in &mut slots {
        match slot.and_then(|rank| left.get_mut(&rank)).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => *slot = None,
        }
    }
    let mut missing = parts.iter().flat_map(|(rank, _)| {
        let n = left.get(rank).copied().unwrap_or(0);
        std::iter::repeat_n(*rank, n as usize)
    });
    slots.into_iter().filter_map(|slot| slot.or_else(|| missing.next())).collect()
}

/// Every zone's part of the slots is within 1 % of its share.
fn is_near(counts: &[u64], shares: &[u64], n: u64) -> bool {
    let total: u64 = shares.iter().sum();
    let is_near = |(count, share): (&u64, &u64)| {
        (count * total).abs_diff(share * n) * 100 <= TOLERANCE_PERCENT * n * total
    };
    counts.iter().zip(shares).all(is_near)
}

/// Slots by largest remainder; ties go to the first.
fn apportion(shares: &[u64], n: u64) -> Vec<u64> {
    let total: u64 = shares.iter().sum::<u64>().max(1);
    let mut counts: Vec<u64> = shares.iter().map(|share| share * n / total).collect();
    let given: u64 = counts.iter().sum();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(shares[*at] * n % total), *at));
    for at in order.into_iter().take(n.saturating_sub(given) as usize) {
        counts[at] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Id as _;

    use super::*;

    fn member(last: u8, zone: u32) -> Member {
        let ip = core::net::IpAddr::from([10, 0, 0, last]);
        let backend = Backend { ip, port: 80 };
        Member { backend, zone: ZoneId::from_index(zone), is_local: false }
    }

    fn lasts(pool: &Pool) -> Vec<u8> {
        let last = |slot: &Slot| match slot.member.backend.ip {
            core::net::IpAddr::V4(ip) => ip.octets()[3],
            core::net::IpAddr::V6(_) => 0,
        };
        pool.slots().map(last).collect()
    }

    #[test]
    fn endpoints_keep_their_slots() {
        let pool = |old: &Pool, lasts: &[u8]| {
            let members: Vec<_> = lasts.iter().map(|last| member(*last, 1)).collect();
            old.next(&members, &[])
        };
        let first = pool(&Pool::default(), &[3, 1, 2, 4]);
        assert_eq!(lasts(&first), [1, 2, 3, 4]);
        assert_eq!(lasts(&pool(&first, &[1, 3, 4, 9])), [1, 9, 3, 4]);
        assert_eq!(lasts(&pool(&first, &[1, 3, 4])), [1, 4, 3]);
        assert_eq!(lasts(&pool(&first, &[5, 4, 3, 2, 1])), [1, 2, 3, 4, 5]);
        assert_eq!(lasts(&pool(&first, &[9])), [9]);
        assert!(pool(&first, &[]).is_empty());
        assert_eq!(pool(&first, &[1, 2, 3, 4]), first);
    }

    fn shares(parts: &[u32]) -> Vec<ZoneShare> {
        let zone =
            |(at, part): (u32, &u32)| ZoneShare { zone: ZoneId::from_index(at), part: *part };
        (1..).zip(parts).map(zone).collect()
    }

    #[test]
    fn zone_slots_are_as_few_as_keep_within_one_percent() {
        let members: Vec<_> = (1..=3).map(|zone| member(zone as u8, zone)).collect();
        for (parts, n) in [
            (&[500, 250, 250][..], 4),
            (&[1000, 0, 0], 1),
            (&[333, 333, 334], 3),
            (&[990, 5, 5], 1),
            (&[480, 270, 250], 25),
        ] {
            let pool = Pool::default().next(&members, &shares(parts));
            assert_eq!(pool.zone_slots.len(), n, "{parts:?}: {:?}", pool.zone_slots);
        }
    }

    #[test]
    fn a_change_of_shares_moves_as_many_slots_as_the_shares() {
        let members: Vec<_> = (1..=3).map(|zone| member(zone as u8, zone)).collect();
        let ranks = |pool: &Pool| pool.groups.iter().map(|g| (g.zone, g.rank)).collect::<Vec<_>>();
        let mut pool = Pool::default().next(&members, &shares(&[477, 273, 250]));
        let first = ranks(&pool);
        for step in 0..100 {
            let next = pool.next(&members, &shares(&[477 - step * 4, 273 + step * 4, 250]));
            let pairs = pool.zone_slots.iter().zip(&next.zone_slots);
            let moved = pairs.filter(|(old, new)| old != new).count();
            let grown = next.zone_slots.len() - pool.zone_slots.len();
            assert!(moved <= 3, "{moved} of {} at step {step}", pool.zone_slots.len());
            assert!(grown <= 60 && next.zone_slots.len() <= 100, "{grown} more at step {step}");
            assert_eq!(ranks(&next), first);
            pool = next;
        }
    }

    /// An id that a new endpoint of the first zone would like is one that the second zone has.
    #[test]
    fn no_two_endpoints_of_a_pool_have_the_same_id() {
        let shares = shares(&[500, 500]);
        let liked = Ids::new(3).new_for(member(9, 1).backend);
        let mut pool = Pool::default().next(&[member(1, 1), member(2, 2)], &shares);
        pool.groups[1].slots[0].id = liked;
        let next = pool.next(&[member(1, 1), member(9, 1), member(2, 2)], &shares);
        let ids: FxHashSet<u32> = next.slots().map(|slot| slot.id).collect();
        assert_eq!(ids.len(), 3, "{:?}", next.slots().collect::<Vec<_>>());
        assert_eq!(next.groups[1].slots[0].id, liked);
    }

    #[test]
    fn a_zone_without_endpoints_has_no_slots() {
        let pool = Pool::default().next(&[member(1, 1)], &shares(&[500, 500]));
        assert_eq!((pool.groups.len(), pool.zone_slots.as_slice()), (1, &[1][..]));
        assert!(Pool::default().next(&[], &shares(&[500, 500])).is_empty());
    }
}
