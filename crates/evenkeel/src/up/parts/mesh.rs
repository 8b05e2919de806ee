//! The control plane of the mesh, on the custom resources of `kuma.io`.

use std::{collections::BTreeSet, net::SocketAddr};

use evenkeel_k8s::watch::WatchSettings;
use evenkeel_xds_server::{ClusterSource, KubernetesSettings, Ready, Settings, SourceSettings};

use super::Context;
use crate::error::Error;

/// That of Services that name none.
const DEFAULT_MESH: &str = "default";

/// Where it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    pub xds: SocketAddr,
    pub admin: SocketAddr,
}

/// The server has installed the definitions when parts start, or has left those of a Kuma that is
/// installed.
pub(super) async fn run(context: Context) -> Result<(), Error> {
    let Context { settings, cluster, client, ready, stop } = context;
    let Some(Listen { xds, admin }) = settings.mesh else { return Ok(()) };
    let address = Some(cluster.address);
    // As the controller decides hints, so that Envoy gets what the nodes do.
    let topology = settings.controller.engine.topology.clone();
    let (mesh, node_labels) = (DEFAULT_MESH.into(), BTreeSet::new());
    let services = Some(KubernetesSettings { mesh, node_labels, topology });
    let source = ClusterSource { client, address, watches: WatchSettings::default(), services };
    let settings = Settings {
        admin: Some(admin),
        source: SourceSettings::Cluster(Box::new(source)),
        ..Settings::intake(xds)
    };
    let on_ready = |Ready { listen, admin }: Ready| {
        let admin = admin.map_or(String::new(), |address| format!("http://{address}"));
        // Nobody receives it during shutdown.
        let _ = ready.send(vec![listen.to_string(), admin]);
    };
    Ok(evenkeel_xds_server::run(settings, on_ready, stop.cancelled_owned()).await?)
}
