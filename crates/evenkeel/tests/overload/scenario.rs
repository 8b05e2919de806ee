//! One of the proposal's bad scenarios: a server with few seats, somebody guilty, and the innocent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    alone::{Turn, turn},
    rig::{
        caller::{self, Caller, PROBES},
        client::Client,
        metrics::{self, Levels},
        server::Server,
        tally::Tally,
        thrash::create_nodes,
        users::User,
        work::Work,
    },
};

/// Evenkeel's default, and the algorithm of the proposal.
pub(crate) const PROFILES: [&str; 2] = ["evenkeel", "proposal"];
const SEATS: [&str; 4] = ["--max-requests-inflight", "4", "--max-mutating-requests-inflight", "2"];
const NAMESPACES: [&str; 3] = ["acme", "bank", "shop"];
pub(crate) const NODES: usize = 5;
/// Of somebody who runs amok.
const CONNECTIONS: usize = 32;
/// How long each of their requests holds its seat: many times longer than it takes the server, so that
/// seats are what they wait for, on a busy machine too.
const HOLD: Duration = Duration::from_millis(20);

const TIME: Duration = Duration::from_millis(800);
const FLOW_CONTROL: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
/// Within which a configuration is in force.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Scenario {
    server: Server,
    /// Not beside another one: both would measure the machine.
    _turn: Turn,
}

pub(crate) struct Outcome {
    pub(crate) loads: Vec<Tally>,
    pub(crate) innocent: Vec<(String, Tally)>,
}

impl Scenario {
    pub(crate) async fn start(name: &str, profile: &str, users: &[User]) -> Scenario {
        Scenario::start_with(name, profile, users, &[]).await
    }

    /// With further flags.
    pub(crate) async fn start_with(
        name: &str,
        profile: &str,
        users: &[User],
        flags: &[&str],
    ) -> Scenario {
        let turn = turn().await;
        let flags = [&SEATS[..], &["--fairness-profile", profile], flags].concat();
        let server = Server::start(&format!("{name}-{profile}"), users, &flags).await;
        let mut admin = server.admin().await;
        for name in NAMESPACES {
            admin.create("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await;
        }
        create_nodes(&mut admin, NODES).await;
        Scenario { server, _turn: turn }
    }

    pub(crate) async fn configure(&self, schemas: &[Value], levels: &[Value]) {
        configure(&self.server, schemas, levels).await;
    }

    pub(crate) async fn levels(&self) -> Levels {
        metrics::levels(&mut self.server.admin().await).await
    }

    /// The tally of a load is that of its probes.
    pub(crate) async fn run(&self, mut loads: Vec<Vec<Caller>>, innocent: Vec<Caller>) -> Outcome {
        let names: Vec<String> = innocent.iter().map(|one| one.user.name.clone()).collect();
        let probes = loads.iter_mut().flat_map(|load| load.split_off(load.len() - PROBES));
        let measured = innocent.into_iter().chain(probes).collect();
        let load = caller::load(&self.server, loads.concat()).await;
        let mut tallies = caller::run(&self.server, measured, TIME).await;
        load.stop().await;
        let probes = tallies.split_off(names.len());
        let loads = probes.chunks(PROBES).map(|load| load.iter().cloned().collect()).collect();
        Outcome { loads, innocent: names.into_iter().zip(tallies).collect() }
    }
}

/// Creates flow schemas and levels, and waits until they are in force: levels come last, so that one
/// in force has its schemas.
pub(crate) async fn configure(server: &Server, schemas: &[Value], levels: &[Value]) {
    let mut admin = server.admin().await;
    for schema in schemas {
        admin.create(&format!("{FLOW_CONTROL}/flowschemas"), schema).await;
    }
    for level in levels {
        admin.create(&format!("{FLOW_CONTROL}/prioritylevelconfigurations"), level).await;
        in_force(&mut admin, level["metadata"]["name"].as_str().unwrap()).await;
    }
}

/// A level is in force once its limit is a metric.
async fn in_force(admin: &mut Client, level: &str) {
    let started = Instant::now();
    let series = format!("apiserver_flowcontrol_current_limit_seats{{priority_level=\"{level}\"}}");
    while !admin.get("/metrics").await.text().contains(&series) {
        assert!(started.elapsed() < PATIENCE, "{level} is not in force");
    }
}

/// One who creates ConfigMaps there.
pub(crate) fn creates(user: User, namespace: &str) -> Caller {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    Caller::new(user, Work::create(&path, r#"{"metadata":{"name":"new-{n}"}}"#))
}

/// One who runs amok, with many connections.
pub(crate) fn amok(caller: Caller) -> Vec<Caller> {
    caller.slowly(HOLD).times(CONNECTIONS)
}

/// The same with a user for each connection.
pub(crate) fn crowd(caller: impl Fn(usize) -> Caller) -> Vec<Caller> {
    (0..CONNECTIONS).map(|n| caller(n).slowly(HOLD)).collect()
}

// === impl Outcome ===

impl Outcome {
    /// The innocent are all served, and wait a fraction of what the guilty do: a tenth on a machine
    /// with nothing else to do, and as long as the guilty if they stood in their queue.
    pub(crate) fn only_the_guilty_suffers(&self, what: &str) {
        let guilty = self.loads[0].median();
        for (name, tally) in &self.innocent {
            assert!(tally.failed.is_empty(), "{what}: {name}: {:?}", tally.failed);
            assert_eq!(tally.rejected, 0, "{what}: {name} is rejected");
            assert!(tally.served() > 5, "{what}: {name} is served {} times", tally.served());
            let median = tally.median();
            assert!(median * 2 < guilty, "{what}: {name} {median:?}, guilty {guilty:?}");
        }
    }
}
