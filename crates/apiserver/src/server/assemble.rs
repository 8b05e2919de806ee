//! Puts a server together: what was kept, the writer, the pools, the metrics.

use std::{
    net::SocketAddr,
    ops::Bound,
    path::Path,
    sync::{Arc, OnceLock},
};

use evenkeel_admin::health::{Asked, Health};
use evenkeel_store::{Change, Journal, JournalError, Limits, Replayed, State};
use parking_lot::RwLock;

use crate::{
    api::Api,
    identity::Tokens,
    journal::FileJournal,
    kinds::{self, KINDS, SERVICE},
    meters::Meters,
    metrics::Metrics,
    pools::{Holdings, Pools},
    server::Error,
    settings::Settings,
    shutdown::Stop,
    storage::{Bells, Storage},
    watchers::Watchers,
    writer::{Writer, Writes},
};

/// What is known before the first object is.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) tokens: Tokens,
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
}

/// `data`: where the journal is; `None` keeps nothing.
pub(crate) fn assemble(
    settings: Settings,
    data: Option<&Path>,
    known: Known,
    ending: &Stop,
) -> Result<(Arc<Api>, Writer), Error> {
    let metrics = Metrics::new();
    let bells = Arc::new(Bells::new(kinds::n_resources()));
    let (state, writer, writes) = match data {
        Some(path) => {
            let names: Vec<String> = KINDS.iter().map(|kind| kind.resource()).collect();
            let journal = FileJournal::open(path, names.iter().map(String::as_str))?;
            started(journal.reporting(metrics.journal.clone()), &bells)?
        }
        None => started(Nowhere, &bells)?,
    };
    let pools = Arc::new(Pools::new(&settings.service_ranges, settings.node_ports));
    for service in state.read().range(SERVICE.id(), Bound::Unbounded) {
        pools.restore(&Holdings::stored(&service.tail));
    }
    let api = Api {
        storage: Storage::new(state, writes, bells, pools.clone()),
        pools,
        meters: Meters::new(&metrics),
        metrics,
        settings,
        tokens: known.tokens,
        health: health(ending),
        watchers: Watchers::default(),
        encoded: Arc::default(),
        services_shown_since: OnceLock::new(),
        address: known.address,
        authority: known.authority,
        stop: ending.watches_end().clone(),
    };
    Ok((Arc::new(api), writer))
}

/// Replays a journal and starts its writer.
fn started(
    mut journal: impl Journal + 'static,
    bells: &Arc<Bells>,
) -> Result<(Arc<RwLock<State>>, Writer, Writes), Error> {
    let mut state = State::new(kinds::n_resources(), Limits::default());
    journal.replay(&mut |item| state.replay(item))?;
    let state = Arc::new(RwLock::new(state));
    let bells = bells.clone();
    let ring = move |batch: &[Change]| bells.ring(batch.iter().map(|change| change.resource));
    let (writer, writes) = Writer::start(journal, state.clone(), ring).map_err(Error::Writer)?;
    Ok((state, writer, writes))
}

fn health(stop: &Stop) -> Health {
    let stop = stop.clone();
    let is_ready = move || match stop.is_stopping() {
        true => Err("process is shutting down".to_owned()),
        false => Ok(()),
    };
    // Probes in the field ask for the store by this name.
    let store = || Ok(());
    Health::new().with("etcd", Asked::Everywhere, store).with(
        "shutdown",
        Asked::Readiness,
        is_ready,
    )
}

/// For a server that keeps nothing.
#[derive(Debug)]
struct Nowhere;

impl Journal for Nowhere {
    fn append(&mut self, _: &[Change]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        Ok(())
    }

    fn replay(&mut self, _: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        Ok(())
    }
}
