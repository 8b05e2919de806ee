//! The flags of `evenkeel apiserver`.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{ArgAction, Args, ValueEnum};
use evenkeel_admin::logs;
use evenkeel_apiserver::{Authorization, Features, IpRange, Sandbox, Settings};
use tracing::Level;

use super::{
    fairness::{FairnessArgs, fairness},
    tokens::{TokenArgs, service_accounts},
};
use crate::{duration::duration, error::Error};

#[derive(Debug, Args)]
pub(crate) struct ApiserverArgs {
    /// Folder for objects, keys and the kubeconfig; created if it does not exist. Or use --ephemeral
    #[arg(long, value_name = "FOLDER", required_unless_present = "ephemeral")]
    pub data: Option<PathBuf>,
    /// Keep all data in memory; it is lost when the server ends
    #[arg(long, conflicts_with = "data")]
    pub ephemeral: bool,
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443")]
    pub listen: SocketAddr,
    /// IP range of Services: one, or two of different families
    #[arg(long, value_name = "CIDR[,CIDR]", default_value = "10.96.0.0/12")]
    pub service_cluster_ip_range: String,
    /// Port range of Services of type NodePort
    #[arg(long, value_name = "FROM-TO", default_value = "30000-32767", value_parser = ports)]
    pub service_node_port_range: (u16, u16),
    /// Feature gates, such as ServiceTrafficDistribution=false
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// File with bearer tokens, one per line: token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,
    /// Who may do what: Node,RBAC, or AlwaysAllow, which allows everything to every user that is
    /// authenticated
    #[arg(long, value_name = "MODES", default_value = "Node,RBAC")]
    pub authorization_mode: String,
    /// Serve /healthz, /livez and /readyz without credentials
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub anonymous_auth: bool,
    /// Install the CustomResourceDefinitions of evenkeel.dev at startup, or update them. They are
    /// installed in any case if the server reads its own fairness objects
    #[arg(long)]
    pub install_crds: bool,
    #[command(flatten)]
    pub service_accounts: TokenArgs,
    #[command(flatten)]
    pub fairness: FairnessArgs,
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    #[arg(long, value_enum, default_value_t, help = "Log format")]
    pub log_format: LogFormat,
    /// Minimum log level
    #[arg(long, value_enum, default_value_t)]
    pub log_level: LogLevel,
    /// Log more: -v is debug, -vv trace
    #[arg(short, action = ArgAction::Count, conflicts_with = "log_level")]
    pub verbose: u8,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// Simulate a scheduler, kubelets and the controllers of Nodes, Deployments, ReplicaSets and
    /// DaemonSets, so that Pods become ready. No containers run
    #[arg(long)]
    pub sandbox: bool,
    /// Time until a Pod is ready; its annotation sandbox.evenkeel.dev/ready-after overrides this
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration, requires = "sandbox")]
    pub sandbox_ready_after: Duration,
    /// Time until a deleted Pod has terminated, within its grace period
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration, requires = "sandbox")]
    pub sandbox_end_after: Duration,
    /// Time without heartbeats until a Node is not ready (the annotation
    /// sandbox.evenkeel.dev/heartbeat=off stops them)
    #[arg(long, value_name = "DURATION", default_value = "40s", value_parser = duration, requires = "sandbox")]
    pub sandbox_node_grace: Duration,
    /// Time until Pods are evicted from a Node that is not ready, unless they set it
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, requires = "sandbox")]
    pub sandbox_pod_eviction: Duration,
    /// Interval of the heartbeats of each Node, which are writes
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = interval, requires = "sandbox")]
    pub sandbox_heartbeat: Duration,
    /// IP range of Pods: one, or two of different families
    #[arg(long, value_name = "CIDR[,CIDR]", default_value = "10.244.0.0/16", requires = "sandbox")]
    pub sandbox_pod_cidr: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel apiserver --data /var/lib/evenkeel
  evenkeel apiserver --ephemeral --listen 127.0.0.1:0
  evenkeel apiserver --ephemeral --sandbox --sandbox-ready-after 3s
  kubectl --kubeconfig /var/lib/evenkeel/kubeconfig get --raw /version";

const GATES: &[&str] = &["ServiceTrafficDistribution", "TrafficDistributionDomains"];

/// A gate of the API server alone: `spec.trafficDistribution` accepts `<domain>/<name>`.
pub(crate) const DOMAINS: &str = "TrafficDistributionDomains";

pub(super) fn settings(args: &ApiserverArgs) -> Result<Settings, Error> {
    Ok(Settings {
        data: args.data.clone(),
        listen: args.listen,
        service_ranges: service_ranges(&args.service_cluster_ip_range)?,
        node_ports: args.service_node_port_range,
        features: features(&args.feature_gates)?,
        housekeeping: true,
        authorization: authorization(&args.authorization_mode)?,
        tokens: args.token_auth_file.clone(),
        anonymous_health: args.anonymous_auth,
        sandbox: sandbox(&args.sandbox)?,
        service_accounts: service_accounts(&args.service_accounts),
        fairness: fairness(&args.fairness)?,
        install_definitions: args.install_crds,
    })
}

