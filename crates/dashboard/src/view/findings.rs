//! Findings of `analyze`, as rows.

use evenkeel_topology::analyze::{Finding, Severity};
use serde::Serialize;

use super::words::shown;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    pub severity: Severity,
    pub object: String,
    pub message: String,
    pub fix: String,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> Self {
        FindingView {
            severity: finding.severity,
            object: shown(&finding.object.to_string()),
            message: finding.problem.message.clone(),
            fix: finding.fix.clone(),
        }
    }
}
