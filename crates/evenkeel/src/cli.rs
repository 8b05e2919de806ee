//! The command line, defined once: help and completions come from it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use evenkeel_topology::ServerVersion;

use crate::{
    analyze::AnalyzeArgs, apiserver::ApiserverArgs, complete, controller::ControllerArgs,
    curl::CurlArgs, dashboard::DashboardArgs, drill::DrillArgs, fairness::FairnessCommand,
    mesh::MeshCommand, migrate::MigrateArgs, plan::PlanOutput, proxy::ProxyArgs,
    status::StatusArgs, up::UpArgs, xds::XdsArgs,
};

/// Keeps traffic near and requests fair, for Kubernetes and Envoy.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the API server with its sandbox and the controller in one process, with sample objects
    #[command(after_help = crate::up::EXAMPLES)]
    Up(UpArgs),
    /// Check that everything works, and show how to fix what does not
    #[command(after_help = crate::status::EXAMPLES)]
    Status(StatusArgs),
    /// Send requests to a Service from a node of `up --proxy`, and show where they go
    #[command(after_help = crate::curl::EXAMPLES)]
    Curl(CurlArgs),
    /// Lose a zone of `up --proxy` for a while, and measure what becomes of requests
    #[command(after_help = crate::drill::EXAMPLES)]
    Drill(DrillArgs),
    /// Show in a browser where traffic goes and why; it changes nothing
    #[command(after_help = crate::dashboard::EXAMPLES)]
    Dashboard(DashboardArgs),
    /// Explain which endpoints of a Service each zone or node uses, and why
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Find what is wrong with all Services, and how to fix it
    #[command(after_help = crate::analyze::EXAMPLES)]
    Analyze(AnalyzeArgs),
    /// Show what other policies would do to Services, and recommend one
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Turn topologyKeys, Auto annotations and PreferClose into today's settings, as patches
    #[command(after_help = crate::migrate::EXAMPLES)]
    Migrate(MigrateArgs),
    /// Simulate, check and explain the priority and fairness of requests
    #[command(arg_required_else_help = true)]
    Fairness {
        #[command(subcommand)]
        command: FairnessCommand,
    },
    /// Run the EndpointSlice controller: hints, conditions and Events, in place of Kubernetes' own
    #[command(after_help = crate::controller::EXAMPLES)]
    Controller(ControllerArgs),
    /// Run the Service proxy of a node on nftables, in place of kube-proxy or beside it
    #[command(after_help = crate::proxy::EXAMPLES)]
    Proxy(ProxyArgs),
    /// Run a small Kubernetes API server, for one host and its tests
    #[command(after_help = crate::apiserver::EXAMPLES)]
    Apiserver(ApiserverArgs),
    /// Serve a mesh to Envoy proxies over xDS: locality-aware load balancing, routes and health
    #[command(after_help = crate::xds::EXAMPLES)]
    Xds(XdsArgs),
    /// Inspect a mesh of Envoy proxies: who is told what and why, and what a change would do
    #[command(arg_required_else_help = true)]
    Mesh {
        #[command(subcommand)]
        command: MeshCommand,
    },
    /// Print a completion script for a shell
    #[command(visible_alias = "completions", after_help = COMPLETION_EXAMPLES)]
    Completion { shell: Shell },
    /// Print the reference of all commands, as Markdown
    #[command(hide = true)]
    Reference,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The Services, as in `web`, `svc/web` or `shop/web`
    #[arg(value_name = "SERVICE", required_unless_present = "all_namespaces", add = complete::services())]
    pub services: Vec<String>,
    #[command(flatten)]
    pub input: InputArgs,
    /// Services of all namespaces: those named, or else all
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Explain clients in this zone only; may be repeated
    #[arg(long, value_name = "ZONE", add = complete::zones())]
    pub from_zone: Vec<String>,
    /// Explain clients on this node only; may be repeated
    #[arg(long, value_name = "NODE", add = complete::nodes())]
    pub from_node: Vec<String>,
    /// Show connections by zone as proxies with --zone-counters measured them: the URL of a proxy's
    /// /metrics, or a file with its text; may be repeated
    #[arg(long, value_name = "URL|FILE")]
    pub measured: Vec<String>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    #[command(flatten)]
    pub settings: SettingsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The Services, as in `web` or `svc/web`; all when none is named
    #[arg(value_name = "SERVICE", add = complete::services())]
    pub services: Vec<String>,
    #[command(flatten)]
    pub input: InputArgs,
    /// Services of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Traffic and prices, as YAML: gbPerMonth, byZone, price.outPerGb, price.inPerGb, services
    #[arg(long, value_name = "FILE")]
    pub traffic: Option<PathBuf>,
    /// What would happen with N replicas; may be repeated
    #[arg(long, value_name = "SERVICE=N")]
    pub replicas: Vec<String>,
    /// Only the N Services with the largest saving
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Show the changes like `kubectl diff`; exit code 1 if there are any
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: PlanOutput,
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// The source of objects: files, or else a cluster.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// The namespace [default: that of the context, or `default`]
    #[arg(short, long, value_name = "NAMESPACE", add = complete::namespaces())]
    pub namespace: Option<String>,
    /// Manifests to read instead of a cluster: a file, a folder, or - for stdin; may be repeated
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["kubeconfig", "context"])]
    pub filename: Vec<PathBuf>,
    /// The kubeconfig of the cluster to read [default: $KUBECONFIG, ./.evenkeel/kubeconfig, ~/.kube/config, the Pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context to use
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The API server's version, as in 1.33 [default: the cluster's; with -f, the newest]
    #[arg(long, value_name = "VERSION")]
    pub server_version: Option<ServerVersion>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingsArgs {
    /// Whose rules apply: those of the data plane in use, Evenkeel's, or Kubernetes'
    #[arg(long, value_enum, default_value_t)]
    pub profile: ProfileChoice,
    /// Feature gates, as in TopologyAwareHints=false
    #[arg(long, value_name = "GATE=BOOL", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    #[command(flatten)]
    pub thresholds: ThresholdArgs,
}

