//! A network namespace with a proxy for each Node, and a server for each Pod.
//!
//! ```text
//!   node-a1: eth0 ── n1 ┐
//!                       ├ br0, a router for all Pod addresses: its namespace has a route for each
//!   node-b1: eth0 ── n2 ┘
//! ```
//!
//! The sandbox gives Pods addresses from one range, whatever their Node, so only routes tell where
//! a Pod is. They are all in one place, the namespace of the bridge; a Node sends everything there.
//! Pod addresses are on the loopback interface of their Node's namespace. Watches of Nodes, Pods
//! and EndpointSlices trigger a new list of each, and [`Hosts`] brings the kernel to what
//! [`plan`](plan::plan) makes of them.

mod hosts;
mod plan;
mod server;

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use evenkeel_k8s::watch::{self, Conditions, Hooks, Received, Selector, Selectors, WatchSettings};
use evenkeel_model::{Cidr, label};
use evenkeel_nft::{DetectLocal, Family};
use evenkeel_proxy::{NetworkNamespace, Ready, Settings};
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    discovery::v1::EndpointSlice,
};
use kube::{Api, Client, api::ListParams};
use tokio::{
    sync::{mpsc, watch as latest},
    task::{JoinSet, block_in_place},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use self::{hosts::Hosts, plan::Plan};
use super::{Cluster, Context};
use crate::{error::Error, network::cluster_uid, up::args as up};

pub(crate) const NAME: &str = "proxy";

/// Stands for the name of a Node in the address of this part.
pub(crate) const NODE: &str = "NODE";

/// Changes within this time are taken together.
const GATHER: Duration = Duration::from_millis(20);

/// After a failure.
const RETRY: Duration = Duration::from_secs(1);

pub(super) async fn run(context: Context) -> Result<(), Error> {
    let Context { settings, cluster, client, ready, stop } = context;
    let template = template(&settings, &cluster);
    let uid = cluster_uid(&cluster.client).await?;
    let mut hosts = block_in_place(|| Hosts::create(client, template, &cluster, &uid))?;
    let (mut changes, _watches) = changes(&cluster);
    let mut retry = !renewed(&cluster.client, &mut hosts).await;
    // Nobody receives it during shutdown.
    let _ = ready.send(vec![hosts.name(NODE)]);
    let ended = loop {
        tokio::select! {
            () = stop.cancelled() => break Ok(()),
            error = hosts.failed() => break Err(error),
            Some(_) = changes.recv() => sleep(GATHER).await,
            () = sleep(RETRY), if retry => {}
        }
        while changes.try_recv().is_ok() {}
        retry = !renewed(&cluster.client, &mut hosts).await;
    };
    hosts.stop().await;
    ended
}

/// Brings the namespaces to what the API has now. Gives whether all of it succeeded.
async fn renewed(client: &Client, hosts: &mut Hosts) -> bool {
    match read(client).await {
        Ok(plan) => block_in_place(|| hosts.apply(&plan)),
        Err(error) => {
            tracing::warn!(%error, "listing Nodes and Pods failed, retrying");
            false
        }
    }
}

async fn read(client: &Client) -> kube::Result<Plan> {
    let all = ListParams::default();
    let (nodes, pods, slices) = (
        Api::<Node>::all(client.clone()),
        Api::<Pod>::all(client.clone()),
        Api::<EndpointSlice>::all(client.clone()),
    );
    let (nodes, pods, slices) =
        tokio::try_join!(nodes.list(&all), pods.list(&all), slices.list(&all))?;
    Ok(plan::plan(&nodes.items, &pods.items, &slices.items))
}

/// Watches that run until the set is dropped.
fn changes(cluster: &Cluster) -> (mpsc::Receiver<Received>, JoinSet<()>) {
    let selectors = Selectors {
        nodes: Some(Selector::all()),
        pods: Some(Selector::all()),
        endpoint_slices: Some(Selector::labels(label::SERVICE_NAME)),
        ..Selectors::default()
    };
    let settings = WatchSettings::default();
    let conditions = Arc::new(Conditions::new(&selectors, &settings, Instant::now()));
    let address = Some(cluster.address.clone());
    let hooks = Hooks { conditions, counters: Arc::new(()), address };
    let (changes, tasks) = watch::prepare(&cluster.client, &selectors, &settings, &hooks);
    let mut running = JoinSet::new();
    for task in tasks {
        running.spawn(async move { task.run().await });
    }
    (changes, running)
}

/// What all proxies have in common. Nodes and Pods have addresses of IPv4 only.
fn template(settings: &up::Settings, cluster: &Cluster) -> Settings {
    let mut template = Settings::new("");
    template.engine.topology = settings.controller.engine.topology.clone();
    template.engine.families = vec![Family::Ipv4];
    let pods = settings.api.sandbox.as_ref().map(|sandbox| sandbox.pod_cidr);
    let pods = pods.and_then(|range| Cidr::new(range.first, range.prefix));
    template.engine.nft.detect_local =
        pods.map(|pods| DetectLocal::Ranges(vec![pods])).unwrap_or_default();
    template.address = Some(cluster.address.clone());
    // The dashboard shows what they count. Listeners are outside of the namespaces.
    template.engine.nft.zone_counters = true;
    template.metrics = Some((Ipv4Addr::LOCALHOST, 0).into());
    // Where the controller looks for them.
    template.reports.clone_from(&settings.controller.reports);
    template
}

/// The proxy of one Node, until `stop`.
async fn proxy(
    client: Client,
    mut settings: Settings,
    node: String,
    namespace: NetworkNamespace,
    metrics: latest::Sender<Vec<String>>,
    stop: CancellationToken,
) -> Result<(), Error> {
    settings.engine.node.clone_from(&node);
    settings.namespace = Some(namespace);
    let mut url = None;
    let ready = |ready: Ready| {
        url = ready.metrics.map(|address| format!("http://{address}/metrics"));
        metrics.send_modify(|urls| urls.extend(url.clone()));
    };
    let proxy = evenkeel_proxy::run(client, settings, ready, stop.cancelled_owned());
    let ended = proxy.instrument(tracing::info_span!("proxy", node)).await;
    metrics.send_modify(|urls| urls.retain(|known| Some(known) != url.as_ref()));
    Ok(ended?)
}
