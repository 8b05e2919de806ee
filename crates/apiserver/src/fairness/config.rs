//! Keeps the configuration in force that the stored objects, or the files, describe.
//!
//! A change is in force within milliseconds. Objects that change all the time cost a tenth of a
//! core at most: after each pass, the next one waits nine times as long as the last one took. What
//! the pass found to write (default objects, conditions) is written five times a second at most.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_fairness::{
    config::Config,
    dialect::{
        Compiled,
        kubernetes::{self, FlowSchema, PriorityLevelConfiguration},
    },
};
use serde::de::DeserializeOwned;

use super::{Fairness, conditions, defaults};
use crate::{
    api::Api,
    document,
    follow::{Follower, News},
    kinds::{self, FLOW_SCHEMA, PRIORITY_LEVEL_CONFIGURATION},
    settings::FairnessProfile,
};

/// Least and longest pause between two passes.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));
/// Pause between two rounds of writes, and before a failed one is repeated.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);

/// The stored objects, as far as they can be read.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) levels: BTreeMap<Box<str>, PriorityLevelConfiguration>,
    pub(super) schemas: BTreeMap<Box<str>, FlowSchema>,
}

/// Runs until the server stops.
pub(crate) async fn keep_configured(api: Arc<Api>) {
    match &api.fairness.files {
        Some(files) => files.follow(&api).await,
        None => follow_objects(&api).await,
    }
}

async fn follow_objects(api: &Arc<Api>) {
    let resources = [FLOW_SCHEMA.id(), PRIORITY_LEVEL_CONFIGURATION.id()];
    let mut follower = Follower::new(resources);
    let mut objects = Objects::default();
    let mut write_at = Some(Instant::now());
    loop {
        let schemas = api.storage.notify_of(resources[0]).notified();
        let levels = api.storage.notify_of(resources[1]).notified();
        tokio::pin!(schemas, levels);
        schemas.as_mut().enable();
        levels.as_mut().enable();
        let started = Instant::now();
        let changed = objects.catch_up(api, &mut follower);
        if changed {
            api.fairness.configure(&objects.compile());
            write_at.get_or_insert(started);
        }
        let pause = (started.elapsed() * 9).clamp(PAUSE.0, PAUSE.1);
        if write_at.is_some_and(|at| at <= Instant::now()) {
            let done =
                defaults::write(api, &objects).await && conditions::write(api, &objects).await;
            // What was written comes back as a change.
            write_at = (!done || changed).then(|| Instant::now() + BETWEEN_WRITES);
        }
        if changed {
            tokio::time::sleep(pause).await;
            continue;
        }
        let due = write_at.map(tokio::time::Instant::from_std);
        tokio::select! {
            () = schemas => {}
            () = levels => {}
            () = sleep_until(due) => {}
            () = api.stop.cancelled() => return,
        }
    }
}

async fn sleep_until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Applies the stored objects before the first request, and creates the default ones.
pub(crate) async fn start(api: &Api) {
    let mut objects = Objects::default();
    let mut follower = Follower::new([FLOW_SCHEMA.id(), PRIORITY_LEVEL_CONFIGURATION.id()]);
    objects.catch_up(api, &mut follower);
    if api.fairness.files.is_none() {
        // What fails is repeated by the task that follows the objects.
        defaults::write(api, &objects).await;
        objects.catch_up(api, &mut follower);
        api.fairness.configure(&objects.compile());
    }
    api.started.flow_control();
}

impl Fairness {
    /// Puts a configuration in force; the last one stays if it can't be used.
    pub(super) fn configure(&self, compiled: &Compiled) {
        let limit = self.settings.limit();
        let mut config = compiled.config.clone();
        if self.settings.profile == FairnessProfile::Proposal {
            fix_limits(&mut config);
        }
        if let Err(error) = self.layer.configure(config, limit) {
            tracing::warn!(%error, "ignoring invalid flow control configuration");
        }
    }
}

/// The proposal has no lending. With it, a level that lent all its seats would serve nobody until
/// the next adjustment, up to ten seconds later.
fn fix_limits(config: &mut Config) {
    for level in &mut config.levels {
        level.lendable_percent = 0;
        level.borrowing_limit_percent = Some(0);
    }
}

impl Objects {
    /// Whether anything that counts has changed.
    fn catch_up(&mut self, api: &Api, follower: &mut Follower) -> bool {
        let mut changed = false;
        loop {
            let chunk = follower.next(&api.storage.state());
            if chunk.restarted {
                *self = Objects::default();
                changed = true;
            }
            for news in &chunk.news {
                changed |= self.take(news);
            }
            if !chunk.more {
                return changed;
            }
        }
    }

    fn take(&mut self, news: &News) -> bool {
        let Some(of) = news.after.as_deref().or(news.before.as_deref()) else { return false };
        let key = of.key.clone();
        match kinds::of_id(news.resource) == &FLOW_SCHEMA {
            true => set(&mut self.schemas, key, read(news)),
            false => set(&mut self.levels, key, read(news)),
        }
    }

    pub(super) fn compile(&self) -> Compiled {
        kubernetes::compile(self.levels.values(), self.schemas.values())
    }
}

/// An object that can't be read is as good as none; this is logged.
fn read<T: DeserializeOwned>(news: &News) -> Option<T> {
    let object = news.after.as_deref()?;
    let value = document::value(kinds::of_id(news.resource), object);
    let value = value.map_err(|problem| problem.to_string());
    match value.and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())) {
        Ok(read) => Some(read),
        Err(error) => {
            tracing::warn!(name = &*object.key, error, "ignoring invalid object");
            None
        }
    }
}

fn set<T: PartialEq>(all: &mut BTreeMap<Box<str>, T>, key: Box<str>, object: Option<T>) -> bool {
    match object {
        Some(object) if all.get(&key) == Some(&object) => false,
        Some(object) => all.insert(key, object).is_none_or(|_| true),
        None => all.remove(&key).is_some(),
    }
}
