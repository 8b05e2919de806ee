//! What of the plans of proxies is not as written, over all proxies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::json;

use super::Severity;
use crate::{
    inspect::{Explained, MOST_PROXIES_NAMED},
    view::{PlanReason, ProxyKey, View},
};

/// A reason, and the proxies whose plans have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInPlans {
    pub reason: PlanReason,
    /// The first ones.
    pub proxies: Vec<ProxyKey>,
    pub n_proxies: usize,
}

/// Plans all proxies: O(p · r) for p proxies with at most r reasons each, beside the plans, which proxies
/// alike share. In the order of reasons.
pub fn lint_plans(view: &mut View) -> Vec<FoundInPlans> {
    let proxies: Vec<ProxyKey> = view.proxies().collect();
    let mut found: BTreeMap<PlanReason, FoundInPlans> = BTreeMap::new();
    for proxy in proxies {
        let Some(plan) = view.proxy(&proxy) else { continue };
        // The same reason may stand in a plan twice.
        for reason in plan.reasons().collect::<BTreeSet<_>>() {
            let found = found.entry(reason.clone()).or_insert_with(|| FoundInPlans {
                reason: reason.clone(),
                proxies: Vec::new(),
                n_proxies: 0,
            });
            found.n_proxies += 1;
            if found.proxies.len() < MOST_PROXIES_NAMED {
                found.proxies.push(proxy.clone());
            }
        }
    }
    found.into_values().collect()
}

// === impl FoundInPlans ===

impl FoundInPlans {
    pub fn severity(&self) -> Severity {
        match self.reason {
            // Its instances may not be there yet.
            PlanReason::SplitWithoutEndpoints { .. } => Severity::Info,
            _ => Severity::Warning,
        }
    }

    /// What to do, in the imperative.
    pub fn advice(&self) -> &'static str {
        match self.reason {
            PlanReason::AddressTaken { .. } => "give each listener an address or a port of its own",
            PlanReason::ClusterNameTaken { .. } => "give the destinations names that differ",
            PlanReason::SplitEmptied { .. } => {
                "let the strategy accept a zone of the split, or remove the split"
            }
            PlanReason::SplitWithoutEndpoints { .. } => {
                "add endpoints with these tags, or remove the split"
            }
            PlanReason::AllSplitsEmpty { .. } => "add a backendRef that has endpoints",
            PlanReason::AllWeightsZero { .. } => "give one backendRef a weight",
            PlanReason::MergedPolicyInvalid { .. } => {
                "correct the policy, or the less specific ones that it is merged with"
            }
        }
    }
}

impl Serialize for FoundInPlans {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { reason, proxies, n_proxies } = self;
        let value = json!({
            "reason": Explained(reason.clone()),
            "severity": self.severity(),
            "advice": self.advice(),
            "proxies": proxies,
            "nProxies": n_proxies,
        });
        value.serialize(serializer)
    }
}
