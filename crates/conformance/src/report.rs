//! How a run went, and how a difference is shown.

use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A case that came out otherwise than recorded.
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
    pub failures: Vec<Failure>,
}

impl Report {
    pub fn n_passed(&self) -> usize {
        self.passed.iter().map(|(_, n)| n).sum()
    }

    /// Runs every case of `dir/file`. `run` gives the differences, one line each; none is a pass.
    pub fn run_file<C: DeserializeOwned>(
        &mut self,
        dir: &Path,
        file: &str,
        run: impl Fn(&C) -> Vec<String>,
    ) -> Result<(), String> {
        let path = dir.join(file);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut passed = 0;
        for (number, line) in (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
            let at = |e: &dyn std::fmt::Display| format!("{}:{number}: {e}", path.display());
            let value: Value = serde_json::from_str(line).map_err(|e| at(&e))?;
            let id = value["id"].as_str().unwrap_or("without id").to_owned();
            let case: C = serde_json::from_value(value).map_err(|e| at(&e))?;
            let diff = run(&case);
            if diff.is_empty() {
                passed += 1;
            } else {
                let (file, diff) = (file.to_owned(), diff.join("\n"));
                self.failures.push(Failure { file, id, diff });
            }
        }
        self.passed.push((file.to_owned(), passed));
        Ok(())
    }
}

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
    fn one_accepted_outcome_is_enough_and_none_is_a_failure() {
        assert!(diff_any(&[json!(1), json!(2)], &json!(2)).is_empty());
        assert!(!diff_any(&[json!(1), json!(2)], &json!(3)).is_empty());
        assert!(!diff_any(&[], &json!(3)).is_empty());
    }
}
