//! `evenkeel up` as a process.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::process::Server;

/// The process with its API; its log is in a file beside the data.
pub(super) struct Cluster {
    pub(super) server: Server,
    log: PathBuf,
}

impl Cluster {
    pub(super) async fn start(disk: &Path) -> Cluster {
        let (data, log) = (disk.join("data"), log(disk));
        let file = fs::File::create(&log).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["up", "--listen", "127.0.0.1:0", "--controller-listen", "127.0.0.1:0"])
            .args(["--dashboard-listen", "127.0.0.1:0"])
            .args(["--sandbox-ready-after", "50ms", "--sandbox-end-after", "50ms", "--data"])
            .arg(&data)
            .env("HOME", "/nonexistent")
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .unwrap();
        let address = address(&mut child);
        let Some(address) = address else {
            let _ = child.kill();
            panic!("it did not start: {}", fs::read_to_string(&log).unwrap_or_default());
        };
        Cluster { server: Server { child, address, data }, log }
    }

    /// Lines of the log about a panic.
    pub(super) fn panics(&self) -> Vec<String> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().filter(|line| line.contains("panicked")).map(str::to_owned).collect()
    }

    /// Open files and sockets.
    pub(super) fn descriptors(&self) -> usize {
        let folder = fs::read_dir(format!("/proc/{}/fd", self.server.child.id()));
        folder.map_or(0, Iterator::count)
    }
}

/// Not on the disk that gets full.
fn log(disk: &Path) -> PathBuf {
    disk.with_extension("log")
}

/// The API's address, from the process's output. The rest is read as well, so that it never blocks.
fn address(child: &mut Child) -> Option<std::net::SocketAddr> {
    let (sender, found) = std::sync::mpsc::channel();
    let said = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || {
        for line in said.lines().map_while(Result::ok) {
            let at = line.split("https://").nth(1).and_then(|rest| rest.split(' ').next());
            if let Some(address) = at.and_then(|at| at.parse().ok()) {
                let _ = sender.send(address);
            }
        }
    });
    found.recv_timeout(Duration::from_secs(60)).ok()
}
