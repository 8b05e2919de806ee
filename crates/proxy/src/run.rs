//! A proxy, from its settings to its end.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use evenkeel_admin::{endpoint, supervisor::Supervisor};
use evenkeel_k8s::watch::{self, Conditions, Hooks, Selector, Selectors};
use evenkeel_model::label;
use evenkeel_nft::Adopted;
use evenkeel_nft::{Config, Family};
use jiff::Timestamp;
use kube::Client;
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch as channel},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::{
    Settings,
    engine::Engine,
    error::Error,
    flows::Flows,
    health::{self, Vitals},
    health_ports::HealthPorts,
    intake::Intake,
    kernel::{Found, Kernel, inside},
    metrics::Metrics,
    netlink::{
        nftables::CommitError,
        route::{AddressWatch, Addresses},
    },
    owner::{Inputs, Owner},
    report::{self, ReportSettings},
    zone_counters::ZoneCounters,
};

/// How long a task has to stop.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the tables of another proxy are waited for.
const OWNER_GONE: Duration = Duration::from_secs(2);

/// How often an address in use is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// A proxy whose rules are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    pub healthz: Option<SocketAddr>,
    pub metrics: Option<SocketAddr>,
}

/// Runs a proxy until `stop`. Rules stay in force after it.
///
/// Without an API server it retries, with the rules that are there in force. The client should not
/// retry by itself and should detect lost connections: see [`evenkeel_k8s::live::long_lived`].
pub async fn run(
    client: Client,
    settings: Settings,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    settings.engine.topology.validate()?;
    let (mut parts, is_synced) = Parts::start(client, settings).await?;
    tracing::info!("starting proxy");
    let addresses = parts.addresses;
    let wait = async {
        let mut stop = pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return,
            Ok(()) = is_synced => ready(addresses),
        }
        stop.await;
    };
    let ended = tokio::select! {
        () = wait => Ok(()),
        ended = &mut parts.owner => match ended {
            Ok(Err(error)) => return Err(Error::Commit(error)),
            _ => Err(Error::Ended { task: "owns the rules" }),
        },
    };
    tracing::info!("shutting down proxy");
    parts.stop().await;
    ended
}

/// The tasks of a proxy, and what stops each. Dropping it stops all.
struct Parts {
    owner: JoinHandle<Result<(), CommitError>>,
    owner_stop: CancellationToken,
    watches: Vec<JoinHandle<()>>,
    endpoints_stop: CancellationToken,
    vitals: Arc<Vitals>,
    addresses: Ready,
    _all: tokio_util::sync::DropGuard,
}

/// Its own Node, the Services that are its own, and their slices.
pub(crate) fn selectors(settings: &Settings) -> Selectors {
    let services = match &settings.engine.service_proxy_name {
        None => format!("!{}", label::SERVICE_PROXY_NAME),
        Some(name) => format!("{}={name}", label::SERVICE_PROXY_NAME),
    };
    Selectors {
        nodes: Some(Selector::named(&settings.engine.node)),
        services: Some(Selector::labels(services)),
        endpoint_slices: Some(Selector::labels(format!("!{}", label::HEADLESS))),
        ..Selectors::default()
    }
}

// === impl Parts ===

impl Parts {
    async fn start(
        client: Client,
        mut settings: Settings,
    ) -> Result<(Parts, oneshot::Receiver<()>), Error> {
        let namespace = settings.namespace.clone();
        let families = settings.engine.families.clone();
        let mut kernel = Kernel::open(namespace.as_ref(), settings.own)?;
        let config = &mut settings.engine.nft;
        let found = find(&mut kernel, config, &families, settings.adopt).await?;
        config.seed = found.seed.unwrap_or_else(random);
        let to_replace = kernel.own(config)?;
        let mut engine = Engine::new(settings.engine.clone());
        for (family, table) in found.tables {
            let is_foreign = to_replace.contains(&family);
            engine.adopt(family, move |config| {
                let table = table.adopted(family, config);
                Adopted { is_foreign: table.is_foreign || is_foreign, ..table }
            });
        }
        let counters = ZoneCounters::open(namespace.as_ref(), &settings.engine.nft, &families)?;
        let counters = counters.map(Arc::new);
        let flows = Flows::open(namespace.as_ref(), &families)?;
        let addresses = inside(namespace.as_ref(), Addresses::open)?.map_err(Error::Netlink)?;
        let addresses = AddressWatch::new(addresses).map_err(Error::Addresses)?;

        let all = CancellationToken::new();
        let [owner_stop, endpoints_stop] = std::array::from_fn(|_| all.child_token());
        let metrics = Arc::new(Metrics::new());
        let selectors = selectors(&settings);
        let conditions = Conditions::new(&selectors, &settings.watches, Instant::now());
        let vitals = Arc::new(Vitals::new(Arc::new(conditions)));
        let restarts = Arc::clone(&metrics);
        let supervisor = Supervisor::new(owner_stop.clone(), move |task, n| {
            restarts.task_restarted(task, n);
        });
        let hooks = Hooks {
            conditions: Arc::clone(&vitals.watches),
            counters: Arc::<Metrics>::clone(&metrics),
            address: settings.address.clone(),
        };
        let (batches, tasks) = watch::prepare(&client, &selectors, &settings.watches, &hooks);
        let watches = tasks.into_iter().map(|task| {
            let stop = owner_stop.clone();
            supervisor.spawn(task.name(), move || {
                let (stop, follow) = (stop.clone(), task.run());
                async move {
                    let _ = stop.run_until_cancelled(follow).await;
                }
            })
        });
        let watches = watches.collect();
        let addresses_served =
            serve(&settings, &vitals, &metrics, &supervisor, counters.clone(), &endpoints_stop)
                .await?;
        let (synced, is_synced) = oneshot::channel();
        let (in_force, reported) = channel::channel(None);
        if let Some(namespace) = settings.reports.clone() {
            let node: Arc<str> = settings.engine.node.as_str().into();
            let (client, stop) = (client.clone(), owner_stop.clone());
            supervisor.spawn("reporter", move || {
                let settings =
                    ReportSettings { node: Arc::clone(&node), namespace: namespace.clone() };
                report::run(client.clone(), settings, reported.clone(), stop.clone())
            });
        }
        let health_ports = HealthPorts::new(namespace, Arc::clone(&vitals));
        let owner = Owner {
            engine,
            intake: Intake::new(Timestamp::now()),
            kernel: Some(kernel),
            flows,
            addresses,
            health_ports,
            counters,
            metrics,
            vitals: Arc::clone(&vitals),
            families,
            synced: Some(synced),
            in_force,
            next: Instant::now(),
            received: None,
            is_broken: false,
            failures: 0,
            has_news: false,
            zone: None,
            contested: 0,
        };
        let inputs = Inputs { batches, stop: owner_stop.clone() };
        let parts = Parts {
            // Of several proxies in one process, lines of the log tell which.
            owner: tokio::spawn(owner.run(inputs).in_current_span()),
            owner_stop,
            watches,
            endpoints_stop,
            vitals,
            addresses: addresses_served,
            _all: all.drop_guard(),
        };
        Ok((parts, is_synced))
    }

