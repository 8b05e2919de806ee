//! An API server with a sandbox, which comes back on the same data and the same port.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU16, Ordering},
};

use serde_json::Value;

use crate::{
    controller::Controller,
    process::{Process, Ran, evenkeel, ran, until},
};

/// The gate of KEP-4444, off.
pub(crate) const GATE_OFF: &str = "--feature-gates=ServiceTrafficDistribution=false";

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) folder: PathBuf,
    port: u16,
    server: Option<Process>,
}

impl Cluster {
    /// With a Node in each of `zones`, `node-ZONE`, of 4 CPUs each.
    pub(crate) fn start(test: &str, zones: &[&str]) -> Cluster {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walkthrough").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("home")).unwrap();
        let mut cluster = Cluster { folder, port: port(), server: None };
        cluster.serve(&[]);
        let nodes: Vec<String> = zones.iter().map(|zone| node(zone)).collect();
        cluster.apply(&nodes.join("---"));
        cluster
    }

    /// Runs the API server, which does not run.
    pub(crate) fn serve(&mut self, args: &[&str]) {
        let (listen, data) = (format!("127.0.0.1:{}", self.port), self.folder.join("data"));
        let own = ["apiserver", "--listen", &listen, "--data", data.to_str().unwrap()];
        let sandbox = ["--sandbox", "--sandbox-ready-after=0s", "--sandbox-end-after=0s"];
        let args = [&own[..], &sandbox, args].concat();
        let mut server = Process::start(&mut evenkeel(&args), &self.folder.join("apiserver.log"));
        server.after("The API server is ready on ");
        self.server = Some(server);
    }

    /// Ends the API server in order, and starts it with other arguments.
    pub(crate) fn restart(&mut self, args: &[&str]) {
        let mut server = self.server.take().unwrap();
        server.signal("-TERM");
        assert_eq!(server.code(), Some(0));
        self.serve(args);
    }

    /// Kills the API server in the middle of what it does, and starts it again.
    pub(crate) fn crash(&mut self) {
        self.server.take().unwrap().kill();
        self.serve(&[]);
    }

    /// Kills the API server.
    pub(crate) fn stop(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// The API server takes nothing and answers nothing until it goes on.
    pub(crate) fn freeze(&self) {
        self.server.as_ref().unwrap().signal("-STOP");
    }

    pub(crate) fn go_on(&self) {
        self.server.as_ref().unwrap().signal("-CONT");
    }

    pub(crate) fn kubeconfig(&self) -> String {
        self.folder.join("data/kubeconfig").to_str().unwrap().to_owned()
    }

    /// A controller that is alone, once its first lists are in.
    pub(crate) fn control(&self, args: &[&str]) -> Controller {
        Controller::start(self, &[&["--leader-elect=false"], args].concat())
    }

    pub(crate) fn kubectl(&self, args: &[&str], stdin: &str) -> Ran {
        ran(&mut self.command(args), stdin)
    }

    /// A kubectl that nobody waits for: it may fail, and ends when it is dropped.
    pub(crate) fn begin(&self, args: &[&str]) -> Process {
        Process::start(&mut self.command(args), &self.folder.join("kubectl.log"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(args);
        // kubectl keeps a cache at home.
        command.env("HOME", self.folder.join("home"));
        command
    }

    /// What a command prints that has to succeed.
    pub(crate) fn must(&self, args: &[&str], stdin: &str) -> String {
        let ran = self.kubectl(args, stdin);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        ran.out
    }

    pub(crate) fn apply(&self, manifests: &str) {
        self.must(&["apply", "-f", "-"], manifests);
    }

    /// What `kubectl get` says, as JSON.
    pub(crate) fn get(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.must(&[&["get", "-o", "json"], args].concat(), "")).unwrap()
    }

    /// Asks again and again until `is_so`.
    pub(crate) fn eventually(&self, args: &[&str], is_so: impl Fn(&Value) -> bool) -> Value {
        let what = format!("{args:?} is as it should be");
        until(&what, || Some(self.get(args)).filter(|seen| is_so(seen)))
    }

    /// `evenkeel explain` of a Service, by what is live.
    pub(crate) fn explain(&self, service: &str, args: &[&str]) -> Value {
        let args = [&["explain", service, "-o", "json"], args].concat();
        let ran = ran(evenkeel(&args).env("KUBECONFIG", self.kubeconfig()), "");
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }
}

pub(crate) fn node(zone: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Node
metadata:
  name: node-{zone}
  labels: {{topology.kubernetes.io/zone: {zone}}}
status:
  capacity: {{cpu: '4', memory: 8Gi, pods: '500'}}
  allocatable: {{cpu: '4', memory: 8Gi, pods: '500'}}
"
    )
}

/// A port to come back to after a restart: below those that the system gives to connections.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id() as u16);
        let port = 10_000 + n % 10_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
