//! The flags of `evenkeel proxy`. They have kube-proxy's names where it has them.

use std::{net::SocketAddr, path::Path};

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use evenkeel_k8s::convert::parse_cidr;
use evenkeel_model::Cidr;
use evenkeel_nft::{Config, DetectLocal, Family, config::TABLE, rule::InterfaceName};
use evenkeel_proxy::{Settings, engine::NodePortAddresses};

use super::namespace;
use crate::{
    cli::Profile,
    controller::{ClusterArgs, LEASE_NAMESPACE},
    error::Error,
    logging::LogArgs,
    settings::{gates, profile},
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ProxyArgs {
    #[command(subcommand)]
    pub command: Option<ProxyCommand>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProxyCommand {
    /// Print the rules of this node as text for `nft -f`, and change nothing
    #[command(after_help = RENDER_EXAMPLES)]
    Render(Box<RenderArgs>),
    /// Delete the rules that a proxy left when it was stopped
    #[command(after_help = CLEANUP_EXAMPLES)]
    Cleanup(CleanupArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Address of /healthz and /livez; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:10256")]
    pub healthz_bind_address: SocketAddr,
    /// Address of /metrics; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10249")]
    pub metrics_bind_address: SocketAddr,
    /// Replace a table of the same name that another program created
    #[arg(long)]
    pub adopt: bool,
    /// Own the tables, so that other processes cannot change them (Linux 6.9 or newer); otherwise
    /// changes are detected and repaired
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub own_tables: bool,
    /// Namespace of the Leases in which proxies report which rules are in force; empty for no reports
    #[arg(long, value_name = "NAMESPACE", default_value = LEASE_NAMESPACE)]
    pub report_namespace: String,
    #[command(flatten)]
    pub log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CleanupArgs {
    /// Name of the nftables tables
    #[arg(long, value_name = "NAME", default_value = TABLE)]
    pub table: String,
    /// Network namespace, by the name in `ip netns` or by path [default: that of this process]
    #[arg(long, value_name = "NAMESPACE")]
    pub netns: Option<String>,
    /// Also delete a table of this name that another program created
    #[arg(long)]
    pub adopt: bool,
}

/// What rules depend on.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Name of this Node [default: the host name]
    #[arg(long, value_name = "NAME", visible_alias = "node-name", env = "NODE_NAME")]
    pub hostname_override: Option<String>,
    /// How to recognise traffic of the cluster's Pods
    #[arg(long, value_enum, default_value_t)]
    pub detect_local_mode: DetectLocalMode,
    /// Ranges of the cluster's Pods; traffic from elsewhere to cluster IPs is masqueraded
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = cidr)]
    pub cluster_cidr: Vec<Cidr>,
    /// Bridge of this node's Pods, with --detect-local-mode BridgeInterface
    #[arg(long, value_name = "NAME")]
    pub pod_bridge_interface: Option<String>,
    /// First letters of the names of Pod interfaces, with --detect-local-mode InterfaceNamePrefix
    #[arg(long, value_name = "PREFIX")]
    pub pod_interface_name_prefix: Option<String>,
    /// Masquerade all traffic to cluster IPs
    #[arg(long)]
    pub masquerade_all: bool,
    /// Bit of the packet mark for traffic to be masqueraded
    #[arg(
        long,
        value_name = "BIT",
        default_value_t = 14,
        alias = "iptables-masquerade-bit",
        value_parser = clap::value_parser!(u8).range(0..=31)
    )]
    pub masquerade_bit: u8,
    /// Addresses of node ports: `primary` (the Node's), `all`, or ranges
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', default_value = "primary")]
    pub nodeport_addresses: Vec<String>,
    /// Serve Services with this value of the label service.kubernetes.io/service-proxy-name instead of
    /// those without the label
    #[arg(long, value_name = "NAME")]
    pub service_proxy_name: Option<String>,
    /// Count connections by Service and zone: evenkeel_service_connections_total in /metrics
    #[arg(long)]
    pub zone_counters: bool,
    /// Address families [default: those that the kernel has]
    #[arg(long, value_enum, value_name = "FAMILY", value_delimiter = ',')]
    pub ip_families: Vec<IpFamily>,
    /// Rules for hints: Evenkeel's, or exactly those of Kubernetes
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,
    /// Feature gates, such as ServiceTrafficDistribution=false
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// Name of the nftables tables
    #[arg(long, value_name = "NAME", default_value = TABLE)]
    pub table: String,
    /// Network namespace to program, by the name in `ip netns` or by path [default: that of this
    /// process]
    #[arg(long, value_name = "NAMESPACE")]
    pub netns: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum DetectLocalMode {
    /// By --cluster-cidr; without one, not at all
    #[default]
    #[value(name = "ClusterCIDR")]
    ClusterCidr,
    /// By the Node's spec.podCIDRs
    #[value(name = "NodeCIDR")]
    NodeCidr,
    BridgeInterface,
    InterfaceNamePrefix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IpFamily {
    Ipv4,
    Ipv6,
}

/// Names of interfaces are shorter than this.
const INTERFACE: usize = 16;

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel proxy --cluster-cidr 10.244.0.0/16
  evenkeel proxy --service-proxy-name evenkeel       # beside kube-proxy, for labelled Services
  evenkeel proxy --zone-counters --nodeport-addresses all
  evenkeel proxy render --table preview | nft -c -f -
  evenkeel proxy cleanup                             # after it was stopped";

const RENDER_EXAMPLES: &str = "\
Examples:
  evenkeel proxy render --hostname-override node-a1
  evenkeel proxy render --table preview | nft -c -f -";

const CLEANUP_EXAMPLES: &str = "\
Examples:
  evenkeel proxy cleanup
  evenkeel proxy cleanup --table other";

/// The settings of a proxy that runs.
pub(super) fn settings(args: &RunArgs) -> Result<Settings, Error> {
    Ok(Settings {
        healthz: Some(args.healthz_bind_address),
        metrics: Some(args.metrics_bind_address),
        adopt: args.adopt,
        own: args.own_tables,
        reports: Some(args.report_namespace.clone()).filter(|namespace| !namespace.is_empty()),
        ..common(&args.common)?
    })
}

pub(super) fn rendered(args: &RenderArgs) -> Result<Settings, Error> {
    common(&args.common)
}

/// Where a table is concerned and nothing else.
pub(super) fn table(name: &str) -> Result<Config, Error> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let starts_well = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if !starts_well || !name.chars().all(is_letter) || name.len() > 128 {
        return Err(Error::Flag {
            flag: "--table",
            problem: format!("{name:?} is not a name: expected letters, digits, - and _"),
        });
    }
    Ok(Config { table: name.to_owned(), ..Config::default() })
}

