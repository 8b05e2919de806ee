//! The flags of `evenkeel mesh`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::names::{self, Named};
use crate::{analyze::Format, controller::ClusterArgs, exit::Severity, xds::CompatChoice};

const INSPECT_EXAMPLES: &str = "\
Examples:
  evenkeel mesh inspect web-1                              # as the running control plane has it
  evenkeel mesh inspect shop/web-1 -o json
  evenkeel mesh inspect web-1 --resources examples/mesh    # from files, without a control plane";

const DIFF_EXAMPLES: &str = "\
Examples:
  evenkeel mesh diff -f new-policy.yaml --resources examples/mesh
  evenkeel mesh diff -f new-policy.yaml -f route.yaml --resources ./mesh -o json
  evenkeel mesh diff --delete MeshLoadBalancingStrategy/backend --resources examples/mesh
  evenkeel mesh diff -f new-policy.yaml                    # against a cluster's custom resources

Exit codes: 0 no differences, 1 differences, 2 wrong usage or bad input";

const LINT_EXAMPLES: &str = "\
Examples:
  evenkeel mesh lint --resources examples/mesh
  evenkeel mesh lint --resources ./mesh --fail-on warning  # for use in scripts
  evenkeel mesh lint                                       # custom resources of a cluster

Exit codes: 0 nothing at --fail-on, 1 findings, 2 wrong usage or bad input";

const LIVE_EXAMPLES: &str = "\
States: SYNCED acknowledged, STALE sent and not yet acknowledged, NACKED rejected, with Envoy's message";

#[derive(Debug, Subcommand)]
pub(crate) enum MeshCommand {
    /// Show what a proxy is told: policies, priorities, weights, and predicted shares
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Show what new or deleted resources would change, for which proxies, in shares of traffic
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// List the proxies, and whether they have accepted what they were sent
    #[command(after_help = LIVE_EXAMPLES)]
    Proxies(LiveArgs),
    /// Show how long recent changes took to reach the proxies, and which proxies are behind
    Propagation(LiveArgs),
    /// Find invalid resources, and policies and plans that don't do what they say
    #[command(after_help = LINT_EXAMPLES)]
    Lint(LintArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The Dataplane, as in `web-1` or `shop/web-1`
    #[arg(value_name = "DATAPLANE", add = names::dataplanes())]
    pub dataplane: String,
    /// Mesh of a Dataplane that is named without one
    #[arg(long, value_name = "MESH", default_value = "default")]
    pub mesh: String,
    /// Folder of YAML files to read instead of asking a control plane
    #[arg(long, value_name = "FOLDER", conflicts_with = "control_plane_admin")]
    pub resources: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RulesArgs,
    #[command(flatten)]
    pub live: LiveArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// New or changed resources: a file, a folder, or - for stdin; may be repeated
    #[arg(short, long, value_name = "FILE", required_unless_present = "delete")]
    pub filename: Vec<PathBuf>,
    /// Resources in force to delete, as in MeshService/web or MeshService/shop/web; may be repeated
    #[arg(long, value_name = "KIND/[MESH/]NAME")]
    pub delete: Vec<Named>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rules: RulesArgs,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub rules: RulesArgs,
    /// The severity from which findings make the command fail
    #[arg(long, value_enum, default_value_t = Severity::Error, value_name = "SEVERITY")]
    pub fail_on: Severity,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Where the resources in force are.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Folder of YAML files with the resources in force, in place of the custom resources of a cluster
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["kubeconfig", "context"])]
    pub resources: Option<PathBuf>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How files are understood, as `evenkeel xds` has it.
#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// The zone of Dataplanes that name none
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Whose behaviour counts where Kuma departs from its decision record
    #[arg(long, value_enum, default_value_t)]
    pub compat: CompatChoice,
}

#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// URL of the control plane's --admin-listen [default: that of `evenkeel up`, or
    /// http://127.0.0.1:5680]
    #[arg(long, value_name = "URL")]
    pub control_plane_admin: Option<String>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}
