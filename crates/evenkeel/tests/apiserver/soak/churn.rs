//! Writers of ConfigMaps that record the responses.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::sleep;

use super::{
    Life,
    client::{Client, JSON},
};
use crate::kill::model::{Chance, Kept, Model, config_map};

const WRITERS: usize = 3;
const NAMES: u64 = 40;
const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

/// Writers slow down on a full disk.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct ConfigMaps(Vec<Model>);

impl Default for ConfigMaps {
    fn default() -> ConfigMaps {
        ConfigMaps((0..WRITERS).map(|_| Model::default()).collect())
    }
}

impl ConfigMaps {
    pub(super) async fn churn(&mut self, life: &Life, until: Instant, mut chance: Chance) {
        let writers = self.0.iter_mut().enumerate().map(|(id, model)| {
            let chance = Chance(chance.next());
            write(life, id, model, until, chance)
        });
        join_all(writers).await;
    }

    /// Writes acknowledged in the previous run exist.
    pub(super) async fn check(&mut self, life: &Life) {
        let Some((200, list)) = Client::new(life).get(COLLECTION).await else {
            return life.problem("can't list ConfigMaps".into());
        };
        let newest = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().parse();
        let items: Vec<ConfigMap> = serde_json::from_value(list["items"].clone()).unwrap();
        for (id, model) in self.0.iter_mut().enumerate() {
            let of = format!("soak-{id}-");
            let mine = items.iter().filter(|object| {
                object.metadata.name.as_deref().is_some_and(|name| name.starts_with(&of))
            });
            if let Err(problem) = model.found(mine, newest.clone().unwrap_or_default()) {
                life.problem(format!("writer {id}: {problem}"));
            }
        }
    }
}

/// One write after the other.
async fn write(life: &Life, id: usize, model: &mut Model, until: Instant, mut chance: Chance) {
    let mut client = Client::new(life);
    while Instant::now() < until {
        let name = format!("soak-{id}-{}", chance.below(NAMES));
        if model.is_abandoned(&name) {
            sleep(Duration::from_millis(1)).await;
            continue;
        }
        let before = model.begin(&name, chance.one_in(4));
        let intended = model.intended(&name);
        let (line, body) = match (&before, intended) {
            (Kept::Nothing, Some(number)) => {
                (format!("POST {COLLECTION}"), Some(config_map(&name, number, None)))
            }
            (Kept::Version { revision, .. }, Some(number)) => {
                let made = config_map(&name, number, Some(*revision));
                (format!("PUT {COLLECTION}/{name}"), Some(made))
            }
            (_, None) => (format!("DELETE {COLLECTION}/{name}"), None),
        };
        let body = body.map(|body| serde_json::to_vec(&body).unwrap()).unwrap_or_default();
        match client.send(&line, JSON, body).await {
            Some((200 | 201, object)) => {
                let object = intended.is_some().then(|| serde_json::from_value(object).unwrap());
                model.answered(&name, object.as_ref());
                if intended.is_some() {
                    life.disk.accepted();
                }
                life.totals.writes.fetch_add(1, Ordering::Relaxed);
            }
            Some((507, _)) => {
                model.refused();
                life.totals.refused_for_space.fetch_add(1, Ordering::Relaxed);
                life.disk.refused();
                sleep(PAUSE).await;
            }
            Some((code, status)) => {
                model.refused();
                life.problem(format!("{line} after {before:?}: {code} {status}"));
            }
            None => {
                model.abandon();
                life.problem(format!("{line}: no answer while the server runs"));
            }
        }
    }
}
