//! "Intersection with internal/externalTrafficPolicy": the table of precedence, three rows.
//!
//! Traffic from outside under policy Local uses `local`, all other traffic uses `cluster`.

use evenkeel_model::{Rule, Service, TrafficPolicy};
use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};

/// The rules for traffic on `node-a1`: what may leave the node, what must stay.
fn check(service: &Service, cluster: Option<(Rule, &[&str])>, local: Option<(Rule, &[&str])>) {
    for asks in [service.clone().auto(), service.clone().distribution("PreferClose")] {
        for (profile, settings) in profiles() {
            let cluster_of_four = Cluster::of(&[("a", 4), ("a", 4), ("b", 4), ("b", 4)]);
            let mut world = World::new(cluster_of_four, asks.clone(), settings)
                .with_pods(&[("a", 2), ("b", 2)]);
            world.sync();
            let view = world.select_from("node-a1");
            for (seen, expected) in [(view.cluster, cluster), (view.local, local)] {
                let seen = seen.map(|s| (s.rule, s.pods));
                let expected = expected.map(|(rule, pods)| {
                    let pods: Vec<String> = pods.iter().map(ToString::to_string).collect();
                    (rule, pods)
                });
                assert_eq!(seen, expected, "{profile}");
            }
        }
    }
}

const BY_HINTS: Option<(Rule, &[&str])> = Some((Rule::SameZone, &["pod-a1", "pod-a2"]));
const ON_THE_NODE: Option<(Rule, &[&str])> = Some((Rule::LocalReady, &["pod-a1"]));

// External -, internal -: both results by trafficDistribution.
#[test]
fn without_policy_local_all_traffic_follows_hints() {
    check(&service("web"), BY_HINTS, None);
    let exposed = service("web").external(TrafficPolicy::Cluster);
    check(&exposed, BY_HINTS, None);
}

// External Local, internal -: external result Local, internal result by trafficDistribution.
#[test]
fn external_policy_local_leaves_internal_traffic_to_hints() {
    let exposed = service("web").external(TrafficPolicy::Local);
    check(&exposed, BY_HINTS, ON_THE_NODE);
}

// External Local, internal Local: both results Local. What remains for hints is traffic of Pods to
// the outside address, which Kubernetes lets through to all endpoints.
#[test]
fn with_both_policies_local_traffic_stays_on_the_node() {
    let exposed = service("web").internal(TrafficPolicy::Local).external(TrafficPolicy::Local);
    check(&exposed, BY_HINTS, ON_THE_NODE);
    let inside = service("web").internal(TrafficPolicy::Local);
    check(&inside, None, ON_THE_NODE);
}
