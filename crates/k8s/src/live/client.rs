//! A client for the cluster that people mean.

use std::path::{Path, PathBuf};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::{
    LiveError,
    error::is_unreachable,
    transport::{Timeouts, long_lived},
};

/// A client for `context` of `kubeconfig`. Without either it is found as `kubectl` does:
/// `KUBECONFIG`, `~/.kube/config`, and at last the service account of the Pod this runs in.
///
/// Asks the API server for its version, so that a server that cannot be reached is told apart,
/// by its address, from one that refuses a request.
pub async fn client(
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
) -> Result<Client, LiveError> {
    connect(config(kubeconfig, context).await?, Client::try_from).await
}

/// The same for controllers: retries are left to them, and a connection that was lost without a
/// word is given up in less than a minute. See [`Timeouts`].
pub async fn controller_client(
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
) -> Result<Client, LiveError> {
    let config = config(kubeconfig, context).await?;
    connect(config, |config| long_lived(config, &Timeouts::default())).await
}

async fn config(kubeconfig: Option<PathBuf>, context: Option<String>) -> Result<Config, LiveError> {
    match (kubeconfig, context) {
        (None, None) => infer().await,
        (Some(path), context) => {
            let read = Kubeconfig::read_from(&path);
            let kubeconfig = read.map_err(|error| from_kubeconfig(error, &path))?;
            choose(kubeconfig, context).await
        }
        (None, context) => {
            let kubeconfig = Kubeconfig::read().map_err(|e| from_kubeconfig(e, &default_path()))?;
            choose(kubeconfig, context).await
        }
    }
}

async fn connect(
    config: Config,
    make: impl FnOnce(Config) -> kube::Result<Client>,
) -> Result<Client, LiveError> {
    let server = config.cluster_url.to_string();
    let client = make(config)
        .map_err(|error| LiveError::Client { server: server.clone(), source: Box::new(error) })?;
    match client.apiserver_version().await {
        Err(error) if is_unreachable(&error) => Err(LiveError::unreachable(Some(server), error)),
        // What it answers doesn't matter: not everyone may ask, and proxies need not know.
        _ => Ok(client),
    }
}

async fn infer() -> Result<Config, LiveError> {
    match Kubeconfig::read() {
        Ok(kubeconfig) if kubeconfig.contexts.is_empty() => {
            Config::infer().await.map_err(|_| LiveError::NoCluster)
        }
        Ok(kubeconfig) => choose(kubeconfig, None).await,
        Err(error) if is_missing(&error) => Config::infer().await.map_err(|_| LiveError::NoCluster),
        Err(error) => Err(from_kubeconfig(error, &default_path())),
    }
}

async fn choose(kubeconfig: Kubeconfig, context: Option<String>) -> Result<Config, LiveError> {
    let contexts = kubeconfig.contexts.iter();
    let known = contexts.map(|context| context.name.clone()).collect();
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    config.map_err(|error| match error {
        KubeconfigError::LoadContext(wanted) => LiveError::UnknownContext { wanted, known },
        KubeconfigError::CurrentContextNotSet => LiveError::NoContext { known },
        error => from_kubeconfig(error, &default_path()),
    })
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(source, _) => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// What `KUBECONFIG` says, for people to find the file.
fn default_path() -> PathBuf {
    std::env::var_os("KUBECONFIG").map_or("~/.kube/config".into(), PathBuf::from)
}

fn from_kubeconfig(error: KubeconfigError, path: &Path) -> LiveError {
    match error {
        KubeconfigError::ReadConfig(source, path) => LiveError::Unreadable { path, source },
        KubeconfigError::Parse(error) => {
            LiveError::NotYaml { path: path.to_owned(), line: error.location().map(|at| at.line()) }
        }
        error => LiveError::Kubeconfig { source: Box::new(error) },
    }
}
