//! A rolling update of 100 Pods, a zone that drains, a node pool that doubles, under each policy at
//! once: every watch event of the slices is replayed through the consumers' selection.
//!
//! At every instant no zone is without a usable endpoint while ready ones exist, no endpoint is lost
//! or listed twice, and an endpoint that stays ready leaves its zone's selection only when the
//! plan's reasons for that write say so, or when consumers begin to obey hints at all.

use std::{collections::BTreeMap, time::Duration};

use evenkeel_model::Rule;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod, discovery::v1::EndpointSlice};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    consumer::{Consumer, Moment, Place, Uid},
    harness::{Cluster, PATIENCE, at_once, merge, object},
    kep_2433::{auto, settings},
    logged,
    tape::{Seen, Tape},
};

const SERVICES: [&str; 3] = ["replay-auto", "replay-zone", "replay-node"];
const NODES: [(&str, &str); 6] =
    [("a-1", "a"), ("a-2", "a"), ("b-1", "b"), ("b-2", "b"), ("c-1", "c"), ("c-2", "c")];
/// As many as are left after the drain, and in the zone that drained too.
const MORE_NODES: [(&str, &str); 4] = [("a-3", "a"), ("b-3", "b"), ("c-3", "c"), ("c-4", "c")];

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_without_endpoints_and_none_leaves_without_a_reason() {
    logged::keep();
    let cluster = Cluster::sandbox().await;
    for (node, zone) in NODES {
        cluster.node(node, zone, Some(4)).await;
    }
    let controller = cluster.controller(settings(|_| {})).await;
    let tape = Tape::start(&cluster).await;
    services(&cluster).await;
    deploy(&cluster).await;
    settled(&cluster, 100, "1").await;

    roll(&cluster).await;
    settled(&cluster, 100, "2").await;
    drain(&cluster, ["c-1", "c-2"]).await;
    settled(&cluster, 100, "2").await;
    double(&cluster).await;
    settled(&cluster, 200, "2").await;

    let tape = tape.end(&cluster).await;
    controller.stop().await;
    cluster.stop().await;
    for service in SERVICES {
        let told = Replay::new(service).run(&tape);
        assert!(told.slices > 20, "{service}: only {} events of slices", told.slices);
        let auto = service == "replay-auto";
        assert_eq!(told.moved > 0, auto, "{service}: {} endpoints were moved", told.moved);
    }
}

async fn services(cluster: &Cluster) {
    let policies = [
        auto(),
        json!({"spec": {"trafficDistribution": "PreferSameZone"}}),
        json!({"spec": {"trafficDistribution": "PreferSameNode"}}),
    ];
    for (service, mut more) in SERVICES.into_iter().zip(policies) {
        merge(&mut more, json!({"spec": {"selector": {"app": "replay"}}}));
        cluster.service(service, more).await;
    }
}

