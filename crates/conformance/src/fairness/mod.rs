//! Cases of Kubernetes' API Priority and Fairness, in the profile `kubernetes`; those whose file
//! begins with `seed` follow the proposal.

mod dispatch;
mod flow;
mod limits;
mod retry_after;
mod shard;
mod width;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Report,
    report::{Outcome, Runner},
};

const RUNNERS: &[Runner] = &[
    ("concurrency_allocation", limits::concurrency_allocation),
    ("fair_dispatch", |case| run_case(case, dispatch::run)),
    ("flow_hash", flow::hashes),
    ("list_width", width::list_width),
    ("retry_after", retry_after::retry_after),
    ("seed_acv", limits::seed_acv),
    ("shuffle_deal", shard::shuffle_deal),
];

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    Report::run_dir(dir, RUNNERS)
}

fn run_case<C: DeserializeOwned>(case: Value, run: fn(&C) -> Vec<String>) -> Outcome {
    Ok(run(&serde_json::from_value(case)?))
}
