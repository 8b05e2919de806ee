//! The dashboard. It only reads, with the administrator's identity: whoever opens it has the kubeconfig.

use std::net::SocketAddr;

use evenkeel_dashboard::{Ready, Settings};
use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::error::Error;

pub(in crate::up) const NAME: &str = "dashboard";
pub(in crate::up) const DESCRIPTION: &str = "where traffic goes and why, in a browser";

/// What it reads.
pub(in crate::up) struct Sources {
    pub client: Client,
    /// The metrics of proxies.
    pub proxies: watch::Receiver<Vec<String>>,
    /// The URL of the mesh's admin pages, if there is a mesh.
    pub control_plane: Option<String>,
}

/// Its pages are there at once; the cluster is read meanwhile.
pub(in crate::up) async fn run(
    sources: Sources,
    listen: SocketAddr,
    ready: oneshot::Sender<Ready>,
    stop: CancellationToken,
) -> Result<(), Error> {
    let on_ready = |addresses| {
        // Nobody receives it during shutdown.
        let _ = ready.send(addresses);
    };
    let Sources { client, proxies, control_plane } = sources;
    let settings = Settings { listen, client, proxies, tls: None, control_plane };
    Ok(evenkeel_dashboard::run(settings, on_ready, stop.cancelled_owned()).await?)
}
