//! `evenkeel fairness lint`.

use std::collections::HashMap;

use evenkeel_fairness::dialect::{self, Compiled, Condition, Finding, Objects, Problem};
use serde::Serialize;

use super::{args::LintArgs, configuration};
use crate::{
    cli::ReportOutput,
    error::Error,
    exit::{Exit, Severity},
    output, printer,
    table::Table,
};

/// One problem or finding.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    severity: dialect::Severity,
    /// Stays the same when the sentence changes.
    code: &'static str,
    /// Where it is; the sentence of a finding names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    message: String,
}

pub(crate) fn run(args: &LintArgs) -> Result<Exit, Error> {
    let mut objects = configuration::read(&args.filename)?;
    let Objects { kubernetes, proposal, problems } = &objects;
    if kubernetes.is_empty() && proposal.is_empty() && problems.is_empty() {
        let files: Vec<String> = args.filename.iter().map(|f| f.display().to_string()).collect();
        return Err(Error::NothingToLint { files: files.join(", ") });
    }
    if let Some(defaults) = args.defaults {
        configuration::add_defaults(&mut objects, defaults);
    }
    let (compiled, problems) = objects.compile_valid();
    let mut lines: Vec<Line> = problems.iter().map(Line::of_problem).collect();
    lines.extend(compiled.iter().flat_map(|compiled| found(compiled, args.concurrency_limit)));
    lines.sort_by_key(|line| std::cmp::Reverse(line.severity));
    let text = match args.output {
        ReportOutput::Table => render(&lines, args.concurrency_limit),
        ReportOutput::Json => output::json(&lines)?,
    };
    printer::data(&text)?;
    Ok(match problems.is_empty() {
        true => Exit::of(lines.iter().map(Line::severity), args.fail_on),
        false => Exit::BadInput,
    })
}

fn found(compiled: &Compiled, concurrency_limit: u32) -> Vec<Line> {
    let of_condition = |condition| Some((condition, Condition::finding(condition)?.to_string()));
    let conditions: HashMap<String, &Condition> = compiled
        .conditions
        .iter()
        .filter_map(of_condition)
        .map(|(condition, sentence)| (sentence, condition))
        .collect();
    let of_seats = compiled.lint_seats(concurrency_limit);
    let all = compiled.findings.iter().chain(&of_seats);
    all.map(|finding| match conditions.get(&finding.to_string()) {
        Some(condition) => Line::of_condition(finding, condition),
        None => Line::of_finding(finding),
    })
    .collect()
}

fn render(lines: &[Line], concurrency_limit: u32) -> String {
    let count = |severity| lines.iter().filter(|line| line.severity == severity).count();
    let counted =
        |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let summary = format!(
        "{}, {}, {} at a concurrency limit of {concurrency_limit}\n",
        counted(count(dialect::Severity::Error), "error", "errors"),
        counted(count(dialect::Severity::Warning), "warning", "warnings"),
        counted(count(dialect::Severity::Info), "info", "info"),
    );
    if lines.is_empty() {
        return summary;
    }
    let mut table = Table::new(&["SEVERITY", "CODE", "MESSAGE"]);
    for line in lines {
        let severity = match line.severity {
            dialect::Severity::Info => "info",
            dialect::Severity::Warning => "warning",
            dialect::Severity::Error => "error",
        };
        let location = [&line.object, &line.field].into_iter().flatten();
        let location: String = location.map(|part| format!("{part}: ")).collect();
        let message = format!("{location}{}", line.message);
        table.row([severity.to_owned(), line.code.to_owned(), message]);
    }
    table.render("") + "\n" + &summary
}

impl Line {
    fn of_problem(problem: &Problem) -> Self {
        Line {
            severity: dialect::Severity::Error,
            code: "InvalidObject",
            object: Some(problem.location.to_string()),
            field: Some(problem.field.clone()).filter(|field| !field.is_empty()),
            message: problem.fault.to_string(),
        }
    }

    /// The location is known, so that the sentence need not name the object.
    fn of_condition(finding: &Finding, condition: &Condition) -> Self {
        Line {
            object: condition.object.as_ref().map(ToString::to_string),
            field: condition.object.as_ref().map(|_| condition.field().to_owned()),
            message: condition.reason.to_string(),
            ..Line::of_finding(finding)
        }
    }

    fn of_finding(finding: &Finding) -> Self {
        Line {
            severity: finding.severity(),
            code: finding.code(),
            object: None,
            field: None,
            message: finding.to_string(),
        }
    }

    fn severity(&self) -> Severity {
        match self.severity {
            dialect::Severity::Info => Severity::Info,
            dialect::Severity::Warning => Severity::Warning,
            dialect::Severity::Error => Severity::Error,
        }
    }
}
