//! A server with one narrow level, whose seats are counted while something happens to them.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    config::{group, level, schema},
    rig::{
        client::Client,
        metrics::{self, Level, Levels},
        server::Server,
        users::{STAFF, User},
    },
    scenario::configure,
};

/// The level of the hostile, which neither lends nor borrows.
pub(crate) const NARROW: &str = "narrow";
/// Its seats: half of 12.
pub(crate) const SEATS: f64 = 6.0;
pub(crate) const PATH: &str = "/api/v1/namespaces/default/configmaps";

const FLAGS: [&str; 4] = ["--max-requests-inflight", "8", "--max-mutating-requests-inflight", "4"];
const CONFIG_MAPS: usize = 40;
/// Within which seats come back.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Narrow {
    pub(crate) server: Server,
}

pub(crate) fn hostile() -> User {
    User::new("mallory", &[STAFF])
}

/// In the same level, another flow.
pub(crate) fn peer() -> User {
    User::new("alice", &[STAFF])
}

impl Narrow {
    pub(crate) async fn start(name: &str, flags: &[&str]) -> Narrow {
        let flags = [&FLAGS, flags].concat();
        let server = Server::start(name, &[hostile(), peer()], &flags).await;
        fill(&mut server.admin().await).await;
        let schema = schema("narrow", NARROW, "ByUser", &[group(STAFF)]);
        // As many as all default levels have.
        configure(&server, &[schema], &[level(NARROW, 245, 64)]).await;
        Narrow { server }
    }

    pub(crate) async fn level(&self) -> Level {
        metrics::levels(&mut self.server.admin().await).await[NARROW].clone()
    }

    /// Waits until nothing of the level runs or waits.
    pub(crate) async fn all_seats_are_free(&self) {
        let started = Instant::now();
        let mut admin = self.server.admin().await;
        loop {
            let level = &metrics::levels(&mut admin).await[NARROW];
            if level.seats == 0.0 && level.executing == 0.0 && level.waiting == 0.0 {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{level:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Another flow reads and writes.
    pub(crate) async fn others_are_served(&self, name: &str) {
        let mut client = Client::connect(&self.server.target, &peer()).await;
        client.create(PATH, &json!({"metadata": {"name": name}})).await;
        let listed = client.get(PATH).await;
        assert!(listed.is_served(), "{}", listed.text());
    }
}

/// Something to list.
async fn fill(admin: &mut Client) {
    let text = "x".repeat(20_000);
    for n in 0..CONFIG_MAPS {
        let metadata = json!({"name": format!("c{n}")});
        admin.create(PATH, &json!({"metadata": metadata, "data": {"k": text}})).await;
    }
}

/// Neither in any sample nor between two of them were more seats in use than the level has.
pub(crate) fn never_more_than_configured(samples: &[Levels]) {
    assert!(samples.len() > 3, "{} samples", samples.len());
    for sample in samples {
        let level = &sample[NARROW];
        assert_eq!(level.limit, SEATS);
        assert!(level.seats <= SEATS && level.executing <= SEATS, "{level:?}");
        assert!(level.dumped as f64 <= SEATS, "{level:?}");
        assert_eq!(level.over_nominal, 0.0, "{level:?}");
    }
}
