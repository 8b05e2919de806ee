//! `spec.topologyKeys`.

use evenkeel_model::TrafficPolicy;
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::{
    Removed,
    migrate::{AutoTarget, Migration, Outcome},
};

use crate::{EVENKEEL, FIELD, HINTS, KUBERNETES, MODE, OWN, On, annotations, codes, to};

const NODE: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const ANY: &str = "*";

fn migrated(on: On, keys: &[&str]) -> Migration {
    on.migrate(&service("web"), Some(keys), AutoTarget::ByDataPlane)
}

/// The same on both.
fn both<'a>(to: &'a str, codes: &'a [&'a str]) -> [(&'a str, &'a [&'a str]); 2] {
    [(to, codes), (to, codes)]
}

/// The keys; on plain Kubernetes and under Evenkeel's controller: the setting, and what differs.
type Row<'a> = (&'a [&'a str], [(&'a str, &'a [&'a str]); 2]);

#[test]
fn every_list_of_well_known_keys_has_its_closest_setting() {
    let same_node = "spec.trafficDistribution: PreferSameNode";
    let same_zone = "spec.trafficDistribution: PreferSameZone";
    let local = "spec.internalTrafficPolicy: Local";
    let required = "evenkeel.dev/traffic-distribution: RequireSameZone";
    let zone_region = "evenkeel.dev/traffic-distribution: PreferSameZoneThenRegion";
    let same_region = "evenkeel.dev/traffic-distribution: PreferSameRegion";
    let rows: [Row<'_>; 16] = [
        (&[], both("", &["NoPreference"])),
        (&[ANY], both("", &["NoPreference"])),
        (&[NODE, ANY], both(same_node, &["ZoneBeforeOthers"])),
        (&[NODE, ZONE, ANY], both(same_node, &["SamePreference"])),
        (&[NODE, REGION, ANY], both(same_node, &["ZoneBeforeOthers", "RegionNotPreferred"])),
        (&[NODE, ZONE, REGION, ANY], both(same_node, &["RegionNotPreferred"])),
        (&[ZONE, ANY], both(same_zone, &["SamePreference"])),
        (
            &[ZONE, REGION, ANY],
            [(same_zone, &["RegionNotPreferred"]), (zone_region, &["SamePreference"])],
        ),
        (&[REGION, ANY], [("", &["NeedsEvenkeel"]), (same_region, &["SamePreference"])]),
        (&[NODE], both(local, &["NodeOrDropped"])),
        (&[NODE, ZONE], both(same_node, &["NeverDropped"])),
        (
            &[NODE, REGION],
            both(same_node, &["ZoneBeforeOthers", "RegionNotPreferred", "NeverDropped"]),
        ),
        (&[NODE, ZONE, REGION], both(same_node, &["RegionNotPreferred", "NeverDropped"])),
        (&[ZONE], [(same_zone, &["NeverDropped"]), (required, &["KubeProxyNeverDrops"])]),
        (
            &[ZONE, REGION],
            [
                (same_zone, &["RegionNotPreferred", "NeverDropped"]),
                (zone_region, &["NeverDropped"]),
            ],
        ),
        (&[REGION], [("", &["NeedsEvenkeel"]), (same_region, &["NeverDropped"])]),
    ];
    for (keys, outcomes) in rows {
        for (profile, (setting, differences)) in [KUBERNETES, EVENKEEL].into_iter().zip(outcomes) {
            let got = migrated(On(profile, 34), keys);
            assert_eq!(to(&got).join("; "), setting, "{keys:?} {profile}");
            let mut wanted: Vec<&str> = differences.to_vec();
            if !setting.is_empty() {
                wanted.push("EffectiveAgain");
            }
            assert_eq!(codes(&got), wanted, "{keys:?} {profile}");
            let stays = differences == ["NeedsEvenkeel"];
            assert_eq!(got.outcome == Outcome::LeftAlone, stays, "{keys:?} {profile}");
            assert_eq!(got.patch.spec.topology_keys, (!stays).then_some(Removed), "{keys:?}");
        }
    }
}

#[test]
fn a_label_that_no_policy_knows_leaves_the_keys_alone() {
    for keys in [&["example.org/rack"][..], &[NODE, "example.org/rack", ZONE, ANY]] {
        let got = migrated(On(KUBERNETES, 34), keys);
        assert_eq!((got.outcome, got.patch.is_empty()), (Outcome::LeftAlone, true), "{keys:?}");
        let text = &got.notes[0].because.message;
        assert_eq!(text, "no policy prefers endpoints by the node label example.org/rack");
    }
}

