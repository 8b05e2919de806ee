//! Pages that follow changes say what pages of a cluster that is read anew say.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use evenkeel_dashboard::view::{Cluster, Wish};
use evenkeel_k8s::{
    Collected, Objects, Origin,
    snapshot::{self, Followed},
    watch::Batch,
};
use evenkeel_model::{ServiceKey, Watched};
use evenkeel_topology::Server;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const KINDS: [&str; 4] = ["Node", "Service", "EndpointSlice", "Pod"];
const ZONES: [&str; 4] = ["", "zone-a", "zone-b", "zone-c"];

/// What happens to the object `index` of a kind. `seed` decides how it looks; `None`: it goes.
#[derive(Clone, Debug)]
struct Change {
    kind: usize,
    index: u8,
    seed: Option<u64>,
}

/// The objects of a cluster, by kind and name.
#[derive(Default)]
struct World {
    objects: BTreeMap<(usize, String), Value>,
    version: u64,
}

/// Draws one number after the other from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        let drawn = self.0 % n as u64;
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 3;
        usize::try_from(drawn).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

fn node(name: &str, draw: &mut Draw) -> Value {
    let zone = draw.of(&ZONES);
    let labels =
        if zone.is_empty() { json!({}) } else { json!({"topology.kubernetes.io/zone": zone}) };
    json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": draw.below(5) == 0},
        "status": {
            "allocatable": {"cpu": draw.of(&["2", "4", "3900m"])},
            "conditions": [{"type": "Ready", "status": draw.of(&["True", "True", "True", "False"])}],
        },
    })
}

fn labels(draw: &mut Draw) -> Value {
    let mut labels = serde_json::Map::new();
    for (key, values) in [("app", ["web", "api", ""]), ("tier", ["front", "", "back"])] {
        let value = draw.of(&values);
        if !value.is_empty() {
            labels.insert(key.to_owned(), value.into());
        }
    }
    labels.into()
}

fn service(name: &str, draw: &mut Draw) -> Value {
    let annotations = match draw.below(3) {
        0 => json!({"service.kubernetes.io/topology-mode": "Auto"}),
        1 => json!({"evenkeel.dev/traffic-distribution": "Balanced"}),
        _ => json!({}),
    };
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": draw.of(&["u1", "u2"]), "annotations": annotations},
        "spec": {
            "clusterIP": "10.96.0.1", "selector": labels(draw), "ports": [{"port": 80}],
            "trafficDistribution": (draw.below(2) == 0).then_some("PreferSameZone"),
        },
    })
}

fn slice(name: &str, draw: &mut Draw) -> Value {
    let endpoint = |i: usize, draw: &mut Draw| {
        let zone = draw.of(&ZONES);
        let hints = if draw.below(2) == 0 {
            json!({"forZones": [{"name": draw.of(&ZONES[1..])}]})
        } else {
            Value::Null
        };
        json!({
            "addresses": [format!("10.1.{}.{i}", draw.below(4))], "nodeName": format!("node-{}", draw.below(5)),
            "zone": if zone.is_empty() { Value::Null } else { zone.into() },
            "conditions": {"ready": draw.below(4) > 0}, "hints": hints,
        })
    };
    let endpoints: Vec<Value> = (1..=draw.below(6)).map(|i| endpoint(i, draw)).collect();
    let service = format!("service-{}", draw.below(4));
    let labels = json!({
        "kubernetes.io/service-name": service,
        "endpointslice.kubernetes.io/managed-by": draw.of(&["endpointslice-controller.k8s.io", "evenkeel.dev"]),
    });
    let deleting = (draw.below(9) == 0).then_some("2026-01-01T00:00:00Z");
    json!({
        "metadata": {"name": name, "namespace": "shop", "labels": labels, "deletionTimestamp": deleting},
        "addressType": "IPv4", "ports": [{"port": 80}], "endpoints": endpoints,
    })
}

fn pod(name: &str, draw: &mut Draw) -> Value {
    let status = match draw.below(5) {
        0 => json!({"phase": "Failed", "reason": "Evicted", "message": "too large"}),
        1 => json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}),
        2 => json!({"phase": "Pending", "containerStatuses": [
            {"name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 1,
             "state": {"waiting": {"reason": draw.of(&["ImagePullBackOff", "ContainerCreating"]), "message": "no"}}}]}),
        3 => {
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "message": "probe"}]})
        }
        _ => {
            json!({"phase": "Running", "podIP": "10.1.0.9", "conditions": [{"type": "Ready", "status": "True"}]})
        }
    };
    let kind = draw.of(&["ReplicaSet", "DaemonSet"]);
    json!({
        "metadata": {"name": name, "namespace": "shop", "labels": labels(draw), "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": kind, "name": "web-5d", "uid": "u"}]},
        "spec": {"nodeName": format!("node-{}", draw.below(5)), "containers": []},
        "status": status,
    })
}

