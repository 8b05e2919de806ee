//! Requests of Pods and capacity of Nodes: CPU in thousandths, memory in bytes, number of Pods.
//! Sources: `component-helpers/resource/helpers.go`, `pkg/scheduler/util/pod_resources.go`.

use std::collections::BTreeMap;

use evenkeel_model::quantity::Quantity;
use k8s_openapi::{
    api::core::v1::{Container, Node, Pod},
    apimachinery::pkg::api::resource::Quantity as Text,
};

use crate::sandbox::world::{World, is_finished, name_of};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    cpu: i128,
    memory: i128,
    pods: i128,
    /// CPU for scoring: a container without a request counts as a small one.
    load: i128,
}

/// The load of a container without a CPU request.
const SMALL: i128 = 100;

/// A resource that a Node lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insufficient {
    Cpu,
    Memory,
    Pods,
}

type List = BTreeMap<String, Text>;

// === impl Amounts ===

impl Amounts {
    /// Init containers run one after the other before the rest, except sidecars.
    pub(super) fn of_pod(pod: &Pod) -> Amounts {
        let Some(spec) = &pod.spec else { return Amounts::default() };
        let mut together = Amounts::default();
        let mut peak = Amounts::default();
        for first in spec.init_containers.iter().flatten() {
            let asked = Amounts::of_container(first);
            if first.restart_policy.as_deref() == Some("Always") {
                together = together.plus(asked);
                peak = peak.max(together);
            } else {
                peak = peak.max(together.plus(asked));
            }
        }
        for container in &spec.containers {
            together = together.plus(Amounts::of_container(container));
        }
        let overhead = spec.overhead.as_ref().map(Amounts::of_list).unwrap_or_default();
        Amounts { pods: 1, ..together.max(peak).plus(overhead) }
    }

    /// The requests of all active Pods on a Node.
    pub(super) fn on(world: &World, node: &Node) -> Amounts {
        let pods = world.pods_on(name_of(&node.metadata)).filter(|pod| !is_finished(pod));
        pods.fold(Amounts::default(), |sum, pod| sum.plus(Amounts::of_pod(pod)))
    }

    /// The resources that a Node lacks. A Pod without a request for a resource never lacks it.
    pub(super) fn lacking(self, used: Amounts, node: &Node) -> Vec<Insufficient> {
        let has = Amounts::of_node(node);
        let lacks = |wanted: i128, used: i128, has: i128| wanted > 0 && used + wanted > has;
        [
            (Insufficient::Pods, lacks(self.pods, used.pods, has.pods)),
            (Insufficient::Cpu, lacks(self.cpu, used.cpu, has.cpu)),
            (Insufficient::Memory, lacks(self.memory, used.memory, has.memory)),
        ]
        .into_iter()
        .filter_map(|(what, lacks)| lacks.then_some(what))
        .collect()
    }

    /// The load in millionths of the Node's CPU.
    pub(super) fn share_of_cpu(self, node: &Node) -> i128 {
        self.load.saturating_mul(1_000_000) / Amounts::of_node(node).cpu.max(1)
    }

    fn of_node(node: &Node) -> Amounts {
        let has = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        has.map(Amounts::of_list).unwrap_or_default()
    }

    fn of_container(container: &Container) -> Amounts {
        let requests = container.resources.as_ref().and_then(|asked| asked.requests.as_ref());
        let asked = requests.map(Amounts::of_list).unwrap_or_default();
        Amounts { load: if asked.cpu > 0 { asked.cpu } else { SMALL }, ..asked }
    }

    fn of_list(list: &List) -> Amounts {
        let read = |name: &str| list.get(name).and_then(|text| Quantity::parse(&text.0).ok());
        let units = |name: &str| read(name).map_or(0, |read| read.amount().units());
        let cpu = read("cpu").map_or(0, |read| read.amount().milli_units());
        Amounts { cpu, memory: units("memory"), pods: units("pods"), load: cpu }
    }

    fn plus(self, other: Amounts) -> Amounts {
        Amounts {
            cpu: self.cpu + other.cpu,
            memory: self.memory + other.memory,
            pods: self.pods + other.pods,
            load: self.load + other.load,
        }
    }

    fn max(self, other: Amounts) -> Amounts {
        Amounts {
            cpu: self.cpu.max(other.cpu),
            memory: self.memory.max(other.memory),
            pods: self.pods.max(other.pods),
            load: self.load.max(other.load),
        }
    }
}

impl Insufficient {
    pub(super) fn words(self) -> &'static str {
        match self {
            Insufficient::Cpu => "Insufficient cpu",
            Insufficient::Memory => "Insufficient memory",
            Insufficient::Pods => "Too many pods",
        }
    }
}
