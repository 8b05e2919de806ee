//! The chains and elements of a table, for lookups.

use core::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Affinities, Fate, Outcome, Packet, Probability,
    path::Path,
    run::{Chance, Run},
};
use crate::{
    ChainId, Config, Data, Element, Family, Key, SetId, Type, Verdict, fixed_chains, rule::Rule,
    rules,
};

/// A table of a family, and the addresses of its node.
#[derive(Clone, Debug)]
pub struct Tables {
    family: Family,
    chains: FxHashMap<ChainId, Vec<Rule>>,
    elements: FxHashMap<(SetId, Key), Data>,
    /// By all fields but the last: the first and the last key of each range.
    ranges: FxHashMap<(SetId, Key), Vec<(Key, Key)>>,
    /// Of the node: what `fib` calls local.
    addresses: FxHashSet<IpAddr>,
    flaws: Vec<String>,
}

impl Tables {
    /// A table with these chains beside the fixed ones, as [`crate::text::table`] renders it.
    /// Elements of the other family are left out.
    pub fn new(
        config: &Config,
        family: Family,
        chains: impl IntoIterator<Item = ChainId>,
        elements: impl IntoIterator<Item = Element>,
    ) -> Tables {
        let with_rules = |chain| (chain, rules(chain, config, family));
        let chains = chains.into_iter().chain(fixed_chains(config, family));
        let mut tables = Tables {
            family,
            chains: chains.map(with_rules).collect(),
            elements: FxHashMap::default(),
            ranges: FxHashMap::default(),
            addresses: FxHashSet::default(),
            flaws: Vec::new(),
        };
        elements.into_iter().filter(|it| it.family == family).for_each(|it| tables.add(it));
        tables
    }

    /// The node has these addresses.
    #[must_use]
    pub fn at(mut self, addresses: impl IntoIterator<Item = IpAddr>) -> Tables {
        self.addresses.extend(addresses);
        self
    }

    /// What the kernel would refuse: elements with one key and different data, ranges that overlap,
    /// keys of other types than their set's, verdicts that lead nowhere.
    pub fn flaws(&self) -> &[String] {
        &self.flaws
    }

    /// All that may become of a packet, most likely first.
    pub fn outcomes(
        &self,
        packet: &Packet,
        affinities: &Affinities,
        now: u64,
    ) -> Vec<(Outcome, Probability)> {
        let mut run = Run { tables: self, affinities, now, chance: Chance::All };
        let mut outcomes: FxHashMap<Outcome, Probability> = FxHashMap::default();
        for (path, probability, fate) in run.all_hooks(Path::new(packet)) {
            *outcomes.entry(path.outcome(fate)).or_insert(Probability::NEVER) += probability;
        }
        let mut outcomes: Vec<_> = outcomes.into_iter().collect();
        outcomes.sort_by(|(a, p), (b, q)| q.cmp(p).then_with(|| a.cmp(b)));
        outcomes
    }

    /// Sends one packet. `choose(n)` gives a number below n.
    pub fn send(
        &self,
        packet: &Packet,
        mut choose: impl FnMut(u32) -> u32,
        affinities: &mut Affinities,
        now: u64,
    ) -> Outcome {
        let chance = Chance::One(&mut choose);
        let mut run = Run { tables: self, affinities, now, chance };
        let ended = run.all_hooks(Path::new(packet)).pop();
        let Some((mut path, _, fate)) = ended else {
            return Path::new(packet).outcome(Fate::Broken("no path".into()));
        };
        affinities.apply(std::mem::take(&mut path.changes));
        path.outcome(fate)
    }

    pub(super) fn rules(&self, chain: ChainId) -> Option<&[Rule]> {
        self.chains.get(&chain).map(Vec::as_slice)
    }

    pub(super) fn find(&self, set: SetId, key: Key) -> Option<&Data> {
        if !set.has_ranges() {
            return self.elements.get(&(set, key));
        }
        let ranges = self.ranges.get(&(set, self.without_last(set, key)))?;
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&key)).then_some(&Data::None)
    }

    pub(super) fn is_of_node(&self, ip: IpAddr) -> bool {
        self.addresses.contains(&ip)
    }

    fn add(&mut self, element: Element) {
        self.check(&element);
        let Element { set, key, end, data, .. } = element;
        if set.has_ranges() {
            let of = (set, self.without_last(set, key));
            let ranges = self.ranges.entry(of).or_default();
            if ranges.iter().any(|range| *range != (key, end) && key <= range.1 && range.0 <= end) {
                self.flaws.push(format!("{}: {key:?} is in two ranges", set.name()));
            }
            ranges.push((key, end));
        } else if let Some(other) = self.elements.insert((set, key), data.clone())
            && other != data
        {
            self.flaws.push(format!("{}: {key:?} is {other:?} and {data:?}", set.name()));
        }
    }

    fn check(&mut self, element: &Element) {
        let Element { set, key, end, data, .. } = element;
        let width: usize = set.key(self.family).iter().map(|ty| ty.width(self.family)).sum();
        if [key, end].iter().any(|key| key.as_bytes().len() != width) {
            self.flaws.push(format!("{}: {key:?} is no key of {width} bytes", set.name()));
        }
        if let Data::Verdict(Verdict::Goto(chain)) = data
            && !self.chains.contains_key(chain)
        {
            self.flaws.push(format!("{}: there is no chain {chain}", set.name()));
        }
    }

    fn without_last(&self, set: SetId, key: Key) -> Key {
        let last = set.key(self.family).last().map_or(0, |ty: &Type| ty.width(self.family));
        let bytes = key.as_bytes();
        Key::from_bytes(&bytes[..bytes.len().saturating_sub(last)]).unwrap_or_default()
    }
}
