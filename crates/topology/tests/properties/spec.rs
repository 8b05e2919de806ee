//! A small world as data: what proptest draws, shrinks and prints.

use std::fmt;

use evenkeel_model::{AddressType, Endpoint, Hints, Pod, PodPhase, Service, Slice, ZoneId};
use evenkeel_testkit::{Cluster, ServiceExt, World, endpoint, pod, service, slice};
use evenkeel_topology::Settings;

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) kubernetes: bool,
    pub(crate) asks: Asks,
    pub(crate) dual_stack: bool,
    pub(crate) publish_not_ready: bool,
    /// Hints were given before.
    pub(crate) populated: bool,
    pub(crate) max_endpoints_per_slice: usize,
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) pods: Vec<PodSpec>,
    pub(crate) slices: Vec<SliceSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Nothing,
    Auto,
    PreferClose,
    PreferSameNode,
}

/// The node `node-N`, where N is its index.
#[derive(Clone)]
pub(crate) struct NodeSpec {
    pub(crate) zone: Option<&'static str>,
    pub(crate) cores: u64,
    /// Ready, and not control plane.
    pub(crate) counted: bool,
}

/// The Pod `pod-N`, where N is its index.
#[derive(Clone, Copy)]
pub(crate) struct PodSpec {
    /// The index of its node; one beyond all nodes is a node that is not known.
    pub(crate) node: usize,
    pub(crate) state: PodState,
    pub(crate) ipv4: bool,
    pub(crate) ipv6: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodState {
    Ready,
    NotReady,
    Terminating,
    ServingTerminating,
    Succeeded,
}

/// The slice `old-N`, where N is its index.
#[derive(Clone, Debug)]
pub(crate) struct SliceSpec {
    pub(crate) ipv6: bool,
    /// Owned by this Service, not by an earlier one of its name.
    pub(crate) owned: bool,
    /// Its ports are those of the Service, not none.
    pub(crate) same_ports: bool,
    /// Carries a label that the Service has no more.
    pub(crate) old_label: bool,
    pub(crate) entries: Vec<EntrySpec>,
}

/// What has changed since the entry was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Nothing,
    /// The Pod was in another state.
    State,
    /// Its node was in no zone.
    Zone,
    /// It was another Pod of the same name and address.
    Pod,
}

#[derive(Clone)]
pub(crate) struct EntrySpec {
    /// The index of its Pod; one beyond all Pods is a Pod that is gone.
    pub(crate) pod: usize,
    pub(crate) changed: Changed,
    pub(crate) for_zones: Vec<&'static str>,
    /// The index of a node.
    pub(crate) for_node: Option<usize>,
}

impl Spec {
    pub(crate) fn build(&self) -> World {
        self.build_in_order(&[], &(0..self.pods.len()).collect::<Vec<_>>())
    }

    /// `zones` are interned first, in this order; `pods` is a permutation of the Pods.
    pub(crate) fn build_in_order(&self, zones: &[&str], pods: &[usize]) -> World {
        let mut cluster = Cluster::default();
        for zone in zones {
            cluster.topology.zones.intern(zone);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let name = format!("node-{index}");
            cluster.add_node(&name, node.zone, node.cores).ready = node.counted;
        }
        let mut world = World::new(cluster, self.service(), self.settings());
        let all: Vec<Pod> = (0..self.pods.len()).map(|i| self.pod(i, &mut world)).collect();
        let slices = self.slices.iter().enumerate();
        world.slices = slices
            .map(|(i, spec)| self.slice(&format!("old-{i}"), spec, &all, &mut world))
            .collect();
        world.pods = pods.iter().map(|&index| all[index].clone()).collect();
        if self.populated {
            let key = world.service.key.clone();
            let counts = [(ZoneId::EMPTY, 1)].into_iter().collect();
            world.auto_services.hinted(&key, AddressType::IPv4, counts);
        }
        world
    }

    fn settings(&self) -> Settings {
        let profile = if self.kubernetes { Settings::kubernetes() } else { Settings::default() };
        Settings { max_endpoints_per_slice: self.max_endpoints_per_slice, ..profile }
    }

    fn service(&self) -> Service {
        let service = match self.asks {
            Asks::Nothing => service("web"),
            Asks::Auto => service("web").auto(),
            Asks::PreferClose => service("web").distribution("PreferClose"),
            Asks::PreferSameNode => service("web").distribution("PreferSameNode"),
        };
        let service = if self.dual_stack { service.dual_stack() } else { service };
        Service { publish_not_ready: self.publish_not_ready, ..service }
    }

