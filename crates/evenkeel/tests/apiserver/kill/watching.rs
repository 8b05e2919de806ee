//! The events seen by a watcher over several runs of a server.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{WatchEvent, WatchParams},
};

use super::model::revision;

/// Longer than any event takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Watching {
    objects: BTreeMap<String, ConfigMap>,
    /// Including the previous run.
    seen: BTreeSet<u64>,
    last: u64,
}

impl Watching {
    /// Begins with the existing objects, if it has not begun.
    pub(super) fn begin(&mut self, list: &[ConfigMap], revision: u64) {
        if self.last == 0 {
            let named = |object: &ConfigMap| object.metadata.name.clone().unwrap_or_default();
            self.objects = list.iter().map(|object| (named(object), object.clone())).collect();
            self.last = revision;
        }
    }

    /// Watches from the last revision, until a given one arrives or, without one, the connection
    /// ends.
    pub(super) async fn follow(
        &mut self,
        api: &Api<ConfigMap>,
        until: Option<u64>,
    ) -> Result<(), String> {
        let params = WatchParams::default();
        let mut events = match api.watch(&params, &self.last.to_string()).await {
            Ok(events) => events.boxed(),
            Err(kube::Error::Api(status)) => return Err(format!("the watch: {status:?}")),
            Err(_) if until.is_none() => return Ok(()),
            Err(problem) => return Err(format!("the watch: {problem}")),
        };
        loop {
            let event = tokio::time::timeout(PATIENCE, events.next()).await;
            match event.map_err(|_| format!("nothing comes after {}", self.last))? {
                Some(Ok(event)) => self.take(event)?,
                Some(Err(_)) | None if until.is_none() => return Ok(()),
                end => return Err(format!("the watch ended with {end:?} after {}", self.last)),
            }
            if until.is_some_and(|until| self.last >= until) {
                return Ok(());
            }
        }
    }

    pub(super) fn has_seen(&self, revision: u64) -> bool {
        self.seen.contains(&revision)
    }

    /// Checks that a list of the same namespace equals the sum of the events.
    pub(super) fn same(&self, list: &[ConfigMap]) -> Result<(), String> {
        let by_name = |object: &ConfigMap| object.metadata.name.clone().unwrap_or_default();
        let listed: BTreeMap<String, &ConfigMap> =
            list.iter().map(|object| (by_name(object), object)).collect();
        let seen = self.objects.iter().filter(|(name, _)| *name != "marker");
        let seen: BTreeMap<String, &ConfigMap> =
            seen.map(|(n, object)| (n.clone(), object)).collect();
        if listed == seen {
            return Ok(());
        }
        let (listed, seen): (Vec<_>, Vec<_>) = (listed.keys().collect(), seen.keys().collect());
        Err(format!("listed are {listed:?}, watched were {seen:?} or other versions of them"))
    }

    fn take(&mut self, event: WatchEvent<ConfigMap>) -> Result<(), String> {
        let (object, is_there) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
            WatchEvent::Deleted(object) => (object, false),
            WatchEvent::Bookmark(_) => return Ok(()),
            WatchEvent::Error(status) => return Err(format!("the watch: {status:?}")),
        };
        let (revision, name) = (revision(&object), object.metadata.name.clone());
        if revision <= self.last {
            return Err(format!("the event of {revision} came after {}", self.last));
        }
        self.last = revision;
        self.seen.insert(revision);
        let name = name.unwrap_or_default();
        match is_there {
            true => self.objects.insert(name, object),
            false => self.objects.remove(&name),
        };
        Ok(())
    }
}
