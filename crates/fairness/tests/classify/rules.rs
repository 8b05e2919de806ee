//! Kubernetes' rules, detail by detail.

use evenkeel_fairness::{
    Groups, Request,
    classify::Classifier,
    config::{Names, NonResourceRule, Predicate, ResourceRule, Rule, Subject, Url},
};

use crate::{
    defaults::{any_path, any_resource, defaults, everything, names, url},
    matches,
};

fn rules(rule: Rule) -> Predicate {
    Predicate::Rules(vec![rule])
}

fn check_subject(subject: &Subject, cases: &[(&str, &[&str], bool)]) {
    let predicate = rules(everything(vec![subject.clone()]));
    for &(user, groups, expected) in cases {
        for is_resource in [true, false] {
            let groups = Groups::Borrowed(groups);
            let request = Request { user, groups, is_resource, ..Request::default() };
            assert_eq!(matches(&predicate, &request), expected, "{subject:?} {user} {groups:?}");
        }
    }
}

#[test]
fn users_and_groups_match_exactly_and_by_case() {
    check_subject(
        &Subject::User("jane".into()),
        &[("jane", &[], true), ("Jane", &[], false), ("jane2", &[], false), ("", &["jane"], false)],
    );
    check_subject(
        &Subject::Group("dev".into()),
        &[
            ("x", &["dev"], true),
            ("x", &["ops", "dev"], true),
            ("x", &["Dev", "dev2"], false),
            ("dev", &[], false),
        ],
    );
}

#[test]
fn anyone_is_everyone_even_without_groups() {
    check_subject(&Subject::Anyone, &[("", &[], true), ("x", &[], true), ("x", &["y"], true)]);
}

#[test]
fn service_accounts_are_told_by_the_name_of_the_user_alone() {
    let (namespace, name) = ("shop".into(), "cart".into());
    check_subject(
        &Subject::ServiceAccount { namespace, name },
        &[
            ("system:serviceaccount:shop:cart", &[], true),
            ("system:serviceaccount:shop:cart:", &[], false),
            ("system:serviceaccount:shop:", &[], false),
            ("system:serviceaccount:shop2:cart", &[], false),
            ("cart", &["system:serviceaccounts:shop"], false),
        ],
    );
    check_subject(
        &Subject::ServiceAccountsOf("shop".into()),
        &[
            ("system:serviceaccount:shop:cart", &[], true),
            ("system:serviceaccount:shop:", &[], true),
            ("system:serviceaccount:shop:a:b", &[], true),
            ("system:serviceaccount:shop", &[], false),
            ("system:serviceaccount:shop2:cart", &[], false),
            ("x", &["system:serviceaccounts:shop"], false),
        ],
    );
}

#[test]
fn a_namespace_of_service_accounts_may_hold_colons() {
    check_subject(
        &Subject::ServiceAccountsOf("a:b".into()),
        &[
            ("system:serviceaccount:a:b:c", &[], true),
            ("system:serviceaccount:a:b", &[], false),
            ("system:serviceaccount:a:c:b", &[], false),
        ],
    );
}

#[test]
fn a_rule_is_for_the_sorts_of_requests_it_has_rules_for() {
    let whole = everything(vec![Subject::Anyone]);
    let resources = Rule { non_resource_rules: vec![], ..whole.clone() };
    let paths = Rule { resource_rules: vec![], ..whole.clone() };
    let nobody = Rule { subjects: vec![], ..whole.clone() };
    let cases = [
        (whole, [true, true]),
        (resources, [true, false]),
        (paths, [false, true]),
        (nobody, [false, false]),
    ];
    for (rule, expected) in cases {
        let got = [true, false]
            .map(|is_resource| Request { is_resource, ..Request::default() })
            .map(|request| matches(&rules(rule.clone()), &request));
        assert_eq!(got, expected, "{rule:?}");
    }
}

const REQUEST: Request<'static> = Request {
    user: "u",
    groups: Groups::Borrowed(&[]),
    verb: "get",
    is_resource: true,
    api_group: "",
    resource: "pods",
    subresource: "",
    namespace: "shop",
    name: "",
    path: "",
    method: "",
    headers: &[],
};

