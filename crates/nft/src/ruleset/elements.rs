//! The elements of one frontend.

use std::sync::Arc;

use evenkeel_model::{Backend, Cidr, ZoneId};
use rustc_hash::FxHashMap;

use super::{Pools, counters};
use crate::{
    ChainId, Data, Element, Family, Frontend, FrontendSpec, Key, Kind, Lane, Pool, PortSpec, SetId,
    Verb, Verdict,
    chain::{From, Pick},
    pool::{Group, Slot},
    rules::{FALLBACK, base},
};

/// What elements depend on beside the frontend and its endpoints.
pub(super) struct Context<'a> {
    pub spec: &'a PortSpec,
    /// Names of zones, if connections are counted.
    pub zones: Option<&'a FxHashMap<ZoneId, Arc<str>>>,
}

/// Endpoints before and after; `None`: the frontend is not there.
#[derive(Clone, Copy)]
pub(super) struct Lanes<'a> {
    pub old: Option<&'a Pools>,
    pub new: Option<&'a Pools>,
}

type Emit<'e> = &'e mut dyn FnMut(Verb, Element);

/// The elements of a frontend that differ before and after.
pub(super) fn frontend_elements(
    context: &Context<'_>,
    frontend: Frontend,
    lanes: Lanes<'_>,
    emit: Emit<'_>,
) {
    let Some(spec) = context.spec_of(frontend) else { return };
    if lanes.old.is_none() != lanes.new.is_none() {
        let verb = if lanes.new.is_some() { Verb::Add } else { Verb::Delete };
        fixed_elements(spec, &mut |element| emit(verb, element));
    }
    let mut lane = |lane: Lane, from: &dyn Fn(&Pools) -> InLane<'_>| {
        let differ = Differ { frontend, lane, sticky: context.spec.affinity };
        let (old, new) = (lanes.old.map(from), lanes.new.map(from));
        differ.lane(old, new, emit);
    };
    match spec.kind {
        Kind::ClusterIp if context.spec.internal_local => lane(Lane::Main, &local_lane),
        Kind::ClusterIp | Kind::External { local: false } => lane(Lane::Main, &cluster_lane),
        Kind::External { local: true } => {
            lane(Lane::Main, &cluster_lane);
            lane(Lane::Outside, &local_lane);
        }
    }
    if let Some(zones) = context.zones {
        counters::differ(context.spec, zones, frontend, lanes, emit);
    }
}

/// The endpoints of a lane, and what happens without any.
struct InLane<'a> {
    pool: &'a Pool,
    without: Verdict,
}

const REJECT: Verdict = Verdict::Goto(ChainId::Reject);

fn cluster_lane(pools: &Pools) -> InLane<'_> {
    InLane { pool: &pools.cluster, without: REJECT }
}

/// Traffic that must stay on this node is dropped, not rejected, while other nodes have endpoints: as
/// in Kubernetes, clients and load balancers are to try again or elsewhere.
fn local_lane(pools: &Pools) -> InLane<'_> {
    let without = if pools.any_in_cluster { Verdict::Drop } else { REJECT };
    InLane { pool: &pools.local, without }
}

/// Those that endpoints don't change.
fn fixed_elements(spec: &FrontendSpec, emit: &mut dyn FnMut(Element)) {
    let frontend = spec.frontend;
    let (family, by, key) = (frontend.family(), frontend.by(), frontend.key());
    let mut add = |set| emit(Element::new(family, set, key, Data::None));
    match spec.kind {
        Kind::ClusterIp => {}
        Kind::External { local: false } => add(SetId::Masquerade(by)),
        Kind::External { local: true } => add(SetId::OutsideLocal(by)),
    }
    let Some(allowed) = &spec.allowed else { return };
    add(SetId::Firewall);
    for range in allowed {
        let (key, end) = (key.address(range.network()), key.address(last(*range)));
        let element = Element::new(family, SetId::SourceRanges, key, Data::None);
        emit(Element { end, ..element });
    }
}

/// The last address of a range.
fn last(range: Cidr) -> core::net::IpAddr {
    match range.network() {
        core::net::IpAddr::V4(ip) => {
            let host = u32::MAX.checked_shr(range.prefix().into()).unwrap_or(0);
            core::net::Ipv4Addr::from_bits(ip.to_bits() | host).into()
        }
        core::net::IpAddr::V6(ip) => {
            let host = u128::MAX.checked_shr(range.prefix().into()).unwrap_or(0);
            core::net::Ipv6Addr::from_bits(ip.to_bits() | host).into()
        }
    }
}

/// Compares the endpoints of one lane of a frontend.
struct Differ {
    frontend: Frontend,
    lane: Lane,
    sticky: Option<u32>,
}

impl Differ {
    fn lane(&self, old: Option<InLane<'_>>, new: Option<InLane<'_>>, emit: Emit<'_>) {
        let verdict = |lane: &InLane<'_>| self.verdict(lane);
        let set = SetId::Services(self.frontend.by(), self.lane);
        let verdicts = (old.as_ref().map(verdict), new.as_ref().map(verdict));
        self.one(set, self.frontend.key(), verdicts, emit);
        let empty = Pool::default();
        let old = old.map_or(&empty, |lane| lane.pool);
        let new = new.map_or(&empty, |lane| lane.pool);
        self.zone_slots(old, new, emit);
        self.groups(old, new, emit);
        if self.sticky.is_some() {
            self.pinned(old, new, emit);
        }
        let fallback = |pool: &Pool| {
            let zoned = pool.groups.first().filter(|group| group.rank > 0)?;
            Some(self.slot_data(zoned.slots.first()?))
        };
        let key = self.frontend.key().number(FALLBACK);
        self.one(self.slot_set(), key, (fallback(old), fallback(new)), emit);
    }

