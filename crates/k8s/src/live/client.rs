//! A client for a cluster.

use std::fmt;

use kube::{Client, Config};

use super::{
    ClusterSource, LiveError, SourceRule,
    error::is_unreachable,
    transport::{Timeouts, long_lived},
};

/// A client, and the address of the API server it talks to.
#[derive(Clone)]
pub struct Connection {
    pub client: Client,
    /// As in the kubeconfig, such as `https://127.0.0.1:6443`.
    pub address: String,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A client for commands that read once.
///
/// Asks the API server for its version, so that a server that cannot be reached is told apart,
/// by its address, from one that refuses a request.
pub async fn client(source: &ClusterSource) -> Result<Client, LiveError> {
    Ok(connect(source, Client::try_from).await?.client)
}

/// The same for controllers: retries are left to them, and a lost connection is detected in less
/// than a minute. See [`Timeouts`].
pub async fn controller_client(source: &ClusterSource) -> Result<Connection, LiveError> {
    connect(source, |config| long_lived(config, &Timeouts::default())).await
}

/// The same, without asking the API server anything: it need not be there yet.
pub async fn patient_client(source: &ClusterSource) -> Result<Connection, LiveError> {
    prepare(source, |config| long_lived(config, &Timeouts::default())).await
}

async fn connect(
    source: &ClusterSource,
    make: impl FnOnce(Config) -> kube::Result<Client>,
) -> Result<Connection, LiveError> {
    let Connection { client, address } = prepare(source, make).await?;
    match client.apiserver_version().await {
        Err(error) if is_unreachable(&error) => Err(match source.rule {
            SourceRule::CurrentFolder => {
                LiveError::not_running(source.path().into(), address, error)
            }
            _ => LiveError::unreachable(Some(address), error),
        }),
        // What it answers doesn't matter: not everyone may ask, and proxies need not know.
        _ => Ok(Connection { client, address }),
    }
}

async fn prepare(
    source: &ClusterSource,
    make: impl FnOnce(Config) -> kube::Result<Client>,
) -> Result<Connection, LiveError> {
    let config = source.config().await?;
    let address = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = make(config)
        .map_err(|error| LiveError::Client { server: address.clone(), source: Box::new(error) })?;
    Ok(Connection { client, address })
}
