//! The proposal's first test: with more concurrency than is configured, as much is admitted as is
//! configured.

use std::time::Duration;

use crate::{
    alone::turn,
    rig::{caller, metrics},
    scenario::{PROFILES, creates},
    seats::{NARROW, Narrow, SEATS, hostile, never_more_than_configured},
};

const TIME: Duration = Duration::from_millis(1000);
const CONNECTIONS: usize = 50;

#[tokio::test]
async fn as_many_requests_run_at_once_as_configured() {
    let _turn = turn().await;
    for profile in PROFILES {
        let name = format!("concurrency-{profile}");
        let narrow = Narrow::start(&name, &["--fairness-profile", profile]).await;
        let callers = creates(hostile(), "default").times(CONNECTIONS);
        let load = caller::load(&narrow.server, callers).await;
        let (_, samples) = metrics::sample_while(&narrow.server, tokio::time::sleep(TIME)).await;
        let served = load.stop().await;
        assert!(served.failed.is_empty() && served.rejected == 0, "{served:?}");
        never_more_than_configured(&samples);
        let waiting: Vec<_> =
            samples.iter().map(|all| &all[NARROW]).filter(|level| level.waiting > 0.0).collect();
        assert!(waiting.len() > 5, "requests wait in {} samples", waiting.len());
        let idle: Vec<_> = waiting.iter().filter(|level| level.seats < SEATS).collect();
        assert!(idle.is_empty(), "seats are idle while requests wait: {idle:?}");
        narrow.all_seats_are_free().await;
    }
}
