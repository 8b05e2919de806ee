//! Cases of Kubernetes' EndpointSlice controller and kube-proxy, in the profile `kubernetes`.

mod hints_auto;
mod overload;
mod packets;
mod select_endpoints;
mod slice_packing;
mod traffic_distribution;
mod world;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Report,
    report::{Outcome, Runner},
};

const RUNNERS: &[Runner] = &[
    ("hints_auto", |_, case| run_case(case, hints_auto::run)),
    ("overload", |_, case| run_case(case, overload::run)),
    ("traffic_distribution", |_, case| run_case(case, traffic_distribution::run)),
    ("select_endpoints", |_, case| run_case(case, select_endpoints::run)),
    ("slice_packing", |_, case| run_case(case, slice_packing::run)),
];

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    Report::run_dir(dir, RUNNERS)
}

fn run_case<C: DeserializeOwned>(case: Value, run: fn(&C) -> Vec<String>) -> Outcome {
    Ok(run(&serde_json::from_value(case)?))
}
