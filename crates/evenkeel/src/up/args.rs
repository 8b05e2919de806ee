//! The flags of `evenkeel up`.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use evenkeel_admin::lease;
use evenkeel_apiserver::{Features, Sandbox};
use evenkeel_controller::{WatchSettings, engine};

use super::{
    deployed::{CONTROLLER, PROXY},
    parts::mesh::Listen,
    unfinished,
};
use crate::{
    apiserver::{DOMAINS, FairnessArgs, fairness, features},
    controller::{LEASE_NAME, is_free},
    duration::duration,
    error::Error,
    logging::LogArgs,
    network,
    sample::{self, Sample},
    settings::gates,
};

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Folder for objects, keys and the kubeconfig; created if it does not exist [default:
    /// ./.evenkeel]
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Keep all data in memory; it is lost when the process ends
    #[arg(long, conflicts_with = "data")]
    pub ephemeral: bool,
    /// Sample objects to create [default: three-zones on the first start, none later]
    #[arg(long, value_enum)]
    pub sample: Option<SampleName>,
    /// Address of the API server; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443")]
    pub listen: SocketAddr,
    /// Address of the controller's health checks and metrics [default: 127.0.0.1:10271, or a free
    /// port if that is in use]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub controller_listen: Option<SocketAddr>,
    /// Give each Node a network namespace with a proxy, and each Pod a small HTTP and UDP server
    /// that says where it is; needs root
    #[arg(long)]
    pub proxy: bool,
    /// Serve the custom resources of kuma.io to Envoy proxies, with a sample mesh beside the other
    /// sample objects
    #[arg(long)]
    pub mesh: bool,
    /// Address where Envoy proxies connect [default: 127.0.0.1:5678, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "mesh")]
    pub xds_listen: Option<SocketAddr>,
    /// Address of the mesh control plane's /metrics, /readyz and /mesh [default: 127.0.0.1:5680, or a
    /// free port if that is in use]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "mesh")]
    pub xds_admin_listen: Option<SocketAddr>,
    /// Address of the dashboard, a loopback address [default: 127.0.0.1:7070, or a free port if that
    /// is in use]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub dashboard_listen: Option<SocketAddr>,
    /// Feature gates of API server and controller, such as ServiceTrafficDistribution=false
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    #[command(flatten)]
    pub fairness: FairnessArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// Time until a Pod is ready
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = duration)]
    pub sandbox_ready_after: Duration,
    /// Time until a deleted Pod has terminated, within its grace period [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub sandbox_end_after: Option<Duration>,
    /// Time without heartbeats until a node is not ready [default: 40s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub sandbox_node_grace: Option<Duration>,
    /// Time until Pods are evicted from a node that is not ready [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub sandbox_pod_eviction: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SampleName {
    /// Six nodes in three zones, five Services with different policies, one of them with a problem
    ThreeZones,
    None,
}

/// The flags, validated.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub api: evenkeel_apiserver::Settings,
    pub controller: evenkeel_controller::Settings,
    pub sample: Option<Sample>,
    /// Whether Nodes have network namespaces and proxies.
    pub proxy: bool,
    /// Where the control plane of the mesh listens, if it is wanted.
    pub mesh: Option<Listen>,
    pub dashboard: SocketAddr,
}

/// The default data folder.
pub(crate) const DATA: &str = ".evenkeel";

const CONTROLLER_LISTEN: u16 = 10271;
const DASHBOARD_LISTEN: u16 = 7070;
const XDS_LISTEN: u16 = 5678;
const XDS_ADMIN_LISTEN: u16 = 5680;

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel up                                        # data and kubeconfig in ./.evenkeel
  evenkeel up --ephemeral --listen 127.0.0.1:0       # a free port, nothing stored
  evenkeel up --data /var/lib/evenkeel --sample none
  sudo evenkeel up --proxy                           # with real traffic: evenkeel curl
  evenkeel up --mesh                                 # with a control plane for Envoy proxies
  KUBECONFIG=.evenkeel/kubeconfig kubectl get services -A";

pub(super) fn settings(args: &UpArgs) -> Result<Settings, Error> {
    if args.proxy && !network::is_root() {
        return Err(Error::NeedsRoot { what: "up --proxy" });
    }
    let data = (!args.ephemeral).then(|| args.data.clone().unwrap_or_else(|| PathBuf::from(DATA)));
    let mut engine = engine::Settings::default();
    let (of_server, of_both): (Vec<String>, Vec<String>) =
        args.feature_gates.iter().cloned().partition(|gate| gate.starts_with(DOMAINS));
    gates(&mut engine.topology.gates, &of_both)?;
    let features = Features {
        service_traffic_distribution: engine.topology.gates.service_traffic_distribution,
        ..features(&of_server)?
    };
    let controller = evenkeel_controller::Settings {
        engine,
        election: Some(election()),
        listen: Some(free("--controller-listen", args.controller_listen, CONTROLLER_LISTEN)?),
        watches: WatchSettings::default(),
        reports: Some(PROXY.namespace.to_owned()),
        address: None,
    };
    let sample = sample(args, data.as_deref());
    let mesh = args.mesh.then(|| mesh(args)).transpose()?;
    let dashboard = free("--dashboard-listen", args.dashboard_listen, DASHBOARD_LISTEN)?;
    let api = api(args, data, features)?;
    Ok(Settings { api, controller, sample, proxy: args.proxy, mesh, dashboard })
}

fn mesh(args: &UpArgs) -> Result<Listen, Error> {
    Ok(Listen {
        xds: free("--xds-listen", args.xds_listen, XDS_LISTEN)?,
        admin: free("--xds-admin-listen", args.xds_admin_listen, XDS_ADMIN_LISTEN)?,
    })
}

