//! The whole server in one process: requests go through the chain, and the sandbox runs.

mod endings;
mod lives;
mod workloads;

use serde_json::Value;

/// The status of a condition, `""` without it.
fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions =
        object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|one| one["type"] == kind);
    found.and_then(|one| one["status"].as_str()).unwrap_or_default()
}
