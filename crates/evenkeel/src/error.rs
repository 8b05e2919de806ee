//! The errors of commands: what, where, and what to do.

use std::{io, net::SocketAddr, path::PathBuf, process::ExitCode};

use evenkeel_admin::lease;
use evenkeel_apiserver::FolderError;
use evenkeel_controller::handover;
use evenkeel_fairness::{dialect::Problem, shard::ShardError, simulate::SimulationError};
use evenkeel_k8s::{live::LiveError, manifest::ManifestError};
use evenkeel_topology::{SettingsError, whatif::ProfileError};
use thiserror::Error;

use crate::{access::Permission, exit::Exit};

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
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error(transparent)]
    Controller(#[from] evenkeel_controller::Error),
    #[error(transparent)]
    Proxy(#[from] evenkeel_proxy::Error),
    #[error(transparent)]
    Dashboard(#[from] evenkeel_dashboard::Error),
    #[error(transparent)]
    Xds(#[from] evenkeel_xds_server::Error),
    #[error("there is no Dataplane {name:?} in mesh {mesh:?}")]
    NoDataplane { name: String, mesh: String, known: Vec<String> },
    #[error("cannot read {url}: {problem}")]
    ControlPlane { url: String, problem: String },
    #[error("{place}: {problem}{}", and_more(*more))]
    MeshResource { place: String, problem: String, more: usize },
    #[error("{flag}: {problem}")]
    Flag { flag: &'static str, problem: String },
    #[error("cannot use the network namespace {given:?}: {source}")]
    Namespace { given: String, source: io::Error },
    #[error("--measured {source_name}: {problem}")]
    Measured { source_name: String, problem: String },
    #[error("the API server has not answered within {seconds} s")]
    NoLists { seconds: u64 },
    #[error("{flag}: cannot listen on {address}: {source}")]
    Listen { flag: &'static str, address: SocketAddr, source: io::Error },
    #[error("no cluster configured: no kubeconfig found, and not running in a Pod")]
    NoCluster,
    #[error("leader election: {0}")]
    Election(#[from] lease::SettingsError),
    #[error(transparent)]
    HandoverList(#[from] handover::ListError),
    #[error("handover of {} failed", counted(*slices, "EndpointSlice"))]
    Handover { slices: usize },
    #[error("namespace {namespace:?} of the lease does not exist")]
    LeaseNamespace { namespace: String },
    #[error("credentials lack permissions the {of} needs: {}", listed(denied))]
    NotAllowed { of: &'static str, roles: &'static str, denied: Vec<Permission> },
    #[error("{part} stopped unexpectedly")]
    PartEnded { part: &'static str },
    #[error("{what} needs root, to create and enter network namespaces")]
    NeedsRoot { what: &'static str },
    #[error("cannot run the command `ip`: {source}")]
    NoIp { source: io::Error },
    #[error("cannot set up network namespaces: {problem}")]
    Network { problem: String },
    #[error("--from: there is no Node or Pod {name:?}{}", of_namespace(namespace))]
    NoClient { name: String, namespace: String, known: Vec<String> },
    #[error("no `evenkeel up --proxy` is running for the cluster at {api}")]
    NoNetwork { api: String },
    #[error("{problem}")]
    Drill { problem: String, help: String },
    #[error("another drill is running on this cluster")]
    DrillRunning,
    #[error("the drill was stopped for longer than its lease, and the zone came back meanwhile")]
    DrillStalled,
    #[error("{given:?}: {problem}")]
    Target { given: String, problem: String, help: Option<String> },
    #[error("{failure}")]
    Unanswered { failure: String, help: &'static str },
    #[error("cannot set up the identities of deploy/: {what}: {source}")]
    Identity { what: String, source: Box<kube::Error> },
    #[error("--authorization-mode {given:?}: there are Node,RBAC and AlwaysAllow")]
    AuthorizationMode { given: String },
    #[error(
        "--fairness-config is for --fairness-dialect evenkeel; objects of Kubernetes' dialect are \
         applied with kubectl"
    )]
    FairnessConfigUnused,
    #[error("--max-requests-inflight and --max-mutating-requests-inflight must not both be 0")]
    NoSeats,
    #[error("cannot create the sample: {what}: {source}")]
    Sample { what: String, source: Box<kube::Error> },
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
    #[error("no flow schema or priority level found in {files}")]
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
                Some(format!("found {}; set its namespace with -n", elsewhere.join(", ")))
            }
            Error::NoService { .. } => Some("add its manifest, or check the name".to_owned()),
            Error::NotAService { .. } => {
                Some("expected a Service, such as web or svc/web".to_owned())
            }
            Error::NoPlace { known, .. } if known.is_empty() => {
                Some("add the Nodes (kubectl get nodes -o yaml)".to_owned())
            }
            Error::NoPlace { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Error::UnknownGate { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Error::Apiserver(evenkeel_apiserver::Error::Folder(FolderError::Unusable {
                ..
            })) => Some(
                "set --data to a writable folder, or use --ephemeral to store nothing".to_owned(),
            ),
            Error::Apiserver(error) => error.help(),
            Error::Controller(error) => error.help().map(str::to_owned),
            Error::Proxy(error) => error.help().map(str::to_owned),
            Error::Xds(error) => error.help().map(str::to_owned),
            Error::Dashboard(error) => error.help().map(str::to_owned),
            Error::NoDataplane { known, .. } if known.is_empty() => {
                Some("add its file, or set --mesh".to_owned())
            }
            Error::NoDataplane { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Error::ControlPlane { .. } => Some(
                "start it with `evenkeel xds --resources FOLDER`, or set --control-plane-admin"
                    .to_owned(),
            ),
            Error::Namespace { .. } => {
                Some("run as root, and check the name with `ip netns list`".to_owned())
            }
            Error::Listen { flag, source, .. } => Some(match source.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("stop the process that listens there, or set another {flag}")
                }
                io::ErrorKind::PermissionDenied => {
                    format!("set {flag} to a port above 1023")
                }
                _ => format!("set {flag} to an address of this host"),
            }),
            Error::NoCluster => Some(
                "set --kubeconfig or KUBECONFIG, or start a local cluster with `evenkeel up`"
                    .to_owned(),
            ),
            Error::HandoverList(error) if error.code == Some(403) => Some(
                "ask for permission; then `kubectl auth can-i list endpointslices` prints yes"
                    .to_owned(),
            ),
            Error::Handover { .. } => {
                Some("run it again: it continues with those that are left".to_owned())
            }
            Error::LeaseNamespace { namespace } => Some(format!(
                "create it (kubectl create namespace {namespace}), or set \
                 --leader-elect-resource-namespace"
            )),
            Error::NotAllowed { roles, denied, .. } => denied.first().map(|first| {
                format!("bind the roles in {roles}; then `kubectl auth can-i {first}` prints yes")
            }),
            Error::NeedsRoot { what } => Some(match *what {
                "up --proxy" => "run it with sudo, or without --proxy".to_owned(),
                _ => "run it with sudo".to_owned(),
            }),
            Error::NoIp { .. } => Some("install iproute2".to_owned()),
            Error::Network { .. } => Some(
                "run as root with the capabilities NET_ADMIN and SYS_ADMIN, on a kernel with network \
                 namespaces, veth and bridge; or without --proxy"
                    .to_owned(),
            ),
            Error::NoClient { known, .. } if known.is_empty() => {
                Some("add a Node, and wait until it is ready".to_owned())
            }
            Error::NoClient { known, .. } => Some(format!("Nodes: {}", known.join(", "))),
            Error::NoNetwork { .. } => Some(
                "start it with `evenkeel up --proxy` as root, or set --kubeconfig to its cluster"
                    .to_owned(),
            ),
            Error::Drill { help, .. } => Some(help.clone()),
            Error::DrillRunning => Some("wait until it has ended".to_owned()),
            Error::DrillStalled => Some("run it again".to_owned()),
            Error::Target { help, .. } => help.clone(),
            Error::Unanswered { help, .. } => Some((*help).to_owned()),
            Error::Traffic { .. } => Some("see `evenkeel plan --help` for the format".to_owned()),
            Error::TrafficNames { .. } => {
                Some("correct the names, or remove them from the file".to_owned())
            }
            Error::ServiceChanged { .. } => Some("run the command again".to_owned()),
            Error::Scenario { .. } => {
                Some("see `evenkeel fairness simulate --help` for the format".to_owned())
            }
            Error::Request { .. } => {
                Some("see `evenkeel fairness match --help` for the format".to_owned())
            }
            Error::Configuration { more: 1.., .. } => {
                Some("`evenkeel fairness lint -f FILE` shows all".to_owned())
            }
            _ => None,
        }
    }

    /// 3 if a cluster can't be read, 2 for wrong usage and bad input, 1 for other failures.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Error::Live(LiveError::Objects(_) | LiveError::NoService { .. }) => {
                Exit::BadInput.code()
            }
            Error::Live(_) | Error::NoCluster | Error::HandoverList(_) => Exit::CouldNotLook.code(),
            Error::ServiceChanged { .. } => Exit::CouldNotLook.code(),
            Error::Apiserver(evenkeel_apiserver::Error::Tokens { .. }) => Exit::BadInput.code(),
            Error::Apiserver(_) | Error::Start(_) | Error::Controller(_) => ExitCode::FAILURE,
            Error::Proxy(_) | Error::Xds(_) | Error::Namespace { .. } => ExitCode::FAILURE,
            Error::Dashboard(
                evenkeel_dashboard::Error::NotLoopback { .. }
                | evenkeel_dashboard::Error::NoHost { .. }
                | evenkeel_dashboard::Error::Certificate { .. },
            ) => Exit::BadInput.code(),
            Error::Dashboard(_) => ExitCode::FAILURE,
            Error::NoLists { .. } | Error::ControlPlane { .. } => Exit::CouldNotLook.code(),
            Error::Listen { .. } | Error::LeaseNamespace { .. } => ExitCode::FAILURE,
            Error::Handover { .. } | Error::NotAllowed { .. } => ExitCode::FAILURE,
            Error::NeedsRoot { .. } | Error::NoIp { .. } => ExitCode::FAILURE,
            Error::Network { .. } | Error::Unanswered { .. } => ExitCode::FAILURE,
            Error::NoNetwork { .. } => Exit::CouldNotLook.code(),
            Error::DrillRunning | Error::DrillStalled => ExitCode::FAILURE,
            Error::PartEnded { .. } | Error::Sample { .. } => ExitCode::FAILURE,
            Error::Stdout(_) | Error::Encode { .. } | Error::Write { .. } => ExitCode::FAILURE,
            _ => Exit::BadInput.code(),
        }
    }
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

fn of_namespace(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!(" (Pods of namespace {namespace})") }
}

fn listed(denied: &[Permission]) -> String {
    denied.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
