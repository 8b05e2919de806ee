//! Which schema takes which request.

mod cost;
mod defaults;
mod explain;
mod flows;
mod oracle;
mod predicates;
mod rules;

use evenkeel_fairness::{
    Request,
    classify::Classifier,
    config::{Config, Conjunction, Handling, Op, Predicate, Schema},
};
use regex::Regex;

/// One level, the schema under test, and behind it one that matches nothing, as the fallback.
fn config_of(predicate: Predicate) -> Config {
    let base = defaults::schema("tested", 1, None, defaults::everything(vec![]));
    let fallback = Schema { name: "fallback".into(), precedence: 2, ..base.clone() };
    Config {
        levels: vec![defaults::level("only", 1, 0, Handling::Reject)],
        schemas: vec![Schema { predicate, ..base }, fallback],
        fallback: 1,
    }
}

fn matches(predicate: &Predicate, request: &Request<'_>) -> bool {
    let matched = Classifier::new(&config_of(predicate.clone())).classify(request);
    assert_eq!(matched.fallback, matched.schema == 1, "the second schema matches nothing");
    !matched.fallback
}

/// Anchored at both ends.
fn pattern(pattern: &str) -> Op {
    Op::Pattern(Regex::new(&format!("^(?:{pattern})$")).expect("a pattern"))
}

#[test]
fn the_first_of_several_that_match_takes_the_request() {
    let mut config = config_of(Predicate::Match(vec![Conjunction::default()]));
    config.schemas[1].predicate = Predicate::Match(vec![Conjunction::default()]);
    let matched = Classifier::new(&config).classify(&Request::default());
    assert_eq!((matched.schema, matched.fallback), (0, false));
}

#[test]
fn the_fallback_takes_what_none_matches_and_says_so() {
    let config = config_of(Predicate::Match(vec![]));
    let matched = Classifier::new(&config).classify(&Request::default());
    assert_eq!((matched.schema, matched.level, matched.fallback), (1, 0, true));
}
