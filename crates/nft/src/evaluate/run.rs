//! Chains and rules. Where chance decides, a path becomes several; equal ones become one again.

use rustc_hash::FxHashMap;

use super::{Affinities, Entry, Fate, Probability, Tables, affinity::Affinity, path::Path};
use crate::{
    ChainId, Data, SetId, Verdict,
    rule::{Action, Field, Match, Rule},
    value::number,
};

/// The most chains that the kernel keeps to return to.
const DEEPEST: usize = 16;

pub(super) struct Run<'a> {
    pub(super) tables: &'a Tables,
    pub(super) affinities: &'a Affinities,
    pub(super) now: u64,
    pub(super) chance: Chance<'a>,
}

pub(super) enum Chance<'a> {
    /// All choices are followed.
    All,
    /// A number below the given one.
    One(&'a mut dyn FnMut(u32) -> u32),
}

/// What an action or a rule leads to.
enum Step {
    /// The next action of the rule, or the next rule.
    On,
    /// The next rule.
    RuleEnds,
    Return,
    Jump(ChainId),
    Goto(ChainId),
    End(Fate),
}

/// The paths through a chain.
#[derive(Default)]
struct Paths {
    /// To the next rule.
    next: FxHashMap<Path, Probability>,
    /// `None`: back to where the chain was jumped from.
    ended: Vec<(Path, Probability, Option<Fate>)>,
}

// === impl Run ===

