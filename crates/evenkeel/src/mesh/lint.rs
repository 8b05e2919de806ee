//! `evenkeel mesh lint`: what is invalid, and what does not do what it says.

use std::{fmt::Write, sync::Arc};

use evenkeel_locality::{Finding, FoundIn, Severity as Level, lint_resources, resource::Key};
use evenkeel_model::harmless;
use evenkeel_xds_server::source::Problem;
use serde::Serialize;

use super::{args::LintArgs, resources};
use crate::{
    analyze::Format,
    error::{Error, counted},
    exit::{Exit, Severity},
    output,
    printer::{self, BAD, CARE, DIM, HEADING, styled},
};

#[derive(Debug, Serialize)]
struct Report {
    /// How many valid resources there are.
    resources: usize,
    summary: Summary,
    findings: Vec<Found>,
    invalid: Vec<Problem>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    infos: usize,
}

#[derive(Debug, Serialize)]
struct Found {
    policy: Key,
    /// The place in the policy's `to`, from 0.
    to: usize,
    severity: Level,
    finding: Finding,
    message: String,
    advice: &'static str,
}

pub(super) fn run(args: &LintArgs) -> Result<Exit, Error> {
    let report = report(args)?;
    printer::data(&match args.output {
        Format::Text => render(&report),
        Format::Json => output::json(&report)?,
        Format::Yaml => output::yaml(&report)?,
    })?;
    let found = report.findings.iter().map(|found| match found.severity {
        Level::Info => Severity::Info,
        Level::Warning => Severity::Warning,
    });
    let invalid = report.invalid.iter().map(|_| Severity::Error);
    Ok(Exit::of(invalid.chain(found), args.fail_on))
}

fn report(args: &LintArgs) -> Result<Report, Error> {
    let (resources, invalid) = resources::read(&args.source, &args.rules)?;
    let zone: Option<Arc<str>> = args.rules.zone.as_deref().map(Arc::from);
    let found = lint_resources(&resources, zone.as_ref(), args.rules.compat.into());
    let mut findings: Vec<Found> = found.into_iter().map(Found::from).collect();
    findings.sort_by_key(|found| std::cmp::Reverse(found.severity));
    let count = |level| findings.iter().filter(|found| found.severity == level).count();
    let (warnings, infos) = (count(Level::Warning), count(Level::Info));
    let summary = Summary { errors: invalid.len(), warnings, infos };
    Ok(Report { resources: resources.len(), summary, findings, invalid })
}

impl From<FoundIn> for Found {
    fn from(FoundIn { policy, to, finding }: FoundIn) -> Self {
        Found {
            policy,
            to,
            severity: finding.severity(),
            message: harmless(&finding.to_string()).into_owned(),
            advice: finding.advice(),
            finding,
        }
    }
}

fn render(report: &Report) -> String {
    let mut text = String::new();
    for problem in &report.invalid {
        let place = resources::place(problem);
        let (place, message) = (styled(HEADING, harmless(&place)), harmless(&problem.message));
        let severity = styled(BAD, "error[InvalidResource]");
        let _ = writeln!(text, "{severity} {place}: {message}");
        let _ = writeln!(text, "  fix: correct the field, or remove the resource");
    }
    for found in &report.findings {
        let (style, name) = match found.severity {
            Level::Warning => (CARE, "warning"),
            Level::Info => (DIM, "info"),
        };
        let severity = styled(style, format_args!("{name}[{}]", code(&found.finding)));
        let place = format!("{} to[{}]", found.policy, found.to);
        let place = styled(HEADING, harmless(&place));
        let _ = writeln!(text, "{severity} {place}: {}", found.message);
        let _ = writeln!(text, "  fix: {}", found.advice);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let Summary { errors, warnings, infos } = report.summary;
    let summary = [(errors, "error"), (warnings, "warning"), (infos, "info")];
    let summary = summary.map(|(n, what)| counted(n, what)).join(", ");
    let _ = writeln!(text, "{} checked: {summary}", counted(report.resources, "resource"));
    text
}

/// The code that the finding serialises with.
fn code(finding: &Finding) -> String {
    let value = serde_json::to_value(finding).unwrap_or_default();
    value["code"].as_str().unwrap_or_default().to_owned()
}
