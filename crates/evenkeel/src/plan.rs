//! `evenkeel plan`.

mod assumptions;
mod changes;
mod text;
mod traffic;
mod unified;

use std::{cmp::Ordering, collections::BTreeMap};

use clap::ValueEnum;
use evenkeel_k8s::RawServices;
use evenkeel_model::{ServiceKey, ServiceState};
use evenkeel_topology::{
    Environment, Proxies, Server,
    whatif::{Forecasts, Scenario, TrafficProfile},
};
use serde::Serialize;

use self::{assumptions::Assumptions, traffic::Traffic};
use crate::{
    cli::PlanArgs,
    error::Error,
    exit::Exit,
    find,
    input::{self, Input, Wanted},
    output, printer,
    progress::Progress,
    settings::environment,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanOutput {
    #[default]
    Table,
    /// Every policy and every lost zone of every Service
    Wide,
    Json,
    /// The Services to change, whole, for `kubectl replace -f -`
    Yaml,
    /// One `kubectl patch` command for each Service to change
    Patch,
}

/// What is planned, the largest saving first.
#[derive(Debug, Serialize)]
pub(crate) struct Plan {
    pub assumptions: Assumptions,
    pub services: Vec<Forecasts>,
    pub summary: Summary,
}

/// About all Services, those that `--top` leaves out among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub services: usize,
    /// How many of them `--top` leaves out.
    pub left_out: usize,
    pub to_change: usize,
    /// A month's cost of traffic across zones, of the Services whose traffic is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The same, if the recommendations are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_as_recommended: Option<f64>,
}

/// Findings are the changes that a diff shows.
pub(crate) fn run(args: &PlanArgs) -> Result<Exit, Error> {
    // Wrong settings are told before a cluster is read.
    environment(&args.settings, Server::default())?;
    let traffic = traffic::read(args.traffic.as_deref())?;
    let replicas = replicas(&args.replicas)?;
    let names = names(args, &replicas)?;
    let wanted = match names.as_slice() {
        _ if args.all_namespaces => Wanted::All,
        [one] => Wanted::One(one),
        _ => Wanted::Namespace,
    };
    let (input, raw) = if args.diff || args.output == PlanOutput::Yaml {
        input::read_whole(&args.input, wanted)?
    } else {
        (input::read(&args.input, wanted)?, RawServices::default())
    };
    let services = services(args, &input, &names)?;
    traffic::check_names(args, &input, &names, &traffic)?;
    let environment =
        environment(&args.settings, input.server)?.with_fleet(Proxies::of(&input.snapshot).fleet());
    let plan = plan(args, &services, &replicas, &input, &traffic, &environment);
    let changes = changes::of(&plan, &input, &environment);
    let text = match args.output {
        _ if args.diff => changes::diff(&changes, &raw)?,
        PlanOutput::Table => text::render(&plan, false),
        PlanOutput::Wide => text::render(&plan, true),
        PlanOutput::Json => output::json(&plan)?,
        PlanOutput::Yaml => changes::yaml(&changes, &raw)?,
        PlanOutput::Patch => changes::commands(&changes, &args.input)?,
    };
    if changes.is_empty() && matches!(args.output, PlanOutput::Yaml | PlanOutput::Patch) {
        printer::note("nothing to change");
    }
    printer::data(&text)?;
    Ok(if args.diff && !changes.is_empty() { Exit::Findings } else { Exit::Clean })
}

