//! `evenkeel dashboard`: serves pages about a cluster to a browser, until a signal.

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use evenkeel_admin::signals::Signals;
use evenkeel_dashboard::{Ready, Settings};
use evenkeel_k8s::live::{self, Connection};
use kube::Client;
use tokio::{runtime::Builder, time::timeout};
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

From another computer: ssh -L 7070:127.0.0.1:7070 HOST, and open the printed address";

#[derive(Debug, Args)]
pub(crate) struct DashboardArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Address of the pages, a loopback address; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// URL of the mesh control plane's --admin-listen [default: known for a cluster of `evenkeel up`]
    #[arg(long, value_name = "URL")]
    pub control_plane_admin: Option<String>,
    #[command(flatten)]
    pub log: LogArgs,
}

/// It also reads Pods, Events, autoscalers and the Leases of proxies, and shows less without.
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
        let settings = Settings { listen: args.listen, client, control_plane };
        let ready = |ready: Ready| {
            printed = printer::data(&format!("dashboard: {}\ncluster:   {address}\n", ready.url));
        };
        let stop = signals.first(|| printer::note(SHUTTING_DOWN));
        evenkeel_dashboard::run(settings, ready, stop).await.map_err(Error::from)
    })?;
    printed
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