    async fn stop(self) {
        let Parts { owner, owner_stop, watches, endpoints_stop, vitals, .. } = self;
        vitals.stopping();
        owner_stop.cancel();
        for watch in watches {
            watch.abort();
            let _ = watch.await;
        }
        if !owner.is_finished() && timeout(PATIENCE, owner).await.is_err() {
            tracing::warn!(task = "owner", "task did not stop in time");
        }
        endpoints_stop.cancel();
    }
}

/// A proxy that was just killed owns its tables for a moment longer.
async fn find(
    kernel: &mut Kernel,
    config: &Config,
    families: &[Family],
    take: bool,
) -> Result<Found, Error> {
    let begun = Instant::now();
    loop {
        match kernel.find(config, families, take) {
            Err(Error::OwnedTable { .. }) if begun.elapsed() < OWNER_GONE => {
                sleep(Duration::from_millis(100)).await;
            }
            found => return found,
        }
    }
}

/// Serves health and metrics. An address in use is tried again, so that a proxy can take over from
/// another one on the same node.
async fn serve(
    settings: &Settings,
    vitals: &Arc<Vitals>,
    metrics: &Arc<Metrics>,
    supervisor: &Supervisor,
    counters: Option<Arc<ZoneCounters>>,
    stop: &CancellationToken,
) -> Result<Ready, Error> {
    let (v, m, s) = (Arc::clone(vitals), Arc::clone(metrics), supervisor.clone());
    let healthz: endpoint::Answer =
        Arc::new(move |method, uri| health::answer(&v, &m, &s, uri, method));
    let (m, h) = (Arc::clone(metrics), Arc::clone(&healthz));
    let of_metrics: endpoint::Answer = Arc::new(move |method, uri| match uri.path() {
        "/metrics" => {
            let connections = counters.as_ref().map(|counters| counters.read());
            endpoint::typed(endpoint::METRICS_TYPE, m.text(&connections.unwrap_or_default()))
        }
        "/proxyMode" => endpoint::typed("text/plain; charset=utf-8", "nftables"),
        _ => h(method, uri),
    });
    Ok(Ready {
        healthz: listen(settings.healthz, healthz, stop).await?,
        metrics: listen(settings.metrics, of_metrics, stop).await?,
    })
}

async fn listen(
    address: Option<SocketAddr>,
    answer: endpoint::Answer,
    stop: &CancellationToken,
) -> Result<Option<SocketAddr>, Error> {
    let Some(address) = address else { return Ok(None) };
    let stop = stop.clone();
    match TcpListener::bind(address).await {
        Ok(listener) => {
            let bound = listener.local_addr().unwrap_or(address);
            tokio::spawn(endpoint::serve_answers(listener, answer, stop));
            Ok(Some(bound))
        }
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            tracing::warn!(%address, "address is in use, retrying every {LISTEN_AGAIN:?}");
            tokio::spawn(async move {
                let listener = loop {
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = sleep(LISTEN_AGAIN) => {}
                    }
                    if let Ok(listener) = TcpListener::bind(address).await {
                        break listener;
                    }
                };
                tracing::info!(%address, "listening");
                endpoint::serve_answers(listener, answer, stop).await;
            });
            Ok(Some(address))
        }
        Err(source) => Err(Error::Listen { address, source }),
    }
}

/// The kernel fills hashes with it, so it must not be known outside.
fn random() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    let hash = RandomState::new().hash_one(0);
    (hash >> 32) as u32 ^ hash as u32
}