fn common(args: &CommonArgs) -> Result<Settings, Error> {
    let mut settings = Settings::new(&node(args));
    let engine = &mut settings.engine;
    engine.topology = profile(args.profile);
    gates(&mut engine.topology.gates, &args.feature_gates)?;
    engine.topology.validate()?;
    engine.nft = Config {
        mark_bit: args.masquerade_bit,
        detect_local: detect_local(args)?,
        masquerade_all: args.masquerade_all,
        zone_counters: args.zone_counters,
        ..table(&args.table)?
    };
    engine.node_ranges = args.detect_local_mode == DetectLocalMode::NodeCidr;
    let is_ipv6_on = || Path::new("/proc/net/if_inet6").exists();
    let has = |family| match args.ip_families.is_empty() {
        true => family == IpFamily::Ipv4 || is_ipv6_on(),
        false => args.ip_families.contains(&family),
    };
    engine.families = Family::ALL
        .into_iter()
        .filter(|family| match family {
            Family::Ipv4 => has(IpFamily::Ipv4),
            Family::Ipv6 => has(IpFamily::Ipv6),
        })
        .collect();
    engine.node_ports = node_ports(&args.nodeport_addresses)?;
    engine.service_proxy_name = args.service_proxy_name.clone();
    settings.namespace = args.netns.as_deref().map(namespace).transpose()?;
    Ok(settings)
}

/// As kubelet and kube-proxy call the node.
fn node(args: &CommonArgs) -> String {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    args.hostname_override.clone().unwrap_or_else(host).trim().to_lowercase()
}

