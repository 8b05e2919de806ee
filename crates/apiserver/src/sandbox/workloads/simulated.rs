//! A simulated cluster: the World, a server that executes actions, and Pods that start and
//! terminate. Parts run in an order determined by a seed, so that every order occurs sooner or
//! later; an observer sees the World after every single action.

mod daemon_sets;
mod deployments;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{daemon_set, deployment, pods, replica_set};
use crate::{
    sandbox::{
        action::{Action, Step},
        world::{Table, World, is_dying, key_of, node_of, uid_of},
    },
    settings::Sandbox,
};

const NAMESPACE: &str = "default";
/// Maximum number of rounds, without progress or in total.
const ROUNDS: usize = 20_000;

pub(super) type Reconcile = fn(&World, &str, Timestamp, &Sandbox) -> Step;

/// The units of simulation: all parts and all Pods.
#[derive(Clone, Copy, Debug)]
enum Part {
    Deployments,
    ReplicaSets,
    DaemonSets,
    Pods,
}

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) world: World,
    pub(super) now: Timestamp,
    pub(super) news: Vec<String>,
    /// How long a Pod takes to become ready, and to terminate.
    pub(super) ready_after: SignedDuration,
    pub(super) end_after: SignedDuration,
    /// Pods with this image never become ready.
    pub(super) broken_image: &'static str,
    n_writes: i64,
    seed: u64,
}

pub(super) fn cluster(seed: u64) -> Cluster {
    Cluster {
        world: World::default(),
        now: Timestamp::from_second(1_800_000_000).unwrap(),
        news: Vec::new(),
        ready_after: SignedDuration::from_secs(1),
        end_after: SignedDuration::from_secs(1),
        broken_image: "broken",
        n_writes: 0,
        seed,
    }
}

pub(super) fn key(name: &str) -> String {
    format!("{NAMESPACE}/{name}")
}

impl Cluster {
    /// A client creates an object.
    pub(super) fn create(&mut self, plural: &str, mut object: Value) -> String {
        self.n_writes += 1;
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("uid".to_owned(), format!("uid-{}", self.n_writes).into());
        metadata.insert("generation".to_owned(), 1.into());
        metadata.insert("resourceVersion".to_owned(), self.n_writes.to_string().into());
        metadata.insert("creationTimestamp".to_owned(), self.stamp());
        if plural != "nodes" {
            metadata.insert("namespace".to_owned(), NAMESPACE.into());
        }
        let name = metadata["name"].as_str().unwrap().to_owned();
        if plural == "pods" {
            object["status"] = json!({"phase": "Pending"});
        }
        let key = if plural == "nodes" { name } else { key(&name) };
        assert_eq!(self.value(plural, &key), Value::Null, "{plural} {key} is there already");
        self.put(plural, &key, &object);
        key
    }

    /// A client changes an object.
    pub(super) fn patch(&mut self, plural: &str, key: &str, patch: &Value) {
        let old = self.value(plural, key);
        let mut new = old.clone();
        merge(&mut new, patch);
        self.n_writes += 1;
        new["metadata"]["resourceVersion"] = self.n_writes.to_string().into();
        let counts = |object: &Value| match plural {
            "deployments" => json!([object["spec"], object["metadata"]["annotations"]]),
            _ => object["spec"].clone(),
        };
        if counts(&new) != counts(&old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap() + 1;
            new["metadata"]["generation"] = generation.into();
        }
        self.put(plural, key, &new);
    }

    pub(super) fn remove(&mut self, plural: &str, key: &str) {
        match plural {
            "pods" => drop(self.world.put_pod(key, None, self.now)),
            "replicasets" => drop(self.world.put_replica_set(key, None)),
            "nodes" => drop(self.world.nodes.remove(key)),
            _ => panic!("{plural}"),
        }
    }

    pub(super) fn value(&self, plural: &str, key: &str) -> Value {
        match plural {
            "pods" => shown(&self.world.pods, key),
            "replicasets" => shown(&self.world.replica_sets, key),
            "deployments" => shown(&self.world.deployments, key),
            "daemonsets" => shown(&self.world.daemon_sets, key),
            "nodes" => shown(&self.world.nodes, key),
            _ => panic!("{plural}"),
        }
    }