    fn verdict(&self, lane: &InLane<'_>) -> Data {
        let from = match (lane.pool.groups.first(), lane.pool.zone_slots.len()) {
            (None, _) => return Data::Verdict(lane.without),
            (Some(group), 0) => From::All(group.slots.len() as u32),
            (Some(_), slots) => From::Slots(slots as u32),
        };
        self.goto(from)
    }

    fn goto(&self, from: From) -> Data {
        let Differ { frontend, lane, sticky } = *self;
        let pick = Pick { by: frontend.by(), lane, sticky, from };
        Data::Verdict(Verdict::Goto(ChainId::Pick(pick)))
    }

    fn zone_slots(&self, old: &Pool, new: &Pool, emit: Emit<'_>) {
        let (old, new) = (&old.zone_slots, &new.zone_slots);
        let data =
            |slots: &[u16], at: usize| slots.get(at).map(|rank| Data::Scratch((*rank).into()));
        for at in 0..old.len().max(new.len()) {
            let key = self.frontend.key().number(at as u32);
            let set = SetId::ZoneSlots(self.frontend.by());
            self.one(set, key, (data(old, at), data(new, at)), emit);
        }
    }

    fn groups(&self, old: &Pool, new: &Pool, emit: Emit<'_>) {
        let of_rank =
            |pool: &'_ Pool, rank: u16| pool.groups.iter().position(|group| group.rank == rank);
        let ranks = new.groups.iter().map(|group| group.rank);
        let gone = old.groups.iter().map(|group| group.rank);
        for rank in gone.filter(|rank| of_rank(new, *rank).is_none()).chain(ranks) {
            let old = of_rank(old, rank).map(|at| &old.groups[at]);
            let new = of_rank(new, rank).map(|at| &new.groups[at]);
            if rank > 0 {
                let chain = |group: &Group| {
                    self.goto(From::Zone { rank, endpoints: group.slots.len() as u32 })
                };
                let key = self.frontend.key().number(rank.into());
                let set = SetId::Zones(self.frontend.by());
                self.one(set, key, (old.map(chain), new.map(chain)), emit);
            }
            let slots = |group: Option<&'_ Group>| group.map_or(0, |group| group.slots.len());
            for at in 0..slots(old).max(slots(new)) {
                let slot = |group: &'_ Group| group.slots.get(at).copied();
                let (old, new) = (old.and_then(slot), new.and_then(slot));
                if old.map(same) == new.map(same) {
                    continue;
                }
                let key = self.frontend.key().number(base(rank) + at as u32);
                let data = |slot: Slot| self.slot_data(&slot);
                self.one(self.slot_set(), key, (old.map(data), new.map(data)), emit);
            }
        }
    }

    /// The endpoints by id.
    fn pinned(&self, old: &Pool, new: &Pool, emit: Emit<'_>) {
        let by_id = |pool: &Pool| -> FxHashMap<u32, Backend> {
            pool.slots().map(|slot| (slot.id, slot.member.backend)).collect()
        };
        let (old, new) = (by_id(old), by_id(new));
        let set = SetId::Pinned(self.frontend.by(), self.lane);
        let gone = old.keys().filter(|id| !new.contains_key(id));
        for id in gone.chain(new.keys()) {
            let data = |of: &FxHashMap<u32, Backend>| of.get(id).copied().map(Data::Backend);
            let key = self.frontend.key().number(*id);
            self.one(set, key, (data(&old), data(&new)), emit);
        }
    }

    fn slot_set(&self) -> SetId {
        match self.sticky {
            None => SetId::Endpoints(self.frontend.by(), self.lane),
            Some(_) => SetId::StickySlots(self.frontend.by(), self.lane),
        }
    }

    fn slot_data(&self, slot: &Slot) -> Data {
        match self.sticky {
            None => Data::Backend(slot.member.backend),
            Some(_) => Data::Scratch(slot.id),
        }
    }

    fn one(&self, set: SetId, key: Key, (old, new): (Option<Data>, Option<Data>), emit: Emit<'_>) {
        if old == new {
            return;
        }
        let family: Family = self.frontend.family();
        let element = |data| Element::new(family, set, key, data);
        if let Some(data) = old {
            emit(Verb::Delete, element(data));
        }
        if let Some(data) = new {
            emit(Verb::Add, element(data));
        }
    }
}

fn same(slot: Slot) -> (Backend, u32) {
    (slot.member.backend, slot.id)
}

// === impl Context ===

impl<'a> Context<'a> {
    fn spec_of(&self, frontend: Frontend) -> Option<&'a FrontendSpec> {
        self.spec.frontends.iter().find(|spec| spec.frontend == frontend)
    }

    pub(super) fn is_cluster_ip(&self, frontend: Frontend) -> bool {
        self.spec_of(frontend).is_some_and(|spec| spec.kind == Kind::ClusterIp)
    }
}
