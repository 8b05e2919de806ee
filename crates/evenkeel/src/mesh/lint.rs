//! `evenkeel mesh lint`: what is invalid, and what does not do what it says.

use std::{fmt::Write, sync::Arc};

use evenkeel_locality::{
    Finding, FoundIn, FoundInPlans, Severity as Level, lint_plans, lint_resources, resource::Key,
};
use evenkeel_model::harmless;
use evenkeel_xds_server::source::Problem;
use serde::Serialize;

use super::{args::LintArgs, names, resources};
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
    /// What of the plans of proxies is not as written.
    plans: Vec<FoundInPlans>,
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
    let found = levels(&report.findings, &report.plans).map(|level| match level {
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
    let mut plans = lint_plans(&mut resources::view(&resources, &args.rules));
    plans.sort_by_key(|found| std::cmp::Reverse(found.severity()));
    let count = |level| levels(&findings, &plans).filter(|found| *found == level).count();
    let (warnings, infos) = (count(Level::Warning), count(Level::Info));
    let summary = Summary { errors: invalid.len(), warnings, infos };
    Ok(Report { resources: resources.len(), summary, findings, plans, invalid })
}

fn levels(findings: &[Found], plans: &[FoundInPlans]) -> impl Iterator<Item = Level> {
    let of_findings = findings.iter().map(|found| found.severity);
    of_findings.chain(plans.iter().map(FoundInPlans::severity))
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
        let place = format!("{} to[{}]", found.policy, found.to);
        let code = code(&found.finding);
        one(found.severity, &code, &place, (&found.message, found.advice), &mut text);
    }
    for found in &report.plans {
        let place = names::some(&found.proxies, found.n_proxies);
        let message = harmless(&found.reason.to_string()).into_owned();
        let code = code(&found.reason);
        one(found.severity(), &code, &place, (&message, found.advice()), &mut text);
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

fn one(level: Level, code: &str, place: &str, (message, fix): (&str, &str), text: &mut String) {
    let (style, name) = match level {
        Level::Warning => (CARE, "warning"),
        Level::Info => (DIM, "info"),
    };
    let severity = styled(style, format_args!("{name}[{code}]"));
    let place = styled(HEADING, harmless(place));
    let _ = writeln!(text, "{severity} {place}: {message}\n  fix: {fix}");
}

/// The code that a finding serialises with.
fn code(finding: &impl Serialize) -> String {
    let value = serde_json::to_value(finding).unwrap_or_default();
    value["code"].as_str().unwrap_or_default().to_owned()
}
