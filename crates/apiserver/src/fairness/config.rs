//! Keeps the configuration in force that the stored objects of either dialect, or the files, describe.
//!
//! A change is in force within milliseconds. Objects that change all the time cost a tenth of a
//! core at most: after each pass, the next one waits nine times as long as the last one took. What
//! the pass found to write (default objects, conditions) is written five times a second at most.

use std::{
    collections::BTreeMap,
    mem,
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
use evenkeel_store::Object;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Fairness, Source, conditions, defaults, resources::Resources};
use crate::{
    api::{Api, name_of},
    document,
    follow::{Follower, News},
    kinds::{FLOW_SCHEMA, KindRef, PRIORITY_LEVEL_CONFIGURATION},
    settings::FairnessProfile,
};

/// Least and longest pause between two passes.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));
/// Pause between two rounds of writes, and before a failed one is repeated.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);

/// How soon custom resources that are defined are noticed.
const LOOK: Duration = Duration::from_millis(100);

/// Stored objects that are a configuration.
pub(super) trait Stored: Send {
    /// Whether what is written follows from what was put in force.
    const WRITES_WHAT_IS_DECIDED: bool;

    /// The two kinds; none while they are not defined.
    fn kinds(api: &Api) -> Option<[KindRef; 2]>;

    /// A list follows.
    fn restart(&mut self);

    /// Takes in an object, or that it is gone. Whether anything that counts has changed.
    fn take(&mut self, kind: &KindRef, key: Box<str>, object: Option<Value>) -> bool;

    /// Puts them in force.
    fn apply(&mut self, api: &Api);

    /// Writes what a configuration needs before it is put in force for the first time. No more than
    /// that: what the server itself writes counts as demand of the exempt level.
    fn write_first(&self, api: &Api) -> impl Future<Output = bool> + Send;

    /// Writes what is missing. Whether nothing is left to be repeated.
    fn write(&self, api: &Api) -> impl Future<Output = bool> + Send;
}

/// The stored objects of Kubernetes' dialect, as far as they can be read.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) levels: BTreeMap<Box<str>, PriorityLevelConfiguration>,
    pub(super) schemas: BTreeMap<Box<str>, FlowSchema>,
}

/// Runs until the server stops.
pub(crate) async fn keep_configured(api: Arc<Api>) {
    match &api.fairness.source {
        Source::Kubernetes => follow(&api, Objects::default()).await,
        Source::Resources => follow(&api, Resources::default()).await,
        Source::Files(files) => files.follow(&api).await,
    }
}

async fn follow<S: Stored>(api: &Arc<Api>, mut objects: S) {
    while !api.stop.is_cancelled() {
        match S::kinds(api) {
            Some(kinds) => follow_these(api, &kinds, &mut objects).await,
            None => tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = api.stop.cancelled() => {}
            },
        }
    }
}

/// Until the server stops, or the kinds are replaced.
async fn follow_these(api: &Arc<Api>, kinds: &[KindRef; 2], objects: &mut impl Stored) {
    let mut follower = follower(kinds);
    objects.restart();
    let mut is_first = true;
    let mut write_at = Some(Instant::now());
    loop {
        let [one, other] = kinds.each_ref().map(|kind| api.storage.notify_of(kind.id()));
        let (one, other) = (one.notified(), other.notified());
        tokio::pin!(one, other);
        one.as_mut().enable();
        other.as_mut().enable();
        let started = Instant::now();
        // Both are evaluated: a second pass with the same objects would adjust the limits again, by
        // the demand of what was just written.
        let changed = catch_up(objects, kinds, api, &mut follower) | mem::take(&mut is_first);
        if changed {
            objects.apply(api);
            write_at.get_or_insert(started);
        }
        let pause = (started.elapsed() * 9).clamp(PAUSE.0, PAUSE.1);
        if write_at.is_some_and(|at| at <= Instant::now()) {
            let done = objects.write(api).await;
            // What was written comes back as a change.
            write_at = (!done || changed).then(|| Instant::now() + BETWEEN_WRITES);
        }
        if changed {
            tokio::time::sleep(pause).await;
            continue;
        }
        let due = write_at.map(tokio::time::Instant::from_std);
        let [first, second] = kinds;
        tokio::select! {
            () = one => {}
            () = other => {}
            () = sleep_until(due) => {}
            () = replaced(first) => return,
            () = replaced(second) => return,
            () = api.stop.cancelled() => return,
        }
    }
}

