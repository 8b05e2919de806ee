//! What the kernel has already, from a proxy before this one.

use std::sync::Arc;

use super::{Pools, Port, Ruleset};
use crate::{
    ChainId, Change, Data, Element, ElementKey, Family, Frontend, Key, Kind, Lane, Pool, SetId,
    Transaction, Verb, Verdict,
    chain::{From, Version},
    pool::{Group, Likeness, Member, Slot},
    rules::base,
    version,
};
use evenkeel_model::{Backend, ZoneId};

/// A table as it was listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    pub chains: Vec<ChainId>,
    /// Chains, sets or rules that these rulesets don't have.
    pub is_foreign: bool,
    pub counters: Vec<Arc<str>>,
    /// Without those that packets wrote.
    pub elements: Vec<Element>,
}

/// Elements of adopted tables, until the first transaction.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    /// As they were listed, sorted by key: a map would need three times the memory.
    elements: Vec<Element>,
    /// Which of them the ruleset has too.
    is_wanted: Vec<bool>,
}

// === impl Adopted ===

impl Adopted {
    /// Which rules the table has.
    pub fn version(&self) -> Option<Version> {
        self.chains.iter().find_map(|chain| match chain {
            ChainId::Version(version) => Some(*version),
            _ => None,
        })
    }
}

// === impl Ruleset ===

impl Ruleset {
    /// Takes over the table of a family, if its rules are those of this ruleset. Otherwise it will be
    /// replaced. To be called before anything else. Returns whether it was taken over.
    pub fn adopt(&mut self, family: Family, table: Adopted) -> bool {
        let is_ours = table.version() == Some(version(&self.config, family)) && !table.is_foreign;
        if !is_ours || !self.families.contains(&family) {
            return false;
        }
        self.missing.retain(|missing| *missing != family);
        for chain in table.chains {
            if matches!(chain, ChainId::Pick(_)) {
                self.chains.exists((family, chain));
            }
        }
        for counter in table.counters {
            self.counters.exists((family, counter));
        }
        self.seeds.add(table.elements);
        true
    }
}

// === impl Seeds ===

impl Seeds {
    fn add(&mut self, elements: Vec<Element>) {
        match self.elements.is_empty() {
            true => self.elements = elements,
            false => self.elements.extend(elements),
        }
        self.elements.sort_unstable_by_key(Element::key);
        self.is_wanted = vec![false; self.elements.len()];
    }

    fn place(&self, key: &ElementKey) -> Option<usize> {
        self.elements.binary_search_by(|element| element.key().cmp(key)).ok()
    }

    /// The endpoints of a port in the slots that they have in the kernel, if the port has none yet.
    /// A frontend may have been another port's, so the one that knows most endpoints counts.
    pub(super) fn pools(&self, port: &Port, cluster: &[Member], local: &[Member]) -> Option<Pools> {
        let has_none = port.pools.cluster.is_empty() && port.pools.local.is_empty();
        if self.elements.is_empty() || !has_none {
            return None;
        }
        let sticky = port.spec.affinity.is_some();
        let mut pools = Pools::default();
        let mut known = (Likeness::default(), Likeness::default());
        for spec in &port.spec.frontends {
            let lanes = match spec.kind {
                Kind::ClusterIp if port.spec.internal_local => [Some((Lane::Main, true)), None],
                Kind::ClusterIp | Kind::External { local: false } => {
                    [Some((Lane::Main, false)), None]
                }
                Kind::External { local: true } => {
                    [Some((Lane::Main, false)), Some((Lane::Outside, true))]
                }
            };
            for (lane, is_local) in lanes.into_iter().flatten() {
                let (pool, known, members) = match is_local {
                    true => (&mut pools.local, &mut known.1, local),
                    false => (&mut pools.cluster, &mut known.0, cluster),
                };
                let found = self.pool(spec.frontend, lane, sticky).unwrap_or_default();
                let likeness = found.likeness(members);
                if likeness > *known {
                    (*pool, *known) = (found, likeness);
                }
            }
        }
        Some(pools)
    }

