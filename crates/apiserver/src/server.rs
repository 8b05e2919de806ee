//! A server, from its settings to its end.

pub(crate) mod assemble;
pub(crate) mod builtin;

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
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    api::Api,
    certificates::{
        CertificateError, Folder, FolderError, certificates, kubeconfig, names, tls, write_secret,
    },
    chain::Chain,
    housekeeping,
    identity::{TokenFileError, Tokens},
    sandbox,
    serve::{Limits, serve},
    settings::{IpRange, Settings},
    shutdown::Stop,
};

/// How often watchers are looked after.
const SWEEP: Duration = Duration::from_secs(1);

/// What is to be known of a server that answers.
#[derive(Clone, Debug)]
pub struct Ready {
    pub address: SocketAddr,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    api: Weak<Api>,
}

/// Why a server does not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Certificates(#[from] CertificateError),
    #[error("{}: {source}", path.display())]
    Tokens { path: PathBuf, source: TokenFileError },
    #[error("can't listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("can't start the writer: {0}")]
    Writer(io::Error),
    #[error("can't write the objects that every cluster has: {0}")]
    Builtin(String),
}

impl Error {
    /// What to do about it, where the error itself does not say.
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
    /// Forgets all history, as a compaction does: older versions are gone for lists and watches.
    pub fn forget_history(&self) {
        if let Some(api) = self.api.upgrade() {
            api.storage.forget_history();
        }
    }
}

/// Runs a server until `stop`, then ends it in order.
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
    let tokens = tokens(&settings)?;
    let failed = |source| Error::Listen { address: settings.listen, source };
    let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let services: Vec<IpAddr> = settings.service_ranges.iter().map(first_service).collect();
    let certificates =
        certificates(kept.then_some(&folder), &names(address, &services), Timestamp::now())?;
    let tls = tls(&certificates)?;
    let path = folder.path().join("kubeconfig");
    write_secret(&path, &kubeconfig(&certificates, address))?;
    let ending = Stop::default();
    let data = kept.then(|| folder.path().join("journal"));
    let known = assemble::Known { tokens, address, authority: certificates.authority };
    let (api, writer) = assemble::assemble(settings, data.as_deref(), known, &ending)?;
    builtin::create(&api).await.map_err(|failure| Error::Builtin(failure.message().to_owned()))?;
    let metrics = api.metrics.connections.clone();
    let serving = serve(listener, tls, Chain::new(&api), ending.clone(), limits, metrics);
    let tasks = beside(&api);
    let begin = async {
        ready(Ready { address, kubeconfig: path, api: Arc::downgrade(&api) });
        stop.await;
        ending.begin();
    };
    let (_cut, ()) = tokio::join!(serving, begin);
    tasks.iter().for_each(JoinHandle::abort);
    // The journal is complete before the process says that it is done.
    let stopped = tokio::task::spawn_blocking(move || writer.stop()).await;
    stopped.map_err(|problem| Error::Writer(io::Error::other(problem)))
}

/// Each connection is a file, and the usual limit is meant for programs that wait for one at a time.
/// Returns how many files there may be.
fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // Where that is not allowed, connections are evicted earlier.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// What runs beside the requests.
pub(crate) fn beside(api: &Arc<Api>) -> Vec<JoinHandle<()>> {
    let mut tasks = vec![tokio::spawn(look_after_watchers(api.clone()))];
    if api.settings.housekeeping {
        tasks.push(tokio::spawn(housekeeping::keep_house(api.clone())));
    }
    if api.settings.sandbox.is_some() {
        tasks.push(tokio::spawn(sandbox::play(api.clone())));
    }
    tasks
}

async fn look_after_watchers(api: Arc<Api>) {
    let mut ticks = tokio::time::interval(SWEEP);
    loop {
        ticks.tick().await;
        api.watchers.sweep(&api.storage.state());
    }
}

fn tokens(settings: &Settings) -> Result<Tokens, Error> {
    let Some(path) = &settings.tokens else { return Ok(Tokens::default()) };
    Tokens::load(path).map_err(|source| Error::Tokens { path: path.clone(), source })
}

/// The address that the Service `kubernetes` has.
fn first_service(range: &IpRange) -> IpAddr {
    match range.first {
        IpAddr::V4(first) => IpAddr::V4((u32::from(first) + 1).into()),
        IpAddr::V6(first) => IpAddr::V6((u128::from(first) + 1).into()),
    }
}
