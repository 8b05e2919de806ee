//! `evenkeel fairness lint`.

use evenkeel_fairness::dialect::{Finding, Objects, Problem, Severity};
use serde::Serialize;

use super::{
    args::{Form, LintArgs},
    configuration,
};
use crate::{error::Error, output, printer, table::Table};

/// One thing that is wrong, or should be known.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    severity: Severity,
    /// A word that stays the same when the sentence changes.
    code: &'static str,
    /// Where it is; the sentence says it otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    message: String,
}

pub(crate) fn run(args: &LintArgs) -> Result<(), Error> {
    let mut objects = configuration::read(&args.filename)?;
    let Objects { kubernetes, proposal, problems } = &objects;
    if kubernetes.is_empty() && proposal.is_empty() && problems.is_empty() {
        let files: Vec<String> = args.filename.iter().map(|f| f.display().to_string()).collect();
        return Err(Error::NothingToLint { files: files.join(", ") });
    }
    if let Some(defaults) = args.defaults {
        configuration::add_defaults(&mut objects, defaults);
    }
    let (compiled, problems) = objects.compile_sound();
    let findings = compiled.map_or_else(Vec::new, |compiled| compiled.findings);
    let mut lines: Vec<Line> = problems.iter().map(Line::of_problem).collect();
    lines.extend(findings.iter().map(Line::of_finding));
    lines.sort_by_key(|line| std::cmp::Reverse(line.severity));
    let text = match args.output {
        Form::Table => render(&lines),
        Form::Json => output::json(&lines)?,
    };
    printer::data(&text)?;
    verdict(&lines, !problems.is_empty())
}

fn verdict(lines: &[Line], unreadable: bool) -> Result<(), Error> {
    let count = |severity| lines.iter().filter(|line| line.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors + warnings == 0 {
        return Ok(());
    }
    Err(Error::Findings { errors, warnings, unreadable })
}

fn render(lines: &[Line]) -> String {
    if lines.is_empty() {
        return "nothing to say\n".to_owned();
    }
    let mut table = Table::new(&["SEVERITY", "CODE", "MESSAGE"]);
    for line in lines {
        let severity = match line.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let place = [&line.object, &line.field].into_iter().flatten();
        let place: String = place.map(|part| format!("{part}: ")).collect();
        let message = format!("{place}{}", line.message);
        table.row([severity.to_owned(), line.code.to_owned(), message]);
    }
    table.render("")
}

impl Line {
    fn of_problem(problem: &Problem) -> Self {
        Line {
            severity: Severity::Error,
            code: "refused",
            object: Some(problem.place.to_string()),
            field: Some(problem.field.clone()).filter(|field| !field.is_empty()),
            message: problem.fault.to_string(),
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
}
