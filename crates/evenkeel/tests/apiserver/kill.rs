//! A server that is killed while working, repeatedly, on the same data.
//!
//! Writers create, change and delete their own ConfigMaps and record the responses; a watcher
//! records the events. The kill coincides with a random response. Then: acknowledged writes exist,
//! with their revision; others exist completely or not at all; a watch resumes. `EVENKEEL_ROUNDS`
//! sets the number of rounds, `EVENKEEL_SEED` the seed.

pub(crate) mod model;
mod watching;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use kube::api::{DeleteParams, ListParams, PostParams};
use tokio::sync::Notify;

use self::{
    model::{Chance, Kept, Model, config_map},
    watching::Watching,
};
use crate::process::{Server, folder};

const WRITERS: usize = 4;
/// Maximum number of objects per writer.
const NAMES: u64 = 8;

/// Shared by the writers of one run.
struct Life {
    api: kube::Api<k8s_openapi::api::core::v1::ConfigMap>,
    answered: AtomicUsize,
    /// The response that triggers the kill.
    last: usize,
    is_time: Notify,
}

pub(crate) fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_after_each_kill() {
    let seed = setting("EVENKEEL_SEED", u64::from(std::process::id()));
    println!("EVENKEEL_SEED={seed}");
    let mut chance = Chance(seed);
    let data = folder("kill");
    let mut models: Vec<Model> = (0..WRITERS).map(|_| Model::default()).collect();
    let mut watching = Watching::default();
    for round in 0..setting("EVENKEEL_ROUNDS", 20) {
        let server = Server::start(&data);
        server.settled().await;
        check(&server, &mut models, &mut watching)
            .await
            .unwrap_or_else(|problem| panic!("round {round}: {problem}"));
        models = life(server, models, &mut watching, &mut chance).await;
    }
    let server = Server::start(&data);
    check(&server, &mut models, &mut watching).await.unwrap();
    server.stop();
    let n_unanswered: usize = models.iter().map(|model| model.n_found_unanswered).sum();
    println!("{n_unanswered} writes were kept without an answer");
    std::fs::remove_dir_all(&data).unwrap();
}

/// Writes and watches until the kill.
async fn life(
    server: Server,
    models: Vec<Model>,
    watching: &mut Watching,
    chance: &mut Chance,
) -> Vec<Model> {
    let life = Arc::new(Life {
        api: server.config_maps().await,
        answered: AtomicUsize::new(0),
        last: chance.below(120) as usize + 1,
        is_time: Notify::new(),
    });
    let writers: Vec<_> = models
        .into_iter()
        .enumerate()
        .map(|(id, model)| tokio::spawn(write(life.clone(), id, model, Chance(chance.next()))))
        .collect();
    let watcher = {
        let (api, mut watching) = (server.config_maps().await, std::mem::take(watching));
        tokio::spawn(async move {
            let ended = watching.follow(&api, None).await;
            (watching, ended)
        })
    };
    life.is_time.notified().await;
    server.kill();
    let mut models = Vec::new();
    for writer in writers {
        models.push(writer.await.unwrap());
    }
    let (seen, ended) = watcher.await.unwrap();
    *watching = seen;
    ended.expect("the kill ends the watch, and nothing before");
    models
}

/// One write after the other, until there is no response.
async fn write(life: Arc<Life>, id: usize, mut model: Model, mut chance: Chance) -> Model {
    loop {
        let name = format!("writer-{id}-{}", chance.below(NAMES));
        let before = model.begin(&name, chance.one_in(4));
        let intended = model.intended(&name);
        let outcome = match (&before, intended) {
            (Kept::Nothing, Some(number)) => {
                let made = config_map(&name, number, None);
                life.api.create(&PostParams::default(), &made).await.map(Some)
            }
            (Kept::Version { revision, .. }, Some(number)) => {
                let made = config_map(&name, number, Some(*revision));
                life.api.replace(&name, &PostParams::default(), &made).await.map(Some)
            }
            (_, None) => life.api.delete(&name, &DeleteParams::default()).await.map(|_| None),
        };
        match outcome {
            Ok(object) => model.answered(&name, object.as_ref()),
            Err(kube::Error::Api(status)) => panic!("{name} after {before:?}: {status:?}"),
            // The server is gone, and the result of the write is unknown.
            Err(_) => return model,
        }
        if life.answered.fetch_add(1, Ordering::SeqCst) + 1 == life.last {
            life.is_time.notify_one();
        }
    }
}

async fn check(
    server: &Server,
    models: &mut [Model],
    watching: &mut Watching,
) -> Result<(), String> {
    let api = server.config_maps().await;
    let list = api.list(&ListParams::default()).await.map_err(|problem| problem.to_string())?;
    let revision = list.metadata.resource_version.as_deref().unwrap_or_default();
    let revision: u64 = revision.parse().map_err(|_| format!("{revision:?} is no revision"))?;
    for (id, model) in models.iter_mut().enumerate() {
        let of = format!("writer-{id}-");
        let is_mine = |object: &&k8s_openapi::api::core::v1::ConfigMap| {
            object.metadata.name.as_deref().is_some_and(|name| name.starts_with(&of))
        };
        model.found(list.items.iter().filter(is_mine), revision)?;
    }
    watching.begin(&list.items, revision);
    // A watch from the last revision shows everything until the kill, and this.
    let marker = config_map("marker", 0, None);
    let marker = api.create(&PostParams::default(), &marker).await.map_err(|p| p.to_string())?;
    let at = model::revision(&marker);
    if at <= revision {
        return Err(format!("revision {at} was given after {revision}"));
    }
    watching.follow(&api, Some(at)).await?;
    let mut acknowledged = models.iter_mut().flat_map(Model::take_acknowledged);
    if let Some(missing) = acknowledged.find(|revision| !watching.has_seen(*revision)) {
        return Err(format!("revision {missing} was answered and no watch saw it"));
    }
    watching.same(&list.items)?;
    api.delete("marker", &DeleteParams::default()).await.map_err(|p| p.to_string())?;
    Ok(())
}
