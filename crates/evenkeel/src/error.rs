//! Errors as people meet them: what, where, and what to do.

use std::{io, net::SocketAddr, path::PathBuf, process::ExitCode};

use evenkeel_admin::lease;
use evenkeel_apiserver::FolderError;
use evenkeel_controller::handover;
use evenkeel_fairness::{dialect::Problem, shard::ShardError, simulate::SimulationError};
use evenkeel_k8s::{live::LiveError, manifest::ManifestError};
use evenkeel_topology::{SettingsError, whatif::ProfileError};
use thiserror::Error;

use crate::controller::access::Permission;

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
    #[error("--sandbox-pod-cidr {given:?}: {problem}")]
    PodRange { given: String, problem: &'static str },
    #[error(transparent)]
    Apiserver(#[from] evenkeel_apiserver::Error),
    #[error("the server can't be started: {0}")]
    Start(io::Error),
    #[error(transparent)]
    Controller(#[from] evenkeel_controller::Error),
    #[error("{flag}: can't listen on {address}: {source}")]
    Listen { flag: &'static str, address: SocketAddr, source: io::Error },
    #[error("no cluster to talk to: no usable kubeconfig was found, and this is not a Pod")]
    NoCluster,
    #[error("leader election: {0}")]
    Election(#[from] lease::SettingsError),
    #[error(transparent)]
    HandoverList(#[from] handover::ListError),
    #[error("{} could not be handed over", counted(*slices, "slice"))]
    Handover { slices: usize },
    #[error("there is no namespace {namespace:?} for the Lease")]
    LeaseNamespace { namespace: String },
    #[error("these credentials may not do what the controller does: {}", listed(denied))]
    NotAllowed { denied: Vec<Permission> },
    #[error("{part} ended by itself")]
    PartEnded { part: &'static str },
    #[error("the sample can't be created: {what}: {source}")]
    Sample { what: String, source: Box<kube::Error> },
    /// Which ones has been printed.
    #[error("{} failed", counted(*failed, "check"))]
    Checks { failed: usize },
    #[error("--replicas {given:?}: expected SERVICE=N with N from 0 to 100000")]
    Replicas { given: String },
    #[error("{}: {field}: {problem}", path.display())]
    Traffic { path: PathBuf, field: String, problem: String },
    #[error("{}: not found: {}", path.display(), unknown.join(", "))]
    TrafficNames { path: PathBuf, unknown: Vec<String> },
    #[error("Service {key} changed while it was read")]
    ServiceChanged { key: String },
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
            Error::Apiserver(evenkeel_apiserver::Error::Folder(FolderError::Unusable {
                ..
            })) => Some(
                "give a folder that you may write to with --data, or keep nothing with --ephemeral"
                    .to_owned(),
            ),
            Error::Apiserver(error) => error.help(),
            Error::Controller(error) => error.help().map(str::to_owned),
            Error::Listen { flag, source, .. } => Some(match source.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("stop what listens there, or give another {flag}")
                }
                io::ErrorKind::PermissionDenied => {
                    format!("give a port from 1024 up with {flag}")
                }
                _ => format!("give an address of this host with {flag}"),
            }),
            Error::NoCluster => Some(
                "name a kubeconfig with --kubeconfig or KUBECONFIG; `evenkeel up` makes a cluster \
                 to try"
                    .to_owned(),
            ),
            Error::HandoverList(error) if error.code == Some(403) => Some(
                "ask for permission: `kubectl auth can-i list endpointslices` must say yes"
                    .to_owned(),
            ),
            Error::Handover { .. } => Some("run it again; it goes on where it stopped".to_owned()),
            Error::LeaseNamespace { namespace } => Some(format!(
                "create it (kubectl create namespace {namespace}), or name another with \
                 --leader-elect-resource-namespace"
            )),
            Error::NotAllowed { denied } => denied.first().map(|first| {
                format!(
                    "bind the roles in deploy/base to them; then `kubectl auth can-i {first}` \
                     says yes"
                )
            }),
            Error::Traffic { .. } => Some("see `evenkeel plan --help` for the form".to_owned()),
            Error::TrafficNames { .. } => {
                Some("correct the names, or remove them from the file".to_owned())
            }
            Error::ServiceChanged { .. } => Some("run the command again".to_owned()),
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
            Error::Apiserver(_) | Error::Start(_) | Error::Controller(_) => true,
            Error::Listen { .. } | Error::LeaseNamespace { .. } | Error::NoCluster => true,
            Error::HandoverList(_) | Error::Handover { .. } => true,
            Error::NotAllowed { .. } | Error::PartEnded { .. } => true,
            Error::Sample { .. } | Error::Checks { .. } => true,
            Error::Live(_) | Error::Stdout(_) | Error::Encode { .. } => true,
            Error::NoService { .. } | Error::NoPlace { .. } | Error::Write { .. } => true,
            Error::ServiceChanged { .. } => true,
            Error::Findings { unreadable, .. } => !unreadable,
            _ => false,
        };
        ExitCode::from(if failed { 1 } else { 2 })
    }
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

fn listed(denied: &[Permission]) -> String {
    denied.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
