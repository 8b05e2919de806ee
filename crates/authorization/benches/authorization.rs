//! Whether a user may do something, with the default roles and with ten thousand more, and what a
//! change costs. `cargo xtask bench authorization`.

use std::{collections::BTreeMap, hint::black_box};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use evenkeel_authorization::{
    Attributes, User,
    rbac::{Binding, Policy, Role, RoleRef, Rule, Subject, aggregate, defaults, escalation},
};

/// Kubernetes' default roles and bindings.
fn with_defaults() -> Policy {
    let objects = defaults::objects();
    let cluster_roles: BTreeMap<String, aggregate::ClusterRole> = objects
        .iter()
        .filter(|object| object.kind == "ClusterRole")
        .map(|object| (object.name.to_owned(), aggregate::ClusterRole::of(&object.value)))
        .collect();
    let mut policy = Policy::default();
    for object in &objects {
        if object.kind.ends_with("Binding") {
            policy.set_binding(object.namespace, object.name, Some(Binding::of(&object.value)));
        } else {
            let aggregated = aggregate::rules(object.name, &cluster_roles);
            let role = aggregated.map_or_else(|| Role::of(&object.value), |rules| Role { rules });
            policy.set_role(object.namespace, object.name, Some(role));
        }
    }
    policy.set_binding(Some("shop"), "edit", Some(binding("edit", "Group", "developers")));
    policy
}

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Rule {
    Rule {
        verbs: texts(verbs),
        api_groups: texts(&[group]),
        resources: texts(&[resource]),
        ..Rule::default()
    }
}

fn binding(role: &str, kind: &str, name: &str) -> Binding {
    let role_ref = RoleRef { kind: "ClusterRole".to_owned(), name: role.to_owned() };
    let subject = Subject { kind: kind.to_owned(), name: name.to_owned(), ..Subject::default() };
    Binding { role_ref, subjects: vec![subject] }
}

/// Ten thousand roles and bindings: half give one group thousands of roles, the others are for users
/// and groups of their own, in the cluster and in namespaces; one role has ten thousand rules.
fn with_ten_thousand() -> Policy {
    let mut policy = with_defaults();
    for i in 0..10_000 {
        let name = format!("role-{i}");
        let rules = (0..4).map(|j| {
            rule("example.com", &format!("things-{}", (i * 4 + j) % 30_000), &["get", "list"])
        });
        policy.set_role(None, &name, Some(Role { rules: rules.collect() }));
        let (kind, subject) = match i % 4 {
            0 | 1 => ("Group", "developers".to_owned()),
            2 => ("Group", format!("team-{i}")),
            _ => ("User", format!("user-{i}@example.com")),
        };
        let namespace = format!("team-{i}");
        let scope = (i % 4 == 3).then_some(namespace.as_str());
        policy.set_binding(scope, &name, Some(binding(&name, kind, &subject)));
    }
    let large = (0..10_000).map(|i| rule("large.example.com", &format!("r{i}"), &["get"]));
    policy.set_role(None, "large", Some(Role { rules: large.collect() }));
    policy.set_binding(None, "large", Some(binding("large", "Group", "developers")));
    policy
}

/// A user with three groups.
fn user(name: &str) -> User {
    let groups = texts(&["developers", "team-17", "system:authenticated"]);
    User { name: name.to_owned(), groups, ..User::default() }
}

/// Requests by what becomes of them.
fn requests() -> [(&'static str, Attributes<'static>); 6] {
    let pods = ["", "pods", "", "shop", "cart-1"];
    [
        ("allowed/in a namespace", Attributes::resource("delete", pods)),
        ("allowed/path", Attributes::path("get", "/apis/apps/v1")),
        ("denied/known resource", Attributes::resource("delete", ["", "pods", "", "other", "x"])),
        (
            "denied/subresource",
            Attributes::resource("get", ["apps", "deployments", "scale", "a", "b"]),
        ),
        ("denied/unknown resource", Attributes::resource("get", ["a.b", "c", "", "d", "e"])),
        ("denied/path", Attributes::path("get", "/metrics")),
    ]
}

fn decisions(c: &mut Criterion) {
    let jane = user("jane@example.com");
    for (size, policy) in [("defaults", with_defaults()), ("10000", with_ten_thousand())] {
        let mut group = c.benchmark_group(size);
        for (name, attributes) in requests() {
            assert_eq!(policy.allows(&jane, &attributes), name.starts_with("allowed"), "{name}");
            group.bench_function(name, |b| {
                b.iter(|| policy.allows(black_box(&jane), black_box(&attributes)));
            });
        }
        group.finish();
    }
    let policy = with_ten_thousand();
    let names: Vec<String> = (0..30_000).map(|i| format!("things-{i}")).collect();
    let users: Vec<User> = (0..4096).map(|i| user(&format!("user-{i}@example.com"))).collect();
    let mut group = c.benchmark_group("10000");
    // Each request another resource and user, so that little is in the processor's caches.
    let mut i = 0;
    for verb in ["get", "delete"] {
        group.bench_function(BenchmarkId::new("different resources and users", verb), |b| {
            b.iter(|| {
                i += 7919;
                let resource = names[i % names.len()].as_str();
                let of = ["example.com", resource, "", "team-3", "x"];
                policy.allows(black_box(&users[i % 4096]), &Attributes::resource(verb, of))
            });
        });
    }
    let large = Attributes::resource("get", ["large.example.com", "r5000", "", "a", "b"]);
    assert!(policy.allows(&user("x"), &large));
    group.bench_function("allowed/role of 10000 rules", |b| {
        let jane = user("x");
        b.iter(|| policy.allows(black_box(&jane), black_box(&large)));
    });
    group.finish();
}

fn changes(c: &mut Criterion) {
    let mut policy = with_ten_thousand();
    let mut group = c.benchmark_group("change");
    let given = binding("role-1", "Group", "team-x");
    group.bench_function("bind and unbind", |b| {
        b.iter(|| {
            policy.set_binding(None, "new", Some(given.clone()));
            policy.set_binding(None, "new", None);
        });
    });
    let given = binding("role-2", "Group", "developers");
    group.bench_function("bind and unbind the large group", |b| {
        b.iter(|| {
            policy.set_binding(None, "new", Some(given.clone()));
            policy.set_binding(None, "new", None);
        });
    });
    group.bench_function("role of the large group", |b| {
        let role = |verb| Role { rules: vec![rule("example.com", "things-1", &[verb])] };
        b.iter(|| {
            policy.set_role(None, "role-0", Some(role("get")));
            policy.set_role(None, "role-0", Some(role("list")));
        });
    });
    let many = (0..10_000).map(|i| rule("large.example.com", &format!("r{i}"), &["get"]));
    let many: Vec<Rule> = many.collect();
    group.bench_function("role of 10000 rules", |b| {
        b.iter_batched(
            || Role { rules: many.clone() },
            |role| policy.set_role(None, "large", Some(role)),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("escalation/10000 rules of 10000", |b| {
        let jane = user("jane@example.com");
        b.iter(|| escalation::missing(&policy, &jane, None, black_box(&many)).is_ok());
    });
    group.finish();
}

criterion_group!(benches, decisions, changes);
criterion_main!(benches);