    /// Runs until nothing is left to do; the observer sees every step.
    pub(super) fn run_until_idle(&mut self, mut watch: impl FnMut(&Cluster)) {
        for _ in 0..ROUNDS {
            let mut turns = self.turns();
            let mut is_still = true;
            while !turns.is_empty() {
                let (part, key) = turns.swap_remove(self.choose(turns.len()));
                is_still &= !self.turn(part, &key, &mut watch);
            }
            if is_still && !self.wait() {
                return;
            }
        }
        panic!("does not come to rest: {}", self.n_writes);
    }

    /// Runs for a limited number of turns.
    pub(super) fn rush(&mut self, n_turns: usize, mut watch: impl FnMut(&Cluster)) {
        for _ in 0..n_turns {
            let mut turns = self.turns();
            let (part, key) = turns.swap_remove(self.choose(turns.len()));
            if !self.turn(part, &key, &mut watch) && self.choose(8) == 0 {
                self.wait();
            }
        }
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &Pod> {
        self.world.pods.values().map(|pod| &**pod).filter(|pod| pods::is_active(pod))
    }

    pub(super) fn n_ready(&self) -> usize {
        self.active().filter(|pod| pods::is_ready(pod)).count()
    }

    pub(super) fn image(pod: &Pod) -> &str {
        pod.spec.as_ref().unwrap().containers[0].image.as_deref().unwrap_or_default()
    }

    fn turns(&self) -> Vec<(Part, String)> {
        let mut turns = Vec::new();
        let mut add = |part, keys: Vec<String>| {
            turns.extend(keys.into_iter().map(|key| (part, key)));
        };
        add(Part::Deployments, keys(&self.world.deployments));
        add(Part::ReplicaSets, keys(&self.world.replica_sets));
        add(Part::DaemonSets, keys(&self.world.daemon_sets));
        add(Part::Pods, keys(&self.world.pods));
        turns
    }

    /// Whether anything was done.
    fn turn(&mut self, part: Part, key: &str, watch: &mut impl FnMut(&Cluster)) -> bool {
        let reconcile: Reconcile = match part {
            Part::Deployments => deployment::reconcile,
            Part::ReplicaSets => replica_set::reconcile,
            Part::DaemonSets => daemon_set::reconcile,
            Part::Pods => {
                let changed = self.live(key);
                if changed {
                    watch(self);
                }
                return changed;
            }
        };
        let mut actions = reconcile(&self.world, key, self.now, &Sandbox::default()).actions;
        let acted = !actions.is_empty();
        while !actions.is_empty() {
            let action = actions.swap_remove(self.choose(actions.len()));
            self.carry_out(action);
            watch(self);
        }
        acted
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Create { kind, object, .. } => drop(self.create(&kind.plural, object)),
            Action::Patch { kind, key, uid, patch } => {
                assert_eq!(self.value(&kind.plural, &key)["metadata"]["uid"], uid);
                let version = &patch["metadata"]["resourceVersion"];
                let present = &self.value(&kind.plural, &key)["metadata"]["resourceVersion"];
                assert!(version.is_null() || version == present, "{patch}");
                self.patch(&kind.plural, &key, &patch);
            }
            Action::Delete { kind, key, grace_seconds, .. } => {
                let pod = self.world.pod(&key).filter(|_| kind.plural == "pods");
                match pod.filter(|pod| grace_seconds != Some(0) && !node_of(pod).is_empty()) {
                    Some(_) => {
                        let stamp = self.stamp();
                        self.patch(
                            "pods",
                            &key,
                            &json!({"metadata": {"deletionTimestamp": stamp}}),
                        );
                    }
                    None => self.remove(&kind.plural, &key),
                }
            }
            Action::Event { reason, message, .. } => self.news.push(format!("{reason}: {message}")),
            action @ Action::Bind { .. } => panic!("{action:?}"),
        }
    }

