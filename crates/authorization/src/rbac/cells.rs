//! A role as an index: its rules as cells, sorted, each with the verbs it allows.
//!
//! A rule stands for all combinations of its groups, resources, names and verbs. Where those are many
//! more than the rule is long, it stays a rule (`Wide`) and is looked at by itself, so that the index
//! is never much larger than the roles.

use std::collections::HashSet;

use super::{
    Rule, verbs,
    wanted::{Wanted, WantedOn, split},
    words::{Cell, NONE, Words},
};

/// A rule of so many combinations more than it has entries is wide.
const WIDE: usize = 4;
/// Combinations that are always few enough.
const FEW: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) rules: Vec<Rule>,
    /// Cell and verbs, sorted by cell. Each holds a reference.
    pub(crate) cells: Box<[(u32, u32)]>,
    pub(crate) wide: Vec<Wide>,
}

#[derive(Clone, Debug)]
pub(crate) struct Wide {
    verbs: HashSet<String>,
    groups: HashSet<String>,
    resources: HashSet<String>,
    names: HashSet<String>,
    paths: HashSet<String>,
    prefixes: Vec<String>,
}

/// What a path in a rule means.
pub(crate) enum Pattern<'a> {
    Exact(&'a str),
    Prefix(&'a str),
}

// === impl Compiled ===

impl Compiled {
    pub(crate) fn new(rules: Vec<Rule>, words: &mut Words) -> Compiled {
        let mut cells = Vec::new();
        let mut wide = Vec::new();
        for rule in &rules {
            if is_wide(rule) {
                wide.push(Wide::of(rule));
            } else {
                add_cells(rule, words, &mut cells);
            }
        }
        Compiled { cells: joined(cells, words), wide, rules }
    }

    pub(crate) fn release(&self, words: &mut Words) {
        self.cells.iter().for_each(|(cell, _)| words.release_cell(*cell));
    }

    /// Whether one of the cells has one of the verbs.
    pub(crate) fn has(&self, cells: &[u32], enough: u32) -> bool {
        cells.iter().any(|cell| {
            let place = self.cells.binary_search_by_key(cell, |(cell, _)| *cell);
            place.is_ok_and(|place| self.cells[place].1 & enough != 0)
        })
    }

    pub(crate) fn has_wide(&self, wanted: &Wanted<'_>) -> bool {
        self.wide.iter().any(|wide| wide.allows(wanted))
    }
}

/// Sorts, and joins the verbs of cells that several rules have.
fn joined(mut cells: Vec<(u32, u32)>, words: &mut Words) -> Box<[(u32, u32)]> {
    cells.sort_unstable();
    cells.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 |= later.1;
            words.release_cell(later.0);
        }
        same
    });
    cells.into_boxed_slice()
}

fn is_wide(rule: &Rule) -> bool {
    let Rule { verbs, api_groups, resources, resource_names, non_resource_urls } = rule;
    // Kubernetes refuses such a rule. If one is stored, what it means depends on who asks.
    if !non_resource_urls.is_empty() && !resource_names.is_empty() {
        return true;
    }
    let others = verbs.iter().filter(|verb| verbs::bit(verb).is_none()).count();
    let resource_cells = api_groups
        .len()
        .saturating_mul(resources.len())
        .saturating_mul(resource_names.len().max(1))
        .saturating_add(non_resource_urls.len())
        .saturating_mul(others + 1);
    let entries = verbs.len()
        + api_groups.len()
        + resources.len()
        + resource_names.len()
        + non_resource_urls.len();
    resource_cells > WIDE * entries + FEW
}

