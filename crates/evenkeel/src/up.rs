//! `evenkeel up`: the API server, its sandbox, the controller and, if wanted, proxies, in one process.
//! Each part uses the API with the identity that it has in `deploy/`.

mod account;
mod args;
pub(crate) mod components;
mod deployed;
mod first_look;
mod greeting;
mod invocation;
mod parts;
mod running;
mod unfinished;

use std::sync::Arc;

use evenkeel_admin::signals::Signals;
use tokio::runtime::Builder;
use tracing::Level;

pub(crate) use self::args::{DATA, EXAMPLES, UpArgs};
use self::{
    args::Settings,
    components::{Component, Components},
    greeting::Greeting,
    parts::{Cluster, Context, PARTS, Part},
    running::Running,
};
use crate::{
    error::Error,
    logging::{self, SHUTTING_DOWN},
    printer,
    progress::Progress,
};

pub(crate) fn run(args: &UpArgs) -> Result<(), Error> {
    let settings = Arc::new(args::settings(args)?);
    logging::start(&args.log, Level::WARN);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let mut running = Running::default();
        let outcome = tokio::select! {
            error = until_a_part_ends(&settings, &mut running) => Err(error),
            () = signals.first(|| printer::note(SHUTTING_DOWN)) => {
                Ok(())
            }
        };
        outcome.and(running.stop().await)
    })
}

async fn until_a_part_ends(settings: &Arc<Settings>, running: &mut Running) -> Error {
    let look = async |running: &mut Running| {
        let progress = Progress::new(None, "starting");
        let (cluster, mut components) = start(settings, running).await?;
        let url = dashboard(settings, running, &cluster, &mut components).await?;
        drop(progress);
        components.write(&cluster.kubeconfig);
        let greeting = Greeting::new(settings.api.data.as_deref(), &cluster.kubeconfig);
        printer::data(&greeting.text(&url, &components))?;
        tokio::select! {
            looked = first_look::show(&cluster.client, settings, &greeting) => looked,
            error = running.ended() => Err(error),
        }
    };
    match look(running).await {
        Ok(()) => running.ended().await,
        Err(error) => error,
    }
}

/// Starts the API server, then the other parts, each once the one before it is ready.
async fn start(
    settings: &Arc<Settings>,
    running: &mut Running,
) -> Result<(Cluster, Components), Error> {
    let api = settings.api.clone();
    let (address, kubeconfig) =
        running.start(parts::api::NAME, |ready, stop| parts::api::run(api, ready, stop)).await?;
    if let Some(data) = settings.api.data.as_deref().filter(|_| settings.sample.is_some()) {
        unfinished::note(data);
    }
    let cluster = Cluster::connect(kubeconfig).await?;
    let mut components = Components::default();
    components.push(component(parts::api::NAME, address, parts::api::DESCRIPTION));
    let wanted: Vec<&Part> = PARTS.iter().filter(|part| (part.is_wanted)(settings)).collect();
    // All of them before the first part starts: one finds out at its start what others allow it.
    for part in &wanted {
        account::grant(&cluster.client, part.identity).await?;
    }
    for part in wanted {
        let (settings, cluster) = (settings.clone(), cluster.clone());
        let its_cluster = cluster.clone();
        let client = running
            .start(part.identity.account, |ready, stop| {
                account::run(its_cluster, part.identity, ready, stop)
            })
            .await?;
        let context = |ready, stop| Context { settings, cluster, client, ready, stop };
        let addresses =
            running.start(part.name, |ready, stop| (part.run)(context(ready, stop))).await?;
        for ((name, description), address) in part.components.iter().zip(addresses) {
            components.push(component(name, address, description));
        }
    }
    Ok((cluster, components))
}

/// The address to open. The components, which are written to a file, have it without the token.
async fn dashboard(
    settings: &Settings,
    running: &mut Running,
    cluster: &Cluster,
    components: &mut Components,
) -> Result<String, Error> {
    let (client, listen) = (cluster.client.clone(), settings.dashboard);
    let proxies = cluster.proxies.subscribe();
    let control_plane = components.address(components::MESH).map(str::to_owned);
    let ready = running
        .start(parts::dashboard::NAME, |ready, stop| {
            let sources = parts::dashboard::Sources { client, proxies, control_plane };
            parts::dashboard::run(sources, listen, ready, stop)
        })
        .await?;
    let address = format!("http://{}", ready.listen);
    components.push(component(parts::dashboard::NAME, address, parts::dashboard::DESCRIPTION));
    Ok(ready.url)
}

fn component(name: &str, address: String, description: &str) -> Component {
    Component { name: name.into(), address, description: description.into() }
}