/// Kubernetes has each mode alone too. Here `Node` and `RBAC` come together, in either order: what one
/// of them allows is allowed.
fn authorization(given: &str) -> Result<Authorization, Error> {
    match given.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        ["Node", "RBAC"] | ["RBAC", "Node"] => Ok(Authorization::Rbac),
        ["AlwaysAllow"] => Ok(Authorization::AlwaysAllow),
        _ => Err(Error::AuthorizationMode { given: given.to_owned() }),
    }
}

fn sandbox(args: &SandboxArgs) -> Result<Option<Sandbox>, Error> {
    if !args.sandbox {
        return Ok(None);
    }
    let wrong = |problem| Error::PodRange { given: args.sandbox_pod_cidr.clone(), problem };
    let ranges = ranges(&args.sandbox_pod_cidr).map_err(wrong)?;
    Ok(Some(Sandbox {
        ready_after: args.sandbox_ready_after,
        end_after: args.sandbox_end_after,
        node_grace: args.sandbox_node_grace,
        pod_eviction: args.sandbox_pod_eviction,
        heartbeat: args.sandbox_heartbeat,
        pod_cidr: ranges[0],
        second_pod_cidr: ranges.get(1).copied(),
    }))
}

pub(super) fn level(args: &ApiserverArgs) -> Level {
    match (args.verbose, args.log_level) {
        (1, _) => Level::DEBUG,
        (2.., _) => Level::TRACE,
        (0, LogLevel::Error) => Level::ERROR,
        (0, LogLevel::Warn) => Level::WARN,
        (0, LogLevel::Info) => Level::INFO,
        (0, LogLevel::Debug) => Level::DEBUG,
        (0, LogLevel::Trace) => Level::TRACE,
    }
}

pub(crate) fn features(given: &[String]) -> Result<Features, Error> {
    let mut features = Features::default();
    for given in given {
        let wrong = || Error::Gate { given: given.clone() };
        let (name, value) = given.split_once('=').ok_or_else(wrong)?;
        let value = value.trim().to_ascii_lowercase().parse().map_err(|_| wrong())?;
        match name.trim() {
            "ServiceTrafficDistribution" => features.service_traffic_distribution = value,
            DOMAINS => features.traffic_distribution_domains = value,
            name => return Err(Error::UnknownGate { name: name.to_owned(), known: GATES }),
        }
    }
    Ok(features)
}

/// A duration that is long enough to repeat something that often.
fn interval(given: &str) -> Result<Duration, String> {
    match duration(given)? {
        span if span < Duration::from_millis(100) => Err(format!("{given:?} is below 100ms")),
        span => Ok(span),
    }
}

fn ports(given: &str) -> Result<(u16, u16), String> {
    let wrong = || "expected two ports, as in 30000-32767".to_owned();
    let (from, to) = given.split_once('-').ok_or_else(wrong)?;
    let (from, to) = (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
    match 0 < from && from <= to {
        true => Ok((from, to)),
        false => Err("expected ports from 1 up, the lower one first".to_owned()),
    }
}

fn service_ranges(given: &str) -> Result<Vec<IpRange>, Error> {
    ranges(given).map_err(|problem| Error::ServiceRange { given: given.to_owned(), problem })
}

/// One range, or two of different families.
fn ranges(given: &str) -> Result<Vec<IpRange>, &'static str> {
    let ranges: Option<Vec<IpRange>> = given.split(',').map(|text| range(text.trim())).collect();
    let ranges = ranges.ok_or("expected addresses as in 10.96.0.0/12")?;
    if ranges.iter().any(|range| host_bits(range) < 3) {
        return Err("a range must hold at least 8 addresses");
    }
    match ranges.as_slice() {
        [_] => Ok(ranges),
        [one, two] if one.first.is_ipv4() != two.first.is_ipv4() => Ok(ranges),
        [_, _] => Err("two ranges must be of different families"),
        _ => Err("there may be one range, or two of different families"),
    }
}

/// A range, with the bits of its first address beyond the prefix cleared.
fn range(given: &str) -> Option<IpRange> {
    let (first, prefix) = given.split_once('/')?;
    let (first, prefix): (IpAddr, u8) = (first.parse().ok()?, prefix.parse().ok()?);
    let first = match first {
        IpAddr::V4(first) => {
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix.into())?).unwrap_or(0);
            IpAddr::V4((u32::from(first) & mask).into())
        }
        IpAddr::V6(first) => {
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(prefix.into())?).unwrap_or(0);
            IpAddr::V6((u128::from(first) & mask).into())
        }
    };
    Some(IpRange { first, prefix })
}

fn host_bits(range: &IpRange) -> u8 {
    let bits = if range.first.is_ipv4() { 32 } else { 128 };
    bits - range.prefix
}

