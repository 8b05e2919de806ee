//! Runs recorded cases of real systems against our core.
//!
//! The cases are in `conformance/<suite>/*.jsonl` at the root of the project, one JSON object per
//! line; `EVENKEEL_VECTORS=DIR` points the runner at others. A case passes if our outcome equals
//! the recorded one, or one of the recorded ones where the real system chooses at random.

pub mod apiserver;
pub mod fairness;
pub mod locality;
mod report;
pub mod topology;

use std::path::{Path, PathBuf};

pub use crate::report::{Failure, Report};

/// A suite: its name, and its runner.
pub type Suite = (&'static str, fn(&Path) -> Result<Report, String>);

/// All suites. Adding one is one line.
pub const SUITES: &[Suite] = &[
    ("apiserver", apiserver::run),
    ("fairness", fairness::run),
    ("locality", locality::run),
    ("topology", topology::run),
];

/// Where the cases are: `EVENKEEL_VECTORS`, or the project's own.
pub fn vectors() -> PathBuf {
    match std::env::var_os("EVENKEEL_VECTORS") {
        Some(dir) => dir.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance"),
    }
}