/// Ends when a custom resource has another definition, or none.
async fn replaced(kind: &KindRef) {
    match &kind.custom {
        Some(custom) => custom.replaced.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn follower(kinds: &[KindRef; 2]) -> Follower {
    Follower::new(kinds.iter().map(|kind| kind.id()))
}

/// Whether anything that counts has changed.
fn catch_up(
    objects: &mut impl Stored,
    kinds: &[KindRef; 2],
    api: &Api,
    follower: &mut Follower,
) -> bool {
    let mut changed = false;
    loop {
        let chunk = follower.next(&api.storage.state());
        if chunk.restarted {
            objects.restart();
            changed = true;
        }
        for News { resource, before, after, .. } in &chunk.news {
            let Some(kind) = kinds.iter().find(|kind| kind.id() == *resource) else { continue };
            let Some(of) = after.as_deref().or(before.as_deref()) else { continue };
            let object = after.as_deref().and_then(|object| value(kind, object));
            changed |= objects.take(kind, of.key.clone(), object);
        }
        if !chunk.more {
            return changed;
        }
    }
}

/// An object that can't be read is as good as none; this is logged.
fn value(kind: &KindRef, object: &Object) -> Option<Value> {
    let ignored = |error| tracing::warn!(name = &*object.key, %error, "ignoring invalid object");
    document::value(kind, object).map_err(ignored).ok()
}

/// Applies the stored objects before the first request, and creates the default ones.
pub(crate) async fn start(api: &Api) {
    match &api.fairness.source {
        Source::Kubernetes => start_with(api, Objects::default()).await,
        Source::Resources => start_with(api, Resources::default()).await,
        Source::Files(_) => {}
    }
    api.started.flow_control();
}

async fn start_with<S: Stored>(api: &Api, mut objects: S) {
    let Some(kinds) = S::kinds(api) else { return };
    let mut follower = follower(&kinds);
    catch_up(&mut objects, &kinds, api, &mut follower);
    if S::WRITES_WHAT_IS_DECIDED {
        objects.apply(api);
    }
    // What fails is repeated by the task that follows the objects.
    objects.write_first(api).await;
    // A configuration without the default levels would give their seats to others for a while.
    if catch_up(&mut objects, &kinds, api, &mut follower) || !S::WRITES_WHAT_IS_DECIDED {
        objects.apply(api);
    }
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

impl Stored for Objects {
    const WRITES_WHAT_IS_DECIDED: bool = false;

    fn kinds(_: &Api) -> Option<[KindRef; 2]> {
        Some([FLOW_SCHEMA.clone(), PRIORITY_LEVEL_CONFIGURATION.clone()])
    }

    fn restart(&mut self) {
        *self = Objects::default();
    }

    fn take(&mut self, kind: &KindRef, key: Box<str>, object: Option<Value>) -> bool {
        match *kind == FLOW_SCHEMA {
            true => set(&mut self.schemas, key, object.and_then(read)),
            false => set(&mut self.levels, key, object.and_then(read)),
        }
    }

    fn apply(&mut self, api: &Api) {
        api.fairness.configure(&self.compile());
    }

    async fn write_first(&self, api: &Api) -> bool {
        defaults::write(api, self).await
    }

    async fn write(&self, api: &Api) -> bool {
        defaults::write(api, self).await && conditions::write(api, self).await
    }
}

impl Objects {
    pub(super) fn compile(&self) -> Compiled {
        kubernetes::compile(self.levels.values(), self.schemas.values())
    }
}

/// As [`value`].
fn read<T: DeserializeOwned>(object: Value) -> Option<T> {
    let name = name_of(&object).to_owned();
    let ignored = |error| tracing::warn!(name, %error, "ignoring invalid object");
    serde_json::from_value(object).map_err(ignored).ok()
}

pub(super) fn set<K: Ord, T: PartialEq>(
    all: &mut BTreeMap<K, T>,
    key: K,
    object: Option<T>,
) -> bool {
    match object {
        Some(object) if all.get(&key) == Some(&object) => false,
        Some(object) => all.insert(key, object).is_none_or(|_| true),
        None => all.remove(&key).is_some(),
    }
}
