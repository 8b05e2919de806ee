//! A cluster in this process and its kernel: hosts with Pods, the embedded API server, the controller,
//! and a proxy on each node.
//!
//! ```text
//!  zone-a: node-a1 (pod a1), node-a2 (pod a2)      zone-b: node-b1 (b1, b2)     zone-c: node-c1 (c1, c2)
//!  zone-a, without Pods: node-old, node-hintless, node-zonal (feature gates off at the proxy),
//!                        node-moved, node-restarted (for who changes a Node, or stops a proxy)
//! ```
//!
//! On every node there is a Pod `client-…` too. Tests share the cluster: each has a namespace of the
//! API of its own, in which any of the Pods may be an endpoint ([`Space`](crate::space::Space)).

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, Weak},
    thread::sleep,
    time::{Duration, Instant},
};

use evenkeel_apiserver::IpRange;
use evenkeel_model::Cidr;
use evenkeel_nft::DetectLocal;
use evenkeel_proxy::{NetworkNamespace, Settings};
use evenkeel_testkit::netns::{Network, POD_CIDRS, Pod, Port, Server, has_sctp};
use evenkeel_topology::Gates;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{runtime::Runtime, sync::oneshot, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// More than anything takes on a machine with other work to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where every Pod serves HTTP, and HTTP over SCTP where the kernel has it.
pub(crate) const HTTP: u16 = 8080;
/// Where every Pod serves UDP.
pub(crate) const UDP: u16 = 5353;

/// The namespace of the proxies' Leases.
pub(crate) const REPORTS: &str = "kube-system";

/// Nodes with their zones, and the Pods of each.
const NODES: [(&str, &str, &[&str]); 9] = [
    ("node-a1", "zone-a", &["a1"]),
    ("node-a2", "zone-a", &["a2"]),
    ("node-b1", "zone-b", &["b1", "b2"]),
    ("node-c1", "zone-c", &["c1", "c2"]),
    ("node-old", "zone-a", &[]),
    ("node-hintless", "zone-a", &[]),
    ("node-zonal", "zone-a", &[]),
    ("node-moved", "zone-a", &[]),
    ("node-restarted", "zone-a", &[]),
];

/// All Pods that serve.
pub(crate) const PODS: [&str; 6] = ["a1", "a2", "b1", "b2", "c1", "c2"];

pub(crate) struct Cluster {
    // Proxies and servers stop before what they run on is removed.
    proxies: Mutex<BTreeMap<String, Proxy>>,
    _api: DropGuard,
    config: Config,
    pub(crate) client: Client,
    _servers: Vec<Server>,
    pods: BTreeMap<String, Pod>,
    pub(crate) network: Network,
    /// Who changes the node of that name has its turn.
    turns: BTreeMap<&'static str, Mutex<()>>,
    pub(crate) runtime: Runtime,
}

struct Proxy {
    task: JoinHandle<()>,
    metrics: SocketAddr,
    stop: DropGuard,
}

/// Every test that runs at the time shares the cluster; the last one removes it.
pub(crate) fn cluster() -> Arc<Cluster> {
    static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let cluster = Arc::new(Cluster::start());
        *shared = Arc::downgrade(&cluster);
        cluster
    })
}

/// Looks again and again until it is so. What is not is told by the last error.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(problem) if begun.elapsed() > PATIENCE => panic!("{what}: {problem}"),
            Err(_) => sleep(Duration::from_millis(10)),
        }
    }
}

/// The settings of a node's proxy.
pub(crate) fn settings(node: &str) -> Settings {
    let mut settings = Settings::new(node);
    settings.engine.nft.detect_local = DetectLocal::Ranges(POD_CIDRS.map(cidr).to_vec());
    settings.engine.nft.zone_counters = node.ends_with('1');
    settings.engine.topology.gates = gates(node);
    settings.reports = Some(REPORTS.to_owned());
    settings.metrics = Some("127.0.0.1:0".parse().unwrap());
    settings
}

fn cidr(text: &str) -> Cidr {
    let (first, prefix) = text.split_once('/').unwrap();
    Cidr::new(first.parse().unwrap(), prefix.parse().unwrap()).unwrap()
}

/// Of proxies from before the proposals.
fn gates(node: &str) -> Gates {
    let mut gates = evenkeel_topology::Settings::default().gates;
    match node {
        "node-old" => {
            gates.service_traffic_distribution = false;
            gates.prefer_same_traffic_distribution = false;
        }
        "node-hintless" => gates = off(),
        "node-zonal" => gates.prefer_same_traffic_distribution = false,
        _ => {}
    }
    gates
}

/// All gates off.
pub(crate) fn off() -> Gates {
    let mut gates = evenkeel_topology::Settings::default().gates;
    gates.topology_aware_hints = false;
    gates.service_traffic_distribution = false;
    gates.prefer_same_traffic_distribution = false;
    gates
}

// === impl Cluster ===

