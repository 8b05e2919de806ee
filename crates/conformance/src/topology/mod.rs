//! Cases of Kubernetes' EndpointSlice controller and kube-proxy, in the profile `kubernetes`.

mod hints_auto;
mod overload;
mod select_endpoints;
mod slice_packing;
mod traffic_distribution;
mod world;

use std::path::Path;

use crate::Report;

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    let mut report = Report::default();
    report.run_file(dir, "hints_auto.jsonl", hints_auto::run)?;
    report.run_file(dir, "overload.jsonl", overload::run)?;
    report.run_file(dir, "traffic_distribution.jsonl", traffic_distribution::run)?;
    report.run_file(dir, "select_endpoints.jsonl", select_endpoints::run)?;
    report.run_file(dir, "slice_packing.jsonl", slice_packing::run)?;
    Ok(report)
}
