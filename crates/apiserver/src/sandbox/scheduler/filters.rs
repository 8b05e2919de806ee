//! The filters that depend on a Node alone: unschedulable, taints, node selection, resources.

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint};

use super::requests::{Amounts, Insufficient};
use crate::sandbox::{
    nodes,
    selectors::selects_node,
    tolerations::{NOT_READY, UNREACHABLE, UNSCHEDULABLE, tolerates},
};

/// Why a Node is rejected for a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Unschedulable,
    Taint {
        key: String,
        value: String,
    },
    NodeAffinity,
    Lacks(Vec<Insufficient>),
    Spread,
    NoTopology,
    Affinity,
    AntiAffinity,
    /// Of an existing Pod.
    OthersAntiAffinity,
}

pub(super) fn check(
    node: &Node,
    spec: &PodSpec,
    wanted: Amounts,
    used: Amounts,
) -> Result<(), Refused> {
    if nodes::is_cordoned(node) && !is_tolerated(spec, &taint(UNSCHEDULABLE)) {
        return Err(Refused::Unschedulable);
    }
    tainted(node, spec)?;
    if !selects_node(spec, node) {
        return Err(Refused::NodeAffinity);
    }
    let lacking = wanted.lacking(used, node);
    if lacking.is_empty() { Ok(()) } else { Err(Refused::Lacks(lacking)) }
}

/// The first taint that is not tolerated. A Node that is not ready counts as tainted even before it
/// is.
fn tainted(node: &Node, spec: &PodSpec) -> Result<(), Refused> {
    let keeps_off = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    let silent = if nodes::beats(node) { NOT_READY } else { UNREACHABLE };
    let unready = (!nodes::is_ready(node)).then(|| taint(silent));
    let mut taints = nodes::taints(node).filter(keeps_off).chain(&unready);
    match taints.find(|taint| !is_tolerated(spec, taint)) {
        None => Ok(()),
        Some(taint) => Err(Refused::Taint {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
        }),
    }
}

pub(super) fn is_tolerated(spec: &PodSpec, taint: &Taint) -> bool {
    spec.tolerations.iter().flatten().any(|toleration| tolerates(toleration, taint))
}

fn taint(key: &str) -> Taint {
    Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() }
}

impl Refused {
    /// In Kubernetes' wording; one for each missing resource.
    pub(super) fn words(&self) -> Vec<String> {
        let one = match self {
            Refused::Unschedulable => "node(s) were unschedulable".to_owned(),
            Refused::Taint { key, value } => {
                format!("node(s) had untolerated taint {{{key}: {value}}}")
            }
            Refused::NodeAffinity => "node(s) didn't match Pod's node affinity/selector".to_owned(),
            Refused::Lacks(lacking) => {
                return lacking.iter().map(|lacking| lacking.words().to_owned()).collect();
            }
            Refused::Spread => "node(s) didn't match pod topology spread constraints".to_owned(),
            Refused::NoTopology => "node(s) didn't match pod topology spread constraints (missing \
                                    required label)"
                .to_owned(),
            Refused::Affinity => "node(s) didn't match pod affinity rules".to_owned(),
            Refused::AntiAffinity => "node(s) didn't match pod anti-affinity rules".to_owned(),
            Refused::OthersAntiAffinity => {
                "node(s) didn't satisfy existing pods anti-affinity rules".to_owned()
            }
        };
        vec![one]
    }
}
