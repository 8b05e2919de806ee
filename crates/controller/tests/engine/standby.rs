//! A process that only watches.

use evenkeel_controller::engine::Action;
use evenkeel_model::{SeenPod, Watched};
use evenkeel_testkit::service;

use crate::three_zones;

/// A standby may watch for months. What it will have to do is a set of Services, not a list of
/// changes.
#[test]
fn changes_that_a_standby_sees_take_no_memory() {
    let mut harness = three_zones();
    harness.service(service("web"));
    harness.engine.lead(false);
    let pod = harness.pod("web", "pod-a2", "a", 9);
    harness.poll();
    let change = |n: u32| {
        let mut seen = SeenPod { labels: pod.labels.clone(), ..pod.clone() };
        seen.pod.ready = n.is_multiple_of(2);
        seen
    };
    let mut churn = |n: u32| {
        harness.engine.pod(Watched::Applied(change(n)));
        harness.poll();
    };
    (0..100).for_each(&mut churn);
    let info = allocation_counter::measure(|| (0..100_000).for_each(&mut churn));
    assert!(info.bytes_current < 1000, "{} bytes stay", info.bytes_current);
    assert_eq!(harness.engine.totals().waiting, 1);
    harness.engine.lead(true);
    assert!(matches!(harness.write().action, Action::Create { .. }));
}
