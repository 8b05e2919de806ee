//! The configuration every Kubernetes cluster starts with, as neutral values.

use evenkeel_fairness::config::{
    Config, Distinguisher, Handling, Level, Names, NonResourceRule, Predicate, Queuing,
    ResourceRule, Rule, Schema, Source, Subject, Url,
};

const AUTHENTICATED: [&str; 2] = ["system:unauthenticated", "system:authenticated"];

/// Eight levels and eleven schemas.
pub(crate) fn defaults() -> Config {
    let levels = vec![
        level("catch-all", 5, 0, Handling::Reject),
        level("exempt", 0, 0, Handling::Exempt),
        level("global-default", 20, 50, queue(128, 6)),
        level("leader-election", 10, 0, queue(16, 4)),
        level("node-high", 40, 25, queue(64, 6)),
        level("system", 30, 33, queue(64, 6)),
        level("workload-high", 40, 50, queue(128, 6)),
        level("workload-low", 100, 90, queue(128, 6)),
    ];
    let schema = |name: &str, level: &str, precedence, by: Option<Source>, rule| Schema {
        level: levels.iter().position(|l| *l.name == *level).expect("a level"),
        ..schema(name, precedence, by, rule)
    };
    let user = Some(Source::User);
    let namespace = Some(Source::Namespace);
    let schemas = vec![
        schema("exempt", "exempt", 1, None, everything(groups(["system:masters"]))),
        schema("probes", "exempt", 2, None, probes()),
        schema("system-leader-election", "leader-election", 100, user.clone(), elections()),
        schema("system-node-high", "node-high", 400, user.clone(), nodes()),
        schema("system-nodes", "system", 500, user.clone(), everything(groups(["system:nodes"]))),
        schema(
            "kube-controller-manager",
            "workload-high",
            800,
            namespace.clone(),
            everything(users(["system:kube-controller-manager"])),
        ),
        schema(
            "kube-scheduler",
            "workload-high",
            800,
            namespace.clone(),
            everything(users(["system:kube-scheduler"])),
        ),
        schema(
            "kube-system-service-accounts",
            "workload-high",
            900,
            namespace,
            everything(vec![Subject::ServiceAccountsOf("kube-system".into())]),
        ),
        schema(
            "service-accounts",
            "workload-low",
            9000,
            user.clone(),
            everything(groups(["system:serviceaccounts"])),
        ),
        schema(
            "global-default",
            "global-default",
            9900,
            user.clone(),
            everything(groups(AUTHENTICATED)),
        ),
        schema("catch-all", "catch-all", 10000, user, everything(groups(AUTHENTICATED))),
    ];
    let fallback = schemas.len() - 1;
    Config { levels, schemas, fallback }
}

pub(crate) fn level(name: &str, shares: u32, lendable_percent: u32, handling: Handling) -> Level {
    Level {
        name: name.into(),
        uid: "".into(),
        shares,
        lendable_percent,
        borrowing_limit_percent: None,
        handling,
        implied: false,
    }
}

pub(crate) fn queue(queues: u32, hand_size: u32) -> Handling {
    Handling::Queue(Queuing { queues, hand_size, queue_length_limit: 50 })
}

/// A schema of the first level.
pub(crate) fn schema(name: &str, precedence: i32, by: Option<Source>, rule: Rule) -> Schema {
    Schema {
        name: name.into(),
        uid: "".into(),
        precedence,
        level: 0,
        distinguisher: by.map(|source| Distinguisher { source, transform: None }),
        predicate: Predicate::Rules(vec![rule]),
        implied: false,
    }
}

/// All that these subjects send.
pub(crate) fn everything(subjects: Vec<Subject>) -> Rule {
    Rule { subjects, resource_rules: vec![any_resource()], non_resource_rules: vec![any_path()] }
}

pub(crate) fn any_resource() -> ResourceRule {
    ResourceRule {
        verbs: Names::Any,
        api_groups: Names::Any,
        resources: Names::Any,
        cluster_scope: true,
        namespaces: Names::Any,
    }
}

pub(crate) fn any_path() -> NonResourceRule {
    NonResourceRule { verbs: Names::Any, urls: vec![Url::Any] }
}

pub(crate) fn names<const N: usize>(names: [&str; N]) -> Names {
    Names::Of(names.map(Box::from).into())
}

pub(crate) fn url(path: &str) -> Url {
    let stripped = path.strip_suffix('*').unwrap_or(path);
    let prefix = if stripped.ends_with('/') { stripped.into() } else { format!("{stripped}/") };
    Url::Path { exact: path.into(), prefix: prefix.into() }
}

fn groups<const N: usize>(names: [&str; N]) -> Vec<Subject> {
    names.map(|name| Subject::Group(name.into())).into()
}

fn users<const N: usize>(names: [&str; N]) -> Vec<Subject> {
    names.map(|name| Subject::User(name.into())).into()
}

fn probes() -> Rule {
    let urls = ["/healthz", "/readyz", "/livez"].map(url).into();
    Rule {
        subjects: groups(AUTHENTICATED),
        resource_rules: vec![],
        non_resource_rules: vec![NonResourceRule { verbs: names(["get"]), urls }],
    }
}

fn leases() -> ResourceRule {
    ResourceRule {
        api_groups: names(["coordination.k8s.io"]),
        resources: names(["leases"]),
        cluster_scope: false,
        ..any_resource()
    }
}

fn elections() -> Rule {
    let mut subjects = users(["system:kube-controller-manager", "system:kube-scheduler"]);
    subjects.push(Subject::ServiceAccountsOf("kube-system".into()));
    let rule = ResourceRule { verbs: names(["get", "create", "update"]), ..leases() };
    Rule { subjects, resource_rules: vec![rule], non_resource_rules: vec![] }
}

fn nodes() -> Rule {
    let nodes = ResourceRule {
        api_groups: names([""]),
        resources: names(["nodes", "nodes/status"]),
        ..any_resource()
    };
    Rule {
        subjects: groups(["system:nodes"]),
        resource_rules: vec![nodes, leases()],
        non_resource_rules: vec![],
    }
}