#[test]
fn no_value_is_written_that_the_server_rejects() {
    for (minor, keys, setting, code) in [
        (21, &[ZONE, ANY][..], "", "StillInUse"),
        (21, &[], "", "StillInUse"),
        (22, &[ZONE, ANY], "", "UnavailableBefore"),
        (22, &[NODE], "spec.internalTrafficPolicy: Local", "NodeOrDropped"),
        (30, &[ZONE, ANY], "", "UnavailableBefore"),
        (31, &[ZONE, ANY], "spec.trafficDistribution: PreferClose", "SamePreference"),
        (33, &[ZONE, ANY], "spec.trafficDistribution: PreferClose", "SamePreference"),
        (33, &[NODE, ZONE, ANY], "", "UnavailableBefore"),
        (34, &[NODE, ZONE, ANY], "spec.trafficDistribution: PreferSameNode", "SamePreference"),
    ] {
        let got = migrated(On(KUBERNETES, minor), keys);
        assert_eq!(to(&got).join("; "), setting, "{keys:?} on 1.{minor}");
        assert_eq!(codes(&got)[0], code, "{keys:?} on 1.{minor}");
        let stays = setting.is_empty();
        assert_eq!(got.patch.is_empty(), stays, "{keys:?} on 1.{minor}");
    }
    // kube-proxy looks at the hints of Evenkeel's policies from 1.31 on.
    assert_eq!(codes(&migrated(On(EVENKEEL, 30), &[REGION, ANY])), ["UnavailableBefore"]);
}

#[test]
fn keys_beside_a_setting_of_today_are_removed() {
    let web = || service("web");
    for (service, by) in [
        (web().distribution("PreferSameNode"), FIELD),
        (web().distribution("example.org/Other"), FIELD),
        (web().annotated(OWN, "Balanced"), OWN),
        (web().auto(), MODE),
        (web().annotated(HINTS, "auto"), HINTS),
        (web().internal(TrafficPolicy::Local), "spec.internalTrafficPolicy"),
    ] {
        let got = On(KUBERNETES, 34).migrate(&service, Some(&[ZONE, ANY]), AutoTarget::SameZone);
        assert_eq!(got.patch.spec.topology_keys, Some(Removed), "{by}");
        let last = &got.notes.last().unwrap().because.message;
        assert_eq!(*last, format!("spec.topologyKeys has no effect: {by} takes precedence"));
    }
}

#[test]
fn a_value_without_effect_does_not_override_keys() {
    let service = service("web").annotated(MODE, "Disabled").annotated(HINTS, "off");
    let got = On(KUBERNETES, 34).migrate(&service, Some(&[ZONE, ANY]), AutoTarget::ByDataPlane);
    assert_eq!(to(&got), ["spec.trafficDistribution: PreferSameZone"]);
    assert_eq!(codes(&got), ["UnknownValue", "SamePreference", "EffectiveAgain"]);
    assert!(annotations(&got).is_empty());
}

#[test]
fn services_that_no_preference_acts_on_lose_their_keys() {
    let mut headless = service("web");
    headless.cluster_ip_none = true;
    let mut external = service("web");
    external.external_name = true;
    for service in [headless, external] {
        let got = On(KUBERNETES, 34).migrate(&service, Some(&[ZONE]), AutoTarget::ByDataPlane);
        assert_eq!((codes(&got), to(&got)), (vec!["NoEffect".to_owned()], vec![]));
        assert_eq!(got.outcome, Outcome::ToChange);
    }
}

#[test]
fn without_a_selector_only_what_needs_no_hints_is_migrated() {
    let mut service = service("web");
    service.selector = None;
    let with = |keys| On(KUBERNETES, 34).migrate(&service, Some(keys), AutoTarget::ByDataPlane);
    assert_eq!(codes(&with(&[ZONE, ANY])), ["NoSelector"]);
    assert_eq!(with(&[ZONE, ANY]).outcome, Outcome::LeftAlone);
    assert_eq!(to(&with(&[NODE])), ["spec.internalTrafficPolicy: Local"]);
}

#[test]
fn external_traffic_is_not_kept_on_its_node() {
    let service = service("web").external(TrafficPolicy::Cluster);
    let got = On(KUBERNETES, 34).migrate(&service, Some(&[NODE]), AutoTarget::ByDataPlane);
    assert_eq!(codes(&got), ["NodeOrDropped", "ExternalNotRestricted", "EffectiveAgain"]);
}
