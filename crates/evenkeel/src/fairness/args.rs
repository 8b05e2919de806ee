//! The command line of `evenkeel fairness`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};

use crate::duration::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum FairnessCommand {
    /// Simulate flows of requests under one or more configurations, and compare what they get
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(SimulateArgs),
    /// Say which flow schema takes a request, which were missed and why, and its queues
    ///
    /// The queues are those that Kubernetes deals. A server with the default profile deals by a key of
    /// its own, which nobody else knows.
    #[command(after_help = MATCH_EXAMPLES)]
    Match(MatchArgs),
    /// Check configurations: what is wrong, and what works other than it seems to
    #[command(after_help = LINT_EXAMPLES)]
    Lint(LintArgs),
    /// How likely a small flow shares all of its queues with large ones
    #[command(after_help = COLLISIONS_EXAMPLES)]
    Collisions(CollisionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The scenario, as YAML, or - for stdin
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Write the seats in use over time as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Another seed than the scenario's
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Another duration than the scenario's, as in 30s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub duration: Option<Duration>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// The request, as YAML: user, groups, verb, resource, namespace, path, headers, …
    #[arg(long, value_name = "FILE", conflicts_with_all = ["user", "group", "verb", "resource",
        "namespace", "path", "api_group", "name", "header"])]
    pub request: Option<PathBuf>,
    /// Who asks
    #[arg(long, value_name = "USER", default_value = "")]
    pub user: String,
    /// A group of the user; may be repeated [default: system:authenticated]
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,
    /// get, list, watch, create, update, patch, delete, …; for paths, the method in lower case
    #[arg(long, value_name = "VERB", default_value = "get")]
    pub verb: String,
    /// The resource, as in pods or pods/log
    #[arg(long, value_name = "RESOURCE", conflicts_with = "path")]
    pub resource: Option<String>,
    /// The API group of the resource [default: the core group]
    #[arg(long, value_name = "GROUP", requires = "resource")]
    pub api_group: Option<String>,
    /// The namespace [default: none, for objects of the cluster]
    #[arg(short, long, value_name = "NAMESPACE", requires = "resource")]
    pub namespace: Option<String>,
    /// The name of the object
    #[arg(long, value_name = "NAME", requires = "resource")]
    pub name: Option<String>,
    /// The path of a request that is for no resource, as in /healthz
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// A header, as in x-tenant=acme; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub header: Vec<String>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Objects to check: a file, a folder, or - for stdin; may be repeated
    #[arg(short, long, value_name = "FILE", required = true)]
    pub filename: Vec<PathBuf>,
    /// Objects that are there as well, as far as their names are not given
    #[arg(long = "default", value_enum)]
    pub defaults: Option<Defaults>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

#[derive(Debug, Args)]
pub(crate) struct CollisionsArgs {
    /// How many queues the level has
    #[arg(long, value_name = "N")]
    pub queues: u32,
    /// How many of them a flow may use
    #[arg(long, value_name = "N")]
    pub hand_size: u32,
    /// Stop where the probability reaches this, as in 1% or 0.01
    #[arg(long, value_name = "PROBABILITY", default_value = "1%")]
    pub threshold: String,
    /// Stop at so many elephants in any case
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_elephants: u32,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Form,
}

/// Where the configuration comes from.
#[derive(Debug, Args)]
pub(crate) struct ConfigurationArgs {
    /// Flow schemas and priority levels of either dialect: a file, a folder, or - for stdin; may be
    /// repeated [default: those Kubernetes has by default]
    #[arg(short, long, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Objects that are there by default; with -f, those whose names are not given
    #[arg(long = "default", value_enum)]
    pub defaults: Option<Defaults>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    #[default]
    Table,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Defaults {
    /// The objects Kubernetes creates
    Kubernetes,
    /// The objects the proposal of 2019 exhibits
    Proposal,
}

const SIMULATE_EXAMPLES: &str = "\
Examples:
  evenkeel fairness simulate examples/fairness/elephant.yaml
  evenkeel fairness simulate examples/fairness/spike.yaml --svg spike.svg
  evenkeel fairness simulate scenario.yaml --seed 7 --duration 10m -o json

A scenario:
  server: {concurrencyLimit: 10}     # seats
  duration: 60s
  warmup: 5s                         # simulated, not counted
  seed: 1
  flows:
  - name: mice
    clients: 1000                    # {n} is the number of the client
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
  - name: ours
    default: kubernetes              # and/or files: [a.yaml], objects: [...];
                                     # this one where there is none of them
    profile: default                 # or kubernetes, or proposal
    changes: [{at: 30s, files: [b.yaml], concurrencyLimit: 20}]

Requests that are refused come back after Retry-After if their flow is a closed loop.";

const MATCH_EXAMPLES: &str = "\
Examples:
  evenkeel fairness match --user alice --verb list --resource pods -n shop
  evenkeel fairness match --user system:node:n1 --group system:nodes --resource nodes/status --name n1
  evenkeel fairness match -f flows.yaml --user alice --path /healthz -o json
  evenkeel fairness match --default proposal --request request.yaml

A request:
  {user: alice, groups: [system:authenticated], verb: list, resource: pods, namespace: shop}";

const LINT_EXAMPLES: &str = "\
Examples:
  evenkeel fairness lint -f flows.yaml
  evenkeel fairness lint -f my-schema.yaml --default kubernetes
  kubectl get flowschemas,prioritylevelconfigurations -o yaml | evenkeel fairness lint -f -

Exit code: 0 when there is nothing to say, or notes only; 1 with warnings or errors; 2 when an
object could not be read or would be refused.";

const COLLISIONS_EXAMPLES: &str = "\
Examples:
  evenkeel fairness collisions --queues 128 --hand-size 6
  evenkeel fairness collisions --queues 64 --hand-size 8 --threshold 5% -o json";
