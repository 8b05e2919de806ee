//! Assembles a server: the stored state, the writer, the pools, the metrics.

use std::{
    net::SocketAddr,
    ops::Bound,
    path::Path,
    sync::{Arc, OnceLock},
};

use evenkeel_admin::supervisor::Supervisor;
use evenkeel_store::{Change, Journal, JournalError, Limits, Replayed, ResourceId, State};
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::{
    api::Api,
    authorizer::Authorizer,
    custom,
    fairness::Fairness,
    identity::Tokens,
    journal::FileJournal,
    kinds::{self, CUSTOM_RESOURCE_DEFINITION, KINDS, SERVICE, catalogue::CatalogueCell},
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
    writer::{WriteHandle, Writer, register},
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
    let notifier = Arc::<ChangeNotifier>::default();
    let mut writable = watch::channel(Ok(())).1;
    let (state, writer, writes) = match data {
        Some(path) => {
            let names: Vec<String> = kinds::names().collect();
            let journal = FileJournal::open(path, names.iter().map(String::as_str))?;
            writable = journal.writable();
            started(journal.reporting(metrics.journal.clone()), path, &notifier)?
        }
        None => started(Nowhere, Path::new(""), &notifier)?,
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
        catalogue: CatalogueCell::default(),
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
    custom::controller::restore(&api);
    Ok((Arc::new(api), writer))
}

/// Replays a journal and starts its writer.
fn started(
    mut journal: impl Journal + 'static,
    path: &Path,
    notifier: &Arc<ChangeNotifier>,
) -> Result<(Arc<RwLock<State>>, Writer, WriteHandle), Error> {
    let mut state = State::new(kinds::names(), Limits::default());
    let mut fields = Fields::default();
    journal.replay(&mut |item| state.replay(fields.of(item)))?;
    let is_defined = |name: &str| state.object(CUSTOM_RESOURCE_DEFINITION.id(), name).is_some();
    all_served(&state, path, |name, id| id.index() < KINDS.len() || is_defined(name))?;
    let definitions = state.range(CUSTOM_RESOURCE_DEFINITION.id(), Bound::Unbounded);
    let defined: Vec<Box<str>> = definitions.map(|object| object.key.clone()).collect();
    for name in defined {
        register(&mut state, &mut journal, &name);
    }
    let state = Arc::new(RwLock::new(state));
    let notifier = notifier.clone();
    let published =
        move |batch: &[Change]| notifier.notify(batch.iter().map(|change| change.resource));
    let (writer, writes) =
        Writer::start(journal, state.clone(), published).map_err(Error::Writer)?;
    Ok((state, writer, writes))
}

/// Refuses a folder with objects of a resource that is not served: they could be neither read nor
/// deleted. A resource of which only changes are left is nobody's loss.
fn all_served(
    state: &State,
    path: &Path,
    is_served: impl Fn(&str, ResourceId) -> bool,
) -> Result<(), JournalError> {
    let mut held = state.resources().filter(|(resource, _)| state.count(*resource) > 0);
    match held.find(|(resource, name)| !is_served(name, *resource)) {
        None => Ok(()),
        Some((_, name)) => {
            let (path, resource) = (path.display().to_string(), name.to_string());
            Err(JournalError::UnknownResource { path, resource })
        }
    }
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
    use evenkeel_store::Object;

    use super::*;

    #[test]
    fn objects_of_a_resource_that_is_not_served_stop_the_start() {
        let mut state = State::new(["pods"], Limits::default());
        let widgets = state.register("widgets.example.com");
        let (labels, fields, encoded) = ([].into(), [].into(), "x".into());
        let object = Object { key: "a".into(), revision: 1, labels, fields, encoded };
        let check = |state: &State| all_served(state, Path::new("data"), |name, _| name == "pods");
        assert_eq!(check(&state), Ok(()), "a name alone is no object");
        state.replay(Replayed::Object(widgets, object));
        let (path, resource) = ("data".to_owned(), "widgets.example.com".to_owned());
        assert_eq!(check(&state), Err(JournalError::UnknownResource { path, resource }));
    }

    #[test]
    fn a_server_without_its_writer_is_neither_ready_nor_alive() {
        let notifier = Arc::<ChangeNotifier>::default();
        let (_state, writer, writes) = started(Nowhere, Path::new(""), &notifier).unwrap();
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
