//! The API server with its sandbox.

use std::path::PathBuf;

use evenkeel_apiserver::{Ready, Settings};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

pub(crate) const NAME: &str = "api";
pub(crate) const WHAT: &str = "the Kubernetes API; a sandbox plays nodes, scheduler and workloads";

/// Says where it answers, and where the administrator's kubeconfig is.
pub(crate) async fn run(
    settings: Settings,
    ready: oneshot::Sender<(String, PathBuf)>,
    stop: CancellationToken,
) -> Result<(), Error> {
    let tell = |Ready { address, kubeconfig, .. }: Ready| {
        let kubeconfig = std::path::absolute(&kubeconfig).unwrap_or(kubeconfig);
        // Nobody listens any more when all is about to stop.
        let _ = ready.send((format!("https://{address}"), kubeconfig));
    };
    Ok(evenkeel_apiserver::run(settings, tell, stop.cancelled_owned()).await?)
}