    fn pool(&self, frontend: Frontend, lane: Lane, sticky: bool) -> Option<Pool> {
        let services = SetId::Services(frontend.by(), lane);
        let slots = |first: u32, n: u32| -> Vec<Slot> {
            (0..n).map_while(|at| self.slot(frontend, lane, sticky, first + at)).collect()
        };
        match self.pick(frontend, services, frontend.key())? {
            From::All(n) => {
                let group = Group { rank: 0, zone: ZoneId::EMPTY, slots: slots(0, n) };
                let groups = if group.slots.is_empty() { vec![] } else { vec![group] };
                Some(Pool { groups, zone_slots: vec![] })
            }
            From::Slots(n) => {
                let rank = |at: u32| {
                    let set = SetId::ZoneSlots(frontend.by());
                    self.number(frontend, set, frontend.key().number(at))
                };
                let zone_slots: Vec<u16> =
                    (0..n).map_while(|at| u16::try_from(rank(at)?).ok()).collect();
                let mut ranks = zone_slots.clone();
                ranks.sort_unstable();
                ranks.dedup();
                let groups = ranks.into_iter().filter_map(|rank| {
                    let zones = SetId::Zones(frontend.by());
                    let From::Zone { endpoints, .. } =
                        self.pick(frontend, zones, frontend.key().number(rank.into()))?
                    else {
                        return None;
                    };
                    Some(Group { rank, zone: ZoneId::EMPTY, slots: slots(base(rank), endpoints) })
                });
                Some(Pool { groups: groups.collect(), zone_slots })
            }
            From::Zone { .. } => None,
        }
    }

    fn pick(&self, frontend: Frontend, set: SetId, key: Key) -> Option<From> {
        match self.get(frontend, set, key)? {
            Data::Verdict(Verdict::Goto(ChainId::Pick(pick))) => Some(pick.from),
            _ => None,
        }
    }

    fn slot(&self, frontend: Frontend, lane: Lane, sticky: bool, index: u32) -> Option<Slot> {
        let (by, key) = (frontend.by(), frontend.key());
        let (backend, id) = if sticky {
            let id = self.number(frontend, SetId::StickySlots(by, lane), key.number(index))?;
            (self.backend(frontend, SetId::Pinned(by, lane), key.number(id))?, id)
        } else {
            // Nothing asks for ids without affinity; they are given anew.
            (self.backend(frontend, SetId::Endpoints(by, lane), key.number(index))?, index + 1)
        };
        let member = Member { backend, zone: ZoneId::EMPTY, is_local: false };
        Some(Slot { member, id })
    }

    fn number(&self, frontend: Frontend, set: SetId, key: Key) -> Option<u32> {
        match self.get(frontend, set, key)? {
            Data::Scratch(number) => Some(*number),
            _ => None,
        }
    }

    fn backend(&self, frontend: Frontend, set: SetId, key: Key) -> Option<Backend> {
        match self.get(frontend, set, key)? {
            Data::Backend(backend) => Some(*backend),
            _ => None,
        }
    }

    fn get(&self, frontend: Frontend, set: SetId, key: Key) -> Option<&Data> {
        let place = self.place(&(frontend.family(), set, key, key))?;
        Some(&self.elements[place].data)
    }

    /// Whether a change leads to what is there, or from it, so that it need not be written down.
    pub(super) fn covers(&mut self, Change { verb, element }: &Change) -> bool {
        let Some(place) = self.place(&element.key()) else { return false };
        match verb {
            Verb::Add => {
                self.is_wanted[place] = self.elements[place].data == element.data;
                self.is_wanted[place]
            }
            Verb::Delete => std::mem::take(&mut self.is_wanted[place]),
        }
    }

    /// Adds to a first transaction the deletion of all that is there and not wanted.
    pub(super) fn finish(self, transaction: &mut Transaction, missing: &[Family]) {
        let left = self.elements.into_iter().zip(self.is_wanted);
        let gone =
            left.filter(|(element, is_wanted)| !is_wanted && !missing.contains(&element.family));
        let delete = |(element, _)| Change { verb: Verb::Delete, element };
        let before = transaction.elements.len();
        transaction.elements.extend(gone.map(delete));
        if transaction.elements.len() > before {
            transaction.sort();
        }
    }
}
