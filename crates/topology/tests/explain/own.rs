//! Other policies of Evenkeel's own, its annotations, and advice to use Balanced.

use evenkeel_model::{ServiceState, SharesAnnotation, Snapshot, ZoneShares, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{
    Environment, Policy, Profile, Server,
    analyze::{Problem, Severity},
    explain::{Advice, Alternative, Context, ExcludedReason, Explanation, Outcome, Warning},
};

use crate::{
    code, explained, settled,
    shares::{explained_auto, ours, under},
    snapshot, state,
};

const EVEN: [(&str, usize); 3] = [("a", 1), ("b", 1), ("c", 1)];
const SKEWED: [(&str, usize); 3] = [("a", 2), ("b", 1), ("c", 1)];

fn codes(explanation: &Explanation) -> Vec<String> {
    explanation.warnings.iter().map(|warning| code(&warning.reason)).collect()
}

/// What `analyze` finds for the Service, by code.
fn found(explanation: &Explanation) -> Vec<String> {
    explanation.findings.iter().map(|finding| code(&finding.problem.reason)).collect()
}

/// Regions of three zones, and one of a node that names none.
fn two_regions() -> Cluster {
    let mut cluster = Cluster::equal_zones(4);
    for (zone, region) in [("a", "east"), ("b", "east"), ("c", "west")] {
        cluster.set_region(zone, region);
    }
    cluster
}

#[test]
fn kube_proxy_only_prefers_the_zone_that_is_required() {
    let mut cluster = Cluster::equal_zones(3);
    cluster.add_node("node-x", None, 4);
    let world = ours(cluster, under("RequireSameZone"), &[("a", 1), ("b", 2)]);
    let explanation = explained_auto(&world);
    let expected = ["RequirementNotEnforced", "RequiredZonesEmpty", "RequiredZoneUnknown"];
    assert_eq!(codes(&explanation), expected);
    let zones = vec!["c".into()];
    let empty = Warning::RequiredZonesEmpty { zones, enforced: false };
    assert_eq!(explanation.warnings[1].reason, empty);
    assert!(explanation.families[0].views.iter().all(|view| !view.uses.is_empty()));
    assert!(found(&explanation).contains(&"RequiredZoneEmpty".to_owned()));
    assert!(explanation.findings.iter().all(|finding| finding.severity < Severity::Error));
}

#[test]
fn a_required_zone_without_an_endpoint_refuses_where_it_is_enforced() {
    let world = ours(Cluster::equal_zones(3), under("RequireSameZone"), &[("a", 1), ("b", 2)]);
    let explanation = explained(&world);
    assert_eq!(codes(&explanation), ["RequiredZonesEmpty"]);
    let [.., from_c] = explanation.families[0].views.as_slice() else { panic!("no views") };
    assert_eq!(code(&from_c.rule.reason), "RequiredZoneEmpty");
    assert!(from_c.excluded.iter().all(|e| e.why.reason == ExcludedReason::InOtherZone));
    assert_eq!(explanation.advice.reason, Advice::AddEndpoints { zones: vec!["c".into()] });
    assert_eq!(explanation.findings[0].severity, Severity::Error);
}

#[test]
fn regions_are_shown_and_labels_that_are_missing_or_differ() {
    let mut cluster = two_regions();
    let west = cluster.topology.regions.find("west");
    cluster.add_node("node-a2", Some("a"), 4).region = west;
    cluster.add_node("node-a3", Some("a"), 4).region = cluster.node("node-b1").region;
    let world = ours(cluster, under("PreferSameRegion"), &[("a", 1), ("c", 1)]);
    let explanation = explained(&world);
    let regions: Vec<_> =
        explanation.regions.iter().map(|region| (&*region.name, region.zones.len())).collect();
    assert_eq!(regions, [("", 1), ("east", 2), ("west", 1)]);
    let missing = Warning::RegionLabelsMissing { nodes: 1, of: 6, first: "node-d1".into() };
    let mixed = Warning::ZoneInSeveralRegions {
        zone: "a".into(),
        regions: vec!["east".into(), "west".into()],
        counts: "east".into(),
    };
    let warnings: Vec<_> = explanation.warnings.iter().map(|said| said.reason.clone()).collect();
    assert_eq!(warnings, [missing, mixed]);
}

#[test]
fn a_region_of_more_than_eight_zones_is_shared_out() {
    let mut cluster = Cluster::equal_zones(9);
    for zone in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        cluster.set_region(zone, "east");
    }
    let world = ours(cluster, under("PreferSameRegion"), &EVEN);
    let explanation = explained(&world);
    assert!(codes(&explanation).contains(&"RegionByShares".to_owned()));
    let desired = &explanation.families[0].hints.desired.reason;
    assert_eq!(*desired, Outcome::Region { fallback: false, by_shares: true, zones: 9 });
    let view = &explanation.families[0].shares[0];
    assert_eq!(code(&view.state.reason), "SharesUpToDate");
    assert!(view.rows.iter().all(|row| row.desired.iter().flatten().all(|p| p.why.is_none())));
}

/// Once for the cluster, and only where a Service looks at regions.
#[test]
fn region_labels_are_a_finding_of_the_cluster() {
    let of = |service| {
        let world = settled(two_regions(), service, &EVEN);
        let snapshot = Snapshot { services: vec![state(&world).into()], ..snapshot(&world) };
        let environment = Environment::fixed(Profile::Evenkeel, &world.settings);
        let context = Context::new(&snapshot, &environment);
        context
            .cluster_findings()
            .iter()
            .map(|finding| code(&finding.problem.reason))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(under("PreferSameRegion")), ["RegionLabelsMissing"]);
    assert_eq!(of(under("Balanced")), [""; 0]);
}

