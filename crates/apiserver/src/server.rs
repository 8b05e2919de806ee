//! A server, from its settings to its shutdown.

pub(crate) mod assemble;
pub(crate) mod builtin;
mod definitions;
pub(crate) mod health;
pub(crate) mod in_process;
#[cfg(test)]
mod matrix;
#[cfg(test)]
pub(crate) mod testing;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use evenkeel_store::JournalError;
use jiff::Timestamp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use tokio::{net::TcpListener, sync::Mutex, task::JoinHandle};

use crate::{
    api::Api,
    certificates::{
        CertificateError, Folder, FolderError, ServedCertificates, certificates, keep_renewed,
        kubeconfig, names, tls, write_secret,
    },
    chain::Chain,
    custom,
    fairness::{self, FileError},
    housekeeping,
    identity::{TokenFileError, Tokens},
    repair, sandbox,
    serve::{Limits, serve},
    settings::{IpRange, Settings},
    shutdown::Stop,
    tokens::{self, Keys, TokenKeyError},
    writer::probe::probe,
};

/// How often watchers are checked.
const SWEEP: Duration = Duration::from_secs(1);

/// Information about a running server.
#[derive(Clone, Debug)]
pub struct Ready {
    pub address: SocketAddr,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    api: Weak<Api>,
}

/// Why a server can't start or stops.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Certificates(#[from] CertificateError),
    #[error("{}: {source}", path.display())]
    Tokens { path: PathBuf, source: TokenFileError },
    #[error(transparent)]
    TokenKeys(#[from] TokenKeyError),
    #[error("can't listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("can't start the writer: {0}")]
    Writer(io::Error),
    #[error("can't create the built-in objects: {0}")]
    Builtin(String),
    #[error(transparent)]
    Fairness(#[from] FileError),
}

impl Error {
    /// Advice, if the error itself gives none.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("stop what listens there, or give another --listen".to_owned())
            }
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("give a port from 1024 up with --listen".to_owned())
            }
            Error::Listen { .. } => Some("give an address of this host with --listen".to_owned()),
            Error::Tokens { .. } => {
                Some("each line is token,user,uid,\"group1,group2\"".to_owned())
            }
            _ => None,
        }
    }
}

impl Ready {
    /// Drops all history, like a compaction: older versions are no longer available to lists and
    /// watches.
    pub fn forget_history(&self) {
        if let Some(api) = self.api.upgrade() {
            api.storage.forget_history();
        }
    }
}

/// Runs a server until `stop`, then shuts it down in order.
pub async fn run(
    settings: Settings,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let limits = Limits::within(raise_file_limit());
    let (folder, kept) = match &settings.data {
        Some(path) => (Folder::open(path)?, true),
        None => (Folder::temporary()?, false),
    };
    let tokens = token_file(&settings)?;
    let failed = |source| Error::Listen { address: settings.listen, source };
    let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let services: Vec<IpAddr> = settings.service_ranges.iter().map(first_service).collect();
    let names = names(address, &services);
    let certificates = certificates(folder.path(), &names, Timestamp::now())?;
    let tls = tls(&certificates)?;
    let path = folder.path().join("kubeconfig");
    write_secret(&path, &kubeconfig(&certificates, address))?;
    let ending = Stop::default();
    let data = kept.then(|| folder.path().join("journal"));
    let keys = Keys::open(folder.path(), Timestamp::now())?;
    let authority = certificates.authority.clone();
    let known = assemble::Known { tokens, keys, address, authority };
    let (api, writer) = assemble::assemble(settings, data.as_deref(), known, &ending)?;
    builtin::create(&api).await.map_err(|error| Error::Builtin(error.to_string()))?;
    let shown = ServedCertificates {
        folder: folder.path().to_owned(),
        names,
        address,
        kubeconfig: path.clone(),
        serving: tls.serving.clone(),
        present: certificates,
        authority: api.authority.clone(),
    };
    let metrics = api.metrics.connections.clone();
    let serving = serve(listener, tls, Chain::new(&api), ending.clone(), limits, metrics);
    let mut tasks = background_tasks(&api);
    tasks.push(look_after_certificates(&api, shown));
    let begin = async {
        ready(Ready { address, kubeconfig: path, api: Arc::downgrade(&api) });
        stop.await;
        ending.begin();
    };
    let (_cut, ()) = tokio::join!(serving, begin);
    tasks.iter().for_each(JoinHandle::abort);
    // The journal is complete before shutdown is reported.
    let stopped = tokio::task::spawn_blocking(move || writer.stop()).await;
    stopped.map_err(|problem| Error::Writer(io::Error::other(problem)))
}

/// Each connection is a file, and the usual limit is meant for smaller programs. Returns the file
/// limit.
fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // If that is not allowed, connections are evicted earlier.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Background tasks.
pub(crate) fn background_tasks(api: &Arc<Api>) -> Vec<JoinHandle<()>> {
    let mut tasks = vec![
        supervised(api, "watchers", sweep_watchers),
        supervised(api, "journal", probe_journal),
        supervised(api, "address-repair", repair::repair),
        supervised(api, "token-keys", tokens::keep_rotated),
        supervised(api, "flow-control", fairness::keep_configured),
        supervised(api, "custom-resources", custom::controller::run),
    ];
    if api.settings.housekeeping {
        tasks.push(supervised(api, "housekeeping", housekeeping::run));
        tasks.push(supervised(api, "event-expiry", housekeeping::expire_events));
        tasks.push(supervised(api, "role-aggregation", housekeeping::aggregate_roles));
    }
    if api.settings.housekeeping || api.settings.sandbox.is_some() {
        tasks.push(supervised(api, "service-accounts", housekeeping::keep_accounts));
    }
    if api.settings.sandbox.is_some() {
        tasks.push(supervised(api, "sandbox", sandbox::run));
    }
    tasks
}

/// Runs as long as the server does, with restarts; a health check has its name.
fn supervised<F>(
    api: &Arc<Api>,
    name: &'static str,
    task: impl Fn(Arc<Api>) -> F + Send + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let own = api.clone();
    api.supervisor.spawn(name, move || task(own.clone()))
}

async fn sweep_watchers(api: Arc<Api>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        api.watchers.sweep(&api.storage.state());
    }
}

fn look_after_certificates(api: &Arc<Api>, shown: ServedCertificates) -> JoinHandle<()> {
    let shown = Arc::new(Mutex::new(shown));
    api.supervisor.spawn("certificates", move || {
        let shown = Arc::clone(&shown);
        async move { keep_renewed(&mut *shown.lock().await).await }
    })
}

async fn probe_journal(api: Arc<Api>) {
    probe(&api.storage, api.writable.clone()).await;
}

fn token_file(settings: &Settings) -> Result<Tokens, Error> {
    let Some(path) = &settings.tokens else { return Ok(Tokens::default()) };
    Tokens::load(path).map_err(|source| Error::Tokens { path: path.clone(), source })
}

/// The address of the Service `kubernetes`.
fn first_service(range: &IpRange) -> IpAddr {
    match range.first {
        IpAddr::V4(first) => IpAddr::V4((u32::from(first) + 1).into()),
        IpAddr::V6(first) => IpAddr::V6((u128::from(first) + 1).into()),
    }
}