fn detect_local(args: &CommonArgs) -> Result<DetectLocal, Error> {
    let interface = |flag: &'static str, given: &Option<String>| {
        let is_name = |name: &&String| !name.is_empty() && name.len() < INTERFACE;
        given.as_ref().filter(is_name).cloned().ok_or_else(|| Error::Flag {
            flag,
            problem: "expected the name of an interface, up to 15 letters".to_owned(),
        })
    };
    Ok(match args.detect_local_mode {
        DetectLocalMode::ClusterCidr if args.cluster_cidr.is_empty() => DetectLocal::Off,
        DetectLocalMode::ClusterCidr => DetectLocal::Ranges(args.cluster_cidr.clone()),
        DetectLocalMode::NodeCidr => DetectLocal::Off,
        DetectLocalMode::BridgeInterface => {
            let name = interface("--pod-bridge-interface", &args.pod_bridge_interface)?;
            DetectLocal::Interface(InterfaceName::Exactly(name))
        }
        DetectLocalMode::InterfaceNamePrefix => {
            let name = interface("--pod-interface-name-prefix", &args.pod_interface_name_prefix)?;
            DetectLocal::Interface(InterfaceName::Prefix(name))
        }
    })
}

fn node_ports(given: &[String]) -> Result<NodePortAddresses, Error> {
    match given {
        [only] if only == "primary" => Ok(NodePortAddresses::Primary),
        [only] if only == "all" => Ok(NodePortAddresses::All),
        ranges => {
            let range = |text: &String| {
                cidr(text).map_err(|problem| Error::Flag { flag: "--nodeport-addresses", problem })
            };
            Ok(NodePortAddresses::Ranges(ranges.iter().map(range).collect::<Result<_, _>>()?))
        }
    }
}

fn cidr(text: &str) -> Result<Cidr, String> {
    parse_cidr(text).ok_or_else(|| format!("{text:?} is not a range like 10.244.0.0/16"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ProxyArgs,
    }

    fn checked(line: &str) -> Result<Settings, Error> {
        let line = Line::try_parse_from(line.split_whitespace()).unwrap();
        settings(&line.args.run)
    }

    #[test]
    fn the_defaults_are_those_of_kube_proxy() {
        let settings = checked("proxy --hostname-override Node-A1").unwrap();
        assert_eq!(settings.engine.node, "node-a1");
        assert_eq!(settings.healthz, Some("0.0.0.0:10256".parse().unwrap()));
        assert_eq!(settings.metrics, Some("127.0.0.1:10249".parse().unwrap()));
        assert_eq!(settings.engine.nft, Config::default());
        assert_eq!(settings.engine.node_ports, NodePortAddresses::Primary);
    }

    #[test]
    fn flags_become_settings() {
        let settings = checked(
            "proxy --node-name a --cluster-cidr 10.244.0.0/16,fd00::/48 --masquerade-bit 20 \
             --nodeport-addresses 192.168.0.0/16 --ip-families ipv4 --zone-counters \
             --feature-gates ServiceTrafficDistribution=false --table mine --own-tables false \
             --service-proxy-name evenkeel --report-namespace=",
        )
        .unwrap();
        let engine = settings.engine;
        assert_eq!(engine.families, [Family::Ipv4]);
        assert_eq!((engine.nft.mark(), &*engine.nft.table), (1 << 20, "mine"));
        assert!(engine.nft.zone_counters && !settings.own && settings.reports.is_none());
        assert!(!engine.topology.gates.service_traffic_distribution);
        assert!(
            matches!(engine.nft.detect_local, DetectLocal::Ranges(ranges) if ranges.len() == 2)
        );
        assert_eq!(engine.service_proxy_name.as_deref(), Some("evenkeel"));
    }

    #[test]
    fn wrong_flags_say_what_is_expected() {
        for (line, expected) in [
            ("--nodeport-addresses primary,x", "not a range"),
            ("--table 1x", "not a name"),
            ("--detect-local-mode BridgeInterface", "--pod-bridge-interface"),
            (
                "--detect-local-mode InterfaceNamePrefix --pod-interface-name-prefix \
                 abcdefghijklmnopq",
                "--pod-interface-name-prefix",
            ),
        ] {
            let error = checked(&format!("proxy {line}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