#[test]
fn resource_rules_need_all_of_their_parts() {
    let any = any_resource();
    let status = Request { subresource: "status", ..REQUEST };
    let cluster = Request { namespace: "", ..REQUEST };
    let cases = [
        (any.clone(), REQUEST, true),
        (ResourceRule { verbs: names(["get"]), ..any.clone() }, REQUEST, true),
        (ResourceRule { verbs: names(["Get", "list"]), ..any.clone() }, REQUEST, false),
        (ResourceRule { verbs: names([]), ..any.clone() }, REQUEST, false),
        (ResourceRule { verbs: names(["*", "list"]), ..any.clone() }, REQUEST, false),
        (ResourceRule { api_groups: names([""]), ..any.clone() }, REQUEST, true),
        (ResourceRule { api_groups: names(["apps"]), ..any.clone() }, REQUEST, false),
        (ResourceRule { resources: names(["pods"]), ..any.clone() }, REQUEST, true),
        (ResourceRule { resources: names(["pods"]), ..any.clone() }, status, false),
        (ResourceRule { resources: names(["pods/status"]), ..any.clone() }, status, true),
        (ResourceRule { resources: names(["pods/status"]), ..any.clone() }, REQUEST, false),
        (ResourceRule { resources: names(["pods/*", "*/status"]), ..any.clone() }, status, false),
        (ResourceRule { resources: names(["status"]), ..any.clone() }, status, false),
        (ResourceRule { namespaces: names(["shop"]), ..any.clone() }, REQUEST, true),
        (ResourceRule { namespaces: names(["prod"]), ..any.clone() }, REQUEST, false),
        (ResourceRule { namespaces: names(["prod"]), ..any.clone() }, cluster, true),
        (ResourceRule { cluster_scope: false, ..any.clone() }, cluster, false),
        (ResourceRule { cluster_scope: false, ..any.clone() }, REQUEST, true),
        (
            ResourceRule { cluster_scope: false, namespaces: names([""]), ..any.clone() },
            cluster,
            false,
        ),
        (ResourceRule { namespaces: Names::Of(vec![]), ..any }, REQUEST, false),
    ];
    for (rule, request, expected) in cases {
        for subject in [Subject::Anyone, Subject::User("u".into())] {
            let rule = Rule {
                subjects: vec![subject],
                resource_rules: vec![rule.clone()],
                non_resource_rules: vec![],
            };
            assert_eq!(matches(&rules(rule.clone()), &request), expected, "{rule:?} {request:?}");
        }
    }
}

#[test]
fn paths_match_whole_or_by_their_beginning_up_to_a_slash() {
    let cases = [
        ("/healthz", "/healthz", true),
        ("/healthz", "/healthz/etcd", true),
        ("/healthz", "/healthz2", false),
        ("/logs/*", "/logs", false),
        ("/logs/*", "/logs/", true),
        ("/logs/*", "/logs/a/b", true),
        ("/logs/*", "/logs/*", true),
        ("/swag*", "/swagger", false),
        ("/swag*", "/swag/x", true),
        ("/swag*", "/swag*", true),
        ("/", "/", true),
        ("/", "/anything", true),
        ("/", "", false),
        ("a/b", "a/b/c", true),
    ];
    for (pattern, path, expected) in cases {
        let request = Request { path, is_resource: false, ..REQUEST };
        for subject in [Subject::Anyone, Subject::User("u".into())] {
            let rule = NonResourceRule { urls: vec![url(pattern)], ..any_path() };
            let rule = Rule {
                subjects: vec![subject],
                resource_rules: vec![],
                non_resource_rules: vec![rule],
            };
            assert_eq!(matches(&rules(rule), &request), expected, "{pattern} {path}");
        }
    }
}

#[test]
fn any_path_counts_even_beside_others_and_verbs_count_too() {
    let urls = vec![url("/x"), Url::Any];
    let rule = NonResourceRule { urls, verbs: names(["get"]) };
    let rule = Rule {
        subjects: vec![Subject::Anyone],
        resource_rules: vec![],
        non_resource_rules: vec![rule],
    };
    let get = Request { is_resource: false, path: "/y", ..REQUEST };
    assert!(matches(&rules(rule.clone()), &get));
    assert!(!matches(&rules(rule), &Request { verb: "post", ..get }));
}

#[test]
fn the_default_schemas_take_what_they_are_for() {
    let config = defaults();
    let classifier = Classifier::new(&config);
    let authenticated = ["system:authenticated"];
    let node = ["system:nodes", "system:authenticated"];
    let account = ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
    let lease = Request {
        api_group: "coordination.k8s.io",
        resource: "leases",
        verb: "update",
        namespace: "kube-system",
        ..REQUEST
    };
    let probe = Request { is_resource: false, path: "/livez/ping", ..REQUEST };
    let nodes = Request { resource: "nodes", subresource: "status", namespace: "", ..REQUEST };
    let cases: [(&str, &[&str], Request<'_>, &str); 13] = [
        ("admin", &["system:masters", "system:authenticated"], REQUEST, "exempt"),
        ("admin", &authenticated, probe, "probes"),
        ("admin", &authenticated, Request { verb: "post", ..probe }, "global-default"),
        ("system:kube-scheduler", &authenticated, lease, "system-leader-election"),
        ("system:serviceaccount:kube-system:x", &account, lease, "system-leader-election"),
        ("system:kube-scheduler", &authenticated, REQUEST, "kube-scheduler"),
        ("system:kube-controller-manager", &authenticated, probe, "probes"),
        ("system:node:a", &node, nodes, "system-node-high"),
        ("system:node:a", &node, lease, "system-node-high"),
        ("system:node:a", &node, REQUEST, "system-nodes"),
        ("system:serviceaccount:kube-system:x", &account, REQUEST, "kube-system-service-accounts"),
        ("system:serviceaccount:shop:cart", &account, REQUEST, "service-accounts"),
        ("jane", &["dev", "system:authenticated"], REQUEST, "global-default"),
    ];
    for (user, groups, request, expected) in cases {
        let request = Request { user, groups: Groups::Borrowed(groups), ..request };
        let matched = classifier.classify(&request);
        assert_eq!(&*config.schemas[matched.schema].name, expected, "{request:?}");
        assert!(!matched.fallback);
    }
    let stranger = classifier.classify(&Request { user: "x", ..REQUEST });
    assert_eq!((stranger.schema, stranger.fallback), (10, true));
}
