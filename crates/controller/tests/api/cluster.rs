//! An API server that can be stopped and started again, and a controller against it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use evenkeel_admin::lease;
use evenkeel_apiserver::IpRange;
use evenkeel_controller::{Ready, Settings, WatchSettings, engine};
use k8s_openapi::api::{
    core::v1::{Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, Config,
    api::{ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// More than anything takes on a machine with other work to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(10);

/// An API server with data on disk, always on the same port.
pub(crate) struct Cluster {
    folder: PathBuf,
    pub(crate) address: SocketAddr,
    /// Bound and not listening: nobody else is given the port while the server is down.
    _port: TcpSocket,
    server: Option<Running>,
}

/// Something that runs beside the test until it is stopped or dropped.
pub(crate) struct Running {
    task: JoinHandle<()>,
    stop: DropGuard,
}

pub(crate) struct Controller {
    running: Running,
    admin: SocketAddr,
}

// === impl Cluster ===

impl Cluster {
    /// Has a Node, and a Service `web` with one Pod.
    pub(crate) async fn start(test: &str) -> Cluster {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("api").join(test);
        let _ = std::fs::remove_dir_all(&folder);
        let port = TcpSocket::new_v4().unwrap();
        port.set_reuseaddr(true).unwrap();
        port.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = port.local_addr().unwrap();
        let mut cluster = Cluster { folder, address, _port: port, server: None };
        cluster.serve().await;
        let client = cluster.client().await;
        let node = object(json!({"metadata": {"name": "node"}}));
        let nodes: Api<Node> = Api::all(client.clone());
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let ports = json!([{"port": 80}]);
        let spec = json!({"selector": {"app": "web"}, "ports": ports});
        let service = object(json!({"metadata": {"name": "web"}, "spec": spec}));
        let services: Api<Service> = Api::default_namespaced(client);
        services.create(&PostParams::default(), &service).await.unwrap();
        cluster.pod(1).await;
        cluster
    }

    pub(crate) async fn serve(&mut self) {
        let settings = evenkeel_apiserver::Settings {
            data: Some(self.folder.clone()),
            listen: self.address,
            service_ranges: vec![IpRange { first: [10, 96, 0, 0].into(), prefix: 16 }],
            housekeeping: false,
            ..evenkeel_apiserver::Settings::default()
        };
        let (ready, is_ready) = oneshot::channel();
        self.server = Some(Running::spawn(|stop| async move {
            let ready = |_| ready.send(()).unwrap();
            evenkeel_apiserver::run(settings, ready, stop.cancelled_owned()).await.unwrap();
        }));
        timeout(PATIENCE, is_ready).await.unwrap().unwrap();
    }

    /// From now on connections are refused.
    pub(crate) async fn stop(&mut self) {
        self.server.take().unwrap().stop().await;
    }

    pub(crate) async fn config(&self) -> Config {
        let file = Kubeconfig::read_from(self.folder.join("kubeconfig")).unwrap();
        let options = KubeConfigOptions::default();
        Config::from_custom_kubeconfig(file, &options).await.unwrap()
    }

    /// Straight to the server.
    pub(crate) async fn client(&self) -> Client {
        Client::try_from(self.config().await).unwrap()
    }

    /// A ready Pod of Service `web`.
    pub(crate) async fn pod(&self, number: u8) {
        let pods: Api<Pod> = Api::default_namespaced(self.client().await);
        let name = format!("web-{number}");
        let pod = object(json!({
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]},
        }));
        pods.create(&PostParams::default(), &pod).await.unwrap();
        let ip = format!("10.1.0.{number}");
        let status = json!({"status": {
            "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let patch = Patch::Merge(status);
        pods.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until the slices of `web` have `n` endpoints, and says for how long.
    pub(crate) async fn endpoints(&self, n: usize) -> Duration {
        let slices: Api<EndpointSlice> = Api::default_namespaced(self.client().await);
        let params = ListParams::default().labels("kubernetes.io/service-name=web");
        until(&format!("{n} endpoints"), async || {
            let slices = slices.list(&params).await.unwrap().items;
            let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            endpoints.count() == n
        })
        .await
    }
}

// === impl Running ===

impl Running {
    pub(crate) fn spawn<F>(run: impl FnOnce(CancellationToken) -> F) -> Running
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(stop.clone()));
        Running { task, stop: stop.drop_guard() }
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }
}

// === impl Controller ===

impl Controller {
    /// Returns once its first lists are complete.
    pub(crate) async fn start(
        client: Client,
        election: Option<lease::Settings>,
        watches: WatchSettings,
    ) -> Controller {
        let (engine, listen) = (engine::Settings::default(), "127.0.0.1:0".parse().unwrap());
        let settings = Settings {
            engine,
            election,
            listen: Some(listen),
            watches,
            reports: Some("kube-system".to_owned()),
            address: None,
        };
        let (ready, is_ready) = oneshot::channel();
        let running = Running::spawn(|stop| async move {
            let ready = |it: Ready| ready.send(it).unwrap();
            let stop = stop.cancelled_owned();
            evenkeel_controller::run(client, settings, ready, stop).await.unwrap();
        });
        let ready = timeout(PATIENCE, is_ready).await.unwrap().unwrap();
        Controller { running, admin: ready.admin.unwrap() }
    }

    /// Waits until `/readyz` answers with `code`; for how long, and what it said.
    pub(crate) async fn readyz(&self, code: u16) -> (Duration, String) {
        self.answers("/readyz?verbose", code).await
    }

    pub(crate) async fn answers(&self, path: &str, code: u16) -> (Duration, String) {
        let mut said = String::new();
        let took = until(&format!("{path} with {code}"), async || {
            said = get(self.admin, path).await;
            said.starts_with(&format!("HTTP/1.1 {code} "))
        })
        .await;
        (took, said)
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Looks again and again until it is so, and says how long it took.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(PAUSE).await;
    }
    begun.elapsed()
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}
