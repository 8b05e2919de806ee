//! The command line of `evenkeel fairness`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};

use crate::{cli::ReportOutput, duration::duration, exit::Severity};

#[derive(Debug, Subcommand)]
pub(crate) enum FairnessCommand {
    /// Simulate a scenario under one or more configurations and compare the results
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(SimulateArgs),
    /// Show which flow schema matches a request, why the others don't, and its queues
    ///
    /// The queues are those that Kubernetes deals. A server with the default profile uses a secret
    /// random key, so its queues can't be predicted.
    #[command(after_help = MATCH_EXAMPLES)]
    Match(Box<MatchArgs>),
    /// Check configurations for errors and for settings that don't do what they appear to
    #[command(after_help = LINT_EXAMPLES)]
    Lint(LintArgs),
    /// Show how likely a small flow shares all of its queues with large flows
    #[command(after_help = COLLISIONS_EXAMPLES)]
    Collisions(CollisionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Scenario file in YAML, or - for stdin
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Write a chart of waiting times and seats by flow as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Seed to use instead of the scenario's
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Duration to use instead of the scenario's, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Use the flow schemas and priority levels of the cluster
    #[arg(long, conflicts_with_all = ["filename", "defaults"])]
    pub live: bool,
    /// With --live, the kubeconfig of the cluster [default: $KUBECONFIG, ./.evenkeel/kubeconfig,
    /// ~/.kube/config, the Pod's service account]
    #[arg(long, value_name = "FILE", requires = "live")]
    pub kubeconfig: Option<PathBuf>,
    /// With --live, the kubeconfig's context to use
    #[arg(long, value_name = "NAME", requires = "live")]
    pub context: Option<String>,
    /// Request file in YAML: user, groups, verb, resource, namespace, path, headers, …
    #[arg(long, value_name = "FILE", conflicts_with_all = ["user", "group", "verb", "resource",
        "namespace", "path", "api_group", "name", "header"])]
    pub request: Option<PathBuf>,
    /// Name of the user
    #[arg(long, value_name = "USER", default_value = "")]
    pub user: String,
    /// Group of the user; can be repeated [default: system:authenticated]
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,
    /// get, list, watch, create, update, patch, delete, …; for a path, the method in lower case
    #[arg(long, value_name = "VERB", default_value = "get")]
    pub verb: String,
    /// Resource, such as pods or pods/log
    #[arg(long, value_name = "RESOURCE", conflicts_with = "path")]
    pub resource: Option<String>,
    /// API group of the resource [default: the core group]
    #[arg(long, value_name = "GROUP", requires = "resource")]
    pub api_group: Option<String>,
    /// Namespace [default: none, for cluster-scoped resources]
    #[arg(short, long, value_name = "NAMESPACE", requires = "resource")]
    pub namespace: Option<String>,
    /// Name of the object
    #[arg(long, value_name = "NAME", requires = "resource")]
    pub name: Option<String>,
    /// Path of a request that is not for a resource, such as /healthz
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Header, such as x-tenant=acme; can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub header: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Objects to check: a file, a folder, or - for stdin; can be repeated
    #[arg(short, long, value_name = "FILE", required = true)]
    pub filename: Vec<PathBuf>,
    /// Add default objects whose names are not in the files
    #[arg(long = "default", value_enum)]
    pub defaults: Option<Defaults>,
    /// Seats of the server: with kube-apiserver, --max-requests-inflight plus
    /// --max-mutating-requests-inflight
    #[arg(long, value_name = "SEATS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub concurrency_limit: u32,
    /// Exit with 1 if there is a finding of this severity or a higher one
    #[arg(long, value_name = "SEVERITY", value_enum, default_value = "warning")]
    pub fail_on: Severity,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
}

#[derive(Debug, Args)]
pub(crate) struct CollisionsArgs {
    /// Number of queues of the level
    #[arg(long, value_name = "N")]
    pub queues: u32,
    /// Number of queues that a flow can use
    #[arg(long, value_name = "N")]
    pub hand_size: u32,
    /// Stop when the collision probability reaches this value, such as 1% or 0.01
    #[arg(long, value_name = "PROBABILITY", default_value = "1%")]
    pub threshold: String,
    /// Stop at this number of elephants (large flows)
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_elephants: u32,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
}

/// Where the configuration comes from.
#[derive(Debug, Args)]
pub(crate) struct ConfigurationArgs {
    /// Flow schemas and priority levels of either dialect: a file, a folder, or - for stdin; can be
    /// repeated [default: Kubernetes' default objects]
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Default objects to use; with -f, those whose names are not in the files
    #[arg(long = "default", value_enum)]
    pub defaults: Option<Defaults>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Defaults {
    /// The objects Kubernetes creates
    Kubernetes,
    /// The example objects of the proposal of 2019
    Proposal,
}

const SIMULATE_EXAMPLES: &str = "\
Examples:
  evenkeel fairness simulate examples/fairness/elephant.yaml
  evenkeel fairness simulate examples/fairness/spike.yaml --svg spike.svg
  evenkeel fairness simulate scenario.yaml --seed 7 --duration 10m -o json

A scenario:
  name: One elephant                 # title of the chart; default: the name of the file
  server: {concurrencyLimit: 10}     # seats
  duration: 60s
  warmup: 5s                         # simulated, but not measured
  seed: 1
  flows:
  - name: mice
    clients: 1000                    # {n} below is the number of the client
    user: mouse-{n}
    groups: [system:authenticated]   # the default
    verb: get                        # the default
    resource: pods                   # with apiGroup, namespace, object; or path: /x
    arrivals: {poisson: {rate: 0.5/s}}   # or constant: {rate}, or closed: {outstanding, think}
    service: {exponential: 10ms}     # or 10ms, or uniform: {min, max},
                                     # logNormal: {median, sigma}, pareto: {min, shape}
    seats: 1                         # or {initial, final, additionalLatency}
    waitLimit: 15s                   # the default
    from: 0s                         # until: 30s; burst: {on: 1s, off: 9s}
  configurations:
  - name: example
    default: kubernetes              # and/or files: [a.yaml], objects: [...];
                                     # the default if none of them is given
    profile: default                 # or kubernetes, or proposal
    changes: [{at: 30s, files: [b.yaml], concurrencyLimit: 20}]

Clients of a closed loop retry rejected requests after Retry-After.";

const MATCH_EXAMPLES: &str = "\
Examples:
  evenkeel fairness match --user alice --verb list --resource pods -n shop
  evenkeel fairness match --user system:node:n1 --group system:nodes --resource nodes/status --name n1
  evenkeel fairness match -f flows.yaml --user alice --path /healthz -o json
  evenkeel fairness match --default proposal --request request.yaml
  evenkeel fairness match --live --user alice --resource pods       # the objects of the cluster

A request:
  {user: alice, groups: [system:authenticated], verb: list, resource: pods, namespace: shop}";

const LINT_EXAMPLES: &str = "\
Examples:
  evenkeel fairness lint -f flows.yaml
  evenkeel fairness lint -f my-schema.yaml --default kubernetes --concurrency-limit 40
  evenkeel fairness lint -f flows.yaml --fail-on error -o json
  kubectl get flowschemas,prioritylevelconfigurations -o yaml | evenkeel fairness lint -f -

Exit codes: 0 no finding at --fail-on, 1 findings, 2 wrong usage or an object that is invalid or
can't be read.";

const COLLISIONS_EXAMPLES: &str = "\
Examples:
  evenkeel fairness collisions --queues 128 --hand-size 6
  evenkeel fairness collisions --queues 64 --hand-size 8 --threshold 5% -o json";
