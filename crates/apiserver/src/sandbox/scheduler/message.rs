//! Why no Node is eligible for a Pod, in Kubernetes' wording: how many Nodes reject it for which
//! reason. Source: `FitError` in `pkg/scheduler/framework/types.go`.

use std::collections::BTreeMap;

use super::filters::Refused;

pub(super) fn of(refused: &[Refused]) -> String {
    if refused.is_empty() {
        return "no nodes available to schedule pods".to_owned();
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for words in refused.iter().flat_map(Refused::words) {
        *counts.entry(words).or_default() += 1;
    }
    let mut reasons: Vec<String> =
        counts.iter().map(|(words, count)| format!("{count} {words}")).collect();
    reasons.sort();
    format!("0/{} nodes are available: {}.", refused.len(), reasons.join(", "))
}
