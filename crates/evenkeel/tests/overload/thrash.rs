//! Objects that are created and deleted without a pause must not crowd out heartbeats, leader
//! election, the garbage collector or another tenant.

use std::time::Duration;

use crate::{
    alone::turn,
    rig::{
        tally::Tally,
        thrash::{CONNECTIONS, Outcome, Thrash, run},
    },
    scenario::PROFILES,
};

const TIME: Duration = Duration::from_millis(2000);
/// Much longer than anybody waits who does not stand in a queue, even on a busy machine.
const LONG: Duration = Duration::from_secs(1);

#[tokio::test]
async fn thrashing_config_maps_slows_only_who_does_it() {
    let _turn = turn().await;
    let outcome = run("config-maps", Thrash::ConfigMaps, &[], TIME).await;
    only_the_guilty_waits(&outcome);
}

/// The proposal's test for "Garbage Collector crowded out".
#[tokio::test]
async fn thrashing_service_accounts_does_not_crowd_out_the_garbage_collector() {
    for profile in PROFILES {
        let _turn = turn().await;
        let flags = ["--fairness-profile", profile];
        let outcome = run(profile, Thrash::ServiceAccounts, &flags, TIME).await;
        only_the_guilty_waits(&outcome);
        // Each connection deletes one owner at a time.
        let most = outcome.backlog.iter().max().copied().unwrap_or_default();
        assert!(most < CONNECTIONS, "{profile}: {:?}", outcome.backlog);
        assert!(outcome.collected_after < LONG, "{profile}: {:?}", outcome.collected_after);
    }
}

/// So that the others can fail.
#[tokio::test]
async fn without_fairness_heartbeats_are_rejected_and_the_garbage_collector_falls_behind() {
    let _turn = turn().await;
    let off = ["--enable-priority-and-fairness=false"];
    let outcome = run("off", Thrash::ServiceAccounts, &off, TIME).await;
    for (name, tally) in innocent(&outcome) {
        assert!(tally.rejected * 10 > tally.served(), "{name}: {} rejected", tally.rejected);
    }
    let most = outcome.backlog.iter().max().copied().unwrap_or_default();
    assert!(most > 10, "{:?}", outcome.backlog);
}

fn only_the_guilty_waits(outcome: &Outcome) {
    let queued = outcome.samples.iter().filter(|levels| levels["workload-low"].waiting > 0.0);
    assert!(queued.count() * 2 > outcome.samples.len(), "queues form");
    assert!(outcome.load.failed.is_empty(), "{:?}", outcome.load.failed);
    let guilty = outcome.guilty.median();
    for (name, tally) in innocent(outcome) {
        let (median, p99) = (tally.median(), tally.quantile(0.99));
        assert!(tally.failed.is_empty(), "{name}: {:?}", tally.failed);
        assert_eq!(tally.rejected, 0, "{name} is rejected");
        assert!(tally.served() > 10, "{name} is served {} times", tally.served());
        // Not by a factor: on a slow machine most of both times is the work itself, without a queue.
        assert!(median < guilty, "{name} {median:?}, guilty {guilty:?}");
        assert!(p99 < LONG, "{name} {p99:?}");
    }
}

fn innocent(outcome: &Outcome) -> [(&'static str, &Tally); 3] {
    [
        ("heartbeats", &outcome.heartbeats),
        ("leader election", &outcome.leader),
        ("another tenant", &outcome.tenant),
    ]
}
