//! What happens in the cluster: changes of Pods, Nodes and Services, and what others do to slices.

mod services;
mod slices;

pub(crate) use self::slices::third_party;

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_controller::engine::Scope;
use evenkeel_model::{
    ContainerPort, Id, Node, NodeId, Pod, PodPhase, Protocol, SeenPod, SeenSlice, ZoneId, label,
};
use evenkeel_testkit::{
    self as testkit, apply,
    sim::{Key, Rng, Store},
};

use self::services::{end_service, remove_service};
use crate::{
    checks::{planned, selects},
    profile::Profile,
};

const NAMESPACES: [&str; 2] = ["default", PASSING];
/// The namespace that may be deleted.
pub(crate) const PASSING: &str = "other";
const TIERS: [&str; 2] = ["front", "back"];
const MOST_PODS: usize = 24;
const MOST_SERVICES: usize = 4;

/// Counts what was made, so that names and addresses are used once.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pods: usize,
    services: usize,
    nodes: usize,
    zones: usize,
    apps: usize,
    scope: Scope,
}

/// What a step did, for traces and for what must follow.
#[derive(Debug)]
pub(crate) enum Step {
    Cluster(String),
    /// Slices of a Service are to be collected.
    Orphaned(String),
    /// A Service is being deleted.
    Ending(Key),
    /// A slice is being deleted by somebody else, and waits for a finalizer.
    EndingSlice(Key, Arc<SeenSlice>),
    Rolling(Key),
    /// Somebody else took hold of this slice, which was so before.
    Slice(String, Arc<SeenSlice>),
}

impl Script {
    pub(crate) fn set_up(profile: &Profile, store: &mut Store, rng: &mut Rng) -> Script {
        let mut script = Script {
            zones: profile.zones,
            apps: profile.services,
            scope: profile.settings.scope,
            ..Script::default()
        };
        for _ in 0..profile.nodes {
            script.add_node(store, rng);
        }
        for _ in 0..profile.services {
            script.add_service(store, rng);
        }
        for _ in 0..profile.pods {
            script.add_pod(store, rng);
        }
        if profile.adopts {
            script.built_in(profile, store, rng);
        }
        script
    }

    /// One change of the cluster.
    pub(crate) fn step(&mut self, store: &mut Store, rng: &mut Rng) -> Step {
        match rng.below(100) {
            0..20 => Step::Cluster(self.add_pod(store, rng)),
            20..58 => Step::Cluster(self.change_pod(store, rng)),
            58..62 => Step::Cluster(self.add_node(store, rng)),
            62..72 => Step::Cluster(self.change_node(store, rng)),
            72..76 => Step::Cluster(self.add_service(store, rng)),
            76..78 => match end_service(store, rng) {
                Some(key) => Step::Ending(key),
                None => Step::Cluster("no Service to end".into()),
            },
            78..80 => match remove_service(store, rng) {
                Some(what) => Step::Orphaned(what),
                None => Step::Cluster("no Service to remove".into()),
            },
            80..96 => Step::Cluster(self.change_service(store, rng)),
            _ => match pick(store.services.iter().map(|(key, _)| key.clone()), rng) {
                Some(key) => Step::Rolling(key),
                None => Step::Cluster("no Service to roll".into()),
            },
        }
    }

