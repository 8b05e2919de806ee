//! `evenkeel explain`.

mod measured;
mod shares;
mod text;

use std::sync::Arc;

use evenkeel_k8s::{
    live::{self, LiveError, Scope},
    snapshot,
};
use evenkeel_model::{Id, ServiceKey};
use evenkeel_topology::{
    Environment, Proxies, Server, Settings,
    explain::{Context, Explanation, From, explain},
};
use kube::Client;

use self::measured::Measured;
use crate::{
    cli::{ExplainArgs, Output},
    error::Error,
    find::{self, ServiceName},
    input::{self, Input},
    output, printer,
    progress::Progress,
    settings::environment,
};

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Error> {
    // Wrong settings are reported before a cluster is read.
    let measured = Measured::read(&args.measured)?;
    environment(&args.settings, Server::default())?;
    let named = args.services.iter().map(|given| find::service_ref(given));
    let named: Vec<ServiceName<'_>> = named.collect::<Result<_, _>>()?;
    let input = input::read(&args.input, find::wanted(&named, args.all_namespaces))?;
    let states = match args.all_namespaces && named.is_empty() {
        true => input.snapshot.states().collect(),
        false => find::named(&input, &named, args.all_namespaces)?,
    };
    let from = from(args, &input)?;
    let environment =
        environment(&args.settings, input.server)?.with_fleet(Proxies::of(&input.snapshot).fleet());
    let context = Context::new(&input.snapshot, &environment);
    let progress = Progress::new(Some(states.len() as u64), "explaining");
    let explained = (1..).zip(&states).map(|(position, state)| {
        progress.at(position);
        context.explain(state, &from)
    });
    let explained: Vec<Explanation> = explained.collect();
    drop(progress);
    printer::data(&rendered(args, &explained, measured.as_ref())?)
}

/// One Service by itself where one is named, else a list.
fn rendered(
    args: &ExplainArgs,
    explained: &[Explanation],
    measured: Option<&Measured>,
) -> Result<String, Error> {
    let with = measured::with(measured, explained);
    let single = with.first().filter(|_| args.services.len() == 1 && !args.all_namespaces);
    let text = |wide| {
        let of = |explanation: &Explanation| {
            let measured = measured.map(|measured| measured.text(explanation));
            text::render(explanation, wide) + &measured.unwrap_or_default()
        };
        let texts: Vec<String> = explained.iter().map(of).collect();
        if texts.is_empty() { "no Services found\n".to_owned() } else { texts.join("\n") }
    };
    match (args.output, single) {
        (Output::Table, _) => Ok(text(false)),
        (Output::Wide, _) => Ok(text(true)),
        (Output::Json, Some(one)) => output::json(one),
        (Output::Json, None) => output::json(&with),
        (Output::Yaml, Some(one)) => output::yaml(one),
        (Output::Yaml, None) => output::yaml(&with),
    }
}

/// The text for one Service of a cluster, seen from all of its zones.
pub(crate) async fn live(
    client: Client,
    key: ServiceKey,
    settings: &Settings,
) -> Result<String, Error> {
    let reported = input::server_version(&client).await.map(Server::reported);
    let objects = live::objects(client, Scope::Service(key.clone()), |_, _| ()).await?;
    let snapshot = snapshot::build(&objects)?;
    let Some(state) = snapshot.service(&key) else {
        return Err(LiveError::NoService { key }.into());
    };
    // The controller's settings say how hints are written, not how nodes route.
    let adjust = |given: &mut Settings| {
        *given = Settings { node_hint_rule: given.node_hint_rule, ..settings.clone() };
    };
    let environment = Environment::new(None, reported.unwrap_or_default(), adjust)?
        .with_fleet(Proxies::of(&snapshot).fleet());
    Ok(text::render(&explain(&snapshot, state, &From::default(), &environment), false))
}

/// The zones and nodes to look from, checked to exist.
fn from(args: &ExplainArgs, input: &Input) -> Result<From, Error> {
    let topology = &input.snapshot.topology;
    let known = |what, names: Vec<Arc<str>>, wanted: &[String]| {
        wanted
            .iter()
            .map(|name| match names.iter().find(|known| ***known == **name) {
                Some(name) => Ok(Arc::clone(name)),
                None => Err(Error::NoPlace {
                    what,
                    name: name.clone(),
                    known: names.iter().take(20).map(ToString::to_string).collect(),
                }),
            })
            .collect::<Result<Vec<_>, _>>()
    };
    let mut zones: Vec<Arc<str>> = (1..topology.zones.bound())
        .filter_map(|index| Some(Id::from_index(u32::try_from(index).ok()?)))
        .map(|zone| Arc::clone(topology.zones.name(zone)))
        .collect();
    zones.sort();
    let nodes = input.snapshot.nodes.iter();
    let nodes = nodes.map(|node| Arc::clone(topology.nodes.name(node.id))).collect();
    Ok(From {
        zones: known("zone", zones, &args.from_zone)?,
        nodes: known("node", nodes, &args.from_node)?,
    })
}
