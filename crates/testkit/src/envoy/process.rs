//! A process of Envoy and its admin pages.

use std::{
    collections::BTreeMap,
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{client, place};

/// Until an Envoy is live, and for conditions that tests wait for, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// Lines of its log that a failure shows.
const LAST_LINES: usize = 30;

/// A running Envoy with one worker thread.
#[derive(Debug)]
pub struct Envoy {
    child: Child,
    admin: SocketAddr,
    folder: Folder,
}

/// With bootstrap and log; removed with its value.
#[derive(Debug)]
struct Folder(PathBuf);

// === impl Envoy ===

impl Envoy {
    /// Starts it with this bootstrap, as YAML or JSON, and waits until it is live.
    pub fn start(bootstrap: &str) -> Envoy {
        Envoy::start_with(bootstrap, &[])
    }

    /// The same with further arguments.
    pub fn start_with(bootstrap: &str, args: &[&str]) -> Envoy {
        let envoy = Envoy::spawn(bootstrap, args);
        envoy.wait_until("live", || envoy.state() == "LIVE");
        envoy
    }

    /// Starts it and waits for its admin pages only. They are on a port of their own, whatever the
    /// bootstrap says.
    pub fn spawn(bootstrap: &str, args: &[&str]) -> Envoy {
        let folder = Folder::new();
        let (config, log) = (folder.0.join("bootstrap.yaml"), folder.0.join("log"));
        let admin = folder.0.join("admin");
        fs::write(&config, bootstrap).expect("the folder is new");
        let mut command = Command::new(place::binary());
        command.arg("--config-path").arg(&config).arg("--log-path").arg(&log);
        command.arg("--admin-address-path").arg(&admin);
        command.args(["--config-yaml", ADMIN, "--concurrency", "1"]);
        // Memory shared with a successor would be left behind, and is in the way of other processes.
        command.args(["--disable-hot-restart", "--log-level", "info"]);
        command.args(["--file-flush-interval-msec", "100"]).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| {
            let binary = place::binary();
            panic!("{}: {error}; `cargo xtask test` installs it", binary.display())
        });
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut envoy = Envoy { child, admin: nowhere, folder };
        envoy.admin =
            envoy.wait_for("admin pages", || fs::read_to_string(&admin).ok()?.parse().ok());
        envoy
    }

    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// An admin page, for example `/clusters`.
    pub fn page(&self, path: &str) -> String {
        match client::get(self.admin, path) {
            Ok((200, body)) => body,
            other => panic!("{path}: {other:?}\n{}", self.log_end()),
        }
    }

    pub fn json(&self, path: &str) -> Value {
        let text = self.page(path);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    /// `/clusters`, by the names of clusters.
    pub fn clusters(&self) -> BTreeMap<String, Value> {
        by_name(self.json("/clusters?format=json")["cluster_statuses"].take())
    }

    /// Counters and gauges whose names match this regular expression.
    pub fn stats(&self, filter: &str) -> BTreeMap<String, u64> {
        let escaped: String = filter.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let page = self.json(&format!("/stats?format=json&filter={escaped}"));
        let stats = page["stats"].as_array().into_iter().flatten();
        let stats =
            stats.filter_map(|s| Some((s["name"].as_str()?.to_owned(), s["value"].as_u64()?)));
        stats.collect()
    }

    /// One counter or gauge; 0 if it does not exist yet.
    pub fn stat(&self, name: &str) -> u64 {
        let stats = self.stats(&format!("^{}$", name.replace('.', "\\.")));
        stats.get(name).copied().unwrap_or(0)
    }

    /// What it was sent, endpoints too.
    pub fn config_dump(&self) -> Value {
        self.json("/config_dump?include_eds")
    }

    /// `LIVE`, `INITIALIZING`, …
    pub fn state(&self) -> String {
        self.json("/server_info")["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Where a listener is, which may have asked for port 0. Waits for it.
    pub fn listener(&self, name: &str) -> SocketAddr {
        self.wait_for(name, || {
            let listeners = self.json("/listeners?format=json")["listener_statuses"].take();
            let listener = by_name(listeners).remove(name)?;
            let address = &listener["local_address"]["socket_address"];
            let (ip, port) = (address["address"].as_str()?, address["port_value"].as_u64()?);
            Some(SocketAddr::new(ip.parse().ok()?, u16::try_from(port).ok()?))
        })
    }

    /// Waits for a condition, up to a deadline.
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        self.wait_for(what, || holds().then_some(()));
    }

    /// Waits for a value, up to a deadline.
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            assert!(self.is_running(), "Envoy ended before {what}:\n{}", self.log_end());
            if let Some(found) = look() {
                return found;
            }
            let late = begun.elapsed() > DEADLINE;
            assert!(!late, "no {what} after {DEADLINE:?}:\n{}", self.log_end());
            thread::sleep(PAUSE);
        }
    }

    /// Its log up to a moment ago.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log")).unwrap_or_default()
    }

    /// It is a child that nobody waited for: ended, it is a zombie.
    fn is_running(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let after_name = |stat: String| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
        stat.ok().and_then(after_name).is_some_and(|rest| !rest.starts_with(['Z', 'X']))
    }

    fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ADMIN: &str = "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}";

fn by_name(list: Value) -> BTreeMap<String, Value> {
    let Value::Array(list) = list else { return BTreeMap::new() };
    list.into_iter().filter_map(|one| Some((one["name"].as_str()?.to_owned(), one))).collect()
}

// === impl Folder ===

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("evenkeel-envoy-{}-{n}", process::id()));
        // Of an earlier process with our id, that was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}
