//! The heaviest flows, as data.

use std::{sync::Arc, task::Waker};

use evenkeel_fairness::dispatcher::Dispatcher;

/// The heaviest flows of one level.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LevelFlows {
    pub level: Arc<str>,
    /// The seats that all flows asked for, those not listed too.
    pub total: u64,
    /// The heaviest first.
    pub flows: Vec<FlowWeight>,
}

/// A flow, and how many seats it asked for: between `weight - error` and `weight`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FlowWeight {
    pub hash: u64,
    pub distinguisher: String,
    pub weight: u64,
    pub error: u64,
}

pub(crate) fn top_flows(dispatcher: &Dispatcher<Waker>) -> Vec<LevelFlows> {
    let levels = dispatcher.levels();
    let of = levels.iter().map(|level| {
        let top_flows = level.view(|view| view.top_flows.clone());
        let flows = top_flows.top().into_iter().map(|flow| FlowWeight {
            hash: flow.hash,
            distinguisher: flow.label.to_owned(),
            weight: flow.weight,
            error: flow.error,
        });
        LevelFlows { level: level.name.clone(), total: top_flows.total(), flows: flows.collect() }
    });
    of.collect()
}
