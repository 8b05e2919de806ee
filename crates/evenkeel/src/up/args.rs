//! The command line of `evenkeel up`, and what it means.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use evenkeel_admin::lease;
use evenkeel_apiserver::{Authorization, Features, IpRange, Sandbox};
use evenkeel_controller::{WatchSettings, engine};

use super::unfinished;
use crate::{
    controller::{LEASE_NAME, LEASE_NAMESPACE, is_free},
    duration::duration,
    error::Error,
    logging::LogArgs,
    sample::{self, Sample},
    settings::gates,
};

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The folder for objects, keys and the kubeconfig; made if it is not there [default: ./.evenkeel]
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Keep all in memory: what is stored ends with the process
    #[arg(long, conflicts_with = "data")]
    pub ephemeral: bool,
    /// What to begin with [default: three-zones on the first start, none later]
    #[arg(long, value_enum)]
    pub sample: Option<SampleName>,
    /// Where the API listens; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443")]
    pub listen: SocketAddr,
    /// Where the controller answers for health and metrics [default: 127.0.0.1:10271, or a free port
    /// if that is in use]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub controller_listen: Option<SocketAddr>,
    /// Feature gates of API and controller, as in ServiceTrafficDistribution=false
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// How long a Pod takes to become ready
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = duration)]
    pub sandbox_ready_after: Duration,
    /// How long a Pod takes to end, at most, within its grace [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub sandbox_end_after: Option<Duration>,
    /// How long a node may be silent before it counts as not ready [default: 40s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub sandbox_node_grace: Option<Duration>,
    /// How long Pods stay on a node that is not ready [default: 300s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub sandbox_pod_eviction: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SampleName {
    /// Six nodes in three zones, five Services with different policies, one of them in trouble
    ThreeZones,
    None,
}

/// What was asked for, checked.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub api: evenkeel_apiserver::Settings,
    pub controller: evenkeel_controller::Settings,
    pub sample: Option<Sample>,
}

/// The folder that is used when none is named.
pub(crate) const DATA: &str = ".evenkeel";

const CONTROLLER_LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 10271);

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel up                                        # data and kubeconfig in ./.evenkeel
  evenkeel up --ephemeral --listen 127.0.0.1:0       # a free port, nothing kept
  evenkeel up --data /var/lib/evenkeel --sample none
  KUBECONFIG=.evenkeel/kubeconfig kubectl get services -A";

pub(super) fn settings(args: &UpArgs) -> Result<Settings, Error> {
    let data = (!args.ephemeral).then(|| args.data.clone().unwrap_or_else(|| PathBuf::from(DATA)));
    let mut engine = engine::Settings::default();
    gates(&mut engine.topology.gates, &args.feature_gates)?;
    let features = Features {
        service_traffic_distribution: engine.topology.gates.service_traffic_distribution,
    };
    let controller = evenkeel_controller::Settings {
        engine,
        election: Some(election()),
        listen: Some(controller_listen(args.controller_listen)?),
        watches: WatchSettings::default(),
    };
    let sample = sample(args.sample, data.as_deref());
    Ok(Settings { api: api(args, data, features), controller, sample })
}

fn api(args: &UpArgs, data: Option<PathBuf>, features: Features) -> evenkeel_apiserver::Settings {
    evenkeel_apiserver::Settings {
        data,
        listen: args.listen,
        service_ranges: vec![IpRange { first: [10, 96, 0, 0].into(), prefix: 12 }],
        node_ports: (30000, 32767),
        features,
        housekeeping: true,
        tokens: None,
        authorization: Authorization::default(),
        anonymous_health: true,
        sandbox: Some(sandbox(&args.sandbox)),
    }
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

/// Always the same identity. An earlier process of that name is gone, since it held the folder's
/// lock, so that the next one need not wait until the lease of one that was killed has run out.
/// Others, started by hand on the same API, do wait.
fn election() -> lease::Settings {
    lease::Settings::new(LEASE_NAMESPACE, LEASE_NAME, "evenkeel-up")
}

fn controller_listen(given: Option<SocketAddr>) -> Result<SocketAddr, Error> {
    let usual = SocketAddr::from(CONTROLLER_LISTEN);
    match given {
        Some(address) => {
            is_free("--controller-listen", address)?;
            Ok(address)
        }
        None if is_free("--controller-listen", usual).is_ok() => Ok(usual),
        None => Ok((CONTROLLER_LISTEN.0, 0).into()),
    }
}

/// The sample is for the first start, and for the next one where that was cut short: once there is a
/// journal, what is in it is what people want.
fn sample(given: Option<SampleName>, data: Option<&Path>) -> Option<Sample> {
    let is_open = |data: &Path| !data.join("journal").exists() || unfinished::is_noted(data);
    let name = given.unwrap_or(match data.is_none_or(is_open) {
        true => SampleName::ThreeZones,
        false => SampleName::None,
    });
    match name {
        SampleName::ThreeZones => Some(sample::three_zones()),
        SampleName::None => None,
    }
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
        assert!(sample(None, None).is_some());
        assert!(sample(None, Some(&first)).is_some());
        assert!(sample(Some(SampleName::None), Some(&first)).is_none());
        let later =
            std::env::temp_dir().join(format!("evenkeel-up-{:016x}", rand::random::<u64>()));
        std::fs::create_dir_all(later.join("journal")).unwrap();
        assert!(sample(None, Some(&later)).is_none());
        assert!(sample(Some(SampleName::ThreeZones), Some(&later)).is_some());
        unfinished::note(&later);
        assert!(sample(None, Some(&later)).is_some());
        assert!(sample(Some(SampleName::None), Some(&later)).is_none());
        unfinished::forget(&later);
        unfinished::forget(&later);
        assert!(sample(None, Some(&later)).is_none());
        std::fs::remove_dir_all(&later).unwrap();
    }

    #[test]
    fn a_port_that_was_asked_for_must_be_free() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = controller_listen(Some(address)).unwrap_err();
        assert!(error.help().unwrap().contains("--controller-listen"));
        assert!(controller_listen(None).is_ok());
    }
}
