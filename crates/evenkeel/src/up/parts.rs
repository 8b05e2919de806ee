//! The parts of `evenkeel up`. A new one is a line in [`PARTS`], and a file that runs it.

pub(super) mod api;
mod controller;
pub(super) mod dashboard;
pub(super) mod mesh;
pub(super) mod proxy;

use std::{path::PathBuf, sync::Arc};

use evenkeel_k8s::live::{self, ClusterSource, Connection};
use futures_util::future::BoxFuture;
use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    args::Settings,
    components,
    deployed::{self, Deployed},
};
use crate::error::Error;

/// All that uses the API server, in the order in which it is started. Parts stop in the reverse
/// order, and the API server last.
pub(super) const PARTS: &[Part] = &[
    Part {
        name: "controller",
        components: &[(
            "controller",
            "writes EndpointSlices with hints, conditions and Events; /metrics, /readyz",
        )],
        is_wanted: |_| true,
        identity: &deployed::CONTROLLER,
        run: |context| Box::pin(controller::run(context)),
    },
    Part {
        name: proxy::NAME,
        components: &[(
            proxy::NAME,
            "a network namespace for each Node with its proxy, and a server for each Pod",
        )],
        is_wanted: |settings| settings.proxy,
        identity: &deployed::PROXY,
        run: |context| Box::pin(proxy::run(context)),
    },
    Part {
        name: components::MESH,
        components: &[
            (components::XDS, "serves the mesh to Envoy proxies: evenkeel xds bootstrap"),
            (components::MESH, "evenkeel mesh inspect, proxies; /metrics, /readyz"),
        ],
        is_wanted: |settings| settings.mesh.is_some(),
        identity: &deployed::MESH,
        run: |context| Box::pin(mesh::run(context)),
    },
];

pub(super) struct Part {
    pub name: &'static str,
    /// Name and description of each address that it has.
    pub components: &'static [(&'static str, &'static str)],
    pub is_wanted: fn(&Settings) -> bool,
    pub identity: &'static Deployed,
    /// Runs until `stop` is cancelled. It ends earlier only with an error.
    pub run: fn(Context) -> BoxFuture<'static, Result<(), Error>>,
}

/// What a part is given.
pub(super) struct Context {
    pub settings: Arc<Settings>,
    pub cluster: Cluster,
    /// With the identity of the part.
    pub client: Client,
    /// Takes the addresses of the part, in the order of its components, once it is ready.
    pub ready: oneshot::Sender<Vec<String>>,
    pub stop: CancellationToken,
}

/// The API that runs here.
#[derive(Clone)]
pub(super) struct Cluster {
    /// The administrator's.
    pub client: Client,
    pub address: String,
    /// Absolute.
    pub kubeconfig: PathBuf,
    /// The URLs of the metrics of proxies that run here.
    pub proxies: watch::Sender<Vec<String>>,
}

impl Cluster {
    pub(super) async fn connect(kubeconfig: PathBuf) -> Result<Cluster, Error> {
        let source = ClusterSource::file(kubeconfig.clone(), None);
        let Connection { client, address } = live::controller_client(&source).await?;
        Ok(Cluster { client, address, kubeconfig, proxies: watch::Sender::default() })
    }
}
