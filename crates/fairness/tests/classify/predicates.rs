//! The proposal's predicates: an or of ands of tests, each with its inverse.

use evenkeel_fairness::{
    Groups, Request,
    config::{Conjunction, Field, Op, Predicate, Test},
};

use crate::{matches, pattern};

fn equals(value: &str) -> Op {
    Op::Equals(value.into())
}

fn in_set<const N: usize>(values: [&str; N]) -> Op {
    Op::InSet(values.map(Box::from).into())
}

fn super_set<const N: usize>(values: [&str; N]) -> Op {
    Op::SuperSet(values.map(Box::from).into())
}

fn test(field: Field, op: Op) -> Test {
    Test { field, op, negated: false }
}

fn any_of(conjunctions: Vec<Vec<Test>>) -> Predicate {
    Predicate::Match(conjunctions.into_iter().map(|tests| Conjunction { tests }).collect())
}

const REQUEST: Request<'static> = Request {
    user: "system:serviceaccount:shop:cart",
    groups: Groups::Borrowed(&["dev", "ops"]),
    verb: "get",
    is_resource: true,
    api_group: "apps",
    resource: "pods",
    subresource: "log",
    namespace: "shop",
    name: "cart-1",
    path: "/apis/apps/v1/x",
    method: "GET",
    headers: &[("x-tenant", "acme"), ("x-tenant", "other")],
};

#[test]
fn every_test_holds_or_its_inverse_does() {
    let header = || Field::Header("x-tenant".into());
    let absent = || Field::Header("x-none".into());
    let cases = [
        (Field::User, equals("system:serviceaccount:shop:cart"), true),
        (Field::User, equals("cart"), false),
        (Field::User, pattern("system:serviceaccount:.*"), true),
        (Field::User, pattern("system:serviceaccount:shop:.*"), true),
        (Field::User, pattern("system:serviceaccount:prod:.*"), false),
        (Field::User, pattern("serviceaccount:.*"), false),
        (Field::User, pattern("system:.*:cart"), true),
        (Field::User, super_set(["system:serviceaccount:shop:cart"]), true),
        (Field::User, super_set(["system:serviceaccount:shop:cart", "x"]), false),
        (Field::User, super_set([]), true),
        (Field::User, in_set([]), false),
        (Field::Groups, equals("dev"), true),
        (Field::Groups, equals("ops"), true),
        (Field::Groups, equals("o"), false),
        (Field::Groups, in_set(["x", "ops"]), true),
        (Field::Groups, in_set(["x", "y"]), false),
        (Field::Groups, super_set(["ops", "dev"]), true),
        (Field::Groups, super_set(["ops", "ops"]), true),
        (Field::Groups, super_set(["ops", "x"]), false),
        (Field::Groups, super_set([]), true),
        (Field::Groups, pattern("o.."), true),
        (Field::Groups, pattern("o"), false),
        (Field::Verb, in_set(["list", "get"]), true),
        (Field::ApiGroup, equals(""), false),
        (Field::ApiGroup, equals("apps"), true),
        (Field::Resource, equals("pods"), true),
        (Field::Resource, equals("pods/log"), false),
        (Field::Subresource, equals("log"), true),
        (Field::Namespace, pattern("shop|prod"), true),
        (Field::Name, pattern("cart-[0-9]+"), true),
        (Field::Path, equals("/apis/apps/v1/x"), true),
        (Field::Path, pattern("/apis/.*"), true),
        (Field::Path, pattern("/apis/ap.*"), true),
        (Field::Path, pattern("/api/.*"), false),
        (Field::Method, equals("GET"), true),
        (Field::Method, equals("get"), false),
        (header(), equals("acme"), true),
        (header(), equals("other"), false),
        (header(), pattern("ac.e"), true),
        (absent(), equals(""), true),
        (absent(), in_set(["", "x"]), true),
        (absent(), pattern(""), true),
        (absent(), equals("x"), false),
    ];
    for (field, op, expected) in cases {
        for negated in [false, true] {
            for is_resource in [false, true] {
                let test = Test { field: field.clone(), op: op.clone(), negated };
                let predicate = any_of(vec![vec![test]]);
                let got = matches(&predicate, &Request { is_resource, ..REQUEST });
                assert_eq!(got, expected != negated, "{predicate:?}");
            }
        }
    }
}

#[test]
fn without_groups_no_test_of_one_holds_and_every_inverse_does() {
    let request = Request { groups: Groups::default(), ..REQUEST };
    for op in [equals("dev"), in_set(["dev"]), super_set(["dev"]), pattern(".*")] {
        for negated in [false, true] {
            let test = Test { field: Field::Groups, op: op.clone(), negated };
            assert_eq!(matches(&any_of(vec![vec![test]]), &request), negated, "{op:?}");
        }
    }
}

#[test]
fn tests_are_anded_and_conjunctions_are_ored() {
    let yes = || test(Field::Verb, equals("get"));
    let no = || test(Field::Name, equals("x"));
    let not = |test: Test| Test { negated: true, ..test };
    let cases = [
        (vec![], false),
        (vec![vec![]], true),
        (vec![vec![yes(), no()]], false),
        (vec![vec![no()], vec![yes()]], true),
        (vec![vec![yes(), not(no())]], true),
        (vec![vec![not(yes())], vec![no()]], false),
        (vec![vec![not(yes())], vec![]], true),
    ];
    for (conjunctions, expected) in cases {
        let predicate = any_of(conjunctions);
        assert_eq!(matches(&predicate, &REQUEST), expected, "{predicate:?}");
    }
}
