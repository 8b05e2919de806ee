//! The load that the proposal suggests to test with: objects that are created and deleted without a
//! pause, by one tenant with many connections, while the cluster maintains itself.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    caller::{self, Caller, PROBES},
    client::Client,
    metrics::{self, Levels},
    server::Server,
    tally::Tally,
    users::{User, controller_manager, heartbeats, kubelet, leader, service_account},
    work::Work,
};

/// Few enough that queues form.
pub(crate) const SEATS: [&str; 4] =
    ["--max-requests-inflight", "8", "--max-mutating-requests-inflight", "4"];
pub(crate) const CONNECTIONS: usize = 80;

const NODES: usize = 4;
const HEARTBEAT: Duration = Duration::from_millis(100);
const BETWEEN_COUNTS: Duration = Duration::from_millis(200);
/// Within which all is collected after the load.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is created and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thrash {
    ConfigMaps,
    ServiceAccounts,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    /// Of the tenant that runs amok.
    pub(crate) load: Tally,
    /// Its connections that are measured beside the others.
    pub(crate) guilty: Tally,
    /// Another one in the same priority level.
    pub(crate) tenant: Tally,
    /// Of Nodes.
    pub(crate) heartbeats: Tally,
    pub(crate) leader: Tally,
    /// Secrets whose owner is gone, counted during the load.
    pub(crate) backlog: Vec<usize>,
    /// From the end of the load until there were none.
    pub(crate) collected_after: Duration,
    pub(crate) samples: Vec<Levels>,
}

pub(crate) async fn run(name: &str, thrash: Thrash, flags: &[&str], time: Duration) -> Outcome {
    let server = start(name, flags).await;
    let guilty = thrash.by(&amok());
    let load = caller::load(&server, guilty.clone().times(CONNECTIONS - PROBES)).await;
    let mut measured = guilty.times(PROBES);
    measured.extend([Thrash::ConfigMaps.by(&tenant()), leader(HEARTBEAT)]);
    measured.extend((0..NODES).flat_map(|n| heartbeats(n, HEARTBEAT)));
    let measured =
        async { tokio::join!(caller::run(&server, measured, time), count(&server, time)) };
    let ((mut measured, backlog), samples) = metrics::sample_while(&server, measured).await;
    let load = load.stop().await;
    let collected_after = collected(&server).await;
    let mut next = |n: usize| measured.drain(..n).collect::<Tally>();
    let [guilty, tenant, leader] = [PROBES, 1, 1].map(&mut next);
    let heartbeats = next(2 * NODES);
    Outcome { load, guilty, tenant, heartbeats, leader, backlog, collected_after, samples }
}

fn amok() -> User {
    service_account("acme", "driver")
}

fn tenant() -> User {
    service_account("shop", "driver")
}

impl Thrash {
    /// In the user's own namespace.
    fn by(self, user: &User) -> Caller {
        let namespace = user.name.split(':').nth(2).unwrap_or_default().to_owned();
        let work = match self {
            Thrash::ConfigMaps => Work::ConfigMaps { namespace },
            Thrash::ServiceAccounts => Work::Accounts { namespace },
        };
        Caller::new(user.clone(), work)
    }
}

async fn start(name: &str, flags: &[&str]) -> Server {
    let mut users = vec![amok(), tenant(), controller_manager()];
    users.extend((0..NODES).map(kubelet));
    let server = Server::start(name, &users, &[&SEATS, flags].concat()).await;
    let mut admin = server.admin().await;
    for namespace in ["acme", "shop"] {
        admin.create("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await;
    }
    create_nodes(&mut admin, NODES).await;
    server
}

/// With their Leases and that of the leader.
pub(crate) async fn create_nodes(admin: &mut Client, n: usize) {
    let leases = |namespace| format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let named = |name: &str| json!({"metadata": {"name": name}});
    admin.create(&leases("kube-system"), &named("kube-controller-manager")).await;
    for name in (0..n).map(|n| format!("n{n}")) {
        admin.create("/api/v1/nodes", &named(&name)).await;
        admin.create(&leases("kube-node-lease"), &named(&name)).await;
    }
}

async fn count(server: &Server, time: Duration) -> Vec<usize> {
    let until = Instant::now() + time;
    let mut admin = server.admin().await;
    let mut counts = Vec::new();
    while Instant::now() < until {
        counts.push(backlog(&mut admin).await);
        tokio::time::sleep(BETWEEN_COUNTS).await;
    }
    counts
}

async fn collected(server: &Server) -> Duration {
    let started = Instant::now();
    let mut admin = server.admin().await;
    while backlog(&mut admin).await > 0 {
        assert!(started.elapsed() < PATIENCE, "Secrets of deleted owners are left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed()
}

/// Secrets are listed before their owners, so that a new Secret never lacks its own.
pub(crate) async fn backlog(admin: &mut Client) -> usize {
    let secrets = admin.get("/api/v1/namespaces/acme/secrets").await.json();
    let accounts = admin.get("/api/v1/namespaces/acme/serviceaccounts").await.json();
    let uids: BTreeSet<&str> =
        items(&accounts).filter_map(|it| it["metadata"]["uid"].as_str()).collect();
    let owner = |secret: &Value| {
        let uid = secret["metadata"]["ownerReferences"][0]["uid"].as_str();
        uid.is_some_and(|uid| !uids.contains(uid))
    };
    items(&secrets).filter(|secret| owner(secret)).count()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}
