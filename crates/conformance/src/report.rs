//! The results of a run, and how differences are shown.

use std::{
    fs, io,
    panic::{self, RefUnwindSafe},
    path::Path,
};

use serde_json::Value;

/// A case whose outcome differs from the recorded one.
#[derive(Clone, Debug)]
pub struct Failure {
    pub file: String,
    pub id: String,
    pub diff: String,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Cases that passed, by file.
    pub passed: Vec<(String, usize)>,
    /// Cases of unsupported features, by file. They are neither passed nor failed.
    pub later: Vec<(String, usize)>,
    pub failures: Vec<Failure>,
}

/// The verdict on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// It needs an unsupported feature.
    Later,
    /// The differences, one line each.
    Failed(String),
}

impl Report {
    pub fn n_passed(&self) -> usize {
        self.passed.iter().map(|(_, n)| n).sum()
    }

    pub fn n_later(&self) -> usize {
        self.later.iter().map(|(_, n)| n).sum()
    }

    /// Counts one case of a file.
    pub(crate) fn count(&mut self, file: &str, id: &str, verdict: Verdict) {
        let counts = match verdict {
            Verdict::Failed(diff) => return self.fail(file, id, &diff),
            Verdict::Passed => &mut self.passed,
            Verdict::Later => &mut self.later,
        };
        match counts.iter_mut().find(|(name, _)| name == file) {
            Some((_, n)) => *n += 1,
            None => counts.push((file.to_owned(), 1)),
        }
    }

    /// Runs every file of `dir` that ends in `.jsonl`, with the runner whose prefix matches its
    /// name. A file without a runner, an invalid line and a case that panics are failures.
    pub(crate) fn run_dir(dir: &Path, runners: &[Runner]) -> Result<Self, String> {
        let failed = |e: io::Error| format!("{}: {e}", dir.display());
        let mut report = Report::default();
        for name in case_files(dir).map_err(failed)? {
            let text = fs::read_to_string(dir.join(&name)).map_err(failed)?;
            match runners.iter().find(|(begin, _)| name.starts_with(begin)) {
                Some((_, run)) => report.run_file(&name, &text, |case| run(dir, case)),
                None => report.fail(&name, "", "no runner knows a file of this name"),
            }
        }
        Ok(report)
    }

    fn run_file(&mut self, file: &str, text: &str, run: impl Fn(Value) -> Outcome + RefUnwindSafe) {
        let mut passed = 0;
        for (number, line) in (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
            let case: Value = match serde_json::from_str(line) {
                Ok(case) => case,
                Err(problem) => {
                    self.fail(file, &format!("line {number}"), &problem.to_string());
                    continue;
                }
            };
            let id = case["id"].as_str().map_or(format!("line {number}"), str::to_owned);
            match panic::catch_unwind(|| run(case)) {
                Ok(Ok(diff)) if diff.is_empty() => passed += 1,
                Ok(Ok(diff)) => self.fail(file, &id, &diff.join("\n")),
                Ok(Err(problem)) => self.fail(file, &id, &format!("not a case: {problem}")),
                Err(_) => self.fail(file, &id, "panicked; the message is above"),
            }
        }
        self.passed.push((file.to_owned(), passed));
    }

    fn fail(&mut self, file: &str, id: &str, diff: &str) {
        let (file, id, diff) = (file.to_owned(), id.to_owned(), diff.to_owned());
        self.failures.push(Failure { file, id, diff });
    }
}

/// The names of the files of `dir` that end in `.jsonl`, sorted.
pub(crate) fn case_files(dir: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(dir)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<io::Result<_>>()?;
    names.retain(|name| name.ends_with(".jsonl"));
    names.sort();
    Ok(names)
}

/// The differences of one case, one per line; none is a pass. An error: it is not a valid case.
pub(crate) type Outcome = Result<Vec<String>, serde_json::Error>;

/// A prefix of file names, and the runner of their cases, given their folder.
pub(crate) type Runner = (&'static str, fn(&Path, Value) -> Outcome);

/// The differences between two JSON values, one line each, with the path to each.
pub(crate) fn diff(path: &str, expected: &Value, got: &Value) -> Vec<String> {
    match (expected, got) {
        (Value::Object(e), Value::Object(g)) => {
            let mut keys: Vec<&String> = e.keys().chain(g.keys()).collect();
            keys.sort();
            keys.dedup();
            let null = Value::Null;
            let at = |m: &'_ serde_json::Map<String, Value>, k: &str| m.get(k).cloned();
            keys.into_iter()
                .flat_map(|k| {
                    let (e, g) = (at(e, k), at(g, k));
                    diff(
                        &format!("{path}.{k}"),
                        e.as_ref().unwrap_or(&null),
                        g.as_ref().unwrap_or(&null),
                    )
                })
                .collect()
        }
        (Value::Array(e), Value::Array(g)) if e.len() == g.len() => {
            let pairs = e.iter().zip(g).enumerate();
            pairs.flat_map(|(i, (e, g))| diff(&format!("{path}[{i}]"), e, g)).collect()
        }
        _ if expected == got => Vec::new(),
        _ => vec![format!("{path}:\n  - {expected}\n  + {got}")],
    }
}

/// The differences to the nearest of several accepted outcomes; none if one is equal.
pub(crate) fn diff_any(accepted: &[Value], got: &Value) -> Vec<String> {
    let diffs = accepted.iter().map(|e| diff("", e, got));
    diffs.min_by_key(Vec::len).unwrap_or_else(|| vec!["no outcome is accepted".to_owned()])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_found_and_named() {
        let got = diff("", &json!({"a": [1, 2], "b": 1}), &json!({"a": [1, 3], "b": 1}));
        assert_eq!(got, [".a[1]:\n  - 2\n  + 3"]);
        assert!(diff("", &json!({"a": 1}), &json!({"a": 1})).is_empty());
        assert!(!diff("", &json!({"a": 1}), &json!({})).is_empty());
    }

    #[test]
    fn bad_lines_unknown_files_and_panics_are_failures_and_the_rest_still_runs() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/odd");
        let run: fn(&Path, Value) -> Outcome = |_, case| match case["id"].as_str() {
            Some("panics") => panic!("as it should"),
            Some("differs") => Ok(vec!["a difference".to_owned()]),
            _ => Ok(Vec::new()),
        };
        let report = Report::run_dir(&dir, &[("known", run)]).unwrap();
        assert_eq!(report.passed, [("known_more.jsonl".to_owned(), 2)]);
        let failed: Vec<&str> = report.failures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(failed, ["line 2", "panics", "differs", ""]);
    }

    #[test]
    fn one_accepted_outcome_is_enough_and_none_is_a_failure() {
        assert!(diff_any(&[json!(1), json!(2)], &json!(2)).is_empty());
        assert!(!diff_any(&[json!(1), json!(2)], &json!(3)).is_empty());
        assert!(!diff_any(&[], &json!(3)).is_empty());
    }
}
