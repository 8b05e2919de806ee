//! The version-skew table of KEP-4444, row by row.
//!
//! A version from before the proposal is one with its gate off: such a controller does not look at
//! the field, and such a proxy obeys hints only under the annotation (`explain` tells what a proxy
//! makes of the slices). Of six endpoints five are in zone-a and one is in zone-b; so hints by the
//! field are five and one, hints by the annotation three and three.

use std::collections::BTreeMap;

use crate::{
    cluster::{Cluster, GATE_OFF},
    controller::Controller,
    process::until,
    slices::{Hinted, addresses, by_zone, endpoints, used},
};

const ZONES: [&str; 2] = ["zone-a", "zone-b"];

#[derive(Clone, Copy, Debug)]
enum Version {
    New,
    Old,
}

/// What a Service asks for.
#[derive(Clone, Copy, Debug)]
struct Asks {
    annotation: bool,
    field: bool,
}

const BOTH: Asks = Asks { annotation: true, field: true };
const FIELD: Asks = Asks { annotation: false, field: true };
const ANNOTATION: Asks = Asks { annotation: true, field: false };

/// How the endpoints of the Service are hinted.
#[derive(Clone, Copy, Debug)]
enum Hints {
    Shared,
    OwnZone,
    None,
}

impl Version {
    fn args(self) -> &'static [&'static str] {
        match self {
            Version::New => &[],
            Version::Old => &[GATE_OFF],
        }
    }
}

impl Hints {
    fn by_zone(self) -> BTreeMap<&'static str, usize> {
        match self {
            Hints::Shared => [("zone-a", 3), ("zone-b", 3)].into(),
            Hints::OwnZone => [("zone-a", 5), ("zone-b", 1)].into(),
            Hints::None => BTreeMap::new(),
        }
    }
}

/// Five Pods in zone-a, one in zone-b, and a Service over all of them.
fn manifests(asks: Asks) -> String {
    let pods = [("zone-a", 5), ("zone-b", 1)].map(|(zone, replicas)| {
        format!(
            "
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: demo-{zone}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: demo, at: {zone}}}}}
  template:
    metadata: {{labels: {{app: demo, at: {zone}}}}}
    spec:
      nodeSelector: {{topology.kubernetes.io/zone: {zone}}}
      containers: [{{name: app, image: app}}]
"
        )
    });
    let annotation = match asks.annotation {
        true => "{service.kubernetes.io/topology-mode: Auto}",
        false => "{}",
    };
    let field = if asks.field { "trafficDistribution: PreferClose," } else { "" };
    format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: demo, annotations: {annotation}}}
spec: {{{field} selector: {{app: demo}}, ports: [{{port: 80}}]}}
{}",
        pods.concat()
    )
}

fn hinted(cluster: &Cluster, hints: Hints) -> Vec<Hinted> {
    until(&format!("hints are {hints:?}"), || {
        let all = endpoints(cluster, "demo");
        (all.len() == 6 && by_zone(&all) == hints.by_zone()).then_some(all)
    })
}

/// What proxies of a version make of the slices: where `obeyed`, each zone uses what is hinted
/// for it, and else all there is.
fn proxies(cluster: &Cluster, version: Version, all: &[Hinted], obeyed: bool) {
    for zone in ZONES {
        let args = [&["--from-zone", zone], version.args()].concat();
        let explained = cluster.explain("demo", &args);
        let expected = addresses(all, |one| !obeyed || one.for_zones == [zone]);
        assert_eq!(used(&explained), expected, "{zone}: {explained:#}");
    }
}

fn start(test: &str, asks: Asks, version: Version) -> (Cluster, Controller) {
    let cluster = Cluster::start(&format!("skew-{test}"), &ZONES);
    let controller = cluster.control(version.args());
    cluster.apply(&manifests(asks));
    (cluster, controller)
}

fn row(test: &str, controller: Version, proxy: Version, asks: Asks, hints: Hints, obeyed: bool) {
    let (cluster, controller) = start(test, asks, controller);
    let all = hinted(&cluster, hints);
    proxies(&cluster, proxy, &all, obeyed);
    controller.stop();
}

#[test]
fn new_controller_old_proxy_1_with_both_set_the_annotation_is_followed_as_before() {
    row("new-old-1", Version::New, Version::Old, BOTH, Hints::Shared, true);
}

#[test]
fn new_controller_old_proxy_2_with_the_field_only_hints_are_there_and_ignored() {
    row("new-old-2", Version::New, Version::Old, FIELD, Hints::OwnZone, false);
}

#[test]
fn new_controller_old_proxy_3_with_the_annotation_only_all_is_as_before() {
    row("new-old-3", Version::New, Version::Old, ANNOTATION, Hints::Shared, true);
}

#[test]
fn old_controller_new_proxy_1_with_both_set_hints_by_the_annotation_are_obeyed() {
    row("old-new-1", Version::Old, Version::New, BOTH, Hints::Shared, true);
}

#[test]
fn old_controller_new_proxy_2_with_the_field_only_there_are_no_hints_to_obey() {
    row("old-new-2", Version::Old, Version::New, FIELD, Hints::None, false);
}

#[test]
fn old_controller_new_proxy_3_with_the_annotation_only_its_hints_are_obeyed() {
    row("old-new-3", Version::Old, Version::New, ANNOTATION, Hints::Shared, true);
}

#[test]
fn an_api_server_newer_than_controller_and_proxy_serves_a_field_that_both_ignore() {
    let (cluster, controller) = start("server", FIELD, Version::Old);
    let all = hinted(&cluster, Hints::None);
    assert_eq!(cluster.get(&["svc", "demo"])["spec"]["trafficDistribution"], "PreferClose");
    proxies(&cluster, Version::Old, &all, false);
    controller.stop();
}

#[test]
fn an_upgrade_of_the_controller_brings_hints_by_the_field_and_a_downgrade_drops_them() {
    let (cluster, old) = start("upgrade", FIELD, Version::Old);
    let before = hinted(&cluster, Hints::None);
    old.stop();
    let new = cluster.control(Version::New.args());
    let during = hinted(&cluster, Hints::OwnZone);
    proxies(&cluster, Version::New, &during, true);
    new.stop();
    let old = cluster.control(Version::Old.args());
    assert_eq!(hinted(&cluster, Hints::None), before);
    // upgrade → downgrade → upgrade
    old.stop();
    let new = cluster.control(Version::New.args());
    assert_eq!(hinted(&cluster, Hints::OwnZone), during);
    new.stop();
}

#[test]
fn an_upgrade_and_a_downgrade_of_the_controller_keep_hints_by_the_annotation() {
    for (test, asks) in [("keeps-both", BOTH), ("keeps-annotation", ANNOTATION)] {
        let (cluster, old) = start(test, asks, Version::Old);
        let before = hinted(&cluster, Hints::Shared);
        let slices = || crate::slices::slice_versions(&cluster);
        old.synced(1);
        let written = slices();
        old.stop();
        for version in [Version::New, Version::Old] {
            let next = cluster.control(version.args());
            next.synced(1);
            next.stop();
            assert_eq!(endpoints(&cluster, "demo"), before, "{asks:?}, {version:?}");
            assert_eq!(slices(), written, "{asks:?}, {version:?}");
        }
    }
}
