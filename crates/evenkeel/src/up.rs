//! `evenkeel up`: the API with its sandbox and what runs on it, in one process.

mod args;
mod first_look;
mod greeting;
mod parts;
pub(crate) mod places;
mod running;
mod unfinished;

use std::sync::Arc;

use evenkeel_admin::signals::Signals;
use tokio::runtime::Builder;
use tracing::Level;

pub(crate) use self::args::{DATA, EXAMPLES, UpArgs};
use self::{
    args::Settings,
    parts::{Cluster, Context, PARTS},
    places::{Place, Places},
    running::Running,
};
use crate::{error::Error, logging, printer, progress::Progress};

pub(crate) fn run(args: &UpArgs) -> Result<(), Error> {
    let settings = Arc::new(args::settings(args)?);
    logging::start(&args.log, Level::WARN);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let mut running = Running::default();
        let outcome = tokio::select! {
            error = until_a_part_ends(&settings, &mut running) => Err(error),
            () = signals.first(|| printer::note("stopping; a second signal ends it at once")) => {
                Ok(())
            }
        };
        outcome.and(running.stop().await)
    })
}

async fn until_a_part_ends(settings: &Arc<Settings>, running: &mut Running) -> Error {
    let look = async |running: &mut Running| {
        let progress = Progress::new(None, "starting");
        let (cluster, places) = start(settings, running).await?;
        drop(progress);
        places.write(&cluster.kubeconfig);
        printer::data(&greeting::text(settings.api.data.as_deref(), &cluster, &places))?;
        tokio::select! {
            looked = first_look::show(&cluster.client, settings) => looked,
            error = running.ended() => Err(error),
        }
    };
    match look(running).await {
        Ok(()) => running.ended().await,
        Err(error) => error,
    }
}

/// Starts the API, then part after part, each once the one before it is ready.
async fn start(
    settings: &Arc<Settings>,
    running: &mut Running,
) -> Result<(Cluster, Places), Error> {
    let api = settings.api.clone();
    let (place, kubeconfig) =
        running.start(parts::api::NAME, |ready, stop| parts::api::run(api, ready, stop)).await?;
    if let Some(data) = settings.api.data.as_deref().filter(|_| settings.sample.is_some()) {
        unfinished::note(data);
    }
    let cluster = Cluster::connect(kubeconfig).await?;
    let mut places = Places::default();
    places.push(Place { part: parts::api::NAME.into(), at: place, what: parts::api::WHAT.into() });
    for part in PARTS {
        let (settings, cluster) = (settings.clone(), cluster.clone());
        let at = running
            .start(part.name, |ready, stop| (part.run)(Context { settings, cluster, ready, stop }))
            .await?;
        places.push(Place { part: part.name.into(), at, what: part.what.into() });
    }
    Ok((cluster, places))
}
