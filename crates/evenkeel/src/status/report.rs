//! The check list, as text and as JSON.

use std::fmt::Write;

use evenkeel_model::harmless;
use serde::Serialize;

use super::checks::{Check, Outcome};
use crate::printer::{BAD, CARE, GOOD, HEADING, styled};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    kubeconfig: String,
    ok: bool,
    checks: Vec<Check>,
}

impl Report {
    pub(super) fn new(kubeconfig: String, checks: Vec<Check>) -> Report {
        let ok = checks.iter().all(|check| check.outcome != Outcome::Failed);
        Report { kubeconfig, ok, checks }
    }

    pub(super) fn failed(&self) -> usize {
        self.count(Outcome::Failed)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("kubeconfig: {}\n", harmless(&self.kubeconfig));
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
            let _ = writeln!(text, "{sign} {}", harmless(&check.text));
            if let Some(help) = &check.help {
                let _ = writeln!(text, "    {}", harmless(help));
            }
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }

    fn summary(&self) -> String {
        let all = self.checks.len();
        match (self.failed(), self.count(Outcome::Warning)) {
            (0, 0) => format!("all of {all} checks are ok"),
            (0, warnings) => format!("nothing failed in {all} checks; {warnings} to look at"),
            (failed, 0) => format!("{failed} of {all} checks failed"),
            (failed, warnings) => {
                format!("{failed} of {all} checks failed; {warnings} more to look at")
            }
        }
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::checks::Group, *};

    fn check(group: Group, outcome: Outcome, help: Option<&str>) -> Check {
        Check { group, outcome, text: format!("{outcome:?}"), help: help.map(Into::into) }
    }

    #[test]
    fn lines_are_grouped_and_end_with_a_count() {
        let checks = vec![
            check(Group::Api, Outcome::Ok, None),
            check(Group::Nodes, Outcome::Warning, Some("look")),
            check(Group::Nodes, Outcome::Failed, Some("act\u{1b}[2J")),
        ];
        let report = Report::new("x".into(), checks);
        assert!(!report.ok);
        let text = anstream::adapter::strip_str(&report.text()).to_string();
        let expected = "\
kubeconfig: x

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
        assert!(text.ends_with("\n\n1 of 3 checks failed; 1 more to look at\n"), "{text}");
        assert!(!report.text().contains("\u{1b}[2J"));
    }

    #[test]
    fn warnings_alone_are_no_failure() {
        let report = Report::new("x".into(), vec![check(Group::Api, Outcome::Warning, None)]);
        assert!(report.ok && report.failed() == 0);
        assert_eq!(report.summary(), "nothing failed in 1 checks; 1 to look at");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["checks"][0]["outcome"], "warning");
        assert_eq!(json["checks"][0]["group"], "api");
    }
}
