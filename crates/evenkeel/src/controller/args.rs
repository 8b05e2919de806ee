//! The flags of `evenkeel controller`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use evenkeel_admin::lease;
use evenkeel_controller::{Settings, WatchSettings, engine, handover};
use evenkeel_k8s::live::{ClusterSource, LiveError};
use evenkeel_model::label;

use crate::{
    cli::{Profile, ThresholdArgs},
    complete,
    duration::duration,
    error::Error,
    find,
    logging::LogArgs,
    settings::{gates, profile, thresholds},
    up::DATA,
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ControllerArgs {
    #[command(subcommand)]
    pub command: Option<ControllerCommand>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ControllerCommand {
    /// Hand EndpointSlices back to kube-controller-manager without interruption
    #[command(after_help = RELEASE_EXAMPLES)]
    Release(HandoverArgs),
    /// Take EndpointSlices over from kube-controller-manager without interruption
    #[command(after_help = ADOPT_EXAMPLES)]
    Adopt(HandoverArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Services to manage
    #[arg(long, value_enum, default_value_t)]
    pub services: Services,
    /// Address of health checks and metrics; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10271")]
    pub listen: SocketAddr,
    /// Maximum number of endpoints in an EndpointSlice
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub max_endpoints_per_slice: usize,
    /// Maximum number of concurrent writes
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = at_least_one)]
    pub concurrent_service_endpoint_syncs: usize,
    /// Time to batch changes of one Service
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub endpoint_updates_batch_period: Duration,
    /// Time to keep the endpoints of a deleted Node [default: 10s; with --profile kubernetes: 0s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub missing_node_grace: Option<Duration>,
    /// Write the conditions TrafficDistributionAccepted, -Programmed and -Honored to Services; `false`
    /// removes them
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub service_conditions: bool,
    /// Namespace of the Leases in which proxies report their rules [default: that of the lease of
    /// leader election]
    #[arg(long, value_name = "NAMESPACE")]
    pub proxy_lease_namespace: Option<String>,
    /// Rules for hints: Evenkeel's, or exactly those of Kubernetes
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,
    /// Feature gates, such as TopologyAwareHints=false
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    #[command(flatten)]
    pub thresholds: ThresholdArgs,
    #[command(flatten)]
    pub election: ElectionArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

/// The cluster to use.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClusterArgs {
    /// Kubeconfig of the cluster [default: $KUBECONFIG, ./.evenkeel/kubeconfig, ~/.kube/config, or
    /// the Pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; ./.evenkeel/kubeconfig is then not used
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct ElectionArgs {
    /// Write only while holding a lease
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub leader_elect: bool,
    /// Time after which other replicas take over from a leader that does not renew its lease
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    pub leader_elect_lease_duration: Duration,
    /// Time after which a leader that cannot renew its lease stops leading
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub leader_elect_renew_deadline: Duration,
    /// Time between attempts to acquire or renew the lease
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    pub leader_elect_retry_period: Duration,
    /// Name of the lease
    #[arg(long, value_name = "NAME", default_value = LEASE_NAME)]
    pub leader_elect_resource_name: String,
    /// Namespace of the lease
    #[arg(long, value_name = "NAMESPACE", default_value = LEASE_NAMESPACE)]
    pub leader_elect_resource_namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct HandoverArgs {
    /// Services, such as `web` or `svc/web` [default: all in the namespace]
    #[arg(value_name = "SERVICE", conflicts_with = "all_namespaces", add = complete::services())]
    pub services: Vec<String>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Namespace [default: that of the context, or `default`]
    #[arg(short, long, value_name = "NAMESPACE", add = complete::namespaces())]
    pub namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Services {
    /// All Services with a selector; requires that kube-controller-manager's controller is off
    #[default]
    All,
    /// Services with the annotation evenkeel.dev/selector; kube-controller-manager has the others
    Annotated,
}

pub(crate) const LEASE_NAME: &str = "evenkeel-endpointslice-controller";
pub(crate) const LEASE_NAMESPACE: &str = "kube-system";

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel controller --kubeconfig ~/.kube/config --context test
  evenkeel controller --services annotated           # beside kube-controller-manager
  evenkeel controller --leader-elect false --listen 127.0.0.1:0 -v
  evenkeel controller release -A                     # before a rollback";

const RELEASE_EXAMPLES: &str = "\
Examples:
  evenkeel controller release -n shop                # all Services of a namespace
  evenkeel controller release web cart -n shop
  evenkeel controller release -A

Stop `evenkeel controller` first: with --services all it takes them over again.";

const ADOPT_EXAMPLES: &str = "\
Examples:
  evenkeel controller adopt -n shop
  evenkeel controller adopt -A

`evenkeel controller --services all` does this at its start. Switch the controller of
kube-controller-manager off first.";

impl ClusterArgs {
    /// The cluster that the flags and the environment select.
    pub(crate) fn source(&self) -> Result<ClusterSource, Error> {
        let (kubeconfig, context) = (self.kubeconfig.clone(), self.context.clone());
        ClusterSource::find(kubeconfig, context, Path::new(DATA)).map_err(|error| match error {
            // These commands read no manifests, which the help of the other error suggests.
            LiveError::NoCluster => Error::NoCluster,
            error => error.into(),
        })
    }
}

pub(super) fn settings(args: &RunArgs, identity: String) -> Result<Settings, Error> {
    let mut topology = evenkeel_topology::Settings {
        controller_name: label::EVENKEEL.into(),
        max_endpoints_per_slice: args.max_endpoints_per_slice,
        ..profile(args.profile)
    };
    gates(&mut topology.gates, &args.feature_gates)?;
    thresholds(&mut topology, &args.thresholds);
    topology.validate()?;
    let missing_node_grace = args.missing_node_grace.unwrap_or(match args.profile {
        Profile::Kubernetes => Duration::ZERO,
        Profile::Evenkeel => engine::Settings::default().missing_node_grace,
    });
    let engine = engine::Settings {
        topology,
        missing_node_grace,
        scope: match args.services {
            Services::All => engine::Scope::All,
            Services::Annotated => engine::Scope::Annotated,
        },
        max_in_flight: args.concurrent_service_endpoint_syncs,
        conditions: args.service_conditions,
        batch_period: args.endpoint_updates_batch_period,
        ..engine::Settings::default()
    };
    let election = election(&args.election, identity)?;
    let reports = args.proxy_lease_namespace.as_ref();
    let reports = reports.unwrap_or(&args.election.leader_elect_resource_namespace).clone();
    Ok(Settings {
        engine,
        election,
        listen: Some(args.listen),
        watches: WatchSettings::default(),
        reports: Some(reports),
        address: None,
    })
}

fn election(args: &ElectionArgs, identity: String) -> Result<Option<lease::Settings>, Error> {
    if !args.leader_elect {
        return Ok(None);
    }
    let settings = lease::Settings {
        namespace: args.leader_elect_resource_namespace.clone(),
        name: args.leader_elect_resource_name.clone(),
        identity,
        duration: args.leader_elect_lease_duration,
        renew_deadline: args.leader_elect_renew_deadline,
        retry: args.leader_elect_retry_period,
    };
    settings.validate()?;
    Ok(Some(settings))
}

/// `namespace`: that of the context.
pub(super) fn scope(args: &HandoverArgs, namespace: &str) -> Result<handover::Scope, Error> {
    let services = args.services.iter().map(|given| find::service_name(given).map(Into::into));
    let namespace = args.namespace.as_deref().unwrap_or(namespace);
    Ok(handover::Scope {
        namespace: (!args.all_namespaces).then(|| namespace.to_owned()),
        services: services.collect::<Result<_, _>>()?,
    })
}

fn at_least_one(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(n @ 1..) => Ok(n),
        _ => Err("expected a whole number from 1 up".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ControllerArgs,
    }

    fn parse(line: &str) -> ControllerArgs {
        Line::try_parse_from(line.split_whitespace()).unwrap().args
    }

    fn checked(line: &str) -> Result<Settings, Error> {
        settings(&parse(line).run, "me".to_owned())
    }

    #[test]
    fn the_defaults_are_those_of_kubernetes_where_it_has_some() {
        let settings = checked("controller").unwrap();
        assert_eq!(settings.engine, engine::Settings::default());
        let election = settings.election.unwrap();
        let (name, namespace) = (election.name.as_str(), election.namespace.as_str());
        assert_eq!((name, namespace), ("evenkeel-endpointslice-controller", "kube-system"));
        let times = [election.duration, election.renew_deadline, election.retry];
        assert_eq!(times, [15, 10, 2].map(Duration::from_secs));
        assert_eq!(settings.reports.as_deref(), Some("kube-system"));
        let reports = |line: &str| checked(line).unwrap().reports.unwrap();
        assert_eq!(reports("controller --leader-elect-resource-namespace x"), "x");
        assert_eq!(reports("controller --proxy-lease-namespace y"), "y");
    }

    #[test]
    fn flags_become_settings() {
        let settings = checked(
            "controller --services annotated --leader-elect false --service-conditions false \
             --max-endpoints-per-slice 10 --concurrent-service-endpoint-syncs 4 \
             --endpoint-updates-batch-period 500ms --feature-gates TopologyAwareHints=false \
             --profile kubernetes --listen 127.0.0.1:0 --assign-threshold 0.4 \
             --unknown-cpu one-core --allowance 0.1 --keep-excess 0.2 --keep-in-zone 0.05",
        )
        .unwrap();
        let engine = settings.engine;
        assert_eq!((settings.election, engine.scope), (None, engine::Scope::Annotated));
        assert_eq!((engine.max_in_flight, engine.conditions), (4, false));
        assert_eq!(engine.batch_period, Duration::from_millis(500));
        assert_eq!(engine.topology.max_endpoints_per_slice, 10);
        assert!(!engine.topology.gates.topology_aware_hints);
        let kubernetes = evenkeel_topology::Settings::kubernetes();
        assert_eq!(engine.topology.node_hint_rule, kubernetes.node_hint_rule);
        let topology = &engine.topology;
        assert_eq!((topology.assign_threshold, topology.keep_threshold), (0.4, 0.4));
        assert_eq!(topology.unknown_cpu, evenkeel_topology::UnknownCpu::OneCorePerNode);
        let shares = (topology.allowance, topology.keep_excess, topology.keep_in_zone);
        assert_eq!(shares, (0.1, 0.2, 0.05));
        assert_eq!(&*engine.topology.controller_name, label::EVENKEEL);
        assert_eq!(engine.missing_node_grace, Duration::ZERO, "as Kubernetes does");
        let line = "controller --profile kubernetes --missing-node-grace 3s";
        let engine = checked(line).unwrap().engine;
        assert_eq!(engine.missing_node_grace, Duration::from_secs(3));
    }

    #[test]
    fn invalid_lease_durations_are_rejected() {
        let cases = [
            ("--leader-elect-lease-duration 10s", "must be more than the renew deadline"),
            ("--leader-elect-renew-deadline 2s", "more than 1.2 times the retry period"),
            ("--leader-elect-retry-period 0s", "must be more than 0s"),
        ];
        for (flags, expected) in cases {
            let error = checked(&format!("controller {flags}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{flags}: {error}");
        }
    }

    #[test]
    fn slices_and_gates_are_checked() {
        let none = checked("controller --max-endpoints-per-slice 0");
        assert!(matches!(none, Err(Error::Settings(_))));
        let unknown = checked("controller --feature-gates X=true");
        assert!(matches!(unknown, Err(Error::Settings(_))));
        let form = checked("controller --feature-gates TopologyAwareHints");
        assert!(matches!(form, Err(Error::Gate { .. })));
    }

    #[test]
    fn a_handover_is_of_some_services_a_namespace_or_all() {
        let of = |line: &str| match parse(line).command {
            Some(ControllerCommand::Release(args) | ControllerCommand::Adopt(args)) => {
                scope(&args, "here").unwrap()
            }
            None => panic!("{line}"),
        };
        let scope = |namespace: Option<&str>, services: &[&str]| handover::Scope {
            namespace: namespace.map(Into::into),
            services: services.iter().map(|&name| name.into()).collect(),
        };
        assert_eq!(of("controller release"), scope(Some("here"), &[]));
        assert_eq!(of("controller adopt -A"), scope(None, &[]));
        assert_eq!(of("controller release -n shop svc/web x"), scope(Some("shop"), &["web", "x"]));
    }
}
