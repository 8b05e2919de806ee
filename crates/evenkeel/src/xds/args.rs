//! The flags of `evenkeel xds`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use evenkeel_k8s::{
    live::{self, Connection},
    watch::WatchSettings,
};
use evenkeel_locality::Compat;
use evenkeel_xds_server::{ClusterSource, KubernetesSettings, Settings, SourceSettings};

use crate::{
    cli::Profile, controller::ClusterArgs, error::Error, logging::LogArgs, mesh::names,
    settings::profile,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Serve the Dataplanes, routes and policies of a folder, and follow its changes
  evenkeel xds --resources ./mesh --zone zone-1

  # Serve the custom resources of kuma.io of a cluster
  kubectl apply -k deploy/crds/mesh
  evenkeel xds --zone zone-1

  # Print the bootstrap of a proxy, and start it
  evenkeel xds bootstrap --dataplane web-1 --resources ./mesh >envoy.yaml
  envoy -c envoy.yaml";

const BOOTSTRAP_EXAMPLES: &str = "\
Examples:
  # With zone and tags of the Dataplane
  evenkeel xds bootstrap --dataplane web-1 --resources ./mesh >envoy.yaml

  # The same for Dataplane web-1 of namespace shop in a cluster
  evenkeel xds bootstrap --dataplane web-1.shop --kubeconfig ~/.kube/config >envoy.yaml

  # For a control plane on another host
  evenkeel xds bootstrap --dataplane web-1 --zone zone-1 --control-plane xds.example.com:5678";

/// Where proxies connect, as Kuma's control plane has it.
pub(super) const LISTEN: &str = "127.0.0.1:5678";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct XdsArgs {
    #[command(subcommand)]
    pub command: Option<XdsCommand>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum XdsCommand {
    /// Print the bootstrap with which Envoy connects to the control plane
    #[command(after_help = BOOTSTRAP_EXAMPLES)]
    Bootstrap(BootstrapArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Folder of YAML files with Dataplanes, routes and policies, in place of the custom resources of a
    /// cluster; changes are followed
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["kubeconfig", "context"])]
    pub resources: Option<PathBuf>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Address where proxies connect; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = LISTEN)]
    pub listen: SocketAddr,
    /// Address of /metrics, /readyz and /mesh; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5680")]
    pub admin_listen: SocketAddr,
    /// The zone of Dataplanes and Services that name none; by default, in a cluster, that of their Node
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Serve the Services of the cluster as destinations, with their EndpointSlices
    #[arg(
        long,
        default_value_t = true,
        action = ArgAction::Set,
        num_args = 0..=1,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    pub services: bool,
    /// The mesh of Services without the label kuma.io/mesh
    #[arg(long, value_name = "MESH", default_value = "default")]
    pub services_mesh: String,
    /// Labels of Nodes that endpoints have as tags, besides zone, region and hostname
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    pub node_labels: Vec<String>,
    /// Rules for hints of Services: Evenkeel's, or exactly those of Kubernetes
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,
    /// Whose behaviour counts where Kuma departs from its decision record
    #[arg(long, value_enum, default_value_t)]
    pub compat: CompatChoice,
    #[command(flatten)]
    pub log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BootstrapArgs {
    /// Name of the Dataplane; of one in a cluster NAME.NAMESPACE
    #[arg(long, value_name = "NAME", add = names::dataplanes())]
    pub dataplane: String,
    /// Mesh of the Dataplane
    #[arg(long, value_name = "MESH", default_value = "default")]
    pub mesh: String,
    /// Folder with the Dataplane, whose zone and tags the bootstrap then has
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["kubeconfig", "context"])]
    pub resources: Option<PathBuf>,
    /// Kubeconfig of the cluster with the Dataplane, in place of a folder
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Zone of the Dataplane, if it does not name one
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Where the control plane listens [default: that of `evenkeel up`, or 127.0.0.1:5678]
    #[arg(long, value_name = "HOST:PORT")]
    pub control_plane: Option<String>,
    /// The variant of the protocol
    #[arg(long, value_enum, default_value_t)]
    pub protocol: ProtocolChoice,
    /// Where Envoy shows its state, a loopback address; without it nowhere
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub envoy_admin: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatChoice {
    /// The decision record
    #[default]
    Record,
    /// What Kuma does
    Kuma,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolChoice {
    /// Incremental
    #[default]
    Delta,
    /// State of the world
    Sotw,
}

/// Nothing is started yet.
pub(super) async fn settings(args: &RunArgs) -> Result<Settings, Error> {
    let mut settings = match &args.resources {
        Some(folder) => {
            readable(folder)?;
            Settings::folder(args.listen, folder)
        }
        None => {
            let source = args.cluster.source()?;
            let Connection { client, address } = live::patient_client(&source).await?;
            tracing::info!(kubeconfig = %source, %address, "using API server");
            let watches = WatchSettings::default();
            let services = args.services.then(|| services(args));
            let cluster = ClusterSource { client, address: Some(address), watches, services };
            Settings { source: SourceSettings::Cluster(cluster), ..Settings::intake(args.listen) }
        }
    };
    settings.admin = Some(args.admin_listen);
    settings.compat = args.compat.into();
    settings.zone = args.zone.as_deref().map(Arc::from);
    Ok(settings)
}

fn services(args: &RunArgs) -> KubernetesSettings {
    KubernetesSettings {
        mesh: args.services_mesh.as_str().into(),
        node_labels: args.node_labels.iter().map(|label| label.as_str().into()).collect(),
        topology: profile(args.profile),
    }
}

/// A folder that is not there would look like an empty mesh.
pub(super) fn readable(folder: &Path) -> Result<(), Error> {
    let read = std::fs::read_dir(folder);
    read.map(drop).map_err(|source| Error::Read { path: folder.to_owned(), source })
}

impl From<CompatChoice> for Compat {
    fn from(choice: CompatChoice) -> Self {
        match choice {
            CompatChoice::Record => Compat::Record,
            CompatChoice::Kuma => Compat::Kuma,
        }
    }
}
