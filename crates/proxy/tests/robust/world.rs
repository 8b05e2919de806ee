//! Hosts, and an API server in this process.

use std::{
    fs,
    time::{Duration, Instant},
};

use evenkeel_apiserver::IpRange;
use evenkeel_k8s::live::{Timeouts, long_lived};
use evenkeel_testkit::netns::{Namespace, Network, Pod, Port, Server};
use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{net::TcpSocket, sync::oneshot, task::JoinHandle, time::sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

/// More than anything takes on a machine with other work to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The port of every Pod.
pub(crate) const PORT: u16 = 8080;

pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) client: Client,
    folder: std::path::PathBuf,
    /// Bound and not listening: nobody else is given the port while the server is down.
    port: TcpSocket,
    server: Option<(JoinHandle<()>, DropGuard)>,
}

/// A Pod with its server.
pub(crate) struct Backend {
    pub(crate) pod: Pod,
    pub(crate) server: Option<Server>,
}

// === impl World ===

impl World {
    /// Hosts `node-a1`, `node-b1` and `node-c1`, each in a zone of its own, and their Nodes.
    pub(crate) async fn start(test: &str) -> World {
        let zones = [("node-a1", "zone-a"), ("node-b1", "zone-b"), ("node-c1", "zone-c")];
        let network = Network::new(&zones);
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("robust").join(test);
        let _ = fs::remove_dir_all(&folder);
        let port = TcpSocket::new_v4().unwrap();
        port.set_reuseaddr(true).unwrap();
        port.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let server = Some(serve(&folder, &port).await);
        let client = client(&folder).await;
        let world = World { network, client, folder, port, server };
        for host in world.network.hosts() {
            let ips = json!([
                {"type": "InternalIP", "address": host.v4.to_string()},
                {"type": "InternalIP", "address": host.v6.to_string()},
            ]);
            let labels = json!({"topology.kubernetes.io/zone": host.zone});
            let node = json!({"metadata": {"name": host.name, "labels": labels}});
            let nodes: Api<Node> = Api::all(world.client.clone());
            nodes.create(&PostParams::default(), &object(node)).await.unwrap();
            let status = Patch::Merge(json!({"status": {"addresses": ips}}));
            nodes.patch_status(&host.name, &PatchParams::default(), &status).await.unwrap();
        }
        world
    }

    pub(crate) async fn stop_api(&mut self) {
        let (task, stop) = self.server.take().unwrap();
        drop(stop);
        task.await.unwrap();
    }

    pub(crate) async fn start_api(&mut self) {
        self.server = Some(serve(&self.folder, &self.port).await);
    }

    pub(crate) async fn service(&self, value: Value) {
        self.services().create(&PostParams::default(), &object(value)).await.unwrap();
    }

    pub(crate) async fn slice(&self, value: Value) {
        self.slices().create(&PostParams::default(), &object(value)).await.unwrap();
    }

    pub(crate) async fn patch_service(&self, name: &str, value: Value) {
        let patch = Patch::Merge(value);
        self.services().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn patch_slice(&self, name: &str, value: &Value) {
        let patch = Patch::Merge(value);
        self.slices().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete_service(&self, name: &str) {
        self.services().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.client.clone())
    }

    pub(crate) fn slices(&self) -> Api<EndpointSlice> {
        Api::default_namespaced(self.client.clone())
    }

    /// Pods with servers, spread over the hosts.
    pub(crate) fn backends(&self, n: usize) -> Vec<Backend> {
        let hosts = self.network.hosts().iter().cycle();
        let pods = hosts.zip(0..n).map(|(host, at)| host.pod(&format!("p{at}")));
        pods.map(|pod| Backend { server: Some(pod.serve(&[Port::Http(PORT)])), pod }).collect()
    }
}

async fn serve(folder: &std::path::Path, port: &TcpSocket) -> (JoinHandle<()>, DropGuard) {
    let settings = evenkeel_apiserver::Settings {
        data: Some(folder.to_owned()),
        listen: port.local_addr().unwrap(),
        service_ranges: vec![IpRange { first: [10, 96, 0, 0].into(), prefix: 16 }],
        housekeeping: false,
        ..evenkeel_apiserver::Settings::default()
    };
    let (ready, is_ready) = oneshot::channel();
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    let task = tokio::spawn(async move {
        evenkeel_apiserver::run(settings, |_| ready.send(()).unwrap(), stopped).await.unwrap();
    });
    is_ready.await.unwrap();
    (task, stop.drop_guard())
}

async fn client(folder: &std::path::Path) -> Client {
    let file = Kubeconfig::read_from(folder.join("kubeconfig")).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
    long_lived(config, &Timeouts::default()).unwrap()
}

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Looks again and again until it is so, and says how long it took.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        sleep(Duration::from_millis(5)).await;
    }
    begun.elapsed()
}

/// How often clients of a namespace had to send a SYN again: such a request waited for a second.
pub(crate) fn syn_retries(namespace: &Namespace) -> u64 {
    let text =
        namespace.run(|| fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default());
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let pair = names.split_whitespace().zip(values.split_whitespace());
    let found = pair.into_iter().find(|(name, _)| *name == "TCPSynRetrans");
    found.map_or(0, |(_, value)| value.parse().unwrap())
}
