//! The control plane as a process, and its pages.

use std::{net::SocketAddr, path::Path, process::Command};

use evenkeel_testkit::{envoy::get, process::Process};
use serde_json::Value;

pub(crate) use evenkeel_testkit::process::{PATIENCE, eventually};

/// It is killed when this is dropped.
pub(crate) struct ControlPlane {
    process: Process,
    /// Where proxies connect.
    pub(crate) listen: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl ControlPlane {
    pub(crate) fn start(folder: &Path) -> ControlPlane {
        ControlPlane::start_at(folder, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    pub(crate) fn start_at(folder: &Path, listen: SocketAddr) -> ControlPlane {
        let source = ["--resources", folder.to_str().unwrap()];
        // Removed with the folder, and no resource.
        ControlPlane::start_with(&source, listen, &folder.join(".log"))
    }

    /// On the custom resources of a cluster.
    pub(crate) fn on_cluster(kubeconfig: &Path) -> ControlPlane {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let source = ["--kubeconfig", kubeconfig.to_str().unwrap()];
        let log = kubeconfig.with_file_name("control-plane.log");
        ControlPlane::start_with(&source, listen, &log)
    }

    /// Waits until it is ready.
    fn start_with(source: &[&str], listen: SocketAddr, log: &Path) -> ControlPlane {
        let mut command = evenkeel(&["xds", "--listen", &listen.to_string()]);
        command.args(source);
        command.args(["--admin-listen", "127.0.0.1:0", "--zone", "zone-0"]);
        let mut process = Process::start(&mut command, log);
        let listen = process.after("xds: ").parse().unwrap();
        let admin = process.after("admin: http://").parse().unwrap();
        ControlPlane { process, listen, admin }
    }

    /// Without a chance to say anything to its proxies.
    pub(crate) fn kill(self) {
        self.process.kill();
    }

    /// One of its pages, as JSON.
    pub(crate) fn page(&self, path: &str) -> Value {
        let (status, body) = get(self.admin, path).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Looks at a page again and again until `is_so`.
    pub(crate) fn eventually(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        eventually(path, || {
            let page = self.page(path);
            if is_so(&page) { Ok(page) } else { Err(format!("{page:#}")) }
        })
    }

    /// What `mesh/name` is told, with the predicted shares.
    pub(crate) fn inspect(&self, proxy: &str) -> Value {
        self.page(&inspect_page(proxy))
    }
}

pub(crate) fn inspect_page(proxy: &str) -> String {
    format!("/mesh/inspect?dataplane={proxy}")
}

/// `evenkeel`, cut off from any cluster of this machine.
pub(crate) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).env("HOME", "/nonexistent").env_remove("KUBECONFIG");
    command.env_remove("KUBERNETES_SERVICE_HOST").env_remove("CARGO");
    command
}
