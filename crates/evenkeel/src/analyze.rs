//! `evenkeel analyze`: what is wrong with all Services, like `istioctl analyze`.

mod text;

use clap::{Args, ValueEnum};
use evenkeel_model::ServiceState;
use evenkeel_topology::{
    Proxies, Server,
    analyze::{self, Finding},
    explain::Context,
};
use serde::Serialize;

pub(crate) use self::text::finding;
use crate::{
    cli::{InputArgs, SettingsArgs},
    error::Error,
    exit::{Exit, Severity},
    input::{self, Input, Wanted},
    output, printer,
    progress::Progress,
    settings::environment,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel analyze                                   # the namespace of the current context
  evenkeel analyze -A --fail-on warning              # all namespaces, for use in scripts
  evenkeel analyze -f examples/three-zones -o json
  kubectl get svc,endpointslices,nodes,pods,hpa,events -A -o yaml | evenkeel analyze -f -

Exit codes: 0 nothing at --fail-on, 1 findings, 2 wrong usage or bad input, 3 the cluster can't be read";

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Services of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// The severity from which findings make the command fail
    #[arg(long, value_enum, default_value_t = Severity::Error, value_name = "SEVERITY")]
    pub fail_on: Severity,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
    #[command(flatten)]
    pub settings: SettingsArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
    Yaml,
}

/// All findings, the most serious first.
#[derive(Debug, Serialize)]
struct Report {
    server: Server,
    /// How many Services were analyzed.
    services: usize,
    summary: Summary,
    findings: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    infos: usize,
}

pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, Error> {
    // Wrong settings are reported before a cluster is read.
    environment(&args.settings, Server::default())?;
    let wanted = if args.all_namespaces { Wanted::All } else { Wanted::Namespace };
    let input = input::read(&args.input, wanted)?;
    let report = report(args, &input)?;
    printer::data(&match args.output {
        Format::Text => text::render(&report),
        Format::Json => output::json(&report)?,
        Format::Yaml => output::yaml(&report)?,
    })?;
    Ok(Exit::of(report.findings.iter().map(|f| f.severity.into()), args.fail_on))
}

fn report(args: &AnalyzeArgs, input: &Input) -> Result<Report, Error> {
    let environment =
        environment(&args.settings, input.server)?.with_fleet(Proxies::of(&input.snapshot).fleet());
    let context = Context::new(&input.snapshot, &environment);
    // Without -n, all of the files are meant: somebody chose them.
    let all =
        args.all_namespaces || (args.input.namespace.is_none() && !args.input.filename.is_empty());
    let in_scope = |state: &&ServiceState| all || *state.service.key.namespace == *input.namespace;
    let services: Vec<&ServiceState> = input.snapshot.states().filter(in_scope).collect();
    let progress = Progress::new(Some(services.len() as u64), "analyzing");
    let mut findings = context.cluster_findings().to_vec();
    for (position, state) in (1..).zip(&services) {
        progress.at(position);
        findings.extend(context.findings(state));
    }
    drop(progress);
    let rank = |finding: &Finding| (std::cmp::Reverse(finding.severity), finding.object.clone());
    findings.sort_by_cached_key(rank);
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let summary = Summary {
        errors: count(analyze::Severity::Error),
        warnings: count(analyze::Severity::Warning),
        infos: count(analyze::Severity::Info),
    };
    Ok(Report { server: environment.server, services: services.len(), summary, findings })
}

impl From<analyze::Severity> for Severity {
    fn from(severity: analyze::Severity) -> Self {
        match severity {
            analyze::Severity::Info => Severity::Info,
            analyze::Severity::Warning => Severity::Warning,
            analyze::Severity::Error => Severity::Error,
        }
    }
}
