//! What classifying costs in memory. (What it costs in time: `cargo xtask bench fairness`.)

use allocation_counter::measure;
use evenkeel_fairness::{
    Groups, Request,
    classify::Classifier,
    config::{Conjunction, Distinguisher, Field, Op, Predicate, Source, Test, Transform},
};
use regex::Regex;

use crate::{
    config_of,
    defaults::{defaults, queue},
};

fn allocations(classifier: &Classifier, request: &Request<'_>) -> u64 {
    let run = || std::hint::black_box(classifier.flow(classifier.classify(request), request));
    // A regex makes its scratch space at its first use.
    run();
    measure(|| {
        run();
    })
    .count_total
}

#[test]
fn classifying_by_rules_allocates_nothing() {
    let classifier = Classifier::new(&defaults());
    for (user, groups) in [
        (
            "system:serviceaccount:shop:cart",
            &["system:serviceaccounts", "system:authenticated"][..],
        ),
        ("system:node:a", &["system:nodes", "system:authenticated"]),
        ("jane", &["system:authenticated"]),
        ("nobody", &[]),
    ] {
        for is_resource in [true, false] {
            let groups = Groups::Borrowed(groups);
            let (resource, path) = ("nodes", "/healthz/x");
            let request =
                Request { user, groups, is_resource, resource, path, ..Request::default() };
            assert_eq!(allocations(&classifier, &request), 0, "{request:?}");
        }
    }
}

#[test]
fn patterns_and_transforms_allocate_nothing() {
    let op = Op::Pattern(Regex::new("^(?:[a-z]+-[0-9]+)$").unwrap());
    let tests = vec![Test { field: Field::Groups, op, negated: false }];
    let mut config = config_of(Predicate::Match(vec![Conjunction { tests }]));
    config.levels[0].handling = queue(64, 6);
    let regex = Regex::new("^(?:([a-z]+)-[0-9]+)$").unwrap();
    let transform = Some(Transform { pattern: "([a-z]+)-[0-9]+".into(), regex });
    config.schemas[0].distinguisher = Some(Distinguisher { source: Source::Group, transform });
    let classifier = Classifier::new(&config);
    let groups = ["none".to_owned(), "team-7".to_owned()];
    let request = Request { groups: Groups::Owned(&groups), ..Request::default() };
    assert_eq!(classifier.flow(classifier.classify(&request), &request).distinguisher, "team");
    assert_eq!(allocations(&classifier, &request), 0);
}
