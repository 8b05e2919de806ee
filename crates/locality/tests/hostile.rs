//! Inputs that no user writes: they end in an error or in a bounded answer, soon.

mod common;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use common::{client, strategy};
use evenkeel_locality::{
    Compat, Errors, Spec, assign, lint,
    strategy::{WrittenIn, ZoneSet},
};
use evenkeel_model::mesh::{EndpointHealth, MeshEndpoint};
use serde_json::{Value, json};

/// Far above what the tests take, also without optimisation on a busy machine.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn soon<T>(work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let outcome = work();
    assert!(begin.elapsed() < SOON, "took {:?}", begin.elapsed());
    outcome
}

fn spec(awareness: &Value) -> Value {
    json!({"to": [{"targetRef": {"kind": "Mesh"}, "default": {"localityAwareness": awareness}}]})
}

#[test]
fn a_deep_value_is_refused_without_going_down() {
    let mut deep = json!({});
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    // Not `json!`, which copies what it is given, going down.
    let to = Value::Array(vec![deep]);
    let policy = Value::Object([("to".to_owned(), to)].into_iter().collect());
    let errors = soon(|| Spec::decode(&policy, WrittenIn::File).unwrap_err());
    assert_eq!(errors[0].to_string(), "spec.to[0]: must be an object, not a list");
    // Dropping it goes down as deep as it is.
    std::mem::forget(policy);
}

#[test]
fn long_texts_are_cut_in_messages() {
    let long = "é\u{1b}".repeat(500_000);
    let kind = json!({"targetRef": {"kind": long}});
    let field = json!({long.as_str(): 1});
    let number = spec(&json!({"disabled": long}));
    for policy in [kind, field, number] {
        let errors = soon(|| Spec::decode(&policy, WrittenIn::Resource).unwrap_err());
        let message = errors[0].to_string();
        assert!(message.len() < 1000 && !message.contains('\u{1b}'), "{}", message.len());
    }
}

#[test]
fn a_hundred_thousand_errors_become_a_hundred() {
    let tags = vec![json!({"key": "", "weight": 0}); 50_000];
    let policy = spec(&json!({"localZone": {"affinityTags": tags}}));
    let errors = soon(|| {
        let spec = Spec::decode(&policy, WrittenIn::Resource).unwrap();
        spec.validate(Compat::Record)
    });
    assert_eq!(errors.len(), Errors::MOST + 1);
    assert!(errors[Errors::MOST].message.ends_with("more errors are not shown"));
}

#[test]
fn every_zone_in_every_rule_is_no_trouble() {
    let zones: Vec<String> = (0..500).map(|n| format!("zone-{n}")).collect();
    let rule = json!({"from": {"zones": zones}, "to": {"type": "AnyExcept", "zones": zones}});
    let awareness = common::awareness(&json!({"crossZone": {"failover": vec![rule; 128]}}));
    let known: ZoneSet = zones.iter().map(|zone| zone.as_str().into()).collect();
    let findings = soon(|| lint(&awareness, &known, Compat::Record));
    assert!(findings.len() < 200, "{}", findings.len());
}

#[test]
fn ten_thousand_endpoints_ten_tags_and_128_rules_are_grouped_at_once() {
    let zones = |n: usize| (0..100).map(|z| format!("zone-{}", z * n)).collect::<Vec<_>>();
    let rules: Vec<Value> =
        (1..=128).map(|n| json!({"to": {"type": "Only", "zones": zones(n + 1)}})).collect();
    let tags: Vec<Value> =
        (0..10).map(|n| json!({"key": format!("tag-{n}"), "weight": 10 + n})).collect();
    let strategy = strategy(&json!({
        "localZone": {"affinityTags": tags}, "crossZone": {"failover": rules},
    }));
    let tags: Vec<(String, String)> =
        (0..10).map(|n| (format!("tag-{n}"), format!("value-{n}"))).collect();
    let own: Vec<(&str, &str)> = tags.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let client = client("zone-0", &own);
    let endpoints: Vec<Arc<MeshEndpoint>> = (0..10_000).map(|n| endpoint(n, 100, 3_000)).collect();
    let outcome = soon(|| assign(&client, &endpoints, &strategy));
    assert!(outcome.reasons.len() <= 3_000 + 11, "{}", outcome.reasons.len());
    let sent: usize = outcome.assignment.groups.iter().map(|group| group.endpoints.len()).sum();
    assert!(sent > 1_000 && sent < 10_000, "{sent}");
}

#[test]
fn endpoints_that_are_all_one_become_one() {
    let endpoints: Vec<Arc<MeshEndpoint>> = (0..20_000)
        .map(|n| endpoint(n, 1, 2))
        .map(|e| Arc::new(MeshEndpoint { address: ([10, 0, 0, 1], 80).into(), ..(*e).clone() }))
        .collect();
    let strategy = strategy(&json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}}));
    let outcome = soon(|| assign(&client("zone-0", &[]), &endpoints, &strategy));
    assert_eq!(outcome.assignment.groups.len(), 1);
    assert_eq!(outcome.assignment.groups[0].endpoints.len(), 1);
    assert_eq!(outcome.reasons.len(), 3);
}

#[test]
fn hostile_names_of_zones_are_harmless_in_reasons() {
    let endpoint = common::endpoint(("10.0.0.1:80", "a\u{1b}[2J", &[]));
    let outcome = assign(&client("b", &[]), &[endpoint], &strategy(&json!({})));
    let shown = evenkeel_model::WithMessage::from(outcome.reasons[0].clone());
    assert!(!shown.message.contains('\u{1b}'), "{}", shown.message);
}

/// One of `n_tags` tags has the client's value.
fn endpoint(n: u32, n_tags: u32, n_zones: u32) -> Arc<MeshEndpoint> {
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n)), 80);
    let tag = n % n_tags;
    let tags = [(format!("tag-{tag}").into(), format!("value-{tag}").into())].into();
    Arc::new(MeshEndpoint {
        address,
        zone: Some(format!("zone-{}", n % n_zones).into()),
        tags: Arc::new(tags),
        weight: None,
        health: EndpointHealth::Healthy,
    })
}
