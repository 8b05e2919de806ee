//! Cases of Kuma's MeshLoadBalancingStrategy and of what Envoy makes of it. Where Kuma departs from
//! its own decision record both modes are run.

mod assign;
mod predict;
mod thresholds;
mod validation;

use std::{
    fs,
    panic::{self, RefUnwindSafe},
    path::Path,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Report,
    report::{Outcome, Runner, Verdict, case_files},
};

const RUNNERS: &[Runner] = &[
    ("aggregate_truth", |_, case| run_case(case, predict::run_aggregate)),
    ("envoy_truth", |_, case| run_case(case, predict::run)),
    ("locality_cases", |_, case| run_case(case, assign::run)),
    ("policy_validation", |_, case| run_case(case, validation::run)),
    ("threshold_cases", |_, case| run_case(case, thresholds::run)),
];

/// Cases and whole files of unsupported features. They are counted, never passed over in silence.
const LATER: &[(&str, &str)] = &[
    // Mesh II: clusters of an egress proxy.
    ("locality_cases.jsonl", "kt-egress-ignored"),
    ("locality_cases.jsonl", "egress-passthrough-affinity"),
    // The encoding for Envoy.
    ("envoy_accepts.jsonl", EVERY_CASE),
];

const EVERY_CASE: &str = "*";

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut report = Report::default();
    for name in case_files(dir).map_err(failed)? {
        let text = fs::read_to_string(dir.join(&name)).map_err(failed)?;
        let runner = RUNNERS.iter().find(|(begin, _)| name.starts_with(begin));
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let case: Result<Value, _> = serde_json::from_str(line);
            let id = case.as_ref().ok().and_then(|case| case["id"].as_str());
            let id = id.map_or(format!("line {number}"), str::to_owned);
            let verdict = match (case, runner) {
                (Err(problem), _) => Verdict::Failed(problem.to_string()),
                (Ok(_), _) if is_later(&name, &id) => Verdict::Later,
                (Ok(_), None) => Verdict::Failed("no runner knows a file of this name".to_owned()),
                (Ok(case), Some((_, run))) => verdict(|| run(dir, case)),
            };
            report.count(&name, &id, verdict);
        }
    }
    Ok(report)
}

fn is_later(file: &str, id: &str) -> bool {
    LATER.iter().any(|(f, later)| *f == file && (*later == id || *later == EVERY_CASE))
}

fn verdict(run: impl FnOnce() -> Outcome + panic::UnwindSafe) -> Verdict {
    match panic::catch_unwind(run) {
        Ok(Ok(diff)) if diff.is_empty() => Verdict::Passed,
        Ok(Ok(diff)) => Verdict::Failed(diff.join("\n")),
        Ok(Err(problem)) => Verdict::Failed(format!("not a case: {problem}")),
        Err(_) => Verdict::Failed("panicked; the message is above".to_owned()),
    }
}

fn run_case<C: DeserializeOwned + RefUnwindSafe>(
    case: Value,
    run: fn(&C) -> Vec<String>,
) -> Outcome {
    Ok(run(&serde_json::from_value(case)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_case_passes_and_what_is_left_for_later_is_named() {
        let report = run(&crate::vectors().join("locality")).unwrap();
        let failed: Vec<_> = report.failures.iter().map(|f| (&f.file, &f.id, &f.diff)).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        let passed: BTreeMap<&str, usize> =
            report.passed.iter().map(|(file, n)| (file.as_str(), *n)).collect();
        assert_eq!(passed["aggregate_truth.jsonl"], 10);
        assert_eq!(passed["envoy_truth.jsonl"], 77);
        assert_eq!(passed["locality_cases.jsonl"], 75);
        assert_eq!(passed["policy_validation.jsonl"], 55);
        assert_eq!(passed["threshold_cases.jsonl"], 22);
    }
}