    /// The effects of scheduler and kubelet on a Pod.
    fn live(&mut self, key: &str) -> bool {
        let Some(pod) = self.world.pod(key) else { return false };
        let since = |from: Option<Timestamp>| self.now.duration_since(from.unwrap());
        if let Some(end) = &pod.metadata.deletion_timestamp {
            let is_over = since(Some(end.0)) >= self.end_after;
            if is_over {
                self.remove("pods", key);
            }
            return is_over;
        }
        if node_of(pod).is_empty() {
            let node = self.node_for(pod);
            self.patch("pods", key, &json!({"spec": {"nodeName": node}}));
            return true;
        }
        let is_broken = Cluster::image(pod) == self.broken_image;
        let is_idle = pods::is_ready(pod) || is_broken || !pods::is_active(pod);
        if is_idle || since(pods::created(pod)) < self.ready_after {
            return false;
        }
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": self.stamp()});
        let status = json!({"phase": "Running", "conditions": [ready]});
        self.patch("pods", key, &json!({"status": status}));
        true
    }

    fn node_for(&self, pod: &Pod) -> String {
        let shown = serde_json::to_value(pod).unwrap();
        let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        let pinned = shown.pointer(&format!("{terms}/nodeSelectorTerms/0/matchFields/0/values/0"));
        let spread = || format!("n{}", uid_of(&pod.metadata).len() + self.world.pods.len() % 7);
        pinned.map_or_else(spread, |node| node.as_str().unwrap().to_owned())
    }

    /// Advances the time if anything waits for it.
    fn wait(&mut self) -> bool {
        let is_due = |pod: &Arc<Pod>| {
            let is_broken = Cluster::image(pod) == self.broken_image;
            is_dying(&pod.metadata) || (pods::is_active(pod) && !pods::is_ready(pod) && !is_broken)
        };
        let looks: [(Reconcile, Vec<String>); 3] = [
            (deployment::reconcile, keys(&self.world.deployments)),
            (replica_set::reconcile, keys(&self.world.replica_sets)),
            (daemon_set::reconcile, keys(&self.world.daemon_sets)),
        ];
        let again = looks.iter().flat_map(|(reconcile, keys)| {
            let look = |key: &String| reconcile(&self.world, key, self.now, &Sandbox::default());
            keys.iter().filter_map(move |key| look(key).again)
        });
        let again = again.min();
        let tick = self.now + SignedDuration::from_secs(1);
        let next = self.world.pods.values().any(is_due).then_some(tick);
        match next.into_iter().chain(again).min() {
            Some(next) => self.now = next.max(self.now + SignedDuration::from_millis(1)),
            None => return false,
        }
        true
    }

    fn put(&mut self, plural: &str, key: &str, object: &Value) {
        match plural {
            "pods" => drop(self.world.put_pod(key, Some(Arc::new(read(object))), self.now)),
            "replicasets" => {
                drop(self.world.put_replica_set(key, Some(Arc::new(read(object)))));
            }
            "deployments" => store(&mut self.world.deployments, key, object),
            "daemonsets" => store(&mut self.world.daemon_sets, key, object),
            "nodes" => store(&mut self.world.nodes, key, object),
            _ => panic!("{plural}"),
        }
    }

    fn stamp(&self) -> Value {
        json!(Timestamp::from_second(self.now.as_second()).unwrap().to_string())
    }

    /// A linear congruential generator, of which the high bits are used.
    fn choose(&mut self, end: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.seed >> 33).unwrap() % end
    }
}

/// RFC 7386.
pub(super) fn merge(value: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, change) in fields {
        if change.is_null() {
            value.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut value[key], change);
        }
    }
}

fn keys<T>(table: &Table<T>) -> Vec<String> {
    table.keys().map(ToString::to_string).collect()
}

fn shown<T: Serialize>(table: &Table<T>, key: &str) -> Value {
    table.get(key).map_or(Value::Null, |object| serde_json::to_value(&**object).unwrap())
}

fn store<T: DeserializeOwned>(table: &mut Table<T>, key: &str, object: &Value) {
    table.insert(key.into(), Arc::new(read(object)));
}

fn read<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

pub(super) fn pod_keys(cluster: &Cluster) -> Vec<String> {
    cluster.world.pods.values().map(|pod| key_of(&pod.metadata)).collect()
}
