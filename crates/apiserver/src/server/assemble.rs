//! Assembles a server: the stored state, the writer, the pools, the metrics.

use std::{
    net::SocketAddr,
    ops::Bound,
    path::Path,
    sync::{Arc, OnceLock},
};

use evenkeel_admin::supervisor::Supervisor;
use evenkeel_store::{Change, Journal, JournalError, Limits, Replayed, State};
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::{
    api::Api,
    authorizer::Authorizer,
    fairness::Fairness,
    identity::Tokens,
    journal::FileJournal,
    kinds::{self, KINDS, SERVICE},
    meters::Meters,
    metrics::Metrics,
    pools::{Holdings, Pools},
    replayed::Fields,
    server::{
        Error,
        health::{Started, health},
    },
    settings::Settings,
    shutdown::Stop,
    storage::{ChangeNotifier, Storage},
    tokens::{AccountTokens, Keys},
    watchers::Watchers,
    writer::{WriteHandle, Writer},
};

/// What is known before the objects are loaded.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) tokens: Tokens,
    /// Of tokens of ServiceAccounts.
    pub(crate) keys: Keys,
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
}

/// `data`: the folder of the journal; `None` stores nothing.
pub(crate) fn assemble(
    settings: Settings,
    data: Option<&Path>,
    known: Known,
    ending: &Stop,
) -> Result<(Arc<Api>, Writer), Error> {
    let fairness = Fairness::new(settings.fairness.clone())?;
    let mut metrics = Metrics::new();
    metrics.include(fairness.metrics());
    let notifier = Arc::new(ChangeNotifier::new(kinds::n_resources()));
    let mut writable = watch::channel(Ok(())).1;
    let (state, writer, writes) = match data {
        Some(path) => {
            let names: Vec<String> = KINDS.iter().map(|kind| kind.resource()).collect();
            let journal = FileJournal::open(path, names.iter().map(String::as_str))?;
            writable = journal.writable();
            started(journal.reporting(metrics.journal.clone()), &notifier)?
        }
        None => started(Nowhere, &notifier)?,
    };
    let hooks = Started::default();
    let pools = Arc::new(Pools::new(&settings.service_ranges, settings.node_ports));
    for service in state.read().range(SERVICE.id(), Bound::Unbounded) {
        pools.restore(&Holdings::stored(&service.encoded));
    }
    let stop = ending.watches_end().clone();
    let restarts = metrics.task_restarts();
    let supervisor = Supervisor::new(stop.clone(), move |task, n| restarts.count(task, n));
    let health = {
        let writes = writes.clone();
        health(ending, move || !writes.is_closed(), writable.clone(), &hooks, &supervisor)
    };
    let accounts = AccountTokens::new(settings.service_accounts.clone(), known.keys);
    let api = Api {
        health,
        storage: Storage::new(state, writes, notifier),
        authorizer: Authorizer::new(settings.authorization),
        fairness,
        pools,
        meters: Meters::new(&metrics),
        metrics,
        settings,
        tokens: known.tokens,
        accounts: Arc::new(accounts),
        started: hooks,
        writable,
        watchers: Watchers::default(),
        encoded: Arc::default(),
        services_shown_since: OnceLock::new(),
        address: known.address,
        authority: watch::Sender::new(known.authority),
        stop,
        supervisor,
        #[cfg(test)]
        faults: crate::faults::Faults::default(),
    };
    Ok((Arc::new(api), writer))
}

/// Replays a journal and starts its writer.
fn started(
    mut journal: impl Journal + 'static,
    notifier: &Arc<ChangeNotifier>,
) -> Result<(Arc<RwLock<State>>, Writer, WriteHandle), Error> {
    let mut state = State::new(kinds::n_resources(), Limits::default());
    let mut fields = Fields::default();
    journal.replay(&mut |item| state.replay(fields.of(item)))?;
    let state = Arc::new(RwLock::new(state));
    let notifier = notifier.clone();
    let published =
        move |batch: &[Change]| notifier.notify(batch.iter().map(|change| change.resource));
    let (writer, writes) =
        Writer::start(journal, state.clone(), published).map_err(Error::Writer)?;
    Ok((state, writer, writes))
}

/// For a server that stores nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_its_writer_is_neither_ready_nor_alive() {
        let notifier = Arc::new(ChangeNotifier::new(kinds::n_resources()));
        let (_state, writer, writes) = started(Nowhere, &notifier).unwrap();
        let stop = Stop::default();
        let supervisor = Supervisor::new(stop.watches_end().clone(), |_, _| {});
        let (_journal, writable) = watch::channel(Ok(()));
        let hooks = Started::default();
        hooks.namespaces();
        hooks.kubernetes();
        hooks.roles();
        hooks.flow_control();
        let health = health(&stop, move || !writes.is_closed(), writable, &hooks, &supervisor);
        let code = |path| health.answer(path, None).unwrap().status().as_u16();
        assert_eq!(["/livez", "/readyz", "/livez/etcd"].map(code), [200; 3]);
        writer.stop();
        assert_eq!(["/livez", "/readyz", "/livez/etcd"].map(code), [500; 3]);
    }
}