/// The Services named, those with another number of replicas among them.
fn names(args: &PlanArgs, replicas: &BTreeMap<String, u32>) -> Result<Vec<String>, Error> {
    let given = args.services.iter().map(|given| Ok(find::service_name(given)?.to_owned()));
    let mut names: Vec<String> = given.collect::<Result<_, Error>>()?;
    names.extend(replicas.keys().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
    Ok(names)
}

/// The named Services, or all of the namespace, or all there are.
fn services<'a>(
    args: &PlanArgs,
    input: &'a Input,
    names: &[String],
) -> Result<Vec<&'a ServiceState>, Error> {
    if !names.is_empty() && !args.all_namespaces {
        return names.iter().map(|name| find::service(input, name)).collect();
    }
    let in_scope = |key: &ServiceKey| {
        args.all_namespaces
            || *key.namespace == *input.namespace
            // Whoever gives manifests without -n means all of them.
            || (args.input.namespace.is_none() && !args.input.filename.is_empty())
    };
    let named = |key: &ServiceKey| names.is_empty() || names.iter().any(|n| **n == *key.name);
    let all = input.snapshot.states();
    Ok(all.filter(|s| in_scope(&s.service.key) && named(&s.service.key)).collect())
}

fn plan(
    args: &PlanArgs,
    services: &[&ServiceState],
    replicas: &BTreeMap<String, u32>,
    input: &Input,
    traffic: &Traffic,
    environment: &Environment,
) -> Plan {
    let unknown = TrafficProfile::default();
    let profile = traffic.file.as_ref().map_or(&unknown, |file| &file.profile);
    let scenario = Scenario::new(&input.snapshot, profile, environment);
    let progress = Progress::new(Some(services.len() as u64), "forecasting");
    let of = |(position, state): (u64, &&ServiceState)| {
        progress.at(position);
        scenario.forecast(state, replicas.get(&*state.service.key.name).copied())
    };
    let mut forecasts: Vec<Forecasts> = (1..).zip(services).map(of).collect();
    forecasts.sort_by(by_saving);
    let assumptions =
        Assumptions::new(traffic, scenario.client_zones(), environment.server, &forecasts);
    let shown = args.top.unwrap_or(usize::MAX).min(forecasts.len());
    let summary = Summary::of(&forecasts, forecasts.len() - shown);
    forecasts.truncate(shown);
    Plan { assumptions, services: forecasts, summary }
}

/// Money first, where traffic is given; then traffic; then names.
fn by_saving(a: &Forecasts, b: &Forecasts) -> Ordering {
    // Less than a hundredth of a cent or of a percent is rounding.
    let round = |saving: f64| (saving * 1e4).round();
    let key = |f: &Forecasts| {
        let saving = f.saving();
        (round(saving.money.unwrap_or(0.0)), round(saving.share))
    };
    let ((money_a, share_a), (money_b, share_b)) = (key(a), key(b));
    money_b
        .total_cmp(&money_a)
        .then(share_b.total_cmp(&share_a))
        .then_with(|| (&a.namespace, &a.service).cmp(&(&b.namespace, &b.service)))
}

/// `SERVICE=N`, with the Service named as everywhere.
fn replicas(given: &[String]) -> Result<BTreeMap<String, u32>, Error> {
    let parse = |given: &String| {
        let wrong = || Error::Replicas { given: given.clone() };
        let (service, n) = given.rsplit_once('=').ok_or_else(wrong)?;
        let n: u32 = n.parse().ok().filter(|n| *n <= 100_000).ok_or_else(wrong)?;
        Ok((find::service_name(service)?.to_owned(), n))
    };
    given.iter().map(parse).collect()
}

// === impl Summary ===

impl Summary {
    fn of(forecasts: &[Forecasts], left_out: usize) -> Self {
        let sum = |costs: Vec<Option<f64>>| {
            costs.iter().any(Option::is_some).then(|| costs.into_iter().flatten().sum())
        };
        let cost = |f: &Forecasts| f.of(f.current)?.figures.cost;
        let recommended = |f: &Forecasts| {
            let forecast = f.of(f.recommendation.policy)?;
            // What is kept stays as it is, with the hints that are there.
            if f.changes() { forecast.settled().cost } else { forecast.figures.cost }
        };
        Summary {
            services: forecasts.len(),
            left_out,
            to_change: forecasts.iter().filter(|f| f.changes()).count(),
            cost: sum(forecasts.iter().map(cost).collect()),
            cost_as_recommended: sum(forecasts.iter().map(recommended).collect()),
        }
    }
}