impl Run<'_> {
    /// From the first hook to the last.
    pub(super) fn all_hooks(&mut self, path: Path) -> Vec<(Path, Probability, Fate)> {
        let first = match path.packet.entry {
            Entry::Prerouting { .. } => ChainId::Prerouting,
            Entry::Output => ChainId::Output,
        };
        let mut ended = Vec::new();
        for (path, probability, fate) in self.chain(first, path, Probability::ALWAYS, 0) {
            match fate.unwrap_or(Fate::Accepted) {
                fate @ (Fate::Accepted | Fate::TranslatedTo(_)) => {
                    ended.extend(self.last_hook(path, probability, &fate));
                }
                fate => ended.push((path, probability, fate)),
            }
        }
        ended
    }

    fn last_hook(
        &mut self,
        path: Path,
        probability: Probability,
        fate: &Fate,
    ) -> Vec<(Path, Probability, Fate)> {
        let comes_in = matches!(path.packet.entry, Entry::Prerouting { .. })
            && self.tables.is_of_node(path.packet.destination);
        let hook = if comes_in { ChainId::Input } else { ChainId::Postrouting };
        if comes_in && self.tables.rules(hook).is_none() {
            return vec![(path, probability, fate.clone())];
        }
        let ended = self.chain(hook, path, probability, 0).into_iter();
        let with_fate = |(path, probability, last): (_, _, Option<Fate>)| {
            let last = last.filter(|last| *last != Fate::Accepted);
            (path, probability, last.unwrap_or_else(|| fate.clone()))
        };
        ended.map(with_fate).collect()
    }

    fn chain(
        &mut self,
        chain: ChainId,
        path: Path,
        probability: Probability,
        depth: usize,
    ) -> Vec<(Path, Probability, Option<Fate>)> {
        let Some(rules) = self.tables.rules(chain).filter(|_| depth <= DEEPEST) else {
            let reason = format!("{chain} does not exist, or is jumped to too deeply");
            return vec![(path, probability, Some(Fate::Broken(reason)))];
        };
        let mut paths = Paths::default();
        paths.go_on(path, probability);
        for rule in rules {
            for (path, probability) in std::mem::take(&mut paths.next) {
                for (path, step, of) in self.rule(rule, path) {
                    self.step(step, path, probability * of, depth, &mut paths);
                }
            }
        }
        let to_caller = paths.next.into_iter().map(|(path, probability)| (path, probability, None));
        paths.ended.into_iter().chain(to_caller).collect()
    }

    fn step(
        &mut self,
        step: Step,
        path: Path,
        probability: Probability,
        depth: usize,
        paths: &mut Paths,
    ) {
        match step {
            Step::On | Step::RuleEnds => paths.go_on(path, probability),
            Step::Return => paths.ended.push((path, probability, None)),
            Step::End(fate) => paths.ended.push((path, probability, Some(fate))),
            Step::Goto(to) => paths.ended.extend(self.chain(to, path, probability, depth + 1)),
            Step::Jump(to) => {
                for (path, probability, fate) in self.chain(to, path, probability, depth + 1) {
                    match fate {
                        None => paths.go_on(path, probability),
                        Some(_) => paths.ended.push((path, probability, fate)),
                    }
                }
            }
        }
    }

    fn rule(&mut self, rule: &Rule, path: Path) -> Vec<(Path, Step, Probability)> {
        if !rule.matches.iter().all(|it| self.is_match(it, &path)) {
            return vec![(path, Step::RuleEnds, Probability::ALWAYS)];
        }
        let mut live = vec![(path, Step::On, Probability::ALWAYS)];
        let mut ended = Vec::new();
        for action in &rule.actions {
            for (path, _, probability) in std::mem::take(&mut live) {
                for (path, step, of) in self.act(action, path) {
                    let to = if matches!(step, Step::On) { &mut live } else { &mut ended };
                    to.push((path, step, probability * of));
                }
            }
        }
        ended.append(&mut live);
        ended
    }

    fn is_match(&self, it: &Match, path: &Path) -> bool {
        let packet = &path.packet;
        match it {
            Match::InSet { key, set, is_in } => {
                self.tables.find(*set, path.key(key, 0)).is_some() == *is_in
            }
            Match::Source { range, is_in } => range.contains(packet.source) == *is_in,
            Match::SourceIsLocal => self.tables.is_of_node(packet.source),
            Match::Interface { name, is_it } => path.interface_is(name) == *is_it,
            Match::ScratchIsNone(is_none) => (packet.priority == 0) == *is_none,
            Match::Mark(bits) => packet.mark & bits == *bits,
            Match::Translated => path.is_translated(),
            Match::Protocol(protocol) => packet.protocol == number(*protocol),
        }
    }

    fn act(&mut self, action: &Action, mut path: Path) -> Vec<(Path, Step, Probability)> {
        let mut step = Step::On;
        match action {
            Action::SetMark(bits) => path.packet.mark |= bits,
            Action::ClearMark(bits) => path.packet.mark ^= bits,
            Action::ClearScratch => path.packet.priority = 0,
            Action::Remember { key, map, seconds } => {
                step = self.remember(&mut path, key, *map, *seconds);
            }
            Action::Forget { key, map } => {
                let of = (*map, path.key(key, 0));
                path.changes.push((of, None));
            }
            Action::Masquerade => {
                path.masqueraded = true;
                step = Step::End(Fate::Accepted);
            }
            Action::Reject | Action::Reset => step = Step::End(Fate::Rejected),
            Action::Drop => step = Step::End(Fate::Dropped),
            Action::Return => step = Step::Return,
            Action::Jump(chain) => step = Step::Jump(*chain),
            Action::ScratchFrom { key, map }
            | Action::Count { key, map }
            | Action::VerdictFrom { key, map }
            | Action::TranslateTo { key, map } => return self.look_up(action, path, key, *map),
        }
        vec![(path, step, Probability::ALWAYS)]
    }

    /// An element that is there keeps its data, and gets new time. In a full map the rule ends.
    fn remember(&self, path: &mut Path, key: &[Field], map: SetId, seconds: u32) -> Step {
        let of = (map, path.key(key, 0));
        let found = self.affinities.find(&path.changes, of, self.now);
        if found.is_none() && self.affinities.is_full(map, self.now) {
            return Step::RuleEnds;
        }
        let id = found.map_or(path.packet.priority, |found| found.id);
        let expires = self.now.saturating_add(seconds.into());
        path.changes.push((of, Some(Affinity { id, expires })));
        Step::On
    }

    fn look_up(
        &mut self,
        action: &Action,
        path: Path,
        key: &[Field],
        map: SetId,
    ) -> Vec<(Path, Step, Probability)> {
        let modulus = key.iter().find_map(|field| match field {
            Field::Random { modulus, .. } => Some(*modulus),
            _ => None,
        });
        let numbers = match (modulus, &mut self.chance) {
            (None, _) => 0..1,
            (Some(0), _) => {
                let reason = "a number below 0".to_owned();
                return vec![(path, Step::End(Fate::Broken(reason)), Probability::ALWAYS)];
            }
            (Some(modulus), Chance::All) => 0..modulus,
            (Some(modulus), Chance::One(choose)) => {
                let number = choose(modulus) % modulus;
                number..number + 1
            }
        };
        let all = numbers.len() as u128;
        let mut times: FxHashMap<Option<Data>, u128> = FxHashMap::default();
        for number in numbers {
            *times.entry(self.find(&path, key, map, number)).or_default() += 1;
        }
        let follow = |(found, times)| {
            let mut path = path.clone();
            let step = take(action, &mut path, found);
            (path, step, Probability::new(times, all))
        };
        times.into_iter().map(follow).collect()
    }

    fn find(&self, path: &Path, key: &[Field], map: SetId, random: u32) -> Option<Data> {
        let key = path.key(key, random);
        if map.is_dynamic() {
            let found = self.affinities.find(&path.changes, (map, key), self.now);
            return found.map(|affinity| Data::Scratch(affinity.id));
        }
        self.tables.find(map, key).cloned()
    }
}

/// What an action does with what it found.
fn take(action: &Action, path: &mut Path, found: Option<Data>) -> Step {
    match (action, found) {
        (_, None) => return Step::RuleEnds,
        (Action::ScratchFrom { .. }, Some(Data::Scratch(number))) => path.packet.priority = number,
        (Action::Count { .. }, Some(Data::Counter(name))) => path.counted.push(name),
        (Action::VerdictFrom { .. }, Some(Data::Verdict(Verdict::Goto(chain)))) => {
            return Step::Goto(chain);
        }
        (Action::VerdictFrom { .. }, Some(Data::Verdict(Verdict::Drop))) => {
            return Step::End(Fate::Dropped);
        }
        (Action::TranslateTo { .. }, Some(Data::Backend(backend))) => {
            path.packet.destination = backend.ip;
            path.packet.destination_port = backend.port;
            return Step::End(Fate::TranslatedTo(backend));
        }
        (action, Some(data)) => {
            return Step::End(Fate::Broken(format!("{data:?} is no data for {action:?}")));
        }
    }
    Step::On
}

// === impl Paths ===

impl Paths {
    fn go_on(&mut self, path: Path, probability: Probability) {
        *self.next.entry(path).or_insert(Probability::NEVER) += probability;
    }
}
