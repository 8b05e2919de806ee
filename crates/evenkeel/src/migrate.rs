//! `evenkeel migrate`. It prints what to change and never writes to a cluster.

mod changes;
mod text;

use clap::{Args, ValueEnum};
use evenkeel_k8s::RawServices;
use evenkeel_model::{ServiceKey, ServiceState};
use evenkeel_topology::{
    Environment, Server,
    migrate::{AutoTarget, Effect, Migration, Outcome, migrate},
};
use serde::Serialize;

use crate::{
    cli::{InputArgs, ProfileChoice},
    complete,
    error::Error,
    find::{self, ServiceName},
    input::{self, Input},
    output, printer,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel migrate -f examples/migrate               # what becomes of old manifests
  evenkeel migrate -A                                # all Services of the cluster
  evenkeel migrate shop/web --to same-zone           # choose what Auto becomes
  evenkeel migrate -o yaml | kubectl replace -f -    # change it
  evenkeel migrate -o patch                          # or one command for each Service

Nothing is written to the cluster.";

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The Services, as in `web`, `svc/web` or `shop/web`; all when none is named
    #[arg(value_name = "SERVICE", add = complete::services())]
    pub services: Vec<String>,
    #[command(flatten)]
    pub input: InputArgs,
    /// Services of all namespaces: those named, or else all
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// What Auto becomes [default: Balanced where Evenkeel's controller manages the slices, else PreferSameZone]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub to: Option<To>,
    /// Whose controller to migrate for: the one that manages the Service's slices, Evenkeel's, or Kubernetes'
    #[arg(long, value_enum, default_value_t)]
    pub profile: ProfileChoice,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: MigrateOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    Balanced,
    SameZone,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MigrateOutput {
    #[default]
    #[value(alias = "table")]
    Text,
    Json,
    /// The Services to change, whole, for `kubectl replace -f -`
    Yaml,
    /// One `kubectl patch` command for each Service to change
    Patch,
}

#[derive(Debug, Serialize)]
struct Report {
    server: Server,
    services: Vec<Migration>,
    summary: Summary,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    services: usize,
    to_change: usize,
    left_alone: usize,
    up_to_date: usize,
}

pub(crate) fn run(args: &MigrateArgs) -> Result<(), Error> {
    let named = args.services.iter().map(|given| find::service_ref(given));
    let named: Vec<ServiceName<'_>> = named.collect::<Result<_, _>>()?;
    let (input, raw) = input::read_whole(&args.input, find::wanted(&named, args.all_namespaces))?;
    let states = states(args, &named, &input)?;
    let report = report(args, &states, &raw, input.server)?;
    let text = match args.output {
        MigrateOutput::Text => text::render(&report, &args.input)?,
        MigrateOutput::Json => output::json(&report)?,
        MigrateOutput::Yaml => changes::yaml(&report, &input, &raw)?,
        MigrateOutput::Patch => changes::commands(&report, &args.input)?,
    };
    if matches!(args.output, MigrateOutput::Yaml | MigrateOutput::Patch) {
        tell_what_stays(&report);
    }
    printer::data(&text)
}

fn report(
    args: &MigrateArgs,
    states: &[&ServiceState],
    raw: &RawServices,
    server: Server,
) -> Result<Report, Error> {
    let environment = Environment::new(args.profile.rules(), server, |_| ())?;
    let auto = match args.to {
        None => AutoTarget::ByDataPlane,
        Some(To::Balanced) => AutoTarget::Balanced,
        Some(To::SameZone) => AutoTarget::SameZone,
    };
    let migrated = states.iter().map(|state| {
        let keys = raw.topology_keys(&state.service.key)?;
        Ok(migrate(state, keys.as_deref(), auto, &environment))
    });
    let services: Vec<Migration> = migrated.collect::<Result<_, Error>>()?;
    let count = |outcome| services.iter().filter(|m| m.outcome == outcome).count();
    let summary = Summary {
        services: services.len(),
        to_change: count(Outcome::ToChange),
        left_alone: count(Outcome::LeftAlone),
        up_to_date: count(Outcome::UpToDate),
    };
    Ok(Report { server, services, summary })
}

/// The named Services, or all in scope; by name.
fn states<'a>(
    args: &MigrateArgs,
    named: &[ServiceName<'_>],
    input: &'a Input,
) -> Result<Vec<&'a ServiceState>, Error> {
    let mut found = find::named(input, named, args.all_namespaces)?;
    if named.is_empty() {
        let in_scope = |key: &ServiceKey| {
            args.all_namespaces
                || *key.namespace == *input.namespace
                // Whoever gives manifests without -n means all of them.
                || (args.input.namespace.is_none() && !args.input.filename.is_empty())
        };
        found = input.snapshot.states().filter(|s| in_scope(&s.service.key)).collect();
    }
    found.sort_by_key(|state| &state.service.key);
    found.dedup_by_key(|state| &state.service.key);
    Ok(found)
}

/// Forms that carry changes out don't show what is not changed.
fn tell_what_stays(report: &Report) {
    for migration in &report.services {
        for note in migration.notes.iter().filter(|note| note.effect == Effect::LeftAlone) {
            let Migration { namespace, service, .. } = migration;
            printer::note(format_args!(
                "{namespace}/{service}: left alone: {}",
                note.because.message
            ));
        }
    }
    if report.summary.to_change == 0 {
        printer::note("nothing to change");
    }
}