fn event(service: usize, uid: &str) -> Value {
    json!({
        "metadata": {"name": format!("e{service}"), "namespace": "shop"},
        "involvedObject": {"kind": "Service", "apiVersion": "v1", "namespace": "shop",
            "name": format!("service-{service}"), "uid": uid},
        "reason": "TopologyAwareHintsDisabled", "message": "too few", "type": "Warning",
    })
}

impl World {
    /// Changes both sides.
    fn change(&mut self, change: &Change, followed: &mut Followed) {
        let name = format!(
            "{}-{}",
            KINDS[change.kind].to_lowercase().trim_start_matches("endpoint"),
            change.index
        );
        let key = (change.kind, name.clone());
        let Some(seed) = change.seed else {
            if let Some(gone) = self.objects.remove(&key) {
                followed.take(batch(change.kind, &gone, |_| true));
            }
            return;
        };
        let draw = &mut Draw(seed);
        let mut object = match change.kind {
            0 => node(&name, draw),
            1 => service(&name, draw),
            2 => slice(&name, draw),
            _ => pod(&name, draw),
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        followed.take(batch(change.kind, &object, |_| false));
        self.objects.insert(key, object);
    }

    fn objects(&self) -> Objects {
        let mut objects = beside(self.version);
        objects.pods_listed = true;
        for ((kind, _), object) in &self.objects {
            match kind {
                0 => add(&mut objects.nodes, object),
                1 => add(&mut objects.services, object),
                2 => add(&mut objects.slices, object),
                _ => add(&mut objects.pods, object),
            }
        }
        objects
    }
}

fn add<T>(into: &mut Collected<T>, object: &Value)
where
    T: kube::Resource<DynamicType = ()> + PartialEq + serde::Serialize + DeserializeOwned,
{
    into.add(Origin::new("test"), parsed(object)).unwrap();
}

fn parsed<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

/// What no watch brings.
fn beside(version: u64) -> Objects {
    let mut objects = Objects::default();
    let service = usize::try_from(version % 4).unwrap();
    add(&mut objects.events, &event(service, ["u1", "u2", ""][service % 3]));
    add(
        &mut objects.autoscalers,
        &json!({
            "metadata": {"name": "h", "namespace": "shop"},
            "spec": {"maxReplicas": version / 8 % 3, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
        }),
    );
    add(
        &mut objects.leases,
        &json!({
            "metadata": {"name": "l", "namespace": "kube-system", "labels": {"app.kubernetes.io/component": "proxy"},
                "annotations": {"evenkeel.dev/services-in-force": "3"}},
            "spec": {"holderIdentity": format!("node-{}", version / 16 % 3), "leaseDurationSeconds": 60},
        }),
    );
    objects
}

fn batch(kind: usize, object: &Value, is_gone: impl Fn(&Value) -> bool) -> Batch {
    macro_rules! one {
        ($of:ident) => {{
            let object: evenkeel_k8s::watched::$of = parsed(object);
            vec![if is_gone(&Value::Null) {
                Watched::Deleted(object.gone())
            } else {
                Watched::Applied(object)
            }]
        }};
    }
    match kind {
        0 => Batch::Nodes(one!(Node)),
        1 => Batch::Services(one!(Service)),
        2 => Batch::Slices(one!(EndpointSlice)),
        _ => Batch::Pods(one!(Pod)),
    }
}

/// All that a cluster's pages say.
fn pages(cluster: &Cluster) -> Vec<String> {
    let services = (0..4).map(|i| {
        let key = ServiceKey::new("shop", format!("service-{i}"));
        serde_json::to_string(&cluster.service(&key, &Wish::default())).unwrap()
    });
    std::iter::once(serde_json::to_string(&cluster.page()).unwrap()).chain(services).collect()
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    // Few Nodes change, so that most steps keep what was explained.
    let kind = prop_oneof![1 => Just(0usize), 3 => Just(1), 4 => Just(2), 6 => Just(3)];
    let change = (kind, 0u8..5, prop::option::weighted(0.8, any::<u64>())).prop_map(
        |(kind, index, seed)| Change { kind, index: index % if kind == 1 { 4 } else { 5 }, seed },
    );
    prop::collection::vec(change, 1..60)
}

fn listed(followed: &mut Followed) {
    followed.take(Batch::Nodes(vec![Watched::Restarted, Watched::Complete]));
    followed.take(Batch::Services(vec![Watched::Restarted, Watched::Complete]));
    followed.take(Batch::Slices(vec![Watched::Restarted, Watched::Complete]));
    followed.take(Batch::Pods(vec![Watched::Restarted, Watched::Complete]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn pages_that_follow_are_pages_that_are_made_anew(changes in changes(), every in 1usize..7) {
        let (mut world, mut followed, mut shown) = (World::default(), Followed::default(), None::<Cluster>);
        listed(&mut followed);
        for (step, change) in changes.iter().enumerate() {
            world.change(change, &mut followed);
            if step % every != 0 {
                continue;
            }
            followed.beside(&beside(world.version));
            followed.renew_nodes();
            let snapshot = followed.snapshot(None);
            let next = match &shown {
                Some(before) => before.next(snapshot, Server::default()).unwrap(),
                None => Cluster::new(snapshot, Server::default()).unwrap(),
            };
            let anew = snapshot::build(&world.objects()).unwrap();
            let anew = Cluster::new(anew, Server::default()).unwrap();
            prop_assert_eq!(pages(&next), pages(&anew), "step {}: {:?}", step, change);
            shown = Some(next);
        }
    }
}

/// Services with one ready Pod and one slice each.
fn many(n: usize) -> (Followed, Vec<Value>) {
    let mut followed = Followed::default();
    listed(&mut followed);
    for zone in &ZONES[1..] {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        let node = json!({"metadata": {"name": format!("node-{zone}"), "labels": labels},
            "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}});
        followed.take(batch(0, &node, |_| false));
    }
    let slices = (0..n).map(|i| {
        let name = format!("s{i:05}");
        let service = json!({"metadata": {"name": name, "namespace": "shop", "resourceVersion": "1"},
            "spec": {"clusterIP": "10.96.0.1", "selector": {"app": name}, "ports": [{"port": 80}]}});
        followed.take(batch(1, &service, |_| false));
        let endpoint = |zone: &str| json!({"addresses": [format!("10.{}.{}.1", i / 250, i % 250)],
            "zone": zone, "nodeName": format!("node-{zone}"), "conditions": {"ready": true}});
        let slice = json!({"metadata": {"name": name, "namespace": "shop", "resourceVersion": "2",
            "labels": {"kubernetes.io/service-name": name}}, "addressType": "IPv4", "ports": [{"port": 80}],
            "endpoints": [endpoint("zone-a"), endpoint("zone-b")]});
        followed.take(batch(2, &slice, |_| false));
        slice
    });
    let slices = slices.collect();
    followed.renew_nodes();
    (followed, slices)
}

#[test]
fn a_change_explains_the_services_that_it_touches_and_no_others() {
    let (mut followed, mut slices) = many(300);
    let first = Cluster::new(followed.snapshot(None), Server::default()).unwrap();
    assert_eq!(first.renewed(), 300);
    let same = first.next(followed.snapshot(None), Server::default()).unwrap();
    assert_eq!(same.renewed(), 0);
    slices[7]["endpoints"][0]["zone"] = "zone-c".into();
    followed.take(batch(2, &slices[7], |_| false));
    assert!(followed.has_changed());
    let next = same.next(followed.snapshot(None), Server::default()).unwrap();
    assert_eq!(next.renewed(), 1);
    assert_ne!(pages(&first)[0], pages(&next)[0]);
    // What says the same is no change.
    followed.take(batch(2, &slices[7], |_| false));
    assert!(!followed.has_changed());
    // All depend on Nodes, which are shown when they are asked for.
    let node = json!({"metadata": {"name": "node-zone-a", "labels": {"topology.kubernetes.io/zone": "zone-a"}}});
    followed.take(batch(0, &node, |_| false));
    assert!(followed.has_other_nodes() && !followed.has_changed());
    let held = next.next(followed.snapshot(None), Server::default()).unwrap();
    assert_eq!((held.renewed(), pages(&held)), (0, pages(&next)));
    followed.renew_nodes();
    assert_eq!(held.next(followed.snapshot(None), Server::default()).unwrap().renewed(), 300);
}

#[test]
fn what_a_new_list_lacks_is_gone_once_it_is_complete() {
    let (mut followed, slices) = many(3);
    let services = |followed: &mut Followed| followed.snapshot(None).services.len();
    let orphans = |followed: &mut Followed| followed.snapshot(None).orphans.len();
    assert_eq!(services(&mut followed), 3);
    followed.take(Batch::Services(vec![Watched::Restarted]));
    assert_eq!(services(&mut followed), 3, "until then everything from before counts");
    let kept =
        json!({"metadata": {"name": "s00001", "namespace": "shop"}, "spec": {"clusterIP": "None"}});
    followed.take(Batch::Services(vec![Watched::Listed(parsed(&kept)), Watched::Complete]));
    assert_eq!((services(&mut followed), orphans(&mut followed)), (1, 2));
    followed.take(batch(2, &slices[0], |_| true));
    assert_eq!(orphans(&mut followed), 1);
}