impl From<LogFormat> for logs::LogFormat {
    fn from(given: LogFormat) -> logs::LogFormat {
        match given {
            LogFormat::Text => logs::LogFormat::Text,
            LogFormat::Json => logs::LogFormat::Json,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_addresses_are_read() {
        let cases = [
            ("10.96.0.0/12", Ok(vec!["10.96.0.0/12"])),
            ("10.97.1.2/12", Ok(vec!["10.96.0.0/12"])),
            ("0.0.0.0/0", Ok(vec!["0.0.0.0/0"])),
            ("10.96.0.0/12, fd00:10:96::/112", Ok(vec!["10.96.0.0/12", "fd00:10:96::/112"])),
            ("fd00::/112,10.0.0.0/29", Ok(vec!["fd00::/112", "10.0.0.0/29"])),
            ("10.0.0.0/30", Err("a range must hold at least 8 addresses")),
            ("10.0.0.0/33", Err("expected addresses as in 10.96.0.0/12")),
            ("10.0.0.0", Err("expected addresses as in 10.96.0.0/12")),
            ("", Err("expected addresses as in 10.96.0.0/12")),
            ("10.0.0.0/16,10.1.0.0/16", Err("two ranges must be of different families")),
            (
                "10.0.0.0/16,::/64,::/64",
                Err("there may be one range, or two of different families"),
            ),
        ];
        for (given, expected) in cases {
            match (service_ranges(given), expected) {
                (Ok(ranges), Ok(expected)) => {
                    let shown =
                        ranges.iter().map(|range| format!("{}/{}", range.first, range.prefix));
                    assert_eq!(shown.collect::<Vec<_>>(), expected, "{given}");
                }
                (Err(Error::ServiceRange { problem, .. }), Err(expected)) => {
                    assert_eq!(problem, expected, "{given}");
                }
                (other, _) => panic!("{given}: {other:?}"),
            }
        }
    }

    #[test]
    fn ranges_of_ports_are_read() {
        assert_eq!(ports("30000-32767"), Ok((30000, 32767)));
        assert_eq!(ports("80-80"), Ok((80, 80)));
        for wrong in ["", "80", "0-10", "90-80", "1-65536", "a-b"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_sandbox_is_off_unless_asked_for_and_its_defaults_are_those_of_the_library() {
        #[derive(Debug, clap::Parser)]
        struct Only {
            #[command(flatten)]
            args: SandboxArgs,
        }
        let read = |args: &[&str]| {
            let args = std::iter::once(&"x").chain(args);
            let only = <Only as clap::Parser>::try_parse_from(args)
                .map_err(|problem| problem.to_string())?;
            sandbox(&only.args).map_err(|problem| problem.to_string())
        };
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["--sandbox"]), Ok(Some(Sandbox::default())));
        let quick = Sandbox { ready_after: Duration::from_millis(500), ..Sandbox::default() };
        assert_eq!(read(&["--sandbox", "--sandbox-ready-after", "500ms"]), Ok(Some(quick)));
        let dual =
            read(&["--sandbox", "--sandbox-pod-cidr", "10.1.0.0/16,fd01::/64"]).unwrap().unwrap();
        assert_eq!(
            (dual.pod_cidr.prefix, dual.second_pod_cidr.map(|range| range.prefix)),
            (16, Some(64))
        );
        for wrong in [
            &["--sandbox-ready-after", "1s"][..],
            &["--sandbox", "--sandbox-ready-after", "1"],
            &["--sandbox", "--sandbox-heartbeat", "0s"],
            &["--sandbox", "--sandbox-pod-cidr", "10.0.0.0/31"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn modes_of_authorization_are_read() {
        for (given, expected) in [
            ("Node,RBAC", Some(Authorization::Rbac)),
            ("RBAC, Node", Some(Authorization::Rbac)),
            ("AlwaysAllow", Some(Authorization::AlwaysAllow)),
            ("RBAC", None),
            ("Node,RBAC,Webhook", None),
            ("AlwaysAllow,RBAC", None),
            ("", None),
        ] {
            assert_eq!(authorization(given).ok(), expected, "{given:?}");
        }
    }

    #[test]
    fn gates_are_read() {
        let off = features(&["ServiceTrafficDistribution=false".to_owned()]).unwrap();
        assert!(!off.service_traffic_distribution);
        assert!(features(&[]).unwrap().service_traffic_distribution);
        assert!(!features(&[]).unwrap().traffic_distribution_domains);
        let domains = features(&["TrafficDistributionDomains=true".to_owned()]).unwrap();
        assert!(domains.traffic_distribution_domains);
        assert!(matches!(features(&["X=true".to_owned()]), Err(Error::UnknownGate { .. })));
        let gate = features(&["ServiceTrafficDistribution=maybe".to_owned()]);
        assert!(matches!(gate, Err(Error::Gate { .. })));
    }
}
