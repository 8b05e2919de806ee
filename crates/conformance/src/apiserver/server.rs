//! The servers under test: the seam to the API server.
//!
//! Each profile is a server in this process, with the settings of the recorded one: no garbage
//! collection, no anonymous access, and AlwaysAllow authorization, except for the profile `rbac`.
//!
//! `EVENKEEL_APISERVER_URL=http(s)://HOST:PORT` with `EVENKEEL_APISERVER_TOKEN` (and, for https,
//! `EVENKEEL_APISERVER_CA=FILE`) tests a running server; it replaces the profile `default`, or
//! another profile if the name of the variable ends in it, as in
//! `EVENKEEL_APISERVER_URL_DUALSTACK`.

use std::{
    env, fs,
    net::{IpAddr, ToSocketAddrs},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use evenkeel_apiserver::{
    Authorization, FairnessProfile, FairnessSettings, IpRange, Ready, Settings,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde_json::Value;
use tokio::{runtime::Builder, sync::oneshot};

use super::http::Target;

/// Drops a server's whole history.
pub(crate) type Compact = Box<dyn Fn() + Send + Sync>;

/// The bearer token of `admin` on our own servers; a recorded TokenReview contains it.
const TOKEN: &str = "admintoken";

/// A running server; one of ours is stopped on drop.
pub(crate) struct Server {
    pub(crate) target: Target,
    /// The bearer token of `admin`, in the group `system:masters`.
    pub(crate) token: String,
    /// Absent if it can't be triggered from outside.
    pub(crate) compact: Option<Compact>,
    #[expect(dead_code, reason = "what is dropped with the rest")]
    pub(crate) running: Option<Running>,
}

/// A server in a thread of this process.
pub(crate) struct Running {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), String>>>,
    tokens: PathBuf,
}

/// Starts a server with the settings of this name.
pub(crate) fn start(profile: &str) -> Result<Server, String> {
    let suffix = match profile {
        "default" => String::new(),
        other => format!("_{}", other.to_uppercase()),
    };
    let Ok(url) = env::var(format!("EVENKEEL_APISERVER_URL{suffix}")) else {
        return embedded(profile);
    };
    let token = env::var("EVENKEEL_APISERVER_TOKEN").unwrap_or_default();
    Ok(Server { target: already_running(&url)?, token, compact: None, running: None })
}

fn embedded(profile: &str) -> Result<Server, String> {
    let tokens = token_file().map_err(|e| e.to_string())?;
    let settings = settings(profile, &tokens)?;
    let (stop, stopped) = oneshot::channel();
    let (ready, begun) = mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|e| e.to_string())?;
        let told = move |is: Ready| {
            let _ = ready.send(is);
        };
        let until = async {
            let _ = stopped.await;
        };
        runtime.block_on(evenkeel_apiserver::run(settings, told, until)).map_err(|e| e.to_string())
    });
    let mut running = Running { stop: Some(stop), thread: Some(thread), tokens };
    let Ok(ready) = begun.recv() else {
        return Err(running.end().err().unwrap_or_else(|| "the server ended at once".to_owned()));
    };
    let tls = Some(trusting(&authority(&ready.kubeconfig)?)?);
    let target = Target { address: ready.address, host: ready.address.to_string(), tls };
    let compact: Compact = Box::new(move || ready.forget_history());
    Ok(Server { target, token: TOKEN.to_owned(), compact: Some(compact), running: Some(running) })
}

fn settings(profile: &str, tokens: &Path) -> Result<Settings, String> {
    let range = |address: &str, prefix| -> Result<IpRange, String> {
        let first: IpAddr = address.parse().map_err(|_| format!("{address} is no address"))?;
        Ok(IpRange { first, prefix })
    };
    let mut service_ranges = vec![range("10.96.0.0", 12)?];
    let mut authorization = Authorization::AlwaysAllow;
    let mut fairness = FairnessSettings {
        enabled: false,
        profile: FairnessProfile::Kubernetes,
        ..FairnessSettings::default()
    };
    match profile {
        "default" | "nocache" => {}
        "fairness" => fairness.enabled = true,
        "rbac" => authorization = Authorization::Rbac,
        "dualstack" => service_ranges.push(range("fd00:10:96::", 112)?),
        other => return Err(format!("there is no server with the settings {other:?}")),
    }
    Ok(Settings {
        service_ranges,
        housekeeping: false,
        tokens: Some(tokens.to_owned()),
        authorization,
        anonymous_health: false,
        fairness,
        ..Settings::default()
    })
}

fn token_file() -> std::io::Result<PathBuf> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("evenkeel-conformance-{}-{number}.csv", process::id());
    let path = env::temp_dir().join(name);
    fs::write(&path, format!("{TOKEN},admin,admin,\"system:masters\"\n"))?;
    Ok(path)
}

/// The PEM text of the CA in a kubeconfig.
fn authority(kubeconfig: &Path) -> Result<Vec<u8>, String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", kubeconfig.display());
    let text = fs::read_to_string(kubeconfig).map_err(|e| failed(&e))?;
    let config: Value = serde_saphyr::from_str(&text).map_err(|e| failed(&e))?;
    let data = &config["clusters"][0]["cluster"]["certificate-authority-data"];
    let data = data.as_str().ok_or_else(|| failed(&"no authority"))?;
    STANDARD.decode(data).map_err(|e| failed(&e))
}

/// The target of a URL.
fn already_running(url: &str) -> Result<Target, String> {
    let bad = || format!("{url:?} is not http(s)://HOST:PORT");
    let (scheme, host) = url.trim_end_matches('/').split_once("://").ok_or_else(bad)?;
    let mut addresses = host.to_socket_addrs().map_err(|e| format!("{url}: {e}"))?;
    let address = addresses.next().ok_or_else(bad)?;
    let tls = match scheme {
        "http" => None,
        "https" => {
            let file = env::var("EVENKEEL_APISERVER_CA").map_err(|_| "EVENKEEL_APISERVER_CA?")?;
            Some(trusting(&fs::read(&file).map_err(|e| format!("{file}: {e}"))?)?)
        }
        _ => return Err(bad()),
    };
    Ok(Target { address, host: host.to_owned(), tls })
}

/// A client that trusts only the CA in this PEM text.
fn trusting(pem: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|e| e.to_string())?;
        roots.add(certificate).map_err(|e| e.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

impl Running {
    fn end(&mut self) -> Result<(), String> {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = fs::remove_file(&self.tokens);
        let thread = self.thread.take();
        thread.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err("panicked".to_owned())))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
