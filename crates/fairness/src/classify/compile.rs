//! From predicates to an index: which anchor each part of a predicate is found by, and what is left
//! to check then.

use super::{
    anchor::{self, Counts, Cover},
    check::{Check, NonResourceCheck, ResourceCheck, Who},
    index::{Entry, Index, Lists},
};
use crate::config::{
    Conjunction, NonResourceRule, Predicate, ResourceRule, Rule, Schema, Subject, Test,
};

/// The index for requests for resources, or that for all others.
pub(super) fn index(schemas: &[Schema], is_resource: bool) -> Index {
    let mut clauses = Vec::new();
    for (schema, number) in schemas.iter().zip(0..) {
        match &schema.predicate {
            Predicate::Match(any) => clauses.extend(any.iter().map(|c| (number, Clause::from(c)))),
            Predicate::Rules(any) => {
                clauses.extend(any.iter().map(|rule| (number, Clause::of(rule, is_resource))));
            }
        }
    }
    let mut counts = Counts::default();
    clauses.iter().for_each(|(_, clause)| clause.count(&mut counts));
    let mut lists = Lists::default();
    clauses.iter().for_each(|(schema, clause)| clause.enter(*schema, &counts, &mut lists));
    lists.into()
}

/// A part of a predicate that suffices alone, with all the anchors it could have.
enum Clause<'c> {
    Tests {
        tests: &'c [Test],
        /// With the number of the test each is for.
        covers: Vec<(usize, Cover<'c>)>,
    },
    Rule {
        /// None: anyone.
        who: Option<Vec<(&'c Subject, Cover<'c>)>>,
        what: Vec<What<'c>>,
    },
}

struct What<'c> {
    rule: WhatRule<'c>,
    covers: Vec<Cover<'c>>,
}

enum WhatRule<'c> {
    Resource(&'c ResourceRule),
    NonResource(&'c NonResourceRule),
}

// === impl Clause ===

impl<'c> From<&'c Conjunction> for Clause<'c> {
    fn from(conjunction: &'c Conjunction) -> Self {
        let tests = conjunction.tests.as_slice();
        let of = |(number, test)| anchor::of_test(test).into_iter().map(move |c| (number, c));
        Clause::Tests { tests, covers: tests.iter().enumerate().flat_map(of).collect() }
    }
}

impl<'c> Clause<'c> {
    fn of(rule: &'c Rule, is_resource: bool) -> Self {
        let who = rule.subjects.iter().map(|s| Some((s, anchor::of_subject(s)?))).collect();
        let what = if is_resource {
            rule.resource_rules.iter().map(What::from).collect()
        } else {
            rule.non_resource_rules.iter().map(What::from).collect()
        };
        Clause::Rule { who, what }
    }

    fn count(&self, counts: &mut Counts<'c>) {
        match self {
            Clause::Tests { covers, .. } => covers.iter().for_each(|(_, c)| counts.add(c)),
            Clause::Rule { what, .. } if what.is_empty() => {}
            Clause::Rule { who, what } => {
                who.iter().flatten().for_each(|(_, cover)| counts.add(cover));
                what.iter().flat_map(|w| &w.covers).for_each(|cover| counts.add(cover));
            }
        }
    }

    fn enter(&self, schema: u32, counts: &Counts<'c>, lists: &mut Lists<'c>) {
        match self {
            Clause::Tests { tests, covers } => enter_tests(schema, tests, covers, counts, lists),
            Clause::Rule { what, .. } if what.is_empty() => {}
            Clause::Rule { who: None, what } => enter_what(schema, &None, what, counts, lists),
            Clause::Rule { who: Some(who), what } => {
                enter_rule(schema, who, what, counts, lists);
            }
        }
    }
}

fn enter_tests<'c>(
    schema: u32,
    tests: &[Test],
    covers: &[(usize, Cover<'c>)],
    counts: &Counts<'c>,
    lists: &mut Lists<'c>,
) {
    let best = covers.iter().min_by_key(|(_, cover)| counts.cost(cover));
    let proven = best.filter(|(_, cover)| cover.proves).map(|(test, _)| *test);
    let left = tests.iter().enumerate().filter(|(number, _)| Some(*number) != proven);
    let left: Box<[_]> = left.map(|(_, test)| test.into()).collect();
    let check = lists.keep((!left.is_empty()).then_some(Check::Tests(left)));
    match best {
        Some((_, cover)) => lists.under(&cover.keys, Entry { schema, check }),
        None => lists.always(Entry { schema, check }),
    }
}

/// Each subject is an anchor, save where every request the rule is for has one that is rarer.
fn enter_rule<'c>(
    schema: u32,
    who: &[(&Subject, Cover<'c>)],
    what: &[What<'c>],
    counts: &Counts<'c>,
    lists: &mut Lists<'c>,
) {
    let cost = |w: &What<'c>| Some(counts.cost(counts.best(&w.covers)?).0);
    let by_what = what.iter().map(cost).collect::<Option<Vec<u32>>>();
    let by_what = by_what.and_then(|costs| costs.into_iter().max());
    let rarer = |cover| by_what.is_some_and(|cost| cost < counts.cost(cover).0);
    let (common, telling): (Vec<_>, Vec<_>) = who.iter().partition(|(_, cover)| rarer(cover));
    let all = lists.keep(check(&None, what));
    for (subject, cover) in telling {
        let check = if cover.proves {
            all
        } else {
            lists.keep(check(&Some([(*subject).clone()].into()), what))
        };
        lists.under(&cover.keys, Entry { schema, check });
    }
    if !common.is_empty() {
        let who = common.into_iter().map(|(subject, _)| (*subject).clone()).collect();
        enter_what(schema, &Some(who), what, counts, lists);
    }
}

fn enter_what<'c>(
    schema: u32,
    who: &Who,
    what: &[What<'c>],
    counts: &Counts<'c>,
    lists: &mut Lists<'c>,
) {
    for one in what {
        let check = lists.keep(check(who, std::slice::from_ref(one)));
        match counts.best(&one.covers) {
            Some(cover) => lists.under(&cover.keys, Entry { schema, check }),
            None => lists.always(Entry { schema, check }),
        }
    }
}

/// What remains to be asked; none if nothing does. All of `what` is of one sort.
fn check(who: &Who, what: &[What<'_>]) -> Option<Check> {
    let who = who.clone();
    let (mut resource, mut others) = (Vec::new(), Vec::new());
    for one in what {
        match one.rule {
            WhatRule::Resource(rule) => resource.push(ResourceCheck::from(rule)),
            WhatRule::NonResource(rule) => others.push(NonResourceCheck::from(rule)),
        }
    }
    let open = resource.iter().any(ResourceCheck::is_everything)
        || others.iter().any(NonResourceCheck::is_everything);
    match who {
        None if open => None,
        who if others.is_empty() => Some(Check::Resource { who, what: resource.into() }),
        who => Some(Check::NonResource { who, what: others.into() }),
    }
}

// === impl What ===

impl<'c> From<&'c ResourceRule> for What<'c> {
    fn from(rule: &'c ResourceRule) -> Self {
        What { rule: WhatRule::Resource(rule), covers: anchor::of_resource_rule(rule) }
    }
}

impl<'c> From<&'c NonResourceRule> for What<'c> {
    fn from(rule: &'c NonResourceRule) -> Self {
        What { rule: WhatRule::NonResource(rule), covers: anchor::of_non_resource_rule(rule) }
    }
}
