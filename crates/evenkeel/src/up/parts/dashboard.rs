//! The dashboard. It only reads, with the administrator's identity: whoever opens it has the kubeconfig.

use std::net::SocketAddr;

use evenkeel_dashboard::{Ready, Settings};
use kube::Client;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

pub(in crate::up) const NAME: &str = "dashboard";
pub(in crate::up) const DESCRIPTION: &str = "where traffic goes and why, in a browser";

/// Its pages are there at once; the cluster is read meanwhile. `control_plane`: the URL of the mesh's admin
/// pages, if there is a mesh.
pub(in crate::up) async fn run(
    client: Client,
    listen: SocketAddr,
    control_plane: Option<String>,
    ready: oneshot::Sender<Ready>,
    stop: CancellationToken,
) -> Result<(), Error> {
    let on_ready = |addresses| {
        // Nobody receives it during shutdown.
        let _ = ready.send(addresses);
    };
    let settings = Settings { listen, client, control_plane };
    Ok(evenkeel_dashboard::run(settings, on_ready, stop.cancelled_owned()).await?)
}
