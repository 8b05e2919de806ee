//! Hosts, an API server, and proxies, each a process.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use evenkeel_testkit::netns::{Host, Network, Pod, Port, Server};
use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::process::Process;

/// The port of every Pod.
const PORT: u16 = 8080;

pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) pods: Vec<(Pod, Server)>,
    pub(crate) client: Client,
    folder: PathBuf,
    /// Of the API server.
    address: String,
    server: Option<Process>,
}

/// A proxy that runs.
pub(crate) struct Proxy {
    pub(crate) process: Process,
}

impl World {
    /// Two nodes with two Pods each.
    pub(crate) async fn start(test: &str) -> World {
        let network = Network::new(&[("node-a1", "zone-a"), ("node-b1", "zone-b")]);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proxy").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let data = folder.join("data");
        let (server, address) = serve(&folder, "127.0.0.1:0");
        let file = Kubeconfig::read_from(data.join("kubeconfig")).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let names = ["p0", "p1", "p2", "p3"].into_iter();
        let hosts = network.hosts().iter().cycle();
        let pods = names.zip(hosts).map(|(name, host)| {
            let pod = host.pod(name);
            let server = pod.serve(&[Port::Http(PORT)]);
            (pod, server)
        });
        let pods = pods.collect();
        let world = World { network, pods, client, folder, address, server: Some(server) };
        let nodes: Api<Node> = Api::all(world.client.clone());
        for host in world.network.hosts() {
            let labels = json!({"topology.kubernetes.io/zone": host.zone});
            let node = json!({"metadata": {"name": host.name, "labels": labels}});
            nodes.create(&PostParams::default(), &object(node)).await.unwrap();
            let ip = json!([{"type": "InternalIP", "address": host.v4.to_string()}]);
            let status = Patch::Merge(json!({"status": {"addresses": ip}}));
            nodes.patch_status(&host.name, &PatchParams::default(), &status).await.unwrap();
        }
        world
    }

    pub(crate) fn stop_api(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// At the same address.
    pub(crate) fn start_api(&mut self) {
        self.server = Some(serve(&self.folder, &self.address).0);
    }

    /// A Service, and a slice of the same name with all Pods.
    pub(crate) async fn service(&self, name: &str, ip: &str, spec: Value, shares: Option<&str>) {
        let mut service = json!({
            "metadata": {"name": name},
            "spec": {"clusterIP": ip, "ports": [{"name": "http", "port": 80}]},
        });
        for (key, value) in spec.as_object().unwrap() {
            service["spec"][key] = value.clone();
        }
        let services: Api<Service> = Api::default_namespaced(self.client.clone());
        services.create(&PostParams::default(), &object(service)).await.unwrap();
        let mut slice = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": PORT, "protocol": "TCP"}],
            "endpoints": self.endpoints(),
        });
        if let Some(shares) = shares {
            slice["metadata"]["annotations"] = json!({"evenkeel.dev/zone-shares": shares});
        }
        let slices: Api<EndpointSlice> = Api::default_namespaced(self.client.clone());
        slices.create(&PostParams::default(), &object(slice)).await.unwrap();
    }

    pub(crate) fn endpoints(&self) -> Vec<Value> {
        let endpoint = |(pod, _): &(Pod, Server)| json!({"addresses": [pod.v4.to_string()], "nodeName": pod.node, "zone": pod.zone});
        self.pods.iter().map(endpoint).collect()
    }

    pub(crate) fn a1(&self) -> &Host {
        self.network.host("node-a1")
    }

    pub(crate) fn kubeconfig(&self) -> String {
        self.folder.join("data/kubeconfig").to_str().unwrap().to_owned()
    }

    /// The arguments of `evenkeel proxy` for `node-a1`.
    pub(crate) fn args<'a>(&'a self, kubeconfig: &'a str) -> [&'a str; 5] {
        ["--netns", self.a1().netns(), "--kubeconfig", kubeconfig, "--hostname-override=node-a1"]
    }

    pub(crate) fn proxy(&self, args: &[&str]) -> Proxy {
        let kubeconfig = self.kubeconfig();
        let addresses =
            ["--healthz-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0"];
        let args = [&["proxy"], &self.args(&kubeconfig)[..], &addresses, args].concat();
        Proxy { process: Process::start(&mut evenkeel(&args), &self.folder.join("proxy.log")) }
    }

    /// What proxies wrote to stderr.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("proxy.log")).unwrap()
    }
}

impl Proxy {
    /// Waits until its rules are in force; returns the address of its metrics.
    pub(crate) fn ready(&mut self) -> String {
        self.process.after("Proxy is ready.");
        self.process.after("metrics: http://").trim_end_matches("/metrics").to_owned()
    }
}

/// `evenkeel`, cut off from any cluster of this machine.
pub(crate) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).env("HOME", "/nonexistent").env_remove("KUBECONFIG");
    command.env_remove("KUBERNETES_SERVICE_HOST");
    command
}

/// An API server that is ready, and its address.
fn serve(folder: &Path, listen: &str) -> (Process, String) {
    let data = folder.join("data");
    let args = ["apiserver", "--listen", listen, "--data", data.to_str().unwrap()];
    let mut server = Process::start(&mut evenkeel(&args), &folder.join("apiserver.log"));
    let address = server.after("The API server is ready on ");
    (server, address.trim_end_matches('.').trim_start_matches("https://").to_owned())
}

pub(crate) fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}
