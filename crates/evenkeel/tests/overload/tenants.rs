//! Overbearing tenants, in each way in which the proposal tells tenants apart.

use crate::{
    config::{group, level, schema},
    rig::{
        caller::Caller,
        users::{STAFF, User},
    },
    scenario::{PROFILES, Scenario, amok, creates, crowd},
};

/// Beside 245 shares of default levels: two of six seats.
const SHARES: u32 = 60;

fn person(name: &str) -> User {
    User::new(name, &[STAFF])
}

fn member(name: &str, tenant: &str) -> User {
    User::new(name, &[STAFF, &format!("tenant:{tenant}")])
}

fn users(callers: &[Caller]) -> Vec<User> {
    let mut users: Vec<User> = callers.iter().map(|caller| caller.user.clone()).collect();
    users.sort_by(|a, b| a.name.cmp(&b.name));
    users.dedup();
    users
}

/// Under these flow schemas of the level `tenants`.
async fn only_the_overbearing_suffers(
    name: &str,
    schemas: &[serde_json::Value],
    overbearing: Vec<Caller>,
    others: Vec<Caller>,
) {
    for profile in PROFILES {
        let all = users(&[&overbearing[..], &others].concat());
        let scenario = Scenario::start(name, profile, &all).await;
        scenario.configure(schemas, &[level("tenants", SHARES, 128)]).await;
        let outcome = scenario.run(vec![overbearing.clone()], others.clone()).await;
        outcome.only_the_guilty_suffers(profile);
    }
}

#[tokio::test]
async fn a_tenant_is_a_namespace() {
    let schema = schema("tenants", "tenants", "ByNamespace", &[group(STAFF)]);
    let overbearing = amok(creates(person("alice"), "acme"));
    let others = vec![creates(person("alice"), "shop"), creates(person("bob"), "bank")];
    only_the_overbearing_suffers("namespace", &[schema], overbearing, others).await;
}

#[tokio::test]
async fn a_tenant_is_a_user() {
    let schema = schema("tenants", "tenants", "ByUser", &[group(STAFF)]);
    let overbearing = amok(creates(person("alice"), "shop"));
    let others = vec![creates(person("bob"), "shop"), creates(person("carol"), "shop")];
    only_the_overbearing_suffers("user", &[schema], overbearing, others).await;
}

/// Kubernetes' dialect has no distinguisher for groups, but one flow schema for each.
#[tokio::test]
async fn a_tenant_is_a_group() {
    let schemas = ["acme", "shop", "bank"].map(|tenant| {
        schema(&format!("tenant-{tenant}"), "tenants", "", &[group(&format!("tenant:{tenant}"))])
    });
    let crowd = crowd(|n| creates(member(&format!("user-{n}"), "acme"), "shop"));
    let others =
        vec![creates(member("alice", "shop"), "shop"), creates(member("bob", "bank"), "shop")];
    only_the_overbearing_suffers("group", &schemas, crowd, others).await;
}

/// So that the others can fail: in one queue for all, the innocent wait as long as the guilty.
#[tokio::test]
async fn in_one_queue_all_suffer() {
    let others = vec![creates(person("bob"), "shop")];
    let overbearing = amok(creates(person("alice"), "shop"));
    let all = users(&[&overbearing[..], &others].concat());
    let scenario = Scenario::start("one-queue", "evenkeel", &all).await;
    let schema = schema("tenants", "tenants", "ByUser", &[group(STAFF)]);
    scenario.configure(&[schema], &[level("tenants", SHARES, 1)]).await;
    let outcome = scenario.run(vec![overbearing], others).await;
    let (guilty, innocent) = (outcome.loads[0].median(), outcome.innocent[0].1.median());
    assert!(innocent * 2 > guilty, "guilty {guilty:?}, innocent {innocent:?}");
}
