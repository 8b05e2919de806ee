//! A controller, from its settings to its end.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use evenkeel_admin::{endpoint, lease, supervisor::Supervisor};
use evenkeel_k8s::watch::Hooks;
use kube::Client;
use rustc_hash::FxHashMap;
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::{
    Error,
    engine::{self, Engine},
    health::{Vitals, health},
    intake::Intake,
    metrics::Metrics,
    owner::{Inputs, Leading, Owner},
    recorder::recorder,
    watches::{self, WatchSettings},
    writes::Writes,
};

/// How long each of the tasks besides the engine has to stop.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct Settings {
    pub engine: engine::Settings,
    /// `None`: there is no other replica, and this process writes at once.
    pub election: Option<lease::Settings>,
    /// The address of health checks and metrics.
    pub listen: Option<SocketAddr>,
    pub watches: WatchSettings,
    /// The namespace of the Leases in which proxies report. `None`: no condition is made of them.
    pub reports: Option<String>,
    /// The address of the API server, for log lines.
    pub address: Option<String>,
}

/// A controller whose caches are synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The address of health checks and metrics.
    pub admin: Option<SocketAddr>,
}

/// Runs a controller until `stop`, then shuts it down in order: it is no longer ready, starts no
/// sync, waits for its writes, and releases the lease.
///
/// Without an API server it retries, and is not ready. The client should not retry by itself and
/// should detect lost connections: see [`evenkeel_k8s::live::long_lived`].
pub async fn run(
    client: Client,
    settings: Settings,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    settings.engine.topology.validate()?;
    settings.election.as_ref().map_or(Ok(()), lease::Settings::validate)?;
    let listener = match settings.listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let admin = listener.as_ref().map(|(_, address)| *address);
    let (mut parts, is_synced) = Parts::start(client, settings, listener.map(|(it, _)| it));
    let listen = admin.map(tracing::field::display);
    tracing::info!(listen, "starting controller");
    let wait = async {
        let mut stop = pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return,
            Ok(()) = is_synced => ready(Ready { admin }),
        }
        stop.await;
    };
    let ended = tokio::select! {
        () = wait => Ok(()),
        _ = &mut parts.owner => Err(Error::Ended { task: "owns the engine" }),
        () = ended(&mut parts.election) => Err(Error::Ended { task: "holds the lease" }),
    };
    tracing::info!("shutting down controller");
    parts.stop().await;
    ended
}

/// The tasks of a controller, and what stops each. Dropping it stops all.
struct Parts {
    owner: JoinHandle<()>,
    owner_stop: CancellationToken,
    watches: Vec<JoinHandle<()>>,
    watches_stop: CancellationToken,
    recorder: JoinHandle<()>,
    election: Option<JoinHandle<()>>,
    election_stop: CancellationToken,
    endpoint: Option<JoinHandle<()>>,
    endpoint_stop: CancellationToken,
    vitals: Arc<Vitals>,
    _all: tokio_util::sync::DropGuard,
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

async fn ended(task: &mut Option<JoinHandle<()>>) {
    match task {
        // It ended without `stop`, whatever the result.
        Some(task) => drop(task.await),
        None => std::future::pending().await,
    }
}

// === impl Parts ===

impl Parts {
    fn start(
        client: Client,
        settings: Settings,
        listener: Option<TcpListener>,
    ) -> (Parts, oneshot::Receiver<()>) {
        let all = CancellationToken::new();
        let [owner_stop, watches_stop, election_stop, endpoint_stop] =
            std::array::from_fn(|_| all.child_token());
        let start = Instant::now();
        let metrics = Arc::new(Metrics::new());
        let reports = settings.reports.as_deref().filter(|_| settings.engine.conditions);
        let selectors = watches::selectors(reports);
        let vitals = Arc::new(Vitals::watching(start, &selectors, &settings.watches));
        let restarts = Arc::clone(&metrics);
        let supervisor = Supervisor::new(watches_stop.clone(), move |task, n| {
            restarts.task_restarted(task, n);
        });
        let endpoint = listener.map(|listener| {
            let text = Arc::clone(&metrics);
            let text = Arc::new(move || text.text());
            let health = Arc::new(health(&vitals, &supervisor));
            tokio::spawn(endpoint::serve(listener, health, text, endpoint_stop.clone()))
        });
        let (election, leading) = match settings.election {
            None => (None, Leading::Always),
            Some(election) => {
                let (send, leading) = watch::channel(false);
                let lease = format!("{}/{}", election.namespace, election.name);
                let address = settings.address.as_deref();
                let span = tracing::error_span!("leader_election", lease, address);
                let election = lease::run(client.clone(), election, send, election_stop.clone());
                (Some(tokio::spawn(election.instrument(span))), Leading::Elected(leading))
            }
        };
        let hooks = Hooks {
            conditions: Arc::clone(&vitals.watches),
            counters: Arc::<Metrics>::clone(&metrics),
            address: settings.address,
        };
        let (batches, watches) = watches::start(
            &client,
            &selectors,
            &settings.watches,
            &hooks,
            &supervisor,
            &watches_stop,
        );
        let (recorder, recording) = recorder(client.clone(), Arc::clone(&metrics));
        let (synced, is_synced) = oneshot::channel();
        let owner = Owner {
            engine: Engine::new(settings.engine),
            intake: Intake::new(Arc::clone(&metrics)),
            writes: Writes::new(client),
            recorder,
            metrics,
            vitals: Arc::clone(&vitals),
            start,
            synced: Some(synced),
            n_withdrawn: 0,
            syncs: FxHashMap::default(),
        };
        let inputs = Inputs { batches, leading, stop: owner_stop.clone() };
        let parts = Parts {
            owner: tokio::spawn(owner.run(inputs)),
            owner_stop,
            watches,
            watches_stop,
            recorder: tokio::spawn(recording),
            election,
            election_stop,
            endpoint,
            endpoint_stop,
            vitals,
            _all: all.drop_guard(),
        };
        (parts, is_synced)
    }

    /// The lease is held until the last write is answered. Health checks are served to the end.
    async fn stop(self) {
        let Parts {
            owner,
            owner_stop,
            watches,
            watches_stop,
            recorder,
            election,
            election_stop,
            endpoint,
            endpoint_stop,
            vitals,
            _all,
        } = self;
        vitals.stopping();
        owner_stop.cancel();
        end("owner", owner, PATIENCE * 2).await;
        watches_stop.cancel();
        for watch in watches {
            watch.abort();
            let _ = watch.await;
        }
        end("recorder", recorder, PATIENCE).await;
        election_stop.cancel();
        if let Some(election) = election {
            end("election", election, PATIENCE).await;
        }
        endpoint_stop.cancel();
        if let Some(endpoint) = endpoint {
            end("endpoint", endpoint, PATIENCE).await;
        }
    }
}

/// Waits for a task, and aborts it if it takes too long.
async fn end(name: &str, mut task: JoinHandle<()>, patience: Duration) {
    // A task that has ended must not be polled again.
    if task.is_finished() {
        return;
    }
    if timeout(patience, &mut task).await.is_err() {
        tracing::warn!(task = name, "task did not stop in time, aborting it");
        task.abort();
    }
}
