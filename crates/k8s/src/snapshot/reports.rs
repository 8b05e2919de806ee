//! What the proxies of nodes report.

use evenkeel_model::SeenReport;
use k8s_openapi::api::coordination::v1::Lease;

use crate::{Collected, convert};

/// By the name of the node. Of two that name the same node, the one written last counts: the other
/// is left over from a proxy in another namespace. What can't be read is no report: its node is one
/// of which nothing is known.
pub(super) fn reports(given: &Collected<Lease>) -> Vec<SeenReport> {
    let reports = given.iter().filter_map(|item| convert::report(&item.object).ok());
    let mut reports: Vec<SeenReport> = reports.collect();
    reports.sort_by(|a, b| {
        (&a.report.node, b.renewed, &a.version.uid).cmp(&(
            &b.report.node,
            a.renewed,
            &b.version.uid,
        ))
    });
    reports.dedup_by(|later, kept| later.report.node == kept.report.node);
    reports
}
