//! `evenkeel proxy`: the node's Service proxy, until a signal; its rules as text; their removal.

mod access;
mod args;

use std::time::Duration;

use evenkeel_admin::signals::Signals;
use evenkeel_k8s::live::{self, Connection};
use evenkeel_proxy::{NetworkNamespace, Ready, Settings};
use kube::Client;
use tokio::runtime::Builder;
use tracing::Level;

use self::args::{CleanupArgs, ProxyCommand, RenderArgs, RunArgs};
pub(crate) use self::args::{EXAMPLES, ProxyArgs};
use crate::{
    error::Error,
    logging::{self, SHUTTING_DOWN},
    printer,
};

/// How long `render` waits for the API server.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &ProxyArgs) -> Result<(), Error> {
    match &args.command {
        None => serve(&args.run),
        Some(ProxyCommand::Render(args)) => render(args),
        Some(ProxyCommand::Cleanup(args)) => clean_up(args),
    }
}

fn serve(args: &RunArgs) -> Result<(), Error> {
    let settings = args::settings(args)?;
    logging::start(&args.log, Level::INFO);
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(Error::Start)?;
    let mut printed = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let source = args.common.cluster.source()?;
        let Connection { client, address } = live::patient_client(&source).await?;
        tracing::info!(kubeconfig = %source, %address, node = settings.engine.node, "using API server");
        let checked = access::check(&client, &settings.engine.node);
        let (checked, reports) = tokio::join!(checked, reports(&client, &settings));
        checked?;
        let settings = Settings { address: Some(address), reports, ..settings };
        let ready = |ready: Ready| printed = greet(ready);
        let stop = signals.first(|| printer::note(SHUTTING_DOWN));
        evenkeel_proxy::run(client, settings, ready, stop).await.map_err(Error::from)
    })?;
    printed
}

/// The namespace of reports, if they can be written there.
async fn reports(client: &Client, settings: &Settings) -> Option<String> {
    let namespace = settings.reports.clone()?;
    let denied = access::denied_reports(client, &namespace).await;
    if denied.is_empty() {
        return Some(namespace);
    }
    let denied: Vec<String> = denied.iter().map(ToString::to_string).collect();
    let missing = denied.join(", ");
    tracing::warn!(
        namespace,
        missing,
        "no permission to report which rules are in force; bind the roles in deploy/proxy, or set --report-namespace"
    );
    None
}

fn greet(Ready { healthz, metrics }: Ready) -> Result<(), Error> {
    let mut text = "Proxy is ready.\n".to_owned();
    if let Some(address) = healthz {
        text += &format!("health: http://{address}/healthz\n");
    }
    if let Some(address) = metrics {
        text += &format!("metrics: http://{address}/metrics\n");
    }
    printer::data(&text)
}

fn render(args: &RenderArgs) -> Result<(), Error> {
    let settings = args::rendered(args)?;
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    let text = runtime.block_on(async {
        let source = args.common.cluster.source()?;
        let Connection { client, .. } = live::controller_client(&source).await?;
        Ok::<_, Error>(evenkeel_proxy::render(&client, settings, PATIENCE).await?)
    })?;
    printer::data(&text.ok_or(Error::NoLists { seconds: PATIENCE.as_secs() })?)
}

fn clean_up(args: &CleanupArgs) -> Result<(), Error> {
    let namespace = args.netns.as_deref().map(namespace).transpose()?;
    let config = args::table(&args.table)?;
    let deleted = evenkeel_proxy::clean_up(namespace.as_ref(), &config, args.adopt)?;
    match deleted.is_empty() {
        true => printer::note("no table to delete"),
        false => deleted.iter().for_each(|family| {
            printer::note(format_args!("deleted table {family} {}", config.table));
        }),
    }
    Ok(())
}

/// A name of `ip netns`, or a path.
fn namespace(given: &str) -> Result<NetworkNamespace, Error> {
    let opened = match given.contains('/') {
        true => NetworkNamespace::at(given),
        false => NetworkNamespace::named(given),
    };
    opened.map_err(|source| Error::Namespace { given: given.to_owned(), source })
}
