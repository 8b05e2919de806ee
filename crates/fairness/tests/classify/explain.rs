//! What is said about schemas that do not match.

use evenkeel_fairness::{
    Groups, Request,
    classify::{Classifier, Miss, Verdict},
    config::{
        Conjunction, Field, NonResourceRule, Op, Predicate, ResourceRule, Rule, Subject, Test,
    },
};

use crate::{
    config_of,
    defaults::{any_path, any_resource, defaults, everything, names, url},
};

const REQUEST: Request<'static> = Request {
    user: "jane",
    groups: Groups::Borrowed(&["dev"]),
    verb: "get",
    is_resource: true,
    api_group: "apps",
    resource: "pods",
    subresource: "log",
    namespace: "shop",
    name: "",
    path: "/x",
    method: "GET",
    headers: &[],
};

fn miss(predicate: Predicate, request: &Request<'_>) -> Miss {
    let config = config_of(predicate);
    let mut why = Classifier::new(&config).explain(&config, request);
    let Verdict::Missed(miss) = why.tried.swap_remove(0).verdict else { panic!("it matches") };
    miss
}

fn check(predicate: Predicate, request: &Request<'_>, code: &str, sentence: &str) {
    let miss = miss(predicate, request);
    assert_eq!(miss.to_string(), sentence);
    assert_eq!(serde_json::to_value(&miss).expect("plain data")["code"], code);
}

fn resource_rules(rules: Vec<ResourceRule>) -> Predicate {
    Predicate::Rules(vec![Rule {
        subjects: vec![Subject::Anyone],
        resource_rules: rules,
        non_resource_rules: vec![],
    }])
}

fn path_rules(rules: Vec<NonResourceRule>) -> Predicate {
    Predicate::Rules(vec![Rule {
        subjects: vec![Subject::Anyone],
        resource_rules: vec![],
        non_resource_rules: rules,
    }])
}