#[test]
fn annotations_without_effect_are_found() {
    let with = |policy, name, value| {
        ours(Cluster::equal_zones(3), under(policy).annotated(name, value), &EVEN)
    };
    let threshold = label::OVERLOAD_THRESHOLD;
    for (world, expected) in [
        (with("Balanced", threshold, "40%"), None),
        (with("Balanced", threshold, "much"), Some("InvalidOverloadThreshold")),
        (with("PreferSameZone", threshold, "40%"), Some("OverloadThresholdUnused")),
        (with("PreferSameZone", "evenkeel.dev/overload-treshold", "1"), Some("UnknownAnnotation")),
        (settled(Cluster::equal_zones(3), under("Balanced"), &EVEN), Some("AnnotationNotHonoured")),
    ] {
        let found = found(&explained(&world));
        assert_eq!(found.first().map(String::as_str), expected, "{:?}", world.service.annotations);
        assert!(found.len() <= 2, "{found:?}");
    }
}

#[test]
fn a_misspelt_policy_is_told_from_a_misplaced_one() {
    let unknown = |service| {
        let world = ours(Cluster::equal_zones(3), service, &EVEN);
        let explanation = explained(&world);
        let finding = explanation.findings.into_iter().next().unwrap();
        let nearest = match finding.problem.reason {
            Problem::UnknownValue { nearest, .. } => nearest,
            other => panic!("{other:?}"),
        };
        (nearest, finding.fix)
    };
    let (nearest, fix) = unknown(under("Balancd"));
    assert_eq!(nearest, Some("Balanced"));
    assert_eq!(fix, "Set annotation evenkeel.dev/traffic-distribution: Balanced");
    let (_, fix) = unknown(service("web").distribution("Balanced"));
    assert!(fix.contains("set annotation evenkeel.dev/traffic-distribution: Balanced"), "{fix}");
}

#[test]
fn shares_on_slices_of_others_are_ignored() {
    let mut world = settled(Cluster::equal_zones(3), service("web"), &EVEN);
    world.slices[0].shares = Some(SharesAnnotation::Valid(ZoneShares::default().into()));
    assert!(found(&explained(&world)).contains(&"SharesOnForeignSlice".to_owned()));
    let mut world = ours(Cluster::equal_zones(3), service("web"), &EVEN);
    world.slices[0].shares = Some(SharesAnnotation::Valid(ZoneShares::default().into()));
    assert!(found(&explained(&world)).contains(&"SharesLeftOver".to_owned()));
}

fn advised(world: &World) -> (Advice, Option<Alternative>) {
    let Explanation { advice, alternative, .. } = explained(world);
    (advice.reason, alternative.map(|told| told.reason))
}

#[test]
fn balanced_is_advised_where_it_takes_effect() {
    let three = || Cluster::equal_zones(3);
    let (advice, alternative) = advised(&ours(three(), service("web").auto(), &SKEWED));
    let Advice::SetBalanced { command, in_zone_share, max_load } = advice else {
        panic!("{advice:?}")
    };
    // The annotation of Auto would take precedence.
    assert_eq!(
        &*command,
        "kubectl annotate service web -n default evenkeel.dev/traffic-distribution=Balanced service.kubernetes.io/topology-mode-"
    );
    assert_eq!(((in_zone_share * 100.0).round(), (max_load * 100.0).round()), (83.0, 100.0));
    assert_eq!(alternative, None);

    let (advice, alternative) = advised(&settled(three(), service("web").auto(), &SKEWED));
    assert_eq!(advice, Advice::Scale { now: 4, next: 6 });
    assert_eq!(code(&alternative.unwrap()), "BalancedNeedsEvenkeel");

    let world = ours(three(), service("web"), &SKEWED);
    let explanation = explained_auto(&world);
    assert_eq!(code(&explanation.advice.reason), "SpreadPods");
    assert_eq!(code(&explanation.alternative.unwrap().reason), "BalancedNeedsProxy");
    assert_eq!(advised(&ours(three(), service("web"), &EVEN)).1, None);
}

/// What is advised leads to the policy that it promises.
#[test]
fn following_the_advice_sets_balanced() {
    let mut world = ours(Cluster::equal_zones(3), service("web").auto(), &SKEWED);
    world.service.annotations.remove(label::TOPOLOGY_MODE);
    world.service = world.service.clone().annotated(label::TRAFFIC_DISTRIBUTION, "Balanced");
    world.sync();
    let explanation = explained(&world);
    assert_eq!(explanation.policy, Policy::Balanced);
    assert_eq!(explanation.advice.reason, Advice::NothingToDo);
}

/// A scan of the cluster names what matters, with a fix.
#[test]
fn a_scan_finds_broken_shares() {
    let mut world = ours(Cluster::equal_zones(3), under("Balanced"), &SKEWED);
    let error = evenkeel_model::SharesError::ShareZoneRepeated { zone: "a".into() };
    world.slices[0].shares = Some(SharesAnnotation::Invalid(error));
    let snapshot: Snapshot = snapshot(&world);
    let state: ServiceState = state(&world);
    let environment = Environment::new(None, Server::default(), |_| ()).unwrap();
    let findings = Context::new(&snapshot, &environment).findings(&state);
    let codes: Vec<String> = findings.iter().map(|f| code(&f.problem.reason)).collect();
    assert_eq!(codes, ["SharesBroken", "SharesNotHonoured"]);
    assert!(findings.iter().all(|finding| !finding.fix.is_empty()));
}