async fn deploy(cluster: &Cluster) {
    let labels = json!({"app": "replay", "revision": "1"});
    let containers = json!([{"name": "c", "image": "i"}]);
    let deployment = object(json!({
        "metadata": {"name": "replay"},
        "spec": {
            "replicas": 100,
            "selector": {"matchLabels": {"app": "replay"}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }));
    let api = cluster.api::<Deployment>();
    api.create(&PostParams::default(), &deployment).await.unwrap();
}

async fn change(cluster: &Cluster, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    let api = cluster.api::<Deployment>();
    api.patch("replay", &PatchParams::default(), &patch).await.unwrap();
}

async fn roll(cluster: &Cluster) {
    let labels = json!({"labels": {"revision": "2"}});
    change(cluster, json!({"template": {"metadata": labels}})).await;
}

/// As `kubectl drain` does for all nodes of a zone; then the nodes go.
async fn drain(cluster: &Cluster, nodes: [&str; 2]) {
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    for node in nodes {
        cluster.nodes().patch(node, &PatchParams::default(), &cordon).await.unwrap();
    }
    let on_them = |pod: &Pod| {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        node.is_some_and(|node| nodes.contains(&node))
    };
    let pods = cluster.api::<Pod>();
    let all = pods.list(&ListParams::default()).await.unwrap().items;
    assert!(all.iter().filter(|pod| on_them(pod)).count() >= 30, "a third of 100 Pods");
    at_once(all.iter().filter(|pod| on_them(pod)).map(async |pod| {
        pods.delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
    }))
    .await;
    settled(cluster, 100, "2").await;
    for node in nodes {
        cluster.nodes().delete(node, &DeleteParams::default()).await.unwrap();
    }
}

async fn double(cluster: &Cluster) {
    for (node, zone) in MORE_NODES {
        cluster.node(node, zone, Some(4)).await;
    }
    change(cluster, json!({"replicas": 200})).await;
}

/// Waits until there are so many Pods of the revision, all ready and no others, and they are what
/// each Service's slices have.
async fn settled(cluster: &Cluster, n: usize, revision: &str) {
    let begun = std::time::Instant::now();
    loop {
        let pods = cluster.api::<Pod>().list(&ListParams::default()).await.unwrap().items;
        let uids: BTreeMap<Uid, bool> =
            pods.iter().map(|pod| (pod.uid().unwrap().into(), is_ready(pod))).collect();
        let rolled = pods.iter().all(|pod| pod.labels()["revision"] == revision);
        if rolled && uids.len() == n && uids.values().all(|ready| *ready) {
            let mut all = true;
            for service in SERVICES {
                all &= ready_in(&cluster.slices(service).await).keys().eq(uids.keys());
            }
            if all {
                return;
            }
        }
        assert!(begun.elapsed() < PATIENCE * 2, "{} Pods, rolled: {rolled}", uids.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn ready_in(slices: &[EndpointSlice]) -> BTreeMap<Uid, Vec<String>> {
    let mut consumer = Consumer::default();
    for slice in slices {
        consumer.apply(slice);
    }
    consumer.moment(&[]).ready
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    pod.metadata.deletion_timestamp.is_none() && ready.any(|condition| condition.status == "True")
}

/// The events of one Service's slices, one after the other, beside those of all Pods.
struct Replay {
    service: &'static str,
    consumer: Consumer,
    places: Vec<Place>,
    /// Whether each Pod that exists is ready.
    pods: BTreeMap<Uid, bool>,
    told: Told,
}

#[derive(Default)]
struct Told {
    slices: usize,
    moved: usize,
}

impl Replay {
    fn new(service: &'static str) -> Replay {
        let zones = ["a", "b", "c"].map(|zone| (zone, None));
        let nodes = NODES.into_iter().chain(MORE_NODES).map(|(node, zone)| (zone, Some(node)));
        let places = zones.into_iter().chain(nodes).collect();
        Replay {
            service,
            consumer: Consumer::default(),
            places,
            pods: BTreeMap::new(),
            told: Told::default(),
        }
    }

    fn run(mut self, tape: &[(u64, Seen)]) -> Told {
        for (_, seen) in tape {
            match seen {
                Seen::Pod(pod) => {
                    self.pods.insert(pod.uid().unwrap().into(), is_ready(pod));
                }
                Seen::PodGone(pod) => {
                    self.pods.remove(&*pod.uid().unwrap());
                }
                Seen::Slice(slice) => self.slice(slice, Consumer::apply),
                Seen::SliceGone(slice) => self.slice(slice, Consumer::remove),
            }
        }
        self.told
    }

    fn slice(
        &mut self,
        slice: &EndpointSlice,
        take: impl FnOnce(&mut Consumer, &EndpointSlice) -> Option<String>,
    ) {
        if slice.labels().get("kubernetes.io/service-name").is_none_or(|of| of != self.service) {
            return;
        }
        let before = self.consumer.moment(&self.places);
        let from = take(&mut self.consumer, slice);
        let after = self.consumer.moment(&self.places);
        self.told.slices += 1;
        self.once_each(&after);
        self.none_lost(&before, &after);
        self.all_served(&after);
        self.none_leaves(&before, &after, slice, from.as_deref());
    }

    fn once_each(&self, after: &Moment) {
        for (uid, addresses) in &after.ready {
            assert_eq!(addresses.len(), 1, "{}: {uid} is listed as {addresses:?}", self.service);
        }
    }

    fn none_lost(&self, before: &Moment, after: &Moment) {
        for uid in before.ready.keys().filter(|uid| !after.ready.contains_key(*uid)) {
            let ready = self.pods.get(uid).copied().unwrap_or_default();
            assert!(!ready, "{}: {uid} is ready, and no longer listed", self.service);
        }
    }

    fn all_served(&self, after: &Moment) {
        for (place, (rule, used)) in &after.used {
            let served = after.ready.is_empty() || !used.is_empty();
            assert!(served, "{}: nothing for {place:?} by {rule:?}", self.service);
            let ready = used.iter().all(|uid| after.ready.contains_key(uid));
            assert!(ready || after.ready.is_empty(), "{}: {place:?} by {rule:?}", self.service);
        }
    }

    /// Consumers that begin to obey hints, or to obey nearer ones, leave others by that.
    fn none_leaves(
        &mut self,
        before: &Moment,
        after: &Moment,
        slice: &EndpointSlice,
        from: Option<&str>,
    ) {
        for ((zone, node), (rule, used)) in &before.used {
            let (now, uses) = &after.used[&(*zone, *node)];
            if rule != now || matches!(rule, Rule::All(_)) {
                continue;
            }
            for uid in used.iter().filter(|uid| !uses.contains(*uid)) {
                let Some(address) = after.ready.get(uid) else { continue };
                // A new Pod has the address already: consumers know endpoints by address.
                let has_it = |(other, addresses): (&Uid, &Vec<String>)| {
                    other != uid && addresses.contains(&address[0])
                };
                if after.ready.iter().any(has_it) {
                    continue;
                }
                let moved = moves(self.service, &slice.name_any(), from);
                let covered = format!("{} from {zone}: ", address[0]);
                let why = moved.iter().find(|moved| moved.starts_with(&covered));
                assert!(
                    why.is_some() && *rule == Rule::SameZone,
                    "{}: {covered}no reason by {rule:?}, node {node:?}, in {moved:?}",
                    self.service,
                );
                self.told.moved += 1;
            }
        }
    }
}

/// The reasons of the write that made this of the version before.
fn moves(service: &str, slice: &str, from: Option<&str>) -> Vec<String> {
    let service = format!("default/{service}");
    let lines = logged::lines(|line| {
        line.get("service") == Some(&service)
            && line.get("slice").is_some_and(|name| name == slice)
            && line.get("from").map(String::as_str) == from
    });
    let moves = lines.iter().filter_map(|line| line.get("moves"));
    moves.flat_map(|moves| moves.split("; ")).map(str::to_owned).collect()
}
