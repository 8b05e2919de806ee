//! A node with an API server in its namespace, for kube-proxy reaches no other, and what runs there.

use std::{
    fmt::Write as _,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use evenkeel_testkit::netns::{Network, POD_CIDRS, Pod, Port, Server};

use crate::process::{PATIENCE, Process, ran};

pub(crate) const NODE: &str = "node-a1";

const EVENKEEL: &str = env!("CARGO_BIN_EXE_evenkeel");

pub(crate) struct Node {
    pub(crate) network: Network,
    pods: Vec<(Pod, Server)>,
    folder: PathBuf,
    _server: Process,
}

pub(crate) struct KubeProxy {
    process: Process,
    mode: String,
}

// === impl Node ===

impl Node {
    /// With two Pods, one on another node.
    pub(crate) fn start(test: &str) -> Node {
        let network = Network::new(&[(NODE, "zone-a"), ("node-b1", "zone-b")]);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let data = folder.join("data");
        let mut command = network.host(NODE).command(EVENKEEL);
        command.args(["apiserver", "--listen", "127.0.0.1:6443", "--data"]).arg(data);
        command.args(["--service-cluster-ip-range", "10.96.0.0/16"]);
        let mut server = Process::start(&mut command, &folder.join("apiserver.log"));
        server.after("The API server is ready on ");
        let pods = network.hosts().iter().map(|host| {
            let pod = host.pod(&format!("web-{}", host.zone));
            let server = pod.serve(&[Port::Http(8080)]);
            (pod, server)
        });
        let pods = pods.collect();
        let node = Node { network, pods, folder, _server: server };
        node.create_node();
        node
    }

    fn create_node(&self) {
        let ip = self.network.host(NODE).v4;
        self.apply(&format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: {NODE}, labels: \
             {{topology.kubernetes.io/zone: zone-a}}}}\n"
        ));
        let status = format!(
            "{{\"status\":{{\"addresses\":[{{\"type\":\"InternalIP\",\"address\":\"{ip}\"}}]}}}}"
        );
        let mut kubectl = self.kubectl();
        kubectl.args([
            "patch",
            "node",
            NODE,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ]);
        let ran = ran(&mut kubectl);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    }

    /// A Service with both Pods.
    pub(crate) fn service(&self, name: &str, ip: &str, metadata: &str) {
        let mut text = format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  {metadata}\nspec:\n  \
             clusterIP: {ip}\n  ports: [{{name: http, port: 80}}]\n---\n\
             apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: {name}\n  \
             labels: {{kubernetes.io/service-name: {name}}}\naddressType: IPv4\n\
             ports: [{{name: http, port: 8080, protocol: TCP}}]\nendpoints:\n"
        );
        for (pod, _) in &self.pods {
            let (v4, node, zone) = (pod.v4, &pod.node, &pod.zone);
            let _ = writeln!(
                text,
                "- {{addresses: [{v4}], nodeName: {node}, zone: {zone}, conditions: {{ready: true}}}}"
            );
        }
        self.apply(&text);
    }

    fn apply(&self, text: &str) {
        let file = self.folder.join("objects.yaml");
        fs::write(&file, text).unwrap();
        let ran = ran(self.kubectl().args(["create", "-f"]).arg(file));
        assert_eq!(ran.code, Some(0), "{}\n{text}", ran.err);
    }

    fn kubectl(&self) -> Command {
        let mut command = self.network.host(NODE).command("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig()).env("HOME", &self.folder);
        command
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.join("data/kubeconfig")
    }

    /// Our proxy, with its rules in force.
    pub(crate) fn proxy(&self, args: &[&str]) -> Process {
        let mut command = self.network.host(NODE).command(EVENKEEL);
        command.args(["proxy", "--hostname-override", NODE, "--cluster-cidr", POD_CIDRS[0]]);
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(args);
        // kube-proxy has the addresses of the defaults.
        command.args(["--healthz-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0"]);
        let mut process = Process::start(&mut command, &self.folder.join("proxy.log"));
        process.after("Proxy is ready.");
        process
    }

    pub(crate) fn evenkeel(&self, args: &[&str]) {
        let ran = ran(self.network.host(NODE).command(EVENKEEL).args(args));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }

    pub(crate) fn until_served(&self, to: SocketAddr) {
        let client = self.network.host(NODE).client().timeout(Duration::from_millis(200));
        until("the Service is served", || client.http(to).is_ok());
    }
}

// === impl KubeProxy ===

impl KubeProxy {
    pub(crate) fn start(node: &Node, binary: &str, mode: &str) -> KubeProxy {
        let mut command = node.network.host(NODE).command(binary);
        command.args([
            &format!("--proxy-mode={mode}"),
            &format!("--kubeconfig={}", node.kubeconfig().display()),
            &format!("--hostname-override={NODE}"),
            &format!("--cluster-cidr={}", POD_CIDRS[0]),
            // Values of these can't be set outside the first namespace, and its failure is fatal.
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
            "--oom-score-adj=0",
        ]);
        let process = Process::start(&mut command, &node.folder.join("kube-proxy.log"));
        KubeProxy { process, mode: mode.to_owned() }
    }

    /// Until it has rules for this address.
    pub(crate) fn wait(&mut self, node: &Node, ip: &str) {
        until("kube-proxy has rules", || {
            assert!(self.process.is_running(), "see kube-proxy.log");
            has_rules(node, &self.mode, ip)
        });
    }

    pub(crate) fn stop(self) {
        self.process.stop();
    }

    /// Removes what kube-proxy left, among it rules for this address.
    pub(crate) fn clean_up(node: &Node, binary: &str, mode: &str, ip: &str) {
        assert!(has_rules(node, mode, ip), "rules stay after its stop");
        let mut command = node.network.host(NODE).command(binary);
        command.arg("--cleanup").stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success());
        assert!(!has_rules(node, mode, ip), "only ours are there");
    }
}

/// Whether kube-proxy's rules name this address.
fn has_rules(node: &Node, mode: &str, ip: &str) -> bool {
    let list: &[&str] = match mode {
        "nftables" => &["nft", "list", "table", "ip", "kube-proxy"],
        _ => &["iptables-save", "-t", "nat"],
    };
    let output = node.network.host(NODE).command(list[0]).args(&list[1..]).output().unwrap();
    let rules = String::from_utf8_lossy(&output.stdout);
    rules.lines().any(|line| line.contains(ip))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
