//! Errors of reading a cluster, and what to do about them.

use std::{error::Error, io, path::PathBuf};

use evenkeel_model::ServiceKey;
use kube::config::KubeconfigError;

use crate::manifest::ManifestError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    #[error("cannot read the kubeconfig {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the kubeconfig has no context {wanted:?}")]
    UnknownContext { wanted: String, known: Vec<String> },
    #[error("the kubeconfig names no current context")]
    NoContext { known: Vec<String> },
    #[error("no cluster configured: no kubeconfig found, and not running in a Pod")]
    NoCluster,
    #[error("there is no kubeconfig to find context {context:?} in")]
    NoKubeconfig { context: String },
    /// The parser's own words would quote the file, and with it perhaps a token.
    #[error("the kubeconfig {} is not valid YAML{}", path.display(), place(*line))]
    NotYaml { path: PathBuf, line: Option<u64> },
    #[error("the kubeconfig cannot be used: {source}")]
    Kubeconfig { source: Box<KubeconfigError> },
    #[error("no client for {server}: {source}")]
    Client { server: String, source: Box<kube::Error> },
    #[error("cannot reach the API server{}: {reason}", at(server.as_deref()))]
    Unreachable {
        server: Option<String>,
        /// The innermost cause, such as `Connection refused (os error 111)`.
        reason: String,
        source: Box<kube::Error>,
    },
    /// The kubeconfig of `evenkeel up` in the current folder is there, and its server is not.
    #[error("cannot reach the API server at {server} of {}: {reason}", kubeconfig.display())]
    NotRunning { kubeconfig: PathBuf, server: String, reason: String, source: Box<kube::Error> },
    #[error("there is no Service {key}")]
    NoService { key: ServiceKey },
    /// The API server answered, but not with what was asked for.
    #[error("cannot list {what}: {reason}")]
    Refused { what: &'static str, code: u16, reason: String },
    #[error("cannot list {what}: {source}")]
    Failed { what: &'static str, source: Box<kube::Error> },
    #[error(transparent)]
    Objects(#[from] ManifestError),
}

// === impl LiveError ===

impl LiveError {
    pub(super) fn request(what: &'static str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                LiveError::Refused { what, code: status.code, reason: status.message }
            }
            error if is_unreachable(&error) => LiveError::unreachable(None, error),
            error => LiveError::Failed { what, source: Box::new(error) },
        }
    }

    pub(super) fn unreachable(server: Option<String>, error: kube::Error) -> Self {
        LiveError::Unreachable { server, reason: innermost(&error), source: Box::new(error) }
    }

    pub(super) fn not_running(kubeconfig: PathBuf, server: String, error: kube::Error) -> Self {
        let (reason, source) = (innermost(&error), Box::new(error));
        LiveError::NotRunning { kubeconfig, server, reason, source }
    }

    /// Whether the same request may succeed a little later.
    pub fn is_retryable(&self) -> bool {
        match self {
            LiveError::Unreachable { .. } | LiveError::NotRunning { .. } => true,
            LiveError::Refused { code, .. } => *code == 429 || *code >= 500,
            _ => false,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            LiveError::NotYaml { .. } => "check that this is a kubeconfig".to_owned(),
            LiveError::Unreadable { .. } => {
                "check the path given with --kubeconfig or KUBECONFIG".to_owned()
            }
            LiveError::UnknownContext { known, .. } | LiveError::NoContext { known } => {
                choose_from(known)
            }
            LiveError::NoCluster => {
                "set --kubeconfig or KUBECONFIG, or read manifests with -f".to_owned()
            }
            LiveError::NoKubeconfig { .. } => "set --kubeconfig or KUBECONFIG".to_owned(),
            LiveError::NotRunning { .. } => {
                "start `evenkeel up` in this folder, or select another cluster with --kubeconfig, \
                 --context or KUBECONFIG"
                    .to_owned()
            }
            LiveError::Unreachable { .. } => {
                "check that the cluster is running and that `kubectl version` reaches it".to_owned()
            }
            LiveError::NoService { key } => {
                format!("list the Services with `kubectl get services -n {}`", key.namespace)
            }
            LiveError::Refused { code: 401, .. } => {
                "log in again: the API server does not accept these credentials".to_owned()
            }
            LiveError::Refused { code: 403, what, .. } => {
                format!("ask for permission; then `kubectl auth can-i list {what}` prints yes")
            }
            LiveError::Refused { code: 404, what, .. } => {
                format!("check that the API server serves {what}")
            }
            LiveError::Objects(error) => return error.help().map(str::to_owned),
            LiveError::Kubeconfig { .. }
            | LiveError::Client { .. }
            | LiveError::Refused { .. }
            | LiveError::Failed { .. } => return None,
        })
    }
}

/// Whether no answer came at all, in contrast to one that cannot be used.
pub fn is_unreachable(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_))
}

fn place(line: Option<u64>) -> String {
    line.map_or(String::new(), |line| format!(": see line {line}"))
}

fn at(server: Option<&str>) -> String {
    server.map_or(String::new(), |server| format!(" at {server}"))
}

fn choose_from(known: &[String]) -> String {
    if known.is_empty() {
        "the kubeconfig has no contexts; check that it is the right file".to_owned()
    } else {
        format!("choose one of these contexts: {}", known.join(", "))
    }
}

/// The cause behind all others, such as `Connection refused (os error 111)`.
pub fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// What went wrong, in one line: kube's own words repeat the whole answer.
pub fn in_short(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        error => innermost(error),
    }
}
