//! `evenkeel plan`.

mod text;

use std::{collections::BTreeMap, fs, path::Path};

use evenkeel_model::{ServiceKey, ServiceState};
use evenkeel_topology::{
    Settings,
    whatif::{Forecasts, Scenario, TrafficProfile, patch},
};

use crate::{
    cli::{Output, PlanArgs},
    error::Error,
    find,
    input::{self, Input, Wanted},
    output, printer,
    progress::Progress,
    settings::settings,
};

pub(crate) fn run(args: &PlanArgs) -> Result<(), Error> {
    let settings = settings(&args.settings)?;
    let profile = traffic(args.traffic.as_deref())?;
    let replicas = replicas(&args.replicas)?;
    let names = names(args, &replicas)?;
    let wanted = match names.as_slice() {
        _ if args.all_namespaces => Wanted::All,
        [one] => Wanted::One(one),
        _ => Wanted::Namespace,
    };
    let input = input::read(&args.input, wanted)?;
    let services = services(args, &input, &names)?;
    note_unknown(args, &input, &names, &profile);
    let forecasts = forecast(&services, &replicas, &input, &profile, &settings);
    let text = match args.output {
        Output::Table => text::render(&forecasts, &profile, false),
        Output::Wide => text::render(&forecasts, &profile, true),
        Output::Json => output::json(&forecasts)?,
        Output::Yaml => patches(&services, &forecasts, &settings)?,
    };
    printer::data(&text)
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
            // Manifests are what somebody chose: without -n, all of them are meant.
            || (args.input.namespace.is_none() && !args.input.filename.is_empty())
    };
    let named = |key: &ServiceKey| names.is_empty() || names.iter().any(|n| **n == *key.name);
    let all = input.snapshot.services.iter();
    Ok(all.filter(|s| in_scope(&s.service.key) && named(&s.service.key)).collect())
}

fn forecast(
    services: &[&ServiceState],
    replicas: &BTreeMap<String, u32>,
    input: &Input,
    profile: &TrafficProfile,
    settings: &Settings,
) -> Vec<Forecasts> {
    let scenario = Scenario::new(&input.snapshot, profile, settings);
    let progress = Progress::new(Some(services.len() as u64), "forecasting");
    let of = |(position, state): (u64, &&ServiceState)| {
        progress.at(position);
        scenario.forecast(state, replicas.get(&*state.service.key.name).copied())
    };
    (1..).zip(services).map(of).collect()
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

fn traffic(path: Option<&Path>) -> Result<TrafficProfile, Error> {
    let Some(path) = path else {
        return Ok(TrafficProfile::default());
    };
    let read = fs::read_to_string(path);
    let text = read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let profile: TrafficProfile =
        serde_saphyr::from_str(&text).map_err(|error| Error::Traffic {
            path: path.to_owned(),
            field: "the traffic file".to_owned(),
            problem: error.to_string(),
        })?;
    profile.validate().map_err(|error| Error::traffic(path.to_owned(), &error))?;
    Ok(profile)
}

/// Names what the traffic file is about and is not here: most likely misspelt.
fn note_unknown(args: &PlanArgs, input: &Input, names: &[String], profile: &TrafficProfile) {
    let zones: Vec<&str> = profile.unknown_zones(&input.snapshot).into_iter().collect();
    if !zones.is_empty() {
        printer::note(format_args!(
            "the traffic file names zones without nodes: {}",
            zones.join(", ")
        ));
    }
    // Of a cluster, only what is wanted was read.
    let is_read = |given: &&str| {
        let namespace = given.split_once('/').map(|(namespace, _)| namespace);
        args.all_namespaces
            || !args.input.filename.is_empty()
            || namespace.is_none()
            || (namespace == Some(&*input.namespace) && names.is_empty())
    };
    let services = profile.unknown_services(&input.snapshot).into_iter().filter(is_read);
    let services: Vec<&str> = services.collect();
    if !services.is_empty() {
        let services = services.join(", ");
        printer::note(format_args!(
            "the traffic file names Services that are not here: {services}"
        ));
    }
}

/// One document for each Service that would change, with the command that applies it.
fn patches(
    services: &[&ServiceState],
    forecasts: &[Forecasts],
    settings: &Settings,
) -> Result<String, Error> {
    let mut text = String::new();
    for (state, forecast) in services.iter().zip(forecasts) {
        let policy = forecast.recommendation.policy;
        if policy == forecast.current {
            continue;
        }
        let ServiceKey { namespace, name } = &state.service.key;
        text += &format!(
            "---\n# {}\n# evenkeel plan {name} -n {namespace} -o yaml | kubectl patch svc {name} -n {namespace} --type merge --patch-file /dev/stdin\n",
            forecast.recommendation.why.message
        );
        text += &output::yaml(&patch(&state.service, policy, settings.gates))?;
    }
    if text.is_empty() {
        printer::note("nothing to change");
    }
    Ok(text)
}
