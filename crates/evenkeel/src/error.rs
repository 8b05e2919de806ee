//! Errors as people meet them: what, where, and what to do.

use std::{io, path::PathBuf, process::ExitCode};

use evenkeel_fairness::{dialect::Problem, shard::ShardError, simulate::SimulationError};
use evenkeel_k8s::{live::LiveError, manifest::ManifestError};
use evenkeel_topology::{SettingsError, whatif::ProfileError};
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: not UTF-8 text", path.display())]
    NotText { path: PathBuf },
    #[error("{}: no .yaml, .yml or .json file in this folder", path.display())]
    EmptyFolder { path: PathBuf },
    #[error("there is no Service {name:?} in namespace {namespace:?}")]
    NoService { namespace: String, name: String, elsewhere: Vec<String> },
    #[error("{given:?} is not a Service")]
    NotAService { given: String },
    #[error("there is no {what} {name:?}")]
    NoPlace { what: &'static str, name: String, known: Vec<String> },
    #[error("{0}")]
    Settings(#[from] SettingsError),
    #[error("--feature-gates {given:?}: expected NAME=true or NAME=false")]
    Gate { given: String },
    #[error("--feature-gates: there is no gate {name:?}")]
    UnknownGate { name: String, known: &'static [&'static str] },
    #[error("--service-cluster-ip-range {given:?}: {problem}")]
    ServiceRange { given: String, problem: &'static str },
    #[error(transparent)]
    Apiserver(#[from] evenkeel_apiserver::Error),
    #[error("the server can't be started: {0}")]
    Start(io::Error),
    #[error("--replicas {given:?}: expected SERVICE=N with N from 0 to 100000")]
    Replicas { given: String },
    #[error("{}: {field}: {problem}", path.display())]
    Traffic { path: PathBuf, field: String, problem: String },
    #[error("{}: {field}: {problem}", path.display())]
    Scenario { path: PathBuf, field: String, problem: String },
    #[error("{}: {field}: {problem}", path.display())]
    Request { path: PathBuf, field: String, problem: String },
    #[error("there is no flow schema and no priority level in {files}")]
    NothingToLint { files: String },
    #[error("{given:?}: {problem}")]
    Attribute { given: String, problem: &'static str },
    #[error("{first}{}", and_more(*more))]
    Configuration { first: Box<Problem>, more: usize },
    #[error("configuration {name:?}: {source}")]
    Simulation { name: String, source: SimulationError },
    #[error("{0}")]
    Hand(#[from] ShardError),
    #[error("--threshold {given:?}: expected a probability, as in 1% or 0.01")]
    Threshold { given: String },
    /// What is wrong has been printed; this is how the command ends.
    #[error("{}", found(*errors, *warnings))]
    Findings { errors: usize, warnings: usize, unreadable: bool },
    #[error("{}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("stdout: {0}")]
    Stdout(io::Error),
    #[error("the output can't be written as {format}: {problem}")]
    Encode { format: &'static str, problem: String },
}

impl Error {
    pub(crate) fn traffic(path: PathBuf, error: &ProfileError) -> Self {
        let problem = format!("{} is not a number from 0 up", error.value);
        Error::Traffic { path, field: error.field.clone(), problem }
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Error::Manifest(error) => error.help().map(str::to_owned),
            Error::Live(error) => error.help(),
            Error::NoService { elsewhere, .. } if !elsewhere.is_empty() => {
                Some(format!("there is {}: give its namespace with -n", elsewhere.join(", ")))
            }
            Error::NoService { .. } => Some("give its manifest too, or check its name".to_owned()),
            Error::NotAService { .. } => Some("name a Service, as in web or svc/web".to_owned()),
            Error::NoPlace { known, .. } if known.is_empty() => {
                Some("give the Nodes too (kubectl get nodes -o yaml)".to_owned())
            }
            Error::NoPlace { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Error::UnknownGate { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Error::Apiserver(error) => error.help(),
            Error::Traffic { .. } => Some("see `evenkeel plan --help` for the form".to_owned()),
            Error::Scenario { .. } => {
                Some("see `evenkeel fairness simulate --help` for the form".to_owned())
            }
            Error::Request { .. } => {
                Some("see `evenkeel fairness match --help` for the form".to_owned())
            }
            Error::Configuration { more: 1.., .. } => {
                Some("`evenkeel fairness lint -f FILE` shows all".to_owned())
            }
            _ => None,
        }
    }

    /// 2 for wrong usage and bad input, 1 for all that failed on the way.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let failed = match self {
            Error::Live(LiveError::Objects(_)) => false,
            Error::Apiserver(evenkeel_apiserver::Error::Tokens { .. }) => false,
            Error::Apiserver(_) | Error::Start(_) => true,
            Error::Live(_) | Error::Stdout(_) | Error::Encode { .. } => true,
            Error::NoService { .. } | Error::NoPlace { .. } | Error::Write { .. } => true,
            Error::Findings { unreadable, .. } => !unreadable,
            _ => false,
        };
        ExitCode::from(if failed { 1 } else { 2 })
    }
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

fn found(errors: usize, warnings: usize) -> String {
    match (errors, warnings) {
        (0, _) => counted(warnings, "warning"),
        (_, 0) => counted(errors, "error"),
        _ => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    }
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