    /// Pods beyond those of the spec are ready ones on a node that is gone.
    fn pod(&self, index: usize, world: &mut World) -> Pod {
        let spec = self.pods.get(index).copied().unwrap_or(PodSpec {
            node: self.nodes.len(),
            state: PodState::Ready,
            ipv4: true,
            ipv6: true,
        });
        let nodes = &mut world.cluster.topology.nodes;
        let node = nodes.intern(&format!("node-{}", spec.node));
        // Tests that add Pods of their own count from 1.
        let mut pod = pod(&format!("pod-{index}"), node, 1000 + index);
        pod.ips.retain(|ip| if ip.is_ipv4() { spec.ipv4 } else { spec.ipv6 });
        pod.ready = matches!(spec.state, PodState::Ready | PodState::ServingTerminating);
        pod.terminating =
            matches!(spec.state, PodState::Terminating | PodState::ServingTerminating);
        if spec.state == PodState::Succeeded {
            pod.phase = PodPhase::Succeeded;
        }
        pod
    }

    fn slice(&self, name: &str, spec: &SliceSpec, pods: &[Pod], world: &mut World) -> Slice {
        let family = if spec.ipv6 { AddressType::IPv6 } else { AddressType::IPv4 };
        let entries = spec.entries.iter();
        let endpoints = entries.map(|e| self.endpoint(e, family, pods, world));
        // A slice never holds an endpoint without address.
        let endpoints = endpoints.filter(|e| !e.addresses.is_empty()).collect();
        let mut slice = slice(&world.service, name, family, endpoints);
        if !spec.owned {
            slice.owner = Some("uid-of-an-earlier-one".into());
        }
        if !spec.same_ports {
            slice.ports.clear();
        }
        if spec.old_label {
            slice.labels.insert("tier".into(), "old".into());
        }
        slice
    }

    fn endpoint(
        &self,
        entry: &EntrySpec,
        family: AddressType,
        pods: &[Pod],
        world: &mut World,
    ) -> Endpoint {
        let pod = match pods.get(entry.pod) {
            Some(pod) => pod.clone(),
            None => self.pod(entry.pod, world),
        };
        let node = self.nodes.get(self.pods.get(entry.pod).map_or(usize::MAX, |p| p.node));
        let topology = &mut world.cluster.topology;
        let zone = node.and_then(|n| n.zone).map(|z| topology.zones.intern(z));
        let for_zones = entry.for_zones.iter();
        let for_nodes = entry.for_node.iter();
        let hints = Hints {
            zones: for_zones.map(|zone| topology.zones.intern(zone)).collect(),
            nodes: for_nodes.map(|i| topology.nodes.intern(&format!("node-{i}"))).collect(),
        };
        let hints = (hints != Hints::default()).then_some(hints);
        let mut endpoint = endpoint(&pod, family, zone, hints);
        if self.publish_not_ready {
            endpoint.conditions.ready = Some(true);
        }
        match entry.changed {
            Changed::Nothing => {}
            Changed::State => endpoint.conditions.serving = Some(!pod.ready),
            Changed::Zone => endpoint.zone = None,
            Changed::Pod => endpoint.target = earlier(&pod, family).target,
        }
        endpoint
    }
}

/// The endpoint of an earlier Pod of the same name.
fn earlier(pod: &Pod, family: AddressType) -> Endpoint {
    let pod = Pod { uid: "uid-of-an-earlier-one".into(), ..pod.clone() };
    endpoint(&pod, family, None, None)
}

// === impl Debug, one line each ===

impl fmt::Debug for NodeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeSpec { zone, cores, counted } = self;
        write!(f, "zone {zone:?}, cores {cores}, counted {counted}")
    }
}

impl fmt::Debug for PodSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PodSpec { node, state, ipv4, ipv6 } = self;
        write!(f, "node {node}, {state:?}, IPv4 {ipv4}, IPv6 {ipv6}")
    }
}

impl fmt::Debug for EntrySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EntrySpec { pod, changed, for_zones, for_node } = self;
        write!(f, "pod {pod}, {changed:?} changed, for zones {for_zones:?}, for node {for_node:?}")
    }
}
