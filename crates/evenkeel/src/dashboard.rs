//! `evenkeel dashboard`: serves pages about a cluster to a browser, until a signal.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use evenkeel_admin::signals::Signals;
use evenkeel_dashboard::{Ready, Settings, Tls};
use evenkeel_k8s::live::{self, Connection};
use kube::Client;
use tokio::{runtime::Builder, sync::watch, time::timeout};
use tracing::Level;

use crate::{
    access::{self, Place, Rule},
    controller::ClusterArgs,
    error::Error,
    logging::{self, LogArgs, SHUTTING_DOWN},
    printer,
    up::components::{self, Components},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel dashboard                                 # the cluster of the current context
  evenkeel dashboard --kubeconfig ~/.kube/config --listen 127.0.0.1:7070
  evenkeel dashboard --control-plane-admin http://127.0.0.1:5680    # with a mesh

  evenkeel dashboard --listen 192.0.2.7:8443 --tls-cert-file tls.crt --tls-private-key-file tls.key

From another computer: ssh -L 7070:127.0.0.1:7070 HOST, and open the printed address";

#[derive(Debug, Args)]
pub(crate) struct DashboardArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Address of the pages: a loopback address, or with a certificate any; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Certificate of the server, with its chain, as PEM: serve over TLS
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key of that certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Name by which browsers reach this server, besides its address; may be repeated
    #[arg(long, value_name = "NAME", requires = "tls_cert_file")]
    pub host: Vec<String>,
    /// Show connections by zone as proxies with --zone-counters count them: the URL of a proxy's
    /// /metrics; may be repeated
    #[arg(long, value_name = "URL")]
    pub measured: Vec<String>,
    /// URL of the mesh control plane's --admin-listen [default: known for a cluster of `evenkeel up`]
    #[arg(long, value_name = "URL")]
    pub control_plane_admin: Option<String>,
    #[command(flatten)]
    pub log: LogArgs,
}

/// It also reads Pods, Events, autoscalers and the Leases of proxies; flow control, `/metrics` and the dumps of
/// `/debug/api_priority_and_fairness`. It shows less without, and says so.
const RULES: &[Rule] = &[
    ("", "nodes", "", FOLLOW),
    ("", "services", "", FOLLOW),
    ("discovery.k8s.io", "endpointslices", "", FOLLOW),
];

const FOLLOW: &[&str] = &["list", "watch"];

/// How long an API server is asked. Where it does not answer, the pages say so.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &DashboardArgs) -> Result<(), Error> {
    logging::start(&args.log, Level::WARN);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    let mut printed = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let source = args.cluster.source()?;
        let Connection { client, address } = live::controller_client(&source).await?;
        printer::note(format_args!("kubeconfig: {source}"));
        check(&client).await?;
        let of_up = || Components::of(&source)?.address(components::MESH).map(str::to_owned);
        let control_plane = args.control_plane_admin.clone().or_else(of_up);
        let (_proxies, proxies) = watch::channel(args.measured.clone());
        let settings =
            Settings { listen: args.listen, client, proxies, tls: tls(args), control_plane };
        let ready = |ready: Ready| {
            printed = printer::data(&format!("dashboard: {}\ncluster:   {address}\n", ready.url));
        };
        let stop = signals.first(|| printer::note(SHUTTING_DOWN));
        evenkeel_dashboard::run(settings, ready, stop).await.map_err(Error::from)
    })?;
    printed
}

fn tls(args: &DashboardArgs) -> Option<Tls> {
    let (certificate, key) = (args.tls_cert_file.clone()?, args.tls_private_key_file.clone()?);
    Some(Tls { certificate, key, hosts: args.host.clone() })
}

/// Finds before the start what would otherwise show as pages that are never there.
async fn check(client: &Client) -> Result<(), Error> {
    let asked = access::permissions(RULES).map(|permission| (permission, Place::default()));
    let answers = timeout(PATIENCE, access::review(client, asked)).await.unwrap_or_default();
    match access::denied(&answers) {
        denied if denied.is_empty() => Ok(()),
        denied => {
            let roles = "ClusterRole `view`, with nodes";
            Err(Error::NotAllowed { of: "dashboard", roles, denied })
        }
    }
}
