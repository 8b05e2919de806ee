//! Which rules a table has, so that a proxy that starts can tell whether they are its own.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::FxHasher;

use crate::{
    By, ChainId, Config, Family, Lane,
    chain::{From, Pick, Version},
    rules, text,
};

/// The chains that are always there, each after those that it names.
pub fn fixed_chains(config: &Config, family: Family) -> Vec<ChainId> {
    let version = ChainId::Version(version(config, family));
    [version].into_iter().chain(ChainId::fixed(config.zone_counters)).collect()
}

/// Tables with the same version have the same sets, and the same rules in all chains.
pub fn version(config: &Config, family: Family) -> Version {
    let mut hasher = FxHasher::default();
    for set in text::sets(config) {
        (set.name(), text::type_text(set, family)).hash(&mut hasher);
    }
    for chain in ChainId::fixed(config.zone_counters).chain(samples()) {
        chain.to_string().hash(&mut hasher);
        chain.hook().map(|hook| hook.priority).hash(&mut hasher);
        for rule in rules(chain, config, family) {
            text::rule_text(&rule, family).hash(&mut hasher);
        }
    }
    let hash = hasher.finish();
    Version { rules: (hash >> 32) as u32 ^ hash as u32, seed: config.seed }
}

/// One of each kind of chain that picks.
fn samples() -> impl Iterator<Item = ChainId> {
    let froms = [From::All(5), From::Slots(10), From::Zone { rank: 2, endpoints: 3 }];
    froms.into_iter().flat_map(|from| {
        [None, Some(60)]
            .map(|sticky| ChainId::Pick(Pick { by: By::Address, lane: Lane::Main, sticky, from }))
    })
}