/// How much overload is accepted, for all Services without the annotation
/// `evenkeel.dev/overload-threshold`.
#[derive(Debug, Default, Args)]
pub(crate) struct ThresholdArgs {
    /// Expected overload up to which Auto assigns hints: 0.2 is 20 %
    #[arg(long, value_name = "RATIO")]
    pub assign_threshold: Option<f64>,
    /// Expected overload up to which Auto keeps hints
    #[arg(long, value_name = "RATIO")]
    pub keep_threshold: Option<f64>,
    /// How Auto treats a node without allocatable CPU
    #[arg(long, value_enum)]
    pub unknown_cpu: Option<UnknownCpuArg>,
    /// Part of the endpoints that Auto may hint for another zone without need before it writes slices
    /// for that alone [default: 0.1]
    #[arg(long, value_name = "RATIO")]
    pub locality_threshold: Option<f64>,
    /// By how much an endpoint may exceed its fair part under Balanced: 0.1 is 10 %
    #[arg(long, value_name = "RATIO")]
    pub allowance: Option<f64>,
    /// Excess over the allowance up to which Balanced keeps zone shares in force [default: 0.1]
    #[arg(long, value_name = "RATIO")]
    pub keep_excess: Option<f64>,
    /// Loss of in-zone traffic up to which Balanced keeps zone shares in force [default: 0.03]
    #[arg(long, value_name = "RATIO")]
    pub keep_in_zone: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    #[default]
    Table,
    /// The table with all details
    Wide,
    Json,
    Yaml,
}

/// The output of commands that report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportOutput {
    #[default]
    Table,
    Json,
}

/// Whose rules `explain`, `analyze`, `plan` and `migrate` go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileChoice {
    /// Hints: whoever manages the Service's slices; routing: the proxy that nodes report
    #[default]
    Auto,
    /// Evenkeel's rules
    #[value(alias = "default")]
    Evenkeel,
    /// Exactly the rules of today's Kubernetes
    Kubernetes,
}

/// Whose rules the controller applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    #[default]
    #[value(alias = "default")]
    Evenkeel,
    Kubernetes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownCpuArg {
    /// No Service gets Auto hints
    NoHints,
    /// All nodes count as one core
    OneCore,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  evenkeel explain web                               # the cluster of the current context
  evenkeel explain svc/web -n shop --from-zone zone-a
  evenkeel explain shop/web shop/cart -f examples/three-zones
  kubectl get svc,endpointslices,nodes,pods,hpa,events -A -o yaml | evenkeel explain -A -f -";

const PLAN_EXAMPLES: &str = "\
Examples:
  evenkeel plan -n shop -f examples/three-zones      # all Services of a namespace
  evenkeel plan -A --top 20                          # the 20 largest savings
  evenkeel plan web --traffic traffic.yaml           # with costs
  evenkeel plan web --replicas web=11                # what happens at 11 replicas
  evenkeel plan --diff                               # what would change
  evenkeel plan -o yaml | kubectl replace -f -       # change it
  evenkeel plan -o patch                             # or one command for each Service

A traffic file; costs are shown for the Services whose traffic it gives:
  gbPerMonth: 1000            # each Service, from zones in proportion to their CPU
  byZone: {zone-a: 800}       # or gigabytes by client zone
  price: {outPerGb: 0.01, inPerGb: 0.01, currency: USD}
  services:
    shop/web: {gbPerMonth: 5000}";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  source <(evenkeel completion bash)                 # in ~/.bashrc
  evenkeel completion zsh > \"${fpath[1]}/_evenkeel\"
  evenkeel completion fish > ~/.config/fish/completions/evenkeel.fish

Names of Services, namespaces, nodes and zones come from the cluster of the kubeconfig.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
