//! A control plane, from its settings to its end.

use std::{net::SocketAddr, pin::pin, sync::Arc};

use evenkeel_admin::{
    endpoint,
    health::{CheckScope, Health},
    supervisor::Supervisor,
};
use evenkeel_locality::view::{self, View};
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Settings, SourceSettings,
    admin::{self, Admin},
    control::Control,
    error::Error,
    metrics::Metrics,
    source::{
        Intake,
        folder::{self, Folder},
    },
    stream::Server,
};

/// A control plane that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    pub listen: SocketAddr,
    pub admin: Option<SocketAddr>,
}

/// A control plane that is not started.
#[derive(Debug)]
pub struct ControlPlane {
    settings: Settings,
    control: Arc<Control>,
}

/// Runs a control plane until `stop`. Proxies keep what they have after it.
pub async fn run(
    settings: Settings,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let (control_plane, _intake) = prepare(settings);
    control_plane.run(ready, stop).await
}

/// A control plane, and the door for resources from elsewhere than its folder.
pub fn prepare(settings: Settings) -> (ControlPlane, Intake) {
    let of_view = view::Settings { zone: settings.zone.clone(), compat: settings.compat };
    let metrics = Arc::new(Metrics::new());
    let control = Arc::new(Control::new(View::first_read(of_view), settings.compat, metrics));
    let intake = Intake::new(Arc::clone(&control), settings.compat);
    (ControlPlane { settings, control }, intake)
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Runs it until `stop`. `ready` is called when caches are synced.
    pub async fn run(
        self,
        ready: impl FnOnce(Ready),
        stop: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let control = Arc::clone(&self.control);
        let parts = self.start().await?;
        tracing::info!(address = %parts.addresses.listen, "starting control plane");
        let mut stop = pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => {}
            () = control.until_synced() => {
                ready(parts.addresses);
                stop.await;
            }
        }
        tracing::info!("shutting down control plane");
        parts.stop().await;
        Ok(())
    }

    async fn start(self) -> Result<Parts, Error> {
        let Self { settings, control } = self;
        let following = match &settings.source {
            SourceSettings::Cluster(cluster) => {
                let intake = Intake::new(Arc::clone(&control), settings.compat);
                Some(cluster.prepare(intake, settings.zone.as_ref(), &control.metrics))
            }
            SourceSettings::Folder(_) | SourceSettings::Intake => None,
        };
        let listener = bind(settings.listen)?;
        let all = CancellationToken::new();
        let [source_stop, streams_stop, admin_stop] = std::array::from_fn(|_| all.child_token());
        let listen = listener.local_addr().unwrap_or(settings.listen);
        let metrics = Arc::clone(&control.metrics);
        let supervisor =
            Supervisor::new(streams_stop.clone(), move |task, n| metrics.task_restarted(task, n));
        let mut health = health(&control, &streams_stop, &supervisor);
        if let Some(following) = &following {
            health = following.health(health);
        }
        let of_admin = Admin::new(Arc::clone(&control), health);
        let admin = match settings.admin {
            None => None,
            Some(address) => {
                let listener = bind(address)?;
                let bound = listener.local_addr().unwrap_or(address);
                let answer = admin::answer(of_admin);
                tokio::spawn(endpoint::serve_answers(listener, answer, admin_stop.clone()));
                Some(bound)
            }
        };
        let mut source = following
            .map(|following| following.spawn(&supervisor, &source_stop))
            .unwrap_or_default();
        if let SourceSettings::Folder(path) = settings.source {
            let folder = Arc::new(Mutex::new(Folder::new(path, settings.compat)));
            let (control, stop) = (Arc::clone(&control), source_stop.clone());
            let watch =
                move || folder::watch(Arc::clone(&control), Arc::clone(&folder), stop.clone());
            source.push(supervisor.spawn("folder", watch));
        }
        let server = Arc::new(Server::new(control, settings.limits, streams_stop.clone()));
        let (listener, of_server) = (Arc::new(listener), Arc::clone(&server));
        let accept = move || Arc::clone(&of_server).accept(Arc::clone(&listener));
        let streams = supervisor.spawn("streams", accept);
        Ok(Parts {
            addresses: Ready { listen, admin },
            server,
            source,
            streams,
            source_stop,
            streams_stop,
            admin_stop,
            _all: all.drop_guard(),
        })
    }
}

/// The tasks of a control plane, and what stops each. Dropping it stops all.
struct Parts {
    addresses: Ready,
    server: Arc<Server>,
    source: Vec<JoinHandle<()>>,
    streams: JoinHandle<()>,
    source_stop: CancellationToken,
    streams_stop: CancellationToken,
    admin_stop: CancellationToken,
    _all: tokio_util::sync::DropGuard,
}

// === impl Parts ===

impl Parts {
    /// Unready, stop accepting, drain, end watches.
    async fn stop(self) {
        let Parts { server, source, streams, source_stop, streams_stop, admin_stop, .. } = self;
        streams_stop.cancel();
        // The listener closes with its task, so that no proxy waits in its queue.
        streams.abort();
        let _ = streams.await;
        server.drained().await;
        source_stop.cancel();
        for source in source {
            source.abort();
            let _ = source.await;
        }
        admin_stop.cancel();
    }
}

fn health(control: &Arc<Control>, stop: &CancellationToken, tasks: &Supervisor) -> Health {
    let (control, stop) = (Arc::clone(control), stop.clone());
    let when =
        |holds: bool, otherwise: &str| if holds { Ok(()) } else { Err(otherwise.to_owned()) };
    Health::new()
        .with("caches", CheckScope::Readiness, move || {
            when(control.is_synced(), "resources have not been read completely yet")
        })
        .with("shutdown", CheckScope::Readiness, move || {
            when(!stop.is_cancelled(), "process is shutting down")
        })
        .with_tasks(tasks)
}

/// Connections that wait to be accepted. After a restart all proxies come back at once; who finds the queue full
/// tries again only after a second, then after two and four. The kernel may have a lower bound (`somaxconn`).
const BACKLOG: u32 = 16_384;

fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    let listen = || {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        // The port of a control plane that ended just now is free.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|source| Error::Listen { address, source })
}

#[cfg(test)]
mod tests {
    use std::{net::TcpStream, time::Duration};

    use super::*;

    #[tokio::test]
    async fn a_thousand_proxies_connect_at_once() {
        let bound = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let n = bound.trim().parse::<usize>().unwrap().min(1_000);
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        // Nobody accepts. The kernel would try again after a second.
        let soon = Duration::from_millis(900);
        let connect = |_| TcpStream::connect_timeout(&address, soon).unwrap();
        let connected: Vec<TcpStream> = (0..n).map(connect).collect();
        assert_eq!(connected.len(), n);
    }
}
