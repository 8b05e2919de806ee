//! The bad scenarios of the proposal, in the default profile and in that of the proposal.

use std::time::Duration;

use crate::{
    config::{self, level, only, schema},
    rig::{
        caller::Caller,
        users::{STAFF, User, controller_manager, heartbeats, kubelet, leader, service_account},
        work::Work,
    },
    scenario::{NODES, Outcome, PROFILES, Scenario, amok, creates},
};

/// Of callers who do something now and then.
const PERIOD: Duration = Duration::from_millis(40);

fn alice() -> User {
    User::new("alice", &[STAFF])
}

fn bob() -> User {
    User::new("bob", &[STAFF])
}

/// Node status, Leases of Nodes and of leaders.
fn self_maintenance() -> Vec<Caller> {
    let mut all: Vec<Caller> = (1..4).flat_map(|n| heartbeats(n, PERIOD)).collect();
    all.push(leader(PERIOD));
    all
}

fn everyone() -> Vec<User> {
    let mut all = vec![alice(), bob(), controller_manager()];
    all.extend((0..NODES).map(kubelet));
    all
}

#[tokio::test]
async fn self_maintenance_is_not_crowded_out() {
    for profile in PROFILES {
        let scenario = Scenario::start("maintenance", profile, &everyone()).await;
        let guilty = amok(creates(alice(), "shop"));
        let outcome = scenario.run(vec![guilty], self_maintenance()).await;
        outcome.only_the_guilty_suffers(profile);
    }
}

/// An aggregated API server asks for reviews of tokens and rights while it serves others, and loads
/// this server on their behalf. A schema of their own keeps that load from crowding them out.
#[tokio::test]
async fn priorities_are_not_inverted() {
    let server = service_account("example-com", "network-apiserver");
    let reviews = [
        ("tokenreviews", "authentication", r#"{"spec":{"token":"bob"}}"#),
        (
            "subjectaccessreviews",
            "authorization",
            r#"{"spec":{"user":"bob","resourceAttributes":{"verb":"get","resource":"pods"}}}"#,
        ),
    ];
    let reviews = reviews.map(|(plural, group, body)| {
        let path = format!("/apis/{group}.k8s.io/v1/{plural}");
        Caller::new(server.clone(), Work::create(&path, body)).every(PERIOD)
    });
    for profile in PROFILES {
        let users = [server.clone(), bob()];
        let scenario = Scenario::start("inversion", profile, &users).await;
        let run = async || {
            let load = amok(creates(server.clone(), "shop"));
            scenario.run(vec![load], reviews.to_vec()).await
        };
        crowded_out(&run().await, profile);
        let own = schema("reviews", "reviews", "ByUser", &[config::user(&server)]);
        let own = only(own, &["tokenreviews", "subjectaccessreviews"]);
        scenario.configure(&[own], &[level("reviews", 30, 16)]).await;
        run().await.only_the_guilty_suffers(profile);
    }
}

/// Without a flow of their own, these wait as long as the guilty.
fn crowded_out(outcome: &Outcome, what: &str) {
    let guilty = outcome.loads[0].median();
    for (name, tally) in &outcome.innocent {
        assert!(tally.median() * 2 > guilty, "{what}: {name} {:?}, {guilty:?}", tally.median());
    }
}

#[tokio::test]
async fn low_priority_keeps_its_share() {
    for profile in PROFILES {
        let users = [User::new("operator", &[STAFF, "high"]), User::new("guest", &[STAFF, "low"])];
        let scenario = Scenario::start("low", profile, &users).await;
        // Beside 245 shares of the default levels, which are idle.
        let schemas = [
            schema("high", "high", "ByUser", &[config::group("high")]),
            schema("low", "low", "ByUser", &[config::group("low")]),
        ];
        scenario.configure(&schemas, &[level("high", 600, 16), level("low", 200, 16)]).await;
        let loads = users.map(|user| amok(creates(user, "shop")));
        scenario.run(loads.into(), vec![]).await;
        let levels = scenario.levels().await;
        let [high, low] = ["high", "low"].map(|name| levels[name].arrived);
        let share = low / (high + low);
        // Two seats beside four.
        assert!((0.2..0.45).contains(&share), "{profile}: {low} beside {high}");
    }
}

#[tokio::test]
async fn a_deployment_of_doom_does_not_take_the_system_down() {
    let controller = |name| service_account("kube-system", name);
    for profile in PROFILES {
        let mut users = everyone();
        users.extend(["deployment-controller", "job-controller"].map(controller));
        let scenario = Scenario::start("doom", profile, &users).await;
        let doom = amok(creates(controller("deployment-controller"), "acme"));
        let mut others = self_maintenance();
        others.push(creates(controller("job-controller"), "shop").every(PERIOD));
        others.push(creates(bob(), "shop").every(PERIOD));
        let outcome = scenario.run(vec![doom], others).await;
        outcome.only_the_guilty_suffers(profile);
    }
}

#[tokio::test]
async fn of_kubelets_only_the_one_that_runs_amuck_suffers() {
    for profile in PROFILES {
        let scenario = Scenario::start("amuck", profile, &everyone()).await;
        let [status, _] = heartbeats(0, Duration::ZERO);
        let peers = self_maintenance();
        let outcome = scenario.run(vec![amok(status)], peers).await;
        outcome.only_the_guilty_suffers(profile);
    }
}
