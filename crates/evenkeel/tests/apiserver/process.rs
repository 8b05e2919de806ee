//! The server's process, and clients for it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use k8s_openapi::api::{
    core::v1::{ConfigMap, ServiceAccount},
    rbac::v1::ClusterRole,
};
use kube::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};

/// Maximum time until the objects exist that the server makes by itself.
const SETTLING: Duration = Duration::from_secs(30);

/// A server that runs until it is killed, stopped or dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) data: PathBuf,
}

impl Server {
    /// On any free port.
    pub(crate) fn start(data: &Path) -> Server {
        Server::start_on(data, 0)
    }

    pub(crate) fn start_on(data: &Path, port: u16) -> Server {
        Server::spawn(data, command(data, port))
    }

    /// With further arguments.
    pub(crate) fn start_with(data: &Path, args: &[&str]) -> Server {
        let mut command = command(data, 0);
        command.args(args);
        Server::spawn(data, command)
    }

    /// With this limit of open files.
    pub(crate) fn start_with_files(data: &Path, files: usize) -> Server {
        let server = command(data, 0);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")])
            .arg(server.get_program())
            .args(server.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Server::spawn(data, limited)
    }

    fn spawn(data: &Path, mut command: Command) -> Server {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(address) = line.strip_prefix("The API server is ready on ") else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("it did not start: {line}{said}");
        };
        let address = address.trim_end().trim_end_matches('.').parse().unwrap();
        Server { child, address, data: data.to_owned() }
    }

    pub(crate) async fn client(&self) -> Client {
        let file = Kubeconfig::read_from(self.data.join("kubeconfig")).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Waits until all objects exist that the server makes by itself.
    pub(crate) async fn settled(&self) {
        let begin = Instant::now();
        let client = self.client().await;
        let certificates: Api<ConfigMap> = Api::all(client.clone());
        let accounts: Api<ServiceAccount> = Api::all(client.clone());
        let roles: Api<ClusterRole> = Api::all(client);
        // One in each namespace.
        let published = ListParams::default().fields("metadata.name=kube-root-ca.crt");
        let default = ListParams::default().fields("metadata.name=default");
        loop {
            let of_aggregated = async |name| roles.get(name).await.unwrap().rules;
            let n_published = certificates.list(&published).await.unwrap().items.len();
            let n_accounts = accounts.list(&default).await.unwrap().items.len();
            let mut rules = Vec::new();
            for name in ["admin", "edit", "view"] {
                rules.push(of_aggregated(name).await.unwrap_or_default().len());
            }
            // The rules of these roles are in one another.
            let is_aggregated = rules[2] > 0 && rules[1] > rules[2] && rules[0] > rules[1];
            if n_published == 4 && n_accounts == 4 && is_aggregated {
                return;
            }
            assert!(begin.elapsed() < SETTLING, "{n_published}, {n_accounts}, {rules:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client().await, "default")
    }

    /// Kills it immediately.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it gracefully.
    pub(crate) fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// Stops it gracefully, and returns its log.
    pub(crate) fn stop_with_log(mut self) -> String {
        let mut log = self.child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut said = String::new();
            log.read_to_string(&mut said).map(|_| said)
        });
        self.stop();
        reader.join().unwrap().unwrap()
    }

    /// The number of its open files.
    pub(crate) fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Memory in use, in kB.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that is expected not to start.
pub(crate) fn refused(data: &Path) -> Output {
    let output = command(data, 0).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A data folder that does not exist yet.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("apiserver-process").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    folder
}

/// A port to reuse after a restart: below the system's ephemeral range.
pub(crate) fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id() as u16);
        let port = 20_000 + n % 10_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn command(data: &Path, port: u16) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .args(["apiserver", "--listen", &format!("127.0.0.1:{port}"), "--data"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