#[test]
fn each_part_of_a_rule_has_its_own_miss() {
    let any = any_resource();
    let verb = ResourceRule { verbs: names(["list", "watch"]), ..any.clone() };
    let resource = ResourceRule { resources: names(["pods"]), ..any.clone() };
    let api_group = ResourceRule { api_groups: names([""]), ..any.clone() };
    let namespace = ResourceRule { namespaces: names(["prod"]), ..any.clone() };
    let scope = ResourceRule { cluster_scope: false, ..any.clone() };
    let cluster = Request { namespace: "", ..REQUEST };
    let path = Request { is_resource: false, ..REQUEST };
    let healthz = NonResourceRule { urls: vec![url("/healthz")], ..any_path() };
    let post = NonResourceRule { verbs: names(["post"]), ..any_path() };
    let of = |rule| resource_rules(vec![rule]);
    check(of(verb), &REQUEST, "Verb", r#"spec.rules[0]: verb "get" does not match [list, watch]"#);
    check(
        of(resource),
        &REQUEST,
        "Resource",
        r#"spec.rules[0]: resource "pods/log" does not match [pods]"#,
    );
    check(
        of(api_group),
        &REQUEST,
        "ApiGroup",
        r#"spec.rules[0]: API group "apps" does not match [""]"#,
    );
    check(
        of(namespace),
        &REQUEST,
        "Namespace",
        r#"spec.rules[0]: namespace "shop" does not match [prod]"#,
    );
    check(
        of(scope),
        &cluster,
        "ClusterScope",
        "spec.rules[0]: the request has no namespace, and clusterScope is not set",
    );
    check(
        of(any),
        &path,
        "NotResourceRequest",
        r#"spec.rules[0] matches resources only, and "/x" is not one"#,
    );
    check(
        path_rules(vec![any_path()]),
        &REQUEST,
        "ResourceRequest",
        r#"spec.rules[0] matches paths only, and "pods/log" is a resource"#,
    );
    check(
        path_rules(vec![healthz]),
        &path,
        "Path",
        r#"spec.rules[0]: path "/x" does not match [/healthz]"#,
    );
    check(
        path_rules(vec![post]),
        &path,
        "Verb",
        r#"spec.rules[0]: verb "get" does not match [post]"#,
    );
    check(
        Predicate::Rules(vec![]),
        &REQUEST,
        "NoRules",
        "it has no rules, so it matches no request",
    );
}

#[test]
fn who_was_wanted_is_listed_and_long_lists_are_cut() {
    let group = |i| Subject::Group(format!("g{i}").into());
    let account = Subject::ServiceAccount { namespace: "shop".into(), name: "cart".into() };
    check(
        Predicate::Rules(vec![everything(
            [account].into_iter().chain((1..8).map(group)).collect(),
        )]),
        &REQUEST,
        "Subject",
        "spec.rules[0]: user \"jane\" in groups [dev] does not match [service account shop/cart, group g1, \
         group g2, group g3, group g4 and 3 more]",
    );
}

#[test]
fn the_rule_that_came_farthest_is_reported() {
    let wrong_subject = everything(vec![Subject::User("bob".into())]);
    let wrong_verb = ResourceRule { verbs: names(["list"]), ..any_resource() };
    let wrong_namespace = ResourceRule { namespaces: names(["prod"]), ..any_resource() };
    let close = Rule {
        subjects: vec![Subject::User("jane".into())],
        resource_rules: vec![wrong_verb.clone(), wrong_namespace, wrong_verb],
        non_resource_rules: vec![],
    };
    let got = miss(Predicate::Rules(vec![wrong_subject.clone(), close, wrong_subject]), &REQUEST);
    let expected =
        Miss::Namespace { rule: 1, namespace: "shop".to_owned(), wanted: vec!["prod".to_owned()] };
    assert_eq!(got, expected);
}

#[test]
fn the_conjunction_that_failed_last_is_reported() {
    let test = |field, op, negated| Test { field, op, negated };
    let verb = |negated| test(Field::Verb, Op::Equals("get".into()), negated);
    let tenant =
        test(Field::Header("x-tenant".into()), Op::InSet(vec!["a".into(), "b".into()]), false);
    let all = |tests| Conjunction { tests };
    check(
        Predicate::Match(vec![all(vec![verb(true)]), all(vec![verb(false), tenant])]),
        &REQUEST,
        "Test",
        "spec.match[1].and[1]: header x-tenant [\"\"] fails inSet [a, b]",
    );
    check(
        Predicate::Match(vec![all(vec![test(Field::Groups, Op::Equals("dev".into()), true)])]),
        &REQUEST,
        "Test",
        "spec.match[0].and[0]: groups [dev] fails notEquals [dev]",
    );
    let pattern = regex::Regex::new(r"\A(?:system:.*)\z").unwrap();
    check(
        Predicate::Match(vec![all(vec![test(Field::User, Op::Pattern(pattern), false)])]),
        &REQUEST,
        "Test",
        "spec.match[0].and[0]: user [jane] fails patternMatch [system:.*]",
    );
}

#[test]
fn the_way_through_the_defaults_is_told_in_order() {
    let config = defaults();
    let groups = Groups::Borrowed(&["system:serviceaccounts", "system:authenticated"]);
    let request = Request { user: "system:serviceaccount:shop:cart", groups, ..REQUEST };
    let why = Classifier::new(&config).explain(&config, &request);
    let tried: Vec<&str> = why.tried.iter().map(|tried| &*tried.schema).collect();
    assert_eq!(tried.len(), 9);
    assert_eq!(tried.last(), Some(&"service-accounts"));
    assert_eq!((&*why.schema, &*why.level), ("service-accounts", "workload-low"));
    assert_eq!(
        why.also.iter().map(|name| &**name).collect::<Vec<_>>(),
        ["global-default", "catch-all"]
    );
    assert_eq!(why.distinguisher, request.user);
    let json = serde_json::to_value(&why).unwrap();
    assert_eq!(json["tried"][1]["missed"]["code"], "ResourceRequest");
    assert_eq!(json["tried"][8]["matched"], 0);
}

#[test]
fn a_hash_is_text_in_json() {
    let config = defaults();
    let request = Request { groups: Groups::Borrowed(&["system:authenticated"]), ..REQUEST };
    let explanation = Classifier::new(&config).explain(&config, &request);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["hash"], explanation.hash.to_string());
    assert_ne!(explanation.hash, 0);
}
