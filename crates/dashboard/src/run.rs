//! Starting and stopping.

use std::{fmt, net::SocketAddr, sync::Arc};

use evenkeel_admin::supervisor::Supervisor;
use kube::Client;
use tokio::{net::TcpListener, sync::watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, fairness,
    feed::Feeds,
    live,
    mesh::{self, MeshFeed},
    server::{self, Listening, guard::Guard},
    tls::Tls,
};

/// What the dashboard needs.
#[derive(Clone)]
pub struct Settings {
    /// A loopback address, or with TLS any; port 0 is any free port.
    pub listen: SocketAddr,
    /// Of the cluster that is shown. It should not retry by itself and should detect lost connections, see
    /// `evenkeel_k8s::live::long_lived`.
    pub client: Client,
    /// The URLs of the metrics of proxies that count connections by zone, as they come and go.
    pub proxies: watch::Receiver<Vec<String>>,
    pub tls: Option<Tls>,
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
    let Settings { listen, client, proxies, tls, control_plane } = settings;
    if !listen.ip().is_loopback() && tls.is_none() {
        return Err(Error::NotLoopback { address: listen });
    }
    let config = tls.as_ref().map(Tls::config).transpose()?;
    let failed = |source| Error::Listen { address: listen, source };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut guard = Guard::new(address)?;
    if let Some(tls) = tls {
        guard = guard.with_tls(address, tls.hosts)?;
    }
    let url = guard.url(address);
    let mesh = MeshFeed::new(control_plane.as_deref());
    let (feeds, stopping) = (Arc::new(Feeds { mesh, ..Feeds::new() }), CancellationToken::new());
    let supervisor = Supervisor::new(stopping.clone(), |_, _| ());
    let (read, asked) = (Arc::clone(&feeds), client.clone());
    let reader = supervisor
        .spawn("reader", move || live::follow(asked.clone(), Arc::clone(&read), proxies.clone()));
    let read = Arc::clone(&feeds);
    let of_fairness =
        supervisor.spawn("fairness", move || fairness::follow(client.clone(), Arc::clone(&read)));
    let read = Arc::clone(&feeds);
    let of_mesh = supervisor.spawn("mesh reader", move || {
        let feeds = Arc::clone(&read);
        async move { mesh::follow(&feeds.mesh).await }
    });
    let serving = tokio::spawn(server::serve(
        Listening { listener, tls: config.map(TlsAcceptor::from) },
        guard,
        feeds,
        stopping.clone(),
    ));
    ready(Ready { listen: address, url });
    stop.await;
    stopping.cancel();
    reader.abort();
    of_fairness.abort();
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