    /// A step of a rolling update of the Pods of a Service: one old Pod goes, a new one comes.
    pub(crate) fn roll(&mut self, service: &Key, store: &mut Store, rng: &mut Rng) -> String {
        let Some(seen) = store.services.get(service).cloned() else {
            return "the Service is gone".into();
        };
        let key = |pod: &SeenPod| Key::new(pod.pod.namespace.clone(), pod.pod.name.clone());
        let pods = store.pods.iter().map(|(_, pod)| Arc::clone(pod));
        let pods: Vec<_> = pods.filter(|pod| selects(&seen.service, pod)).collect();
        if let Some(ending) = pods.iter().find(|pod| pod.pod.terminating) {
            let ending = key(ending);
            store.pods.remove(&ending);
            return format!("rolling {service}: {ending} is gone");
        }
        let Some(old) = pods.iter().find(|pod| !pod.labels.contains_key("rev")) else {
            return format!("rolling {service}: done");
        };
        if store.terminating.contains(&service.namespace) {
            return format!("rolling {service}: its namespace is being deleted");
        }
        let mut new = self.new_pod(old.pod.namespace.clone(), store, rng);
        new.labels = old.labels.clone();
        new.labels.insert("rev".into(), "2".into());
        new.pod.ports = old.pod.ports.clone();
        let what = format!("rolling {service}: {} for {}", new.pod.name, old.pod.name);
        store.put_pod(new);
        store.change_pod(&key(old), |seen| seen.pod.terminating = true);
        what
    }

    // === Pods ===

    fn new_pod(&mut self, namespace: Arc<str>, store: &Store, rng: &mut Rng) -> SeenPod {
        self.pods += 1;
        let nodes: Vec<_> = store.nodes.iter().map(|(_, node)| node.id).collect();
        // A name of a Pod that is gone may come back, as with a StatefulSet.
        let number = if rng.chance(150) { rng.between(1, self.pods) } else { self.pods };
        let free = Some(format!("pod-{number}"))
            .filter(|name| store.pods.get(&Key::new(namespace.clone(), name.as_str())).is_none());
        let name = free.unwrap_or_else(|| format!("pod-{}", self.pods));
        // Pods on the network of their node share its address.
        let address = if rng.chance(80) { rng.between(1, self.pods) } else { self.pods };
        let mut pod: Pod = testkit::pod(&name, some_id(), address);
        pod.namespace = namespace;
        pod.uid = format!("uid-{name}-{}", self.pods).into();
        pod.node = rng.pick(&nodes).copied().filter(|_| rng.chance(970));
        SeenPod { pod, labels: BTreeMap::new(), ready_since: Some(self.pods as i64 * 7 % 50) }
    }

    fn add_pod(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        if store.pods.len() >= MOST_PODS {
            return "enough Pods".into();
        }
        let namespace = namespace(store, rng);
        let mut seen = self.new_pod(namespace.into(), store, rng);
        seen.labels.insert("app".into(), self.app(rng));
        seen.labels.insert("tier".into(), TIERS[rng.below(2)].into());
        let pod = &mut seen.pod;
        pod.ready = rng.chance(800);
        match rng.below(10) {
            0 => {
                pod.phase = PodPhase::Pending;
                pod.ready = false;
                pod.ips.clear();
            }
            1 => pod.ips.truncate(1),
            2 => pod.ips.reverse(),
            _ => {}
        }
        if rng.chance(700) {
            let port = [8080, 9090][rng.below(2)];
            pod.ports =
                vec![ContainerPort { name: "web".into(), port, protocol: Protocol::default() }];
        }
        let what = format!("{}/{} comes, {:?}", pod.namespace, pod.name, seen.labels);
        store.put_pod(seen);
        what
    }

    fn change_pod(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        let Some(key) = pick(store.pods.iter().map(|(key, _)| key.clone()), rng) else {
            return "no Pod to change".into();
        };
        let serial = self.pods + 1;
        let app = self.app(rng);
        let what = rng.below(14);
        let said = match what {
            0..3 => {
                store.pods.remove(&key);
                return format!("{key} goes");
            }
            3..6 => "ends",
            6..9 => "is ready or not",
            9 => "changes its labels",
            10 => "fails",
            11 => "gets another address",
            _ => "is ready",
        };
        self.pods = serial;
        store.change_pod(&key, |seen| match what {
            3..6 => seen.pod.terminating = true,
            6..9 => {
                seen.pod.ready = !seen.pod.ready;
                seen.ready_since = Some((serial as i64 * 31) % 100);
            }
            9 => {
                seen.labels.insert("app".into(), app);
            }
            10 => {
                seen.pod.phase = PodPhase::Failed;
                seen.pod.ready = false;
            }
            11 => {
                seen.pod.ips = testkit::pod("any", some_id(), serial).ips;
            }
            _ => {
                seen.pod.phase = PodPhase::Running;
                seen.pod.ready = true;
                if seen.pod.ips.is_empty() {
                    seen.pod.ips = testkit::pod("any", some_id(), serial).ips;
                }
            }
        });
        format!("{key} {said}")
    }

