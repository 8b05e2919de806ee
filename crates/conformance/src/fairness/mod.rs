//! Cases of Kubernetes' API Priority and Fairness, in the profile `kubernetes`; those whose file
//! begins with `seed` follow the proposal.

mod dispatch;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Report,
    report::{Outcome, Runner},
};

const RUNNERS: &[Runner] = &[("fair_dispatch", |case| run_case(case, dispatch::run))];

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    Report::run_dir(dir, RUNNERS)
}

fn run_case<C: DeserializeOwned>(case: Value, run: fn(&C) -> Vec<String>) -> Outcome {
    Ok(run(&serde_json::from_value(case)?))
}