/// The cells of one rule, each with a reference.
fn add_cells(rule: &Rule, words: &mut Words, cells: &mut Vec<(u32, u32)>) {
    let (verbs, mut held) = verbs_of(rule, words);
    let mut symbol = |words: &mut Words, name: &str| {
        let symbol = words.symbol(name);
        held.push(symbol);
        symbol
    };
    let groups: Vec<u32> = rule.api_groups.iter().map(|name| symbol(words, name)).collect();
    let names: Vec<u32> = match rule.resource_names.as_slice() {
        [] => vec![NONE],
        names => names.iter().map(|name| symbol(words, name)).collect(),
    };
    for resource in &rule.resources {
        let (resource, part) = split(resource);
        let resource = symbol(words, resource);
        let part = part.map_or(NONE, |part| symbol(words, part));
        for group in groups.iter().copied() {
            for name in names.iter().copied() {
                for (verb, bits) in verbs.iter().copied() {
                    cells.push((words.cell(Cell { group, resource, part, name, verb }), bits));
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        let (text, is_prefix) = match Pattern::of(url) {
            Pattern::Exact(path) => (path, false),
            Pattern::Prefix(path) => (path, true),
        };
        let path = symbol(words, text);
        for (verb, bits) in verbs.iter().copied() {
            cells.push((words.cell(Cell::path(path, is_prefix, verb)), bits));
        }
    }
    held.into_iter().for_each(|symbol| words.release(symbol));
}

/// The verbs of a rule as they are in cells, and the symbols that are to be released after that.
fn verbs_of(rule: &Rule, words: &mut Words) -> (Vec<(u32, u32)>, Vec<u32>) {
    let mut known = 0;
    let mut of_cells = Vec::new();
    let mut held = Vec::new();
    for verb in &rule.verbs {
        match verbs::bit(verb) {
            Some(bit) => known |= bit,
            None => {
                let symbol = words.symbol(verb);
                held.push(symbol);
                of_cells.push((symbol, verbs::OTHER));
            }
        }
    }
    if known != 0 {
        of_cells.push((NONE, known));
    }
    (of_cells, held)
}

// === impl Wide ===

impl Wide {
    fn of(rule: &Rule) -> Wide {
        let set = |names: &[String]| names.iter().cloned().collect();
        let mut prefixes = Vec::new();
        for url in &rule.non_resource_urls {
            if let Pattern::Prefix(prefix) = Pattern::of(url) {
                prefixes.push(prefix.to_owned());
            }
        }
        Wide {
            verbs: set(&rule.verbs),
            groups: set(&rule.api_groups),
            resources: set(&rule.resources),
            names: set(&rule.resource_names),
            paths: set(&rule.non_resource_urls),
            prefixes,
        }
    }

    fn allows(&self, wanted: &Wanted<'_>) -> bool {
        let has = |set: &HashSet<String>, name: &str| set.contains("*") || set.contains(name);
        has(&self.verbs, wanted.verb)
            && match &wanted.on {
                WantedOn::Path { path, unnamed } => {
                    (!unnamed || self.names.is_empty())
                        && (self.paths.contains(*path)
                            || self.prefixes.iter().any(|prefix| path.starts_with(prefix)))
                }
                WantedOn::Resource { group, resource, part, any, name } => {
                    has(&self.groups, group)
                        && self.has_resource(resource, part.as_deref(), *any)
                        && (self.names.is_empty()
                            || name.is_some_and(|name| self.names.contains(name)))
                }
            }
    }

    fn has_resource(&self, resource: &str, part: Option<&str>, any: Option<&str>) -> bool {
        self.resources.contains("*")
            || match part {
                None => self.resources.contains(resource),
                Some(part) => self.resources.contains(&format!("{resource}/{part}")),
            }
            || any.is_some_and(|any| self.resources.contains(&format!("*/{any}")))
    }
}

// === impl Pattern ===

impl Pattern<'_> {
    pub(crate) fn of(url: &str) -> Pattern<'_> {
        match url.ends_with('*') {
            true => Pattern::Prefix(url.trim_end_matches('*')),
            false => Pattern::Exact(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(sizes: [usize; 5]) -> Rule {
        let list = |n: usize| (0..n).map(|i| format!("x{i}")).collect::<Vec<_>>();
        let [verbs, groups, resources, names, urls] = sizes;
        Rule {
            verbs: list(verbs),
            api_groups: list(groups),
            resources: list(resources),
            resource_names: list(names),
            non_resource_urls: list(urls),
        }
    }

    #[test]
    fn the_index_is_never_much_larger_than_the_role() {
        let sizes = [
            [1, 1, 1, 0, 0],
            [8, 2, 20, 0, 0],
            [1, 1, 1, 10_000, 0],
            [30, 30, 30, 30, 0],
            [10_000, 10_000, 10_000, 10_000, 0],
            [2000, 0, 0, 0, 2000],
            [1, 1, 1, 1, 1],
        ];
        for sizes in sizes {
            let mut words = Words::default();
            let compiled = Compiled::new(vec![rule(sizes)], &mut words);
            let entries: usize = sizes.iter().sum();
            assert!(compiled.cells.len() <= WIDE * entries + FEW, "{sizes:?}");
            assert_eq!(compiled.cells.is_empty(), !compiled.wide.is_empty(), "{sizes:?}");
            compiled.release(&mut words);
            assert!(words.is_empty(), "{sizes:?}");
        }
    }

    #[test]
    fn rules_with_the_same_cells_are_joined() {
        let mut words = Words::default();
        let of = |verb: &str| Rule { verbs: vec![verb.to_owned()], ..rule([0, 1, 1, 0, 0]) };
        let rules = vec![of("get"), of("list"), of("get"), of("frob"), of("frob")];
        let compiled = Compiled::new(rules, &mut words);
        assert_eq!(compiled.cells.len(), 2);
        compiled.release(&mut words);
        assert!(words.is_empty());
    }
}
