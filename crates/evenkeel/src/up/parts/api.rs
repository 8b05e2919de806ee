//! The API server with its sandbox.

use std::path::PathBuf;

use evenkeel_apiserver::{Ready, Settings};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

pub(crate) const NAME: &str = "api";
pub(crate) const DESCRIPTION: &str =
    "Kubernetes API; a sandbox simulates nodes, scheduler and workloads";

/// `ready` takes the address and the path of the administrator's kubeconfig.
pub(crate) async fn run(
    settings: Settings,
    ready: oneshot::Sender<(String, PathBuf)>,
    stop: CancellationToken,
) -> Result<(), Error> {
    let on_ready = |Ready { address, kubeconfig, .. }: Ready| {
        let kubeconfig = std::path::absolute(&kubeconfig).unwrap_or(kubeconfig);
        // Nobody receives it during shutdown.
        let _ = ready.send((format!("https://{address}"), kubeconfig));
    };
    Ok(evenkeel_apiserver::run(settings, on_ready, stop.cancelled_owned()).await?)
}
