//! Objects and clients that mean harm.

use std::time::Duration;

use futures_util::{StreamExt as _, future::join_all, poll, stream::FuturesUnordered};
use http::Method;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::*;

/// What this thread has used: the time of a busy machine says nothing.
fn cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// 1,000 rules, each with its own subject and resource.
fn long_schema(name: &str) -> Value {
    let mut long = schema(name, "bobs", "bob");
    let rule = |i: usize| {
        json!({
            "subjects": [{"kind": "User", "user": {"name": format!("user-{i}")}}],
            "resourceRules": [{"verbs": ["get"], "apiGroups": ["*"],
                "resources": [format!("kind-{i}")], "namespaces": ["*"]}],
        })
    };
    long["spec"]["rules"] = (0..1_000).map(rule).collect();
    long
}

#[tokio::test]
async fn schemas_with_a_thousand_rules_don_t_slow_down_others() {
    let server = bobs(5, settings()).await;
    for i in 0..10 {
        server.create(SCHEMAS, &long_schema(&format!("long-{i}"))).await;
    }
    let started = cpu();
    super::super::start(&server.api).await;
    let compiled = cpu() - started;
    assert!(compiled < Duration::from_secs(2), "{compiled:?}");
    let started = cpu();
    for _ in 0..100 {
        assert_eq!(get(&server, "alice", CONFIG_MAPS).await.status(), 200);
    }
    // Generous for a debug build; without an index each request would compare 10,000 rules.
    let served = cpu() - started;
    assert!(served < Duration::from_secs(1), "{served:?}");
    server.stop().await;
}

#[tokio::test]
async fn requests_that_wait_while_their_level_loses_its_seats_are_served_or_rejected_once() {
    let server = bobs(50, settings()).await;
    let mut first = hold(&server, "bob");
    assert!(poll!(&mut first).is_pending());
    let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(get(&server, "bob", CONFIG_MAPS))).collect();
    for one in &mut waiting {
        assert!(poll!(one).is_pending());
    }
    let none = json!({"spec": {"limited": {"nominalConcurrencyShares": 0}}});
    server.patch(&format!("{LEVELS}/bobs"), &none).await;
    super::super::start(&server.api).await;
    drop(first);
    assert_eq!(counts(&server, "bobs").0, 20);
    // Half of them are in time for new seats.
    for late in waiting.split_off(10) {
        drop(late);
    }
    let some = json!({"spec": {"limited": {"nominalConcurrencyShares": 5}}});
    server.patch(&format!("{LEVELS}/bobs"), &some).await;
    super::super::start(&server.api).await;
    for answer in join_all(waiting).await {
        assert_eq!(answer.status(), 200);
    }
    server.patch(&format!("{LEVELS}/bobs"), &none).await;
    super::super::start(&server.api).await;
    tokio::time::pause();
    let rejected = get(&server, "bob", CONFIG_MAPS).await;
    tokio::time::resume();
    assert_eq!(rejected.status(), 429);
    assert_eq!(counts(&server, "bobs"), (0, 0, 0));
    server.stop().await;
}

#[tokio::test]
async fn ten_thousand_users_at_once_are_all_answered() {
    let server = Server::start(None, settings()).await;
    super::super::start(&server.api).await;
    let users: Vec<String> = (0..10_000).map(|i| format!("user-{i}")).collect();
    let mut all: FuturesUnordered<_> =
        users.iter().map(|user| get(&server, user, CONFIG_MAPS)).collect();
    let mut codes = std::collections::BTreeMap::<u16, usize>::new();
    while let Some(answer) = all.next().await {
        *codes.entry(answer.status().as_u16()).or_default() += 1;
    }
    assert_eq!(codes.values().sum::<usize>(), 10_000);
    assert!(codes.keys().all(|code| [200, 429].contains(code)), "{codes:?}");
    assert_eq!(counts(&server, "global-default"), (0, 0, 0));
    let metrics = server.api.metrics_text();
    assert!(!metrics.contains("user-1"), "no label is taken from a request");
    server.stop().await;
}

#[tokio::test]
async fn objects_that_flap_cost_little_and_no_request_is_lost() {
    let server = Server::start_whole(None, settings()).await;
    server.create(LEVELS, &level("bobs", 1, 50)).await;
    server.create(SCHEMAS, &schema("bobs", "bobs", "bob")).await;
    let flap = async {
        for i in 0..200_u32 {
            let change = json!({"spec": {"limited": {"nominalConcurrencyShares": i % 2 * 5}}});
            server.patch(&format!("{LEVELS}/bobs"), &change).await;
            let to = json!({"spec": {"priorityLevelConfiguration":
                {"name": if i % 3 == 0 { "nowhere" } else { "bobs" }}}});
            server.patch(&format!("{SCHEMAS}/bobs"), &to).await;
            tokio::task::yield_now().await;
        }
        let last = json!({"spec": {"limited": {"nominalConcurrencyShares": 5}}});
        server.patch(&format!("{LEVELS}/bobs"), &last).await;
    };
    let create = async {
        let mut created = 0;
        for i in 0..200 {
            let object = json!({"metadata": {"name": format!("c{i}")}}).to_string();
            let answer = ask(&server, "bob", Method::POST, CONFIG_MAPS, object.into()).await;
            match answer.status().as_u16() {
                201 => created += 1,
                code => assert_eq!(code, 429),
            }
        }
        created
    };
    let ((), created) = tokio::join!(flap, create);
    assert_eq!(server.items(CONFIG_MAPS).await.len(), created);
    assert!(created > 100, "{created}");
    server.stop().await;
}
