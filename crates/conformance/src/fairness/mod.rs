//! Cases of Kubernetes' API Priority and Fairness, in the profile `kubernetes`; those whose file
//! begins with `seed` follow the proposal. Those about requests are also sent to a running API server
//! (`over_http`).

mod classify;
mod config;
mod dispatch;
mod flow;
mod limits;
mod over_http;
mod retry_after;
mod shard;
mod width;

use std::path::Path;

use crate::{Report, report::Runner};

/// The first whose name a file's begins with runs it.
const RUNNERS: &[Runner] = &[
    ("classify_configs", |_, case| config::configs(case)),
    ("classify", classify::classify),
    ("concurrency_allocation", |_, case| limits::concurrency_allocation(case)),
    ("config_validation", |_, case| config::validation(case)),
    ("fair_dispatch", |_, case| dispatch::run(case)),
    ("flow_hash", |_, case| flow::hashes(case)),
    ("list_width", |_, case| width::list_width(case)),
    ("retry_after", |_, case| retry_after::retry_after(case)),
    ("seed_acv", |_, case| limits::seed_acv(case)),
    ("shuffle_deal", |_, case| shard::shuffle_deal(case)),
];

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    let mut report = Report::run_dir(dir, RUNNERS)?;
    over_http::run(dir, &mut report)?;
    Ok(report)
}
