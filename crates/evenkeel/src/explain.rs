//! `evenkeel explain`.

mod text;

use std::sync::Arc;

use evenkeel_k8s::{
    live::{self, LiveError, Scope},
    snapshot,
};
use evenkeel_model::{Id, ServiceKey};
use evenkeel_topology::{
    Environment, Server, Settings,
    explain::{From, explain},
};
use kube::Client;

use crate::{
    cli::{ExplainArgs, Output},
    error::Error,
    find,
    input::{self, Input, Wanted},
    output, printer,
    progress::Progress,
    settings::environment,
};

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Error> {
    // Wrong settings are told before a cluster is read.
    environment(&args.settings, Server::default())?;
    let name = find::service_name(&args.service)?;
    let input = input::read(&args.input, Wanted::One(name))?;
    let state = find::service(&input, name)?;
    let from = from(args, &input)?;
    let progress = Progress::new(None, "explaining");
    let environment = environment(&args.settings, input.server)?;
    let explanation = explain(&input.snapshot, state, &from, &environment);
    drop(progress);
    let text = match args.output {
        Output::Table => text::render(&explanation, false),
        Output::Wide => text::render(&explanation, true),
        Output::Json => output::json(&explanation)?,
        Output::Yaml => output::yaml(&explanation)?,
    };
    printer::data(&text)
}

/// The text for one Service of a cluster, seen from all of its zones.
pub(crate) async fn live(
    client: Client,
    key: ServiceKey,
    settings: &Settings,
) -> Result<String, Error> {
    let reported = input::server_version(&client).await.map(Server::reported);
    let objects = live::objects(client, Scope::Service(key.clone()), |_, _| ()).await?;
    let snapshot = snapshot::build(objects)?;
    let Some(state) = snapshot.service(&key) else {
        return Err(LiveError::NoService { key }.into());
    };
    // The controller's settings say how hints are written, not how nodes route.
    let adjust = |given: &mut Settings| {
        *given = Settings { node_hint_rule: given.node_hint_rule, ..settings.clone() };
    };
    let environment = Environment::new(None, reported.unwrap_or_default(), adjust)?;
    Ok(text::render(&explain(&snapshot, state, &From::default(), &environment), false))
}

/// The places to look from, known to exist.
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
