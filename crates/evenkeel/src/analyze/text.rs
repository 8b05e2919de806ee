//! Findings as text, in the manner of `cargo` and `istioctl analyze`.

use std::fmt::Write;

use evenkeel_model::harmless;
use evenkeel_topology::analyze::{Finding, Severity};

use super::{Report, Summary};
use crate::printer::{BAD, CARE, DIM, HEADING, styled};

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    for found in &report.findings {
        finding(found, &mut text);
    }
    if !report.findings.is_empty() {
        text.push('\n');
    }
    let Summary { errors, warnings, infos } = report.summary;
    let services = counted(report.services, "Service");
    let summary = [(errors, "error"), (warnings, "warning"), (infos, "info")];
    let summary = summary.map(|(n, what)| counted(n, what)).join(", ");
    let _ = writeln!(text, "{services} analyzed for {}: {summary}", report.server);
    text
}

/// One finding: a line with its code and object, and one with the fix.
pub(crate) fn finding(finding: &Finding, text: &mut String) {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => CARE,
        Severity::Info => DIM,
    };
    let severity = styled(style, format_args!("{}[{}]", finding.severity, code(finding)));
    let object = finding.object.to_string();
    let object = styled(HEADING, harmless(&object));
    let _ = writeln!(text, "{severity} {object}: {}", finding.problem.message);
    let _ = writeln!(text, "  fix: {}", finding.fix);
}

/// The code that the problem serialises with.
fn code(finding: &Finding) -> String {
    let value = serde_json::to_value(&finding.problem.reason).unwrap_or_default();
    value["code"].as_str().unwrap_or_default().to_owned()
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
