//! Starting and stopping.

use std::{fmt, net::SocketAddr, sync::Arc};

use evenkeel_admin::supervisor::Supervisor;
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    Error,
    feed::Feeds,
    live,
    mesh::{self, MeshFeed},
    server::{self, guard::Guard},
};

/// What the dashboard needs.
#[derive(Clone)]
pub struct Settings {
    /// A loopback address; port 0 is any free port.
    pub listen: SocketAddr,
    /// Of the cluster that is shown. It should not retry by itself and should detect lost connections, see
    /// `evenkeel_k8s::live::long_lived`.
    pub client: Client,
    /// URL of the admin pages of a mesh's control plane, if there is one.
    pub control_plane: Option<String>,
}

/// The dashboard answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    pub listen: SocketAddr,
    /// The address to open, with its token.
    pub url: String,
}

/// Serves until `stop`. `ready` is called once pages are answered; the cluster may not have been read by
/// then.
pub async fn run(
    settings: Settings,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let Settings { listen, client, control_plane } = settings;
    if !listen.ip().is_loopback() {
        return Err(Error::NotLoopback { address: listen });
    }
    let failed = |source| Error::Listen { address: listen, source };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let guard = Guard::new(address)?;
    let url = guard.url(address);
    let mesh = MeshFeed::new(control_plane.as_deref());
    let (feeds, stopping) = (Arc::new(Feeds { mesh, ..Feeds::new() }), CancellationToken::new());
    let supervisor = Supervisor::new(stopping.clone(), |_, _| ());
    let read = Arc::clone(&feeds);
    let reader =
        supervisor.spawn("reader", move || live::follow(client.clone(), Arc::clone(&read)));
    let read = Arc::clone(&feeds);
    let of_mesh = supervisor.spawn("mesh reader", move || {
        let feeds = Arc::clone(&read);
        async move { mesh::follow(&feeds.mesh).await }
    });
    let serving = tokio::spawn(server::serve(listener, guard, feeds, stopping.clone()));
    ready(Ready { listen: address, url });
    stop.await;
    stopping.cancel();
    reader.abort();
    of_mesh.abort();
    // It ends within its own bound.
    let _ = serving.await;
    Ok(())
}

// === impl Settings ===

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("listen", &self.listen).finish_non_exhaustive()
    }
}
