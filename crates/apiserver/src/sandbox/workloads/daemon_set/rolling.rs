//! Rolling update: replaces Pods of old revisions, on a limited number of Nodes at a time.
//!
//! Without surge an old Pod is deleted, and `placing` creates a new one once it is gone. With surge
//! the new one comes first, and the old one is deleted when the new one is available. Source:
//! `k8s.io/kubernetes/pkg/controller/daemon/update.go`, `rollingUpdate`; there Nodes come in map
//! order, here sorted by name. Linear in Nodes and Pods.

use k8s_openapi::{
    api::{apps::v1::DaemonSetSpec, core::v1::Pod},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{
    DaemonSetState,
    eligible::Fit,
    placing::{PodActions, PodDeletion},
};
use crate::sandbox::{
    workloads::share::{self, Rounding},
    world::is_dying,
};

/// The number of Nodes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) surge: i32,
    pub(super) unavailable: i32,
}

/// The Pods of a Node that are not terminating.
enum NodePods<'a> {
    Nothing,
    Old(&'a Pod),
    New(&'a Pod),
    Both {
        old: &'a Pod,
        new: &'a Pod,
    },
    /// `placing` must clean up first.
    TooMany,
}

// === impl Limits ===

impl Limits {
    /// For this many Nodes. Both are rounded up.
    pub(super) fn of(spec: &DaemonSetSpec, n_nodes: i32) -> Limits {
        let strategy = spec.update_strategy.as_ref();
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let of = |value: Option<&IntOrString>| share::of(value, n_nodes, Rounding::Up);
        let surge = of(rolling.and_then(|rolling| rolling.max_surge.as_ref()));
        let unavailable = of(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()));
        // If both were zero, nothing could ever be replaced.
        let unavailable = if surge == 0 { unavailable.max(n_nodes.min(1)) } else { unavailable };
        Limits { surge, unavailable }
    }
}

/// Whether Pods are replaced automatically.
pub(super) fn is_rolling(spec: &DaemonSetSpec) -> bool {
    let strategy = spec.update_strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
    strategy != Some("OnDelete")
}

/// `look`: one for which `placing` has nothing to do.
pub(super) fn orders<'a>(look: &DaemonSetState<'a>) -> PodActions<'a> {
    let wanted = look.fits.values().filter(|fit| **fit == Fit::Runs).count();
    let limits = Limits::of(look.spec, i32::try_from(wanted).unwrap_or(i32::MAX));
    if limits.surge == 0 { replaced(look, limits) } else { surged(look, limits, wanted) }
}

fn replaced<'a>(look: &DaemonSetState<'a>, limits: Limits) -> PodActions<'a> {
    let mut orders = PodActions::default();
    let mut unavailable = 0;
    let mut candidates = Vec::new();
    for node in nodes(look) {
        match there(look, node) {
            NodePods::Nothing | NodePods::Both { .. } | NodePods::TooMany => unavailable += 1,
            NodePods::New(new) => unavailable += i32::from(!look.is_available(new)),
            NodePods::Old(old) if look.is_available(old) => candidates.push(PodDeletion::new(old)),
            NodePods::Old(old) => {
                orders.delete.push(PodDeletion::new(old));
                unavailable += 1;
            }
        }
    }
    candidates.truncate(usize::try_from(limits.unavailable - unavailable).unwrap_or_default());
    orders.delete.append(&mut candidates);
    orders
}

fn surged<'a>(look: &DaemonSetState<'a>, limits: Limits, wanted: usize) -> PodActions<'a> {
    let mut orders = PodActions::default();
    let (mut surging, mut available) = (0, 0);
    let (mut candidates, mut elsewhere) = (Vec::new(), Vec::new());
    for node in nodes(look) {
        let runs = look.fits.get(node) == Some(&Fit::Runs);
        match there(look, node) {
            NodePods::Nothing => {}
            NodePods::TooMany => surging += 1,
            NodePods::New(new) => available += usize::from(look.is_available(new)),
            NodePods::Old(old) => {
                let is_available = look.is_available(old);
                available += usize::from(is_available);
                match (runs, is_available) {
                    (true, true) => candidates.push(node),
                    (true, false) => orders.create.push(node),
                    (false, true) => elsewhere.push(PodDeletion::new(old)),
                    (false, false) => orders.delete.push(PodDeletion::new(old)),
                }
            }
            NodePods::Both { old, new } => {
                available += usize::from(look.is_available(old));
                if look.is_available(new) {
                    orders.delete.push(PodDeletion::new(old));
                } else {
                    surging += 1;
                }
            }
        }
    }
    // A Pod on a Node that is no longer eligible is deleted once there are enough without it.
    elsewhere.truncate(available.saturating_sub(wanted));
    orders.delete.append(&mut elsewhere);
    candidates.truncate(usize::try_from(limits.surge - surging).unwrap_or_default());
    orders.create.append(&mut candidates);
    orders
}

/// Nodes with Pods, and eligible ones.
fn nodes<'a>(look: &DaemonSetState<'a>) -> impl Iterator<Item = &'a str> {
    let wanted = look.fits.iter().filter(|(_, fit)| **fit == Fit::Runs).map(|(node, _)| *node);
    let all: std::collections::BTreeSet<&str> = wanted.chain(look.pods.keys().copied()).collect();
    all.into_iter()
}

fn there<'a>(look: &DaemonSetState<'a>, node: &str) -> NodePods<'a> {
    let alive = look.on(node).iter().copied().filter(|pod| !is_dying(&pod.metadata));
    let (new, old): (Vec<&Pod>, Vec<&Pod>) = alive.partition(|pod| look.is_updated(pod));
    match (&new[..], &old[..]) {
        ([], []) => NodePods::Nothing,
        ([], [old]) => NodePods::Old(old),
        ([new], []) => NodePods::New(new),
        ([new], [old]) => NodePods::Both { old, new },
        _ => NodePods::TooMany,
    }
}
