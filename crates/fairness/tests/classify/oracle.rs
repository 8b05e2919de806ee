//! The index against the definition: random schemas and requests over few words, so that they meet.

use evenkeel_fairness::{
    Groups, Request,
    classify::{Classifier, Verdict},
    config::{
        Config, Conjunction, Field, Handling, Names, NonResourceRule, Op, Predicate, ResourceRule,
        Rule, Schema, Subject, Test, Url,
    },
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::defaults::{everything, level, schema, url};

// === The definition ===

fn first_match(config: &Config, request: &Request<'_>) -> Option<usize> {
    config.schemas.iter().position(|schema| match &schema.predicate {
        Predicate::Match(any) => any.iter().any(|all| all.tests.iter().all(|t| test(t, request))),
        Predicate::Rules(any) => any.iter().any(|rule| rule_matches(rule, request)),
    })
}

fn test(test: &Test, request: &Request<'_>) -> bool {
    let values: Vec<&str> = match &test.field {
        Field::User => vec![request.user],
        Field::Groups => request.groups.iter().collect(),
        Field::Verb => vec![request.verb],
        Field::ApiGroup => vec![request.api_group],
        Field::Resource => vec![request.resource],
        Field::Subresource => vec![request.subresource],
        Field::Namespace => vec![request.namespace],
        Field::Name => vec![request.name],
        Field::Path => vec![request.path],
        Field::Method => vec![request.method],
        Field::Header(name) => vec![request.header(name)],
    };
    let held = match &test.op {
        Op::Equals(value) => values.contains(&&**value),
        Op::InSet(set) => set.iter().any(|value| values.contains(&&**value)),
        Op::SuperSet(set) => set.iter().all(|value| values.contains(&&**value)),
        Op::Pattern(regex) => values.iter().any(|value| regex.is_match(value)),
    };
    held != test.negated
}

fn rule_matches(rule: &Rule, request: &Request<'_>) -> bool {
    rule.subjects.iter().any(|subject| subject_matches(subject, request))
        && if request.is_resource {
            rule.resource_rules.iter().any(|rule| resource_matches(rule, request))
        } else {
            rule.non_resource_rules.iter().any(|rule| {
                has(&rule.verbs, request.verb)
                    && rule.urls.iter().any(|url| match url {
                        Url::Any => true,
                        Url::Path { exact, prefix } => {
                            request.path == &**exact || request.path.starts_with(&**prefix)
                        }
                    })
            })
        }
}

fn subject_matches(subject: &Subject, request: &Request<'_>) -> bool {
    match subject {
        Subject::Anyone => true,
        Subject::User(name) => request.user == &**name,
        Subject::Group(name) => request.groups.iter().any(|group| group == &**name),
        Subject::ServiceAccount { namespace, name } => {
            request.user == format!("system:serviceaccount:{namespace}:{name}")
        }
        Subject::ServiceAccountsOf(namespace) => {
            request.user.starts_with(&format!("system:serviceaccount:{namespace}:"))
        }
    }
}

fn resource_matches(rule: &ResourceRule, request: &Request<'_>) -> bool {
    let joined = match request.subresource {
        "" => request.resource.to_owned(),
        subresource => format!("{}/{subresource}", request.resource),
    };
    let in_scope = match request.namespace {
        "" => rule.cluster_scope,
        namespace => has(&rule.namespaces, namespace),
    };
    has(&rule.verbs, request.verb)
        && has(&rule.api_groups, request.api_group)
        && has(&rule.resources, &joined)
        && in_scope
}

fn has(names: &Names, name: &str) -> bool {
    match names {
        Names::Any => true,
        Names::Of(names) => names.iter().any(|n| **n == *name),
    }
}

// === Random configurations ===

const WORDS: &[&str] = &["", "a", "b", "c", "a/b", "b/a", "a:b", "*"];
const USERS: &[&str] = &[
    "",
    "a",
    "b",
    "system:serviceaccount:a:a",
    "system:serviceaccount:a:b",
    "system:serviceaccount:a:b:c",
    "system:serviceaccount:b:",
    "system:serviceaccount:b",
    "system:serviceaccount::a",
];
const PATHS: &[&str] = &["", "/", "/a", "/a/", "/a/b", "/a/b/a", "/b", "/ab", "a/b", "//", "/a\n"];
const URLS: &[&str] = &["/", "/a", "/a/*", "/a*", "/a/b", "/b/", "a", "//"];
const PATTERNS: &[&str] =
    &["a", "", ".*", "a.*", "[ab]", "/a.*", "/a/.*", "system:serviceaccount:a:.*", "a|b.*"];

fn word() -> impl Strategy<Value = Box<str>> {
    select(WORDS).prop_map(Box::from)
}

/// Words of all sorts: a test's literal need not make sense for its field.
fn literal() -> impl Strategy<Value = Box<str>> {
    prop_oneof![select(WORDS), select(USERS), select(PATHS)].prop_map(Box::from)
}

fn names() -> impl Strategy<Value = Names> {
    let long = vec(word(), 9..12);
    prop_oneof![
        3 => Just(Names::Any),
        6 => vec(word(), 0..3).prop_map(Names::Of),
        1 => long.prop_map(Names::Of),
    ]
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        1 => Just(Subject::Anyone),
        3 => select(USERS).prop_map(|name| Subject::User(name.into())),
        3 => word().prop_map(Subject::Group),
        2 => (word(), word())
            .prop_map(|(namespace, name)| Subject::ServiceAccount { namespace, name }),
        2 => word().prop_map(Subject::ServiceAccountsOf),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let resource = (names(), names(), names(), any::<bool>(), names()).prop_map(
        |(verbs, api_groups, resources, cluster_scope, namespaces)| ResourceRule {
            verbs,
            api_groups,
            resources,
            cluster_scope,
            namespaces,
        },
    );
    let one = prop_oneof![1 => Just(Url::Any), 6 => select(URLS).prop_map(url)];
    let path = (names(), vec(one, 0..3)).prop_map(|(verbs, urls)| NonResourceRule { verbs, urls });
    let parts = (vec(subject(), 0..3), vec(resource, 0..3), vec(path, 0..3));
    parts.prop_map(|(subjects, resource_rules, non_resource_rules)| Rule {
        subjects,
        resource_rules,
        non_resource_rules,
    })
}

fn conjunction() -> impl Strategy<Value = Conjunction> {
    let fields = [
        Field::User,
        Field::Groups,
        Field::Groups,
        Field::Verb,
        Field::ApiGroup,
        Field::Resource,
        Field::Subresource,
        Field::Namespace,
        Field::Name,
        Field::Path,
        Field::Method,
        Field::Header("a".into()),
        Field::Header("b".into()),
    ];
    let op = prop_oneof![
        literal().prop_map(Op::Equals),
        vec(literal(), 0..4).prop_map(Op::InSet),
        vec(literal(), 0..3).prop_map(Op::SuperSet),
        select(PATTERNS).prop_map(crate::pattern),
    ];
    let test = (select(fields.to_vec()), op, prop::bool::weighted(0.3));
    let test = test.prop_map(|(field, op, negated)| Test { field, op, negated });
    vec(test, 0..4).prop_map(|tests| Conjunction { tests })
}

fn config() -> impl Strategy<Value = Config> {
    let predicate = prop_oneof![
        vec(conjunction(), 0..3).prop_map(Predicate::Match),
        vec(rule(), 0..3).prop_map(Predicate::Rules),
    ];
    vec(predicate, 1..24).prop_map(|predicates| {
        let base = schema("s", 1, None, everything(vec![]));
        let fallback = predicates.len() - 1;
        let schemas = predicates.into_iter().map(|p| Schema { predicate: p, ..base.clone() });
        let levels = vec![level("l", 1, 0, Handling::Reject)];
        Config { levels, schemas: schemas.collect(), fallback }
    })
}

fn request() -> impl Strategy<Value = (Request<'static>, Vec<String>, Headers)> {
    let word = || select(WORDS);
    let who = (select(USERS), vec(word().prop_map(str::to_owned), 0..4), any::<bool>());
    let what = (word(), word(), word(), word(), word(), word());
    let rest = (select(PATHS), word(), vec((select(&["a", "b", "c"][..]), word()), 0..3));
    (who, what, rest).prop_map(
        |((user, groups, is_resource), (verb, api_group, resource, sub, ns, name), rest)| {
            let (path, method, headers) = rest;
            let (subresource, namespace) = (sub, ns);
            let request = Request {
                user,
                verb,
                is_resource,
                api_group,
                resource,
                subresource,
                namespace,
                name,
                path,
                method,
                ..Request::default()
            };
            (request, groups, headers)
        },
    )
}

type Headers = Vec<(&'static str, &'static str)>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_index_finds_what_trying_one_after_the_other_does(
        config in config(),
        requests in vec(request(), 1..12),
    ) {
        let classifier = Classifier::new(&config);
        for (request, groups, headers) in &requests {
            let request = Request { groups: Groups::Owned(groups), headers, ..*request };
            let expected = first_match(&config, &request);
            let matched = classifier.classify(&request);
            prop_assert_eq!(matched.schema, expected.unwrap_or(config.fallback), "{:?}", request);
            prop_assert_eq!(matched.fallback, expected.is_none());
        }
    }

    #[test]
    fn explanations_end_with_the_schema_that_took_the_request(
        config in config(),
        (request, groups, headers) in request(),
    ) {
        let request = Request { groups: Groups::Owned(&groups), headers: &headers, ..request };
        let classifier = Classifier::new(&config);
        let why = classifier.explain(&config, &request);
        let matched = |verdict: &Verdict| matches!(verdict, Verdict::Matched(_));
        prop_assert_eq!(why.matched, classifier.classify(&request));
        let first = why.tried.iter().position(|tried| matched(&tried.verdict));
        prop_assert_eq!(first, first_match(&config, &request));
        prop_assert_eq!(first.is_none(), why.fallback);
        prop_assert_eq!(first.map_or(config.schemas.len(), |i| i + 1), why.tried.len());
        let behind = Config { schemas: config.schemas[why.tried.len()..].to_vec(), ..config };
        prop_assert_eq!(first_match(&behind, &request).is_none(), why.also.is_empty());
    }
}
