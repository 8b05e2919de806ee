//! The control plane as a process, and its pages.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use evenkeel_testkit::envoy::get;
use serde_json::Value;

/// More than anything takes on a machine with other work to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// It is killed when this is dropped.
pub(crate) struct ControlPlane {
    child: Child,
    /// Where proxies connect.
    pub(crate) listen: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl ControlPlane {
    pub(crate) fn start(folder: &Path) -> ControlPlane {
        ControlPlane::start_at(folder, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    pub(crate) fn start_at(folder: &Path, listen: SocketAddr) -> ControlPlane {
        ControlPlane::start_with(&["--resources", folder.to_str().unwrap()], listen)
    }

    /// On the custom resources of a cluster.
    pub(crate) fn on_cluster(kubeconfig: &Path) -> ControlPlane {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        ControlPlane::start_with(&["--kubeconfig", kubeconfig.to_str().unwrap()], listen)
    }

    /// Waits until it is ready.
    fn start_with(source: &[&str], listen: SocketAddr) -> ControlPlane {
        let mut command = evenkeel(&["xds", "--listen", &listen.to_string()]);
        command.args(source);
        command.args(["--admin-listen", "127.0.0.1:0", "--zone", "zone-0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = lines(child.stdout.take().unwrap());
        let errors = lines(child.stderr.take().unwrap());
        let mut after = |prefix: &str| {
            let begun = Instant::now();
            while let Some(left) = PATIENCE.checked_sub(begun.elapsed()) {
                let Ok(line) = said.recv_timeout(left) else { break };
                if let Some(rest) = line.strip_prefix(prefix) {
                    return rest.trim().to_owned();
                }
            }
            let _ = child.kill();
            panic!("no line {prefix:?} came: {}", errors.iter().collect::<String>());
        };
        let listen = after("xds: ").parse().unwrap();
        let admin = after("admin: http://").parse().unwrap();
        ControlPlane { child, listen, admin }
    }

    /// Without a chance to say anything to its proxies.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
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

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again, up to a deadline.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(begun.elapsed() < PATIENCE, "{what} stayed {seen}"),
        }
        thread::sleep(PAUSE);
    }
}

/// `evenkeel`, cut off from any cluster of this machine.
pub(crate) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).env("HOME", "/nonexistent").env_remove("KUBECONFIG");
    command.env_remove("KUBERNETES_SERVICE_HOST").env_remove("CARGO");
    command
}

/// Lines are read to the end, so that nobody waits for a reader.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|n| n > 0) {
            let _ = sender.send(std::mem::take(&mut line));
        }
    });
    lines
}
