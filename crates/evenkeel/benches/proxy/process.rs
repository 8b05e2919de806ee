//! A proxy, Evenkeel's or Kubernetes', as a process of its own.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    cluster::NODE,
    load::{
        Failure,
        server::{Folder, binary},
    },
    usage::Usage,
};

/// How long it may take to be ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// The default of both.
const METRICS: &str = "127.0.0.1:10249";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Evenkeel,
    Kubernetes,
}

pub(crate) struct Proxy {
    process: Child,
    begun: Instant,
    /// From its start until its rules were in force.
    pub(crate) ready: Duration,
}

/// A kube-proxy to compare with.
pub(crate) fn kube_proxy() -> Option<PathBuf> {
    env::var_os("EVENKEEL_TEST_KUBE_PROXY").map(PathBuf::from).filter(|path| path.exists())
}

// === impl Proxy ===

impl Proxy {
    /// Starts it in this thread's namespace, and waits until its rules are in force.
    pub(crate) fn start(kind: Kind, folder: &Folder) -> Result<Proxy, Failure> {
        let mut command = match kind {
            Kind::Evenkeel => evenkeel(folder),
            Kind::Kubernetes => kubernetes(folder)?,
        };
        let begun = Instant::now();
        let process = command.stdout(Stdio::piped()).spawn()?;
        let mut proxy = Proxy { process, begun, ready: Duration::ZERO };
        match kind {
            Kind::Evenkeel => proxy.await_line()?,
            Kind::Kubernetes => proxy.await_metric()?,
        }
        Ok(proxy)
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.process.id())
    }

    /// The sum of all values of a metric.
    pub(crate) fn metric(&self, name: &str) -> Result<f64, Failure> {
        let text = metrics()?;
        let values = text.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let is_meant = series.split('{').next() == Some(name);
            is_meant.then(|| value.parse::<f64>().unwrap_or_default())
        });
        Ok(values.sum())
    }

    /// The counts of a histogram, by upper bound.
    pub(crate) fn buckets(&self, name: &str) -> Result<Vec<(f64, u64)>, Failure> {
        let start = format!("{name}_bucket{{le=\"");
        let text = metrics()?;
        let buckets = text.lines().filter_map(|line| {
            let (bound, count) = line.strip_prefix(&start)?.split_once("\"} ")?;
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
            Some((bound, count.split(' ').next()?.parse().ok()?))
        });
        Ok(buckets.collect())
    }

    fn await_line(&mut self) -> Result<(), Failure> {
        let output = self.process.stdout.take().ok_or("the proxy has an output")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        self.ready = self.begun.elapsed();
        thread::spawn(move || output.read_to_end(&mut Vec::new()));
        match line.contains("ready") {
            true => Ok(()),
            false => Err(format!("the proxy said {line:?}").into()),
        }
    }

    /// kube-proxy does not say when it is ready, but counts its syncs, one for each family at first.
    fn await_metric(&mut self) -> Result<(), Failure> {
        while self.begun.elapsed() < PATIENCE {
            let metric = "kubeproxy_sync_proxy_rules_duration_seconds_count";
            if self.metric(metric).is_ok_and(|count| count >= 2.0) {
                self.ready = self.begun.elapsed();
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err("kube-proxy did not sync".into())
    }
}

impl Drop for Proxy {
    /// Not in order: a restart must cope with that too.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn evenkeel(folder: &Folder) -> Command {
    let mut command = Command::new(binary());
    command.args(["proxy", "--hostname-override", NODE, "--log-level=warn"]);
    command.args(["--cluster-cidr=10.128.0.0/9", "--kubeconfig"]);
    command.arg(folder.path().join("data/kubeconfig"));
    command
}

/// With no pause between syncs, or a change would wait for a second.
fn kubernetes(folder: &Folder) -> Result<Command, Failure> {
    let path = kube_proxy().ok_or("there is no kube-proxy")?;
    let kubeconfig = folder.path().join("data/kubeconfig");
    let config = format!(
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: nftables\n\
         clusterCIDR: 10.128.0.0/9\nhostnameOverride: {NODE}\noomScoreAdj: 0\n\
         clientConnection:\n  kubeconfig: {}\n  contentType: application/json\n  qps: 50\n  burst: 100\n\
         conntrack: {{maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}\n\
         nftables: {{minSyncPeriod: 1ms, syncPeriod: 30s}}\n",
        kubeconfig.display()
    );
    let file = folder.path().join("kube-proxy.yaml");
    fs::write(&file, config)?;
    let mut command = Command::new(path);
    command.arg("--config").arg(file).stderr(Stdio::null());
    Ok(command)
}

fn metrics() -> Result<String, Failure> {
    let mut stream = TcpStream::connect(METRICS)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
