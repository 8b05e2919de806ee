//! The checks as text and as JSON.

use std::fmt::Write;

use evenkeel_k8s::live::ClusterSource;
use evenkeel_model::harmless;
use serde::Serialize;

use super::checks::{Check, Outcome};
use crate::{
    error::counted,
    exit::Severity,
    printer::{BAD, CARE, GOOD, HEADING, styled},
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// The path; `null` if no kubeconfig was found.
    kubeconfig: Option<String>,
    /// Why this kubeconfig was chosen.
    kubeconfig_source: Option<String>,
    /// `null`: the current one.
    context: Option<String>,
    ok: bool,
    summary: Summary,
    checks: Vec<Check>,
    #[serde(skip)]
    heading: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Summary {
    checks: usize,
    failed: usize,
    warnings: usize,
}

impl Report {
    pub(super) fn new(source: Option<&ClusterSource>, checks: Vec<Check>) -> Report {
        let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
        let (failed, warnings) = (count(Outcome::Failed), count(Outcome::Warning));
        Report {
            kubeconfig: source.map(ClusterSource::path),
            kubeconfig_source: source.map(|source| source.rule.to_string()),
            context: source.and_then(|source| source.context.clone()),
            ok: failed == 0,
            summary: Summary { checks: checks.len(), failed, warnings },
            checks,
            heading: source.map_or("none".to_owned(), ToString::to_string),
        }
    }

    /// One severity for each check that is not ok.
    pub(super) fn severities(&self) -> impl Iterator<Item = Severity> {
        self.checks.iter().filter_map(|check| match check.outcome {
            Outcome::Ok => None,
            Outcome::Warning => Some(Severity::Warning),
            Outcome::Failed => Some(Severity::Error),
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("kubeconfig: {}\n", harmless(&self.heading));
        let mut group = None;
        for check in &self.checks {
            if group.replace(check.group) != Some(check.group) {
                let line = "-".repeat(check.group.name().len());
                let _ = writeln!(text, "\n{}\n{line}", styled(HEADING, check.group.name()));
            }
            let sign = match check.outcome {
                Outcome::Ok => styled(GOOD, "√"),
                Outcome::Warning => styled(CARE, "‼"),
                Outcome::Failed => styled(BAD, "×"),
            };
            let _ = writeln!(text, "{sign} {}", harmless(&check.message));
            if let Some(help) = &check.help {
                let _ = writeln!(text, "    {}", harmless(help));
            }
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }

    fn summary(&self) -> String {
        let Summary { checks, failed, warnings } = self.summary;
        format!("{}: {failed} failed, {}", counted(checks, "check"), counted(warnings, "warning"))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::checks::{Code, Group},
        *,
    };

    fn check(group: Group, outcome: Outcome, help: Option<&str>) -> Check {
        let (code, message) = (Code::NodesReady, format!("{outcome:?}"));
        Check { group, code, outcome, message, help: help.map(Into::into) }
    }

    #[test]
    fn lines_are_grouped_and_end_with_a_count() {
        let checks = vec![
            check(Group::Api, Outcome::Ok, None),
            check(Group::Nodes, Outcome::Warning, Some("look")),
            check(Group::Nodes, Outcome::Failed, Some("act\u{1b}[2J")),
        ];
        let source = ClusterSource::file("x".into(), Some("test".into()));
        let report = Report::new(Some(&source), checks);
        assert!(!report.ok);
        let text = anstream::adapter::strip_str(&report.text()).to_string();
        let expected = "\
kubeconfig: x (--kubeconfig), context test

api
---
√ Ok

nodes
-----
‼ Warning
    look
× Failed
    act";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("\n\n3 checks: 1 failed, 1 warning\n"), "{text}");
        assert!(!report.text().contains("\u{1b}[2J"));
    }

    #[test]
    fn warnings_alone_are_no_failure_and_json_has_codes() {
        let report = Report::new(None, vec![check(Group::Api, Outcome::Warning, None)]);
        assert!(report.ok);
        assert_eq!(report.severities().collect::<Vec<_>>(), [Severity::Warning]);
        assert_eq!(report.summary(), "1 check: 0 failed, 1 warning");
        let json = serde_json::to_value(&report).unwrap();
        let check = serde_json::json!(
            {"code": "NodesReady", "group": "api", "outcome": "warning", "message": "Warning"}
        );
        assert_eq!((&json["checks"][0], &json["kubeconfig"]), (&check, &().into()));
        assert_eq!(json["summary"]["warnings"], 1);
    }
}
