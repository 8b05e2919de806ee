//! The proposal's bad scenarios over real sockets: an axum server with the layer, clients that run
//! amuck, and others who must not notice.
//!
//! Service times are a few milliseconds, so that one who waits behind the guilty waits a hundred
//! times longer than one who does not. Bounds are ratios between clients of one run: a slow machine
//! slows all of them.

mod clients;
mod config;
mod server;
mod slow_flows;

use std::time::Duration;

use crate::{
    clients::{Caller, Load},
    config::{EXHIBITED, tenants},
    server::Server,
};

/// What the proof of each scenario is: the innocent are all served, and wait a fraction of what the
/// guilty do.
async fn only_the_guilty_suffers(server: &Server, guilty: Load, innocent: Vec<Caller>) {
    let outcome = server.run(vec![guilty], innocent).await;
    outcome.innocent_are_served();
    outcome.innocent_wait_less(4);
}

fn kubelet(n: usize) -> Caller {
    let user = format!("system:node:node-{n}");
    Caller::new(&user, &["system:nodes"]).path(&format!("/api/v1/nodes/node-{n}")).method("PATCH")
}

fn controller(name: &str) -> Caller {
    let user = format!("system:controller:{name}");
    Caller::new(&user, &["system:authenticated"]).path("/api/v1/namespaces/shop/pods")
}

fn user(name: &str, namespace: &str) -> Caller {
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    Caller::new(name, &["system:authenticated"]).path(&path)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn self_maintenance_is_not_crowded_out() {
    let server = Server::start(EXHIBITED, 26).await;
    let heartbeats = (0..4).map(kubelet).collect();
    only_the_guilty_suffers(&server, Load::of(user("alice", "shop"), 60), heartbeats).await;
}

/// Requests B come about while request A is served: the server asks itself, as an aggregated API
/// server does to review a token. A schema of their own keeps A's load from crowding them out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn priorities_are_not_inverted() {
    let reviews = format!("{EXHIBITED}\n---\n{}", config::REVIEWS);
    for (config, works) in [(reviews.as_str(), true), (EXHIBITED, false)] {
        let server = Server::start(config, 26).await;
        let asking = user("alice", "shop").header("x-review", "yes");
        let outcome = server.run(vec![Load::of(asking, 40)], vec![]).await;
        let inverted = outcome.guilty().failed();
        assert_eq!(inverted == 0, works, "{inverted} reviews failed, schema for them: {works}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn low_priority_keeps_its_share() {
    let server = Server::start(config::HIGH_AND_LOW, 10).await;
    let high = Load::of(Caller::new("operator", &["high"]), 60);
    let low = Load::of(Caller::new("guest", &[]), 60);
    let outcome = server.run(vec![high, low], vec![]).await;
    let (high, low) = (outcome.loads[0].served(), outcome.loads[1].served());
    // Eight seats against two, both always busy.
    let share = low as f64 / (high + low) as f64;
    assert!((0.12..0.3).contains(&share), "{low} of {} were of low priority", high + low);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_garbage_collector_is_not_crowded_out() {
    let server = Server::start(EXHIBITED, 26).await;
    let collector = controller("garbage-collector").method("DELETE");
    let doom = Load::of(user("alice", "shop"), 60);
    only_the_guilty_suffers(&server, doom, vec![collector]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_of_doom_does_not_take_the_system_down() {
    let server = Server::start(config::CONTROLLERS, 8).await;
    let doom = Load::of(controller("deployment-controller"), 60);
    let others = ["job-controller", "node-controller", "endpoint-controller"].map(controller);
    only_the_guilty_suffers(&server, doom, others.to_vec()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_kubelets_only_the_one_that_runs_amuck_suffers() {
    let server = Server::start(EXHIBITED, 10).await;
    let amuck = Load::of(kubelet(0), 60);
    let peers = (1..9).map(kubelet).collect();
    only_the_guilty_suffers(&server, amuck, peers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_a_namespace() {
    let server = Server::start(&tenants("{source: namespace}", config::RESOURCES), 4).await;
    let overbearing = Load::of(user("alice", "acme"), 60);
    let others = vec![user("alice", "shop"), user("bob", "bank")];
    only_the_guilty_suffers(&server, overbearing, others).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_a_user() {
    let server = Server::start(&tenants("{source: user}", "[]"), 4).await;
    let overbearing = Load::of(user("alice", "shop"), 60);
    let others = vec![user("bob", "shop"), user("carol", "shop")];
    only_the_guilty_suffers(&server, overbearing, others).await;
}

/// Whatever stands before the first dash: many users of one tenant are one flow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_a_prefix_of_the_user() {
    let by_prefix = r#"{source: user, transformation: {regex: "([^-]+)-.*"}}"#;
    let server = Server::start(&tenants(by_prefix, "[]"), 4).await;
    let crowd = Load::among((0..60).map(|n| user(&format!("acme-{n}"), "shop")).collect());
    let others = vec![user("shop-1", "shop"), user("bank-1", "shop")];
    only_the_guilty_suffers(&server, crowd, others).await;
}

/// Of the groups, those that begin with `tenant:` identify tenants.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_a_group() {
    let by_group = r#"{source: group, transformation: {regex: "tenant:(.*)"}}"#;
    let server = Server::start(&tenants(by_group, "[]"), 4).await;
    let member = |user: &str, tenant: &str| {
        Caller::new(user, &["system:authenticated", &format!("tenant:{tenant}"), "staff"])
    };
    let crowd = (0..60).map(|n| member(&format!("user-{n}"), "acme")).collect();
    let others = vec![member("alice", "shop"), member("bob", "bank")];
    only_the_guilty_suffers(&server, Load::among(crowd), others).await;
}

/// So that the above can fail: in one queue for all, the innocent wait as long as the guilty.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_fairness_all_suffer() {
    let server = Server::start(config::ONE_QUEUE, 4).await;
    let overbearing = Load::of(user("alice", "acme"), 60);
    let outcome = server.run(vec![overbearing], vec![user("bob", "bank")]).await;
    let (guilty, innocent) = (outcome.guilty().median(), outcome.innocent[0].median());
    assert!(innocent > guilty / 2, "guilty {guilty:?}, innocent {innocent:?}");
    assert!(guilty > Duration::from_millis(20), "there was load: {guilty:?}");
}