fn api(
    args: &UpArgs,
    data: Option<PathBuf>,
    features: Features,
) -> Result<evenkeel_apiserver::Settings, Error> {
    Ok(evenkeel_apiserver::Settings {
        data,
        listen: args.listen,
        features,
        sandbox: Some(sandbox(&args.sandbox)),
        fairness: fairness(&args.fairness)?,
        install_definitions: true,
        ..evenkeel_apiserver::Settings::default()
    })
}

fn sandbox(args: &SandboxArgs) -> Sandbox {
    let usual = Sandbox::default();
    Sandbox {
        ready_after: args.sandbox_ready_after,
        end_after: args.sandbox_end_after.unwrap_or(usual.end_after),
        node_grace: args.sandbox_node_grace.unwrap_or(usual.node_grace),
        pod_eviction: args.sandbox_pod_eviction.unwrap_or(usual.pod_eviction),
        ..usual
    }
}

/// The identity is constant: an earlier process of that name has ended, since it held the folder's
/// lock, so a new one need not wait until the lease of a killed one expires. Other controllers on
/// the same API server do wait.
fn election() -> lease::Settings {
    lease::Settings::new(CONTROLLER.namespace, LEASE_NAME, "evenkeel-up")
}

/// What a flag gives must be free. Without it, it is the usual port of the loopback address, or any.
fn free(flag: &'static str, given: Option<SocketAddr>, usual: u16) -> Result<SocketAddr, Error> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, usual));
    match given {
        Some(address) => {
            is_free(flag, address)?;
            Ok(address)
        }
        None if is_free(flag, usual).is_ok() => Ok(usual),
        None => Ok((Ipv4Addr::LOCALHOST, 0).into()),
    }
}

/// The sample is for the first start, and for the next one if that was interrupted. Later the journal
/// has what people want.
fn sample(args: &UpArgs, data: Option<&Path>) -> Option<Sample> {
    match sample_name(args.sample, data) {
        SampleName::ThreeZones => Some(sample::three_zones(args.mesh)),
        SampleName::None => None,
    }
}

fn sample_name(given: Option<SampleName>, data: Option<&Path>) -> SampleName {
    let is_open = |data: &Path| !data.join("journal").exists() || unfinished::is_noted(data);
    given.unwrap_or(match data.is_none_or(is_open) {
        true => SampleName::ThreeZones,
        false => SampleName::None,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: UpArgs,
    }

    fn checked(line: &str) -> Result<Settings, Error> {
        settings(&Line::try_parse_from(line.split_whitespace()).unwrap().args)
    }

    #[test]
    fn without_flags_the_folder_is_here_and_the_sandbox_plays() {
        let settings = checked("up --sample none").unwrap();
        assert_eq!(settings.api.data.as_deref(), Some(Path::new(".evenkeel")));
        assert_eq!(settings.api.sandbox.unwrap().ready_after, Duration::from_millis(500));
        assert!(settings.sample.is_none());
        assert_eq!(checked("up --ephemeral").unwrap().api.data, None);
    }

    #[test]
    fn a_gate_holds_for_api_and_controller() {
        let off = checked("up --ephemeral --feature-gates ServiceTrafficDistribution=false");
        let off = off.unwrap();
        assert!(!off.api.features.service_traffic_distribution);
        assert!(!off.controller.engine.topology.gates.service_traffic_distribution);
        assert!(checked("up --feature-gates Nope=true").is_err());
    }

    #[test]
    fn the_sample_comes_on_the_first_start_or_when_asked_for() {
        let first = std::env::temp_dir().join("evenkeel-no-such-folder");
        assert_eq!(sample_name(None, None), SampleName::ThreeZones);
        assert_eq!(sample_name(None, Some(&first)), SampleName::ThreeZones);
        assert_eq!(sample_name(Some(SampleName::None), Some(&first)), SampleName::None);
        let later =
            std::env::temp_dir().join(format!("evenkeel-up-{:016x}", rand::random::<u64>()));
        std::fs::create_dir_all(later.join("journal")).unwrap();
        assert_eq!(sample_name(None, Some(&later)), SampleName::None);
        assert_eq!(sample_name(Some(SampleName::ThreeZones), Some(&later)), SampleName::ThreeZones);
        unfinished::note(&later);
        assert_eq!(sample_name(None, Some(&later)), SampleName::ThreeZones);
        assert_eq!(sample_name(Some(SampleName::None), Some(&later)), SampleName::None);
        unfinished::forget(&later);
        unfinished::forget(&later);
        assert_eq!(sample_name(None, Some(&later)), SampleName::None);
        std::fs::remove_dir_all(&later).unwrap();
    }

    #[test]
    fn a_port_that_was_asked_for_must_be_free() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        for flag in ["--controller-listen", "--xds-listen", "--xds-admin-listen"] {
            let error = free(flag, Some(address), CONTROLLER_LISTEN).unwrap_err();
            assert!(error.help().unwrap().contains(flag));
        }
        let other = free("--controller-listen", None, address.port()).unwrap();
        assert_eq!(other, (Ipv4Addr::LOCALHOST, 0).into());
    }

    #[test]
    fn the_mesh_is_wanted_by_its_flag_alone() {
        assert_eq!(checked("up --ephemeral").unwrap().mesh, None);
        let line = "up --ephemeral --mesh --xds-listen 127.0.0.1:0 --xds-admin-listen 127.0.0.1:0";
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        assert_eq!(checked(line).unwrap().mesh, Some(Listen { xds: any, admin: any }));
        let alone = Line::try_parse_from("up --xds-listen 127.0.0.1:0".split_whitespace());
        assert!(alone.unwrap_err().to_string().contains("--mesh"));
    }
}
