//! DaemonSets: a Pod on every eligible Node.
//!
//! First each Node gets its Pod and surplus Pods are deleted (`placing`); only when that is done
//! are Pods of old templates replaced (`rolling`). The revision of a Pod is the hash of its
//! template. At most 250 Pods are created and as many deleted per step; the resulting changes cause
//! the next one. Source: `k8s.io/kubernetes/pkg/controller/daemon`, without history: no
//! ControllerRevisions are written. Linear in the number of Nodes and of the set's Pods.

mod eligible;
mod pinned;
mod placing;
mod rolling;
mod status;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, DaemonSetSpec},
    core::v1::{Node, Pod},
};
use serde_json::json;

use self::{
    eligible::{Fit, Needs},
    pinned::{REVISION_HASH, TEMPLATE_GENERATION},
    placing::PodActions,
    rolling::Limits,
};
use crate::{
    kinds::DAEMON_SET,
    sandbox::{
        action::{Action, Step},
        workloads::{
            claim::{self, Claimed},
            is_closing,
            making::{self, Maker},
            pods, template,
        },
        world::{World, annotation, is_dying, is_finished},
    },
    settings::Sandbox,
};

const BURST: usize = 250;
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// A DaemonSet with its Pods and all Nodes.
#[derive(Debug)]
struct DaemonSetState<'a> {
    set: &'a DaemonSet,
    spec: &'a DaemonSetSpec,
    maker: Maker<'a>,
    now: Timestamp,
    hash: String,
    /// The generation of the template.
    generation: Option<i64>,
    /// More than one Pod may be on a Node (maxSurge).
    surges: bool,
    /// By the Node that they are on or wait for.
    pods: BTreeMap<&'a str, Vec<&'a Pod>>,
    /// For all existing Nodes.
    fits: BTreeMap<&'a str, Fit>,
}

/// The next actions for a DaemonSet.
pub(crate) fn reconcile(world: &World, key: &str, now: Timestamp, _: &Sandbox) -> Step {
    let Some(set) = world.daemon_sets.get(key) else { return Step::nothing() };
    let Some(spec) = set.spec.as_ref().filter(|_| !is_dying(&set.metadata)) else {
        return Step::nothing();
    };
    let claimed = claim::claim_pods(world, &DAEMON_SET, &set.metadata, &spec.selector);
    let look = DaemonSetState::new(world, set, spec, &claimed, now);
    let mut orders = placing::orders(&look);
    if orders.is_empty() && rolling::is_rolling(spec) {
        orders = PodActions { again: orders.again, ..rolling::orders(&look) };
    }
    let readiness = pods::readiness(claimed.objects.iter().copied(), look.min_ready(), now);
    let again = orders.again.into_iter().chain(readiness.next).min();
    let mut actions = claimed.actions;
    actions.extend(obeyed(world, &look, orders));
    actions.extend(tell(&look));
    Step { actions, again }
}

fn obeyed(world: &World, look: &DaemonSetState<'_>, orders: PodActions<'_>) -> Vec<Action> {
    let mut actions = orders.news;
    for unwanted in orders.delete.into_iter().take(BURST) {
        let grace = unwanted.at_once.then_some(0);
        actions.extend(look.maker.delete(unwanted.pod, grace));
    }
    if orders.create.is_empty() || is_closing(world, &look.set.metadata) {
        return actions;
    }
    let template = pinned::revised(&look.spec.template, &look.hash, look.generation);
    let names = making::names(world, &look.maker, look.now);
    for (node, name) in orders.create.into_iter().take(BURST).zip(names) {
        actions.extend(look.maker.create(&pinned::pinned(&template, node), name));
    }
    actions
}

/// Writes the status if it differs.
fn tell(look: &DaemonSetState<'_>) -> Option<Action> {
    let status = status::counted(look);
    let metadata = &look.set.metadata;
    (status::filled(look.set.status.as_ref()) != status)
        .then(|| Action::patch(&DAEMON_SET, metadata, json!({"status": status})))
}

// === impl DaemonSetState ===

impl<'a> DaemonSetState<'a> {
    fn new(
        world: &'a World,
        set: &'a DaemonSet,
        spec: &'a DaemonSetSpec,
        claimed: &Claimed<'a, Pod>,
        now: Timestamp,
    ) -> DaemonSetState<'a> {
        let needs = spec.template.spec.as_ref().map(Needs::of);
        let fit = |node: &Node| needs.as_ref().map_or(Fit::Not, |needs| needs.fit(node));
        let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        // A Pod that has terminated and is being deleted does not matter.
        let matter = |pod: &&&Pod| !(is_finished(pod) && is_dying(&pod.metadata));
        for pod in claimed.objects.iter().filter(matter) {
            if let Some(node) = pinned::target(pod) {
                pods.entry(node).or_default().push(pod);
            }
        }
        DaemonSetState {
            set,
            spec,
            maker: Maker { kind: &DAEMON_SET, owner: &set.metadata },
            now,
            hash: template::hash(&spec.template, None),
            generation: annotation(&set.metadata, GENERATION).and_then(|text| text.parse().ok()),
            surges: rolling::is_rolling(spec) && Limits::of(spec, 1).surge > 0,
            pods,
            fits: world.nodes.iter().map(|(name, node)| (&**name, fit(node))).collect(),
        }
    }

    fn on(&self, node: &str) -> &[&'a Pod] {
        self.pods.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    fn min_ready(&self) -> i32 {
        self.spec.min_ready_seconds.unwrap_or_default()
    }

    fn is_available(&self, pod: &Pod) -> bool {
        pods::is_available(pod, self.min_ready(), self.now)
    }

    fn has_hash(&self, pod: &Pod) -> bool {
        pods::label(pod, REVISION_HASH) == Some(&self.hash)
    }

    /// Whether it was created from the current template.
    fn is_updated(&self, pod: &Pod) -> bool {
        let generation = pods::label(pod, TEMPLATE_GENERATION);
        let counted = self.generation.map(|generation| generation.to_string());
        self.has_hash(pod) || (counted.is_some() && generation == counted.as_deref())
    }
}