    fn app(&self, rng: &mut Rng) -> String {
        format!("app-{}", rng.below(self.apps))
    }

    // === Nodes ===

    fn add_node(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        self.nodes += 1;
        // A node that was away may come back.
        let number = if rng.chance(500) { rng.between(1, self.nodes) } else { self.nodes };
        let name = format!("node-{number}");
        let node = Node {
            id: store.topology.nodes.intern(&name),
            zone: self.zone(store, rng),
            region: rng
                .chance(700)
                .then(|| store.topology.regions.intern(["region-1", "region-2"][rng.below(2)])),
            cpu_milli: 1000 * rng.between(1, 4) as u64,
            ready: rng.chance(900),
            control_plane: rng.chance(50),
        };
        store.put_node(&name, node);
        format!("{name} comes")
    }

    fn zone(&self, store: &mut Store, rng: &mut Rng) -> Option<ZoneId> {
        let zone = ["zone-a", "zone-b", "zone-c", "zone-d"][rng.below(self.zones)];
        rng.chance(970).then(|| store.topology.zones.intern(zone))
    }

    fn change_node(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        let Some(key) = pick(store.nodes.iter().map(|(key, _)| key.clone()), rng) else {
            return "no Node to change".into();
        };
        let mut node = (**store.nodes.get(&key).expect("just picked")).clone();
        let said = match rng.below(6) {
            0 => {
                store.nodes.remove(&key);
                return format!("{} goes", key.name);
            }
            1 => {
                node.zone = self.zone(store, rng);
                "changes its zone"
            }
            2 => {
                node.cpu_milli = 1000 * rng.below(8) as u64;
                "changes its CPU"
            }
            _ => {
                node.ready = !node.ready;
                "is ready or not"
            }
        };
        store.put_node(&key.name, node);
        format!("{} {said}", key.name)
    }

    // === slices of others ===

    /// Slices as Kubernetes' own controller has them; some Pods change after it stopped.
    fn built_in(&mut self, profile: &Profile, store: &mut Store, rng: &mut Rng) {
        let mut settings = profile.settings.topology.clone();
        settings.controller_name = label::BUILT_IN.into();
        let keys: Vec<Key> = store.services.iter().map(|(key, _)| key.clone()).collect();
        for key in keys {
            let service = store.services.get(&key).expect("listed").service.clone();
            // Beside the built-in controller, Services that opted in have none of its slices.
            if rng.chance(100) || service.opted_in {
                continue;
            }
            let plan = planned(store, &service, &settings);
            for slice in apply(&plan, &[], &key.name) {
                store.add_slice(&key.namespace, &slice);
            }
        }
        for _ in 0..rng.below(4) {
            self.change_pod(store, rng);
        }
    }
}

/// Nothing new comes into one that is being deleted.
fn namespace(store: &Store, rng: &mut Rng) -> &'static str {
    let namespace = NAMESPACES[usize::from(rng.chance(350))];
    if store.terminating.contains(namespace) { NAMESPACES[0] } else { namespace }
}

fn some_id() -> NodeId {
    NodeId::from_index(0)
}

fn pick<T>(items: impl Iterator<Item = T>, rng: &mut Rng) -> Option<T> {
    let mut items: Vec<T> = items.collect();
    let at = rng.below(items.len());
    (at < items.len()).then(|| items.swap_remove(at))
}