impl Cluster {
    fn start() -> Cluster {
        let network = Network::new(&NODES.map(|(node, zone, _)| (node, zone)));
        route_outside(&network);
        let (mut pods, mut servers) = (BTreeMap::new(), Vec::new());
        for (node, _, names) in NODES {
            let host = network.host(node);
            for name in names {
                let pod = host.pod(name);
                servers.push(pod.serve(&ports()));
                pods.insert((*name).to_owned(), pod);
            }
            let client = node.replace("node-", "client-");
            pods.insert(client.clone(), host.pod(&client));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (api, config) = runtime.block_on(serve());
        let client = runtime.block_on(async { Client::try_from(config.clone()).unwrap() });
        let cluster = Cluster {
            proxies: Mutex::default(),
            _api: api,
            config,
            client,
            _servers: servers,
            pods,
            network,
            turns: NODES.iter().map(|(node, ..)| (*node, Mutex::default())).collect(),
            runtime,
        };
        cluster.create_nodes();
        cluster.start_controller();
        NODES.iter().for_each(|(node, ..)| cluster.start_proxy(settings(node)));
        cluster
    }

    /// The Pod of that name.
    pub(crate) fn pod(&self, name: &str) -> &Pod {
        self.pods.get(name).unwrap_or_else(|| panic!("there is no Pod {name}"))
    }

    /// The IPv4 address of a node.
    pub(crate) fn node_ip(&self, node: &str) -> IpAddr {
        self.network.host(node).v4.into()
    }

    /// Nobody else changes this node meanwhile.
    pub(crate) fn turn(&self, node: &str) -> MutexGuard<'_, ()> {
        self.turns[node].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns when its rules are in force.
    pub(crate) fn start_proxy(&self, mut settings: Settings) {
        let node = settings.engine.node.clone();
        let path = self.network.host(&node).path();
        settings.namespace = Some(NetworkNamespace::at(path).unwrap());
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let (ready, is_ready) = oneshot::channel();
        let config = self.config.clone();
        let task = self.runtime.spawn(async move {
            let client = Client::try_from(config).unwrap();
            let ready = |it| ready.send(it).unwrap();
            evenkeel_proxy::run(client, settings, ready, stopped).await.unwrap();
        });
        let is_ready = self.runtime.block_on(async { timeout(PATIENCE, is_ready).await });
        let metrics = is_ready.unwrap().unwrap().metrics.unwrap();
        let proxy = Proxy { task, metrics, stop: stop.drop_guard() };
        self.proxies.lock().unwrap().insert(node, proxy);
    }

    pub(crate) fn stop_proxy(&self, node: &str) {
        let proxy = self.proxies.lock().unwrap().remove(node).unwrap();
        drop(proxy.stop);
        let stopped = async { timeout(PATIENCE, proxy.task).await };
        self.runtime.block_on(stopped).unwrap().unwrap();
    }

    /// What `/metrics` of a node's proxy says.
    pub(crate) fn metrics(&self, node: &str) -> String {
        let address = self.proxies.lock().unwrap()[node].metrics;
        crate::http::get(std::net::TcpStream::connect(address).unwrap(), "/metrics").1
    }

    fn start_controller(&self) {
        let settings = evenkeel_controller::Settings {
            engine: evenkeel_controller::engine::Settings::default(),
            election: None,
            listen: None,
            watches: evenkeel_controller::WatchSettings::default(),
            reports: Some(REPORTS.to_owned()),
            address: None,
        };
        let (ready, is_ready) = oneshot::channel();
        let client = self.client.clone();
        self.runtime.spawn(async move {
            let ready = |_| ready.send(()).unwrap();
            let forever = std::future::pending();
            evenkeel_controller::run(client, settings, ready, forever).await.unwrap();
        });
        let is_ready = async { timeout(PATIENCE, is_ready).await };
        self.runtime.block_on(is_ready).unwrap().unwrap();
    }
}

/// External addresses lead to `node-a1` and `node-b1`, and so do cluster IPs to `node-a1`.
fn route_outside(network: &Network) {
    let (a1, b1) = (network.host("node-a1"), network.host("node-b1"));
    network.outside().ip(&format!(
        "addr add 172.30.0.253/24 dev br0\n\
         route add 203.0.113.0/25 via {}\nroute add 203.0.113.128/25 via {}\n\
         route add 10.96.0.0/16 via {}\n",
        a1.v4, b1.v4, a1.v4
    ));
}

fn ports() -> Vec<Port> {
    let mut ports = vec![Port::Http(HTTP), Port::Udp(UDP)];
    ports.extend(has_sctp().then_some(Port::Sctp(HTTP)));
    ports
}

/// Starts an API server with all data in memory.
async fn serve() -> (DropGuard, Config) {
    let range = |first: &str, prefix| IpRange { first: first.parse().unwrap(), prefix };
    let settings = evenkeel_apiserver::Settings {
        service_ranges: vec![range("10.96.0.0", 16), range("fd00:96::", 112)],
        housekeeping: false,
        ..evenkeel_apiserver::Settings::default()
    };
    let (ready, is_ready) = oneshot::channel();
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    tokio::spawn(async move {
        evenkeel_apiserver::run(settings, |it| ready.send(it).unwrap(), stopped).await.unwrap();
    });
    let file = Kubeconfig::read_from(is_ready.await.unwrap().kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    (stop.drop_guard(), config)
}
