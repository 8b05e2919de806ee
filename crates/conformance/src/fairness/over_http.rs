//! Cases about requests, sent to a running API server: what it answers and counts must be what the
//! core decides.
//!
//! Not every case can be sent. A request has no verb but those of HTTP, and a user of HTTP is in
//! `system:authenticated`; a server has its features and no others, so many objects, watches and seats
//! as fit into a test. What can't be sent is left to the core; `tests` has the numbers.

mod classify;
mod client;
mod width;

use std::{fs, path::Path};

use serde_json::Value;

use crate::Report;

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), String> {
    let configs = read(dir, "classify_configs.jsonl")?;
    classify::run(&configs, &read(dir, "classify.jsonl")?, report)?;
    width::run(&read(dir, "list_width.jsonl")?, report)
}

/// The cases of a file; none if there is no such file.
fn read(dir: &Path, file: &str) -> Result<Vec<Value>, String> {
    let Ok(text) = fs::read_to_string(dir.join(file)) else { return Ok(Vec::new()) };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).map_err(|e| format!("{file}: {e}"))).collect()
}

/// A text field; empty if there is none.
fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn id(case: &Value) -> String {
    text(case, "id").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_cases_can_be_sent() {
        let dir = crate::vectors().join("fairness");
        let cases = read(&dir, "classify.jsonl").unwrap();
        let sent = cases.iter().filter(|case| classify::can_be_sent(case)).count();
        assert!(sent * 10 >= cases.len() * 8, "{sent} of {}", cases.len());
        let cases = read(&dir, "list_width.jsonl").unwrap();
        // Half of them are about switches that this server does not have.
        let sent = cases.iter().filter(|case| width::can_be_sent(case)).count();
        assert!(sent * 10 >= cases.len() * 3, "{sent} of {}", cases.len());
    }
}
