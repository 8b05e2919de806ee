//! From the attributes of a request to its schema and flow. `cargo xtask bench fairness`.

#[path = "../tests/classify/defaults.rs"]
mod defaults;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use evenkeel_fairness::{
    Groups, Request,
    classify::Classifier,
    config::{Config, Names, ResourceRule, Rule, Schema, Source, Subject},
    flow::{FlowHash, FlowKey, flow_hash},
};

use crate::defaults::{any_resource, defaults, everything, schema};

/// One request for each way through the default schemas.
const REQUESTS: [(&str, Request<'static>); 3] = [
    (
        "service-account",
        Request {
            user: "system:serviceaccount:shop:cart",
            groups: Groups::Borrowed(&[
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated",
            ]),
            verb: "list",
            resource: "pods",
            namespace: "shop",
            path: "/api/v1/namespaces/shop/pods",
            ..RESOURCE
        },
    ),
    (
        "user",
        Request {
            user: "jane@example.com",
            groups: Groups::Borrowed(&["developers", "system:authenticated"]),
            verb: "get",
            api_group: "apps",
            resource: "deployments",
            namespace: "shop",
            name: "cart",
            path: "/apis/apps/v1/namespaces/shop/deployments/cart",
            ..RESOURCE
        },
    ),
    (
        "node",
        Request {
            user: "system:node:worker-17",
            groups: Groups::Borrowed(&["system:nodes", "system:authenticated"]),
            verb: "patch",
            resource: "nodes",
            subresource: "status",
            name: "worker-17",
            path: "/api/v1/nodes/worker-17/status",
            ..RESOURCE
        },
    ),
];

const RESOURCE: Request<'static> = Request {
    user: "",
    groups: Groups::Borrowed(&[]),
    verb: "",
    is_resource: true,
    api_group: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
    path: "",
    method: "GET",
    headers: &[],
};

fn on_the_defaults(c: &mut Criterion) {
    let classifier = Classifier::new(&defaults());
    let key = FlowHash::Keyed(Some(FlowKey::new([1; 32])));
    let keyed = Classifier::with_hash(&defaults(), key);
    let mut group = c.benchmark_group("classify");
    for (name, request) in &REQUESTS {
        group.bench_function(BenchmarkId::new("schema", name), |b| {
            b.iter(|| classifier.classify(black_box(request)));
        });
        group.bench_function(BenchmarkId::new("flow", name), |b| {
            b.iter(|| classifier.flow(classifier.classify(black_box(request)), request));
        });
        group.bench_function(BenchmarkId::new("keyed flow", name), |b| {
            b.iter(|| keyed.flow(keyed.classify(black_box(request)), request));
        });
    }
    group.finish();
    c.bench_function("flow_hash", |b| {
        b.iter(|| flow_hash(black_box("service-accounts"), black_box("system:node:worker-17")));
    });
}

/// Schemas that a large cluster may have: one for each team's user, service accounts, group,
/// namespace or resource, each also asking for something that many others ask for.
fn team_schema(i: usize) -> Schema {
    let who = |subject| everything(vec![subject]);
    let of = |rule: ResourceRule| Rule {
        subjects: vec![Subject::Group("system:authenticated".into())],
        resource_rules: vec![rule],
        non_resource_rules: vec![],
    };
    let one = |name: String| Names::Of(vec![name.into()]);
    let rule = match i % 5 {
        0 => who(Subject::User(format!("user-{i}@example.com").into())),
        1 => who(Subject::ServiceAccountsOf(format!("team-{i}").into())),
        2 => who(Subject::Group(format!("group-{i}").into())),
        3 => of(ResourceRule { namespaces: one(format!("team-{i}")), ..any_resource() }),
        _ => of(ResourceRule { resources: one(format!("things-{i}")), ..any_resource() }),
    };
    schema(&format!("team-{i}"), 1000, Some(Source::User), rule)
}

/// The defaults with others before `service-accounts`, all in all `n`.
fn many(n: usize) -> Config {
    let mut config = defaults();
    let more = (0..n.saturating_sub(config.schemas.len())).map(team_schema);
    config.schemas.splice(8..8, more);
    config.fallback = config.schemas.len() - 1;
    config
}

fn with_more_schemas(c: &mut Criterion) {
    let mut group = c.benchmark_group("schemas");
    for n in [11, 20, 100, 1_000, 10_000] {
        let classifier = Classifier::new(&many(n));
        for (name, request) in &REQUESTS {
            group.bench_function(BenchmarkId::new(*name, n), |b| {
                b.iter(|| classifier.classify(black_box(request)));
            });
        }
        group.bench_function(BenchmarkId::new("different-users", n), |b| {
            let users: Vec<String> = (0..4096).map(|i| format!("user-{i}@example.com")).collect();
            let mut next = users.iter().cycle();
            b.iter(|| {
                let user = next.next().expect("a cycle has no end");
                classifier.classify(black_box(&Request { user, ..REQUESTS[1].1 }))
            });
        });
    }
    group.finish();
    c.bench_function("compile/10000", |b| {
        let config = many(10_000);
        b.iter(|| Classifier::new(&config));
    });
}

criterion_group!(benches, on_the_defaults, with_more_schemas);
criterion_main!(benches);
