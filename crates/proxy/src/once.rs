//! What is done once: rules removed, and rules printed.

use std::time::Duration;

use evenkeel_k8s::watch::{self, Conditions, Hooks};
use evenkeel_nft::{Config, Family};
use kube::Client;
use std::sync::Arc;
use tokio::time::{Instant, timeout};

use crate::{
    NetworkNamespace, Settings,
    engine::Engine,
    error::Error,
    intake::Intake,
    kernel::{Kernel, inside},
    metrics::Metrics,
    netlink::route::Addresses,
};

/// Deletes the tables of a proxy that does not run any more. Returns the families that had one.
pub fn clean_up(
    namespace: Option<&NetworkNamespace>,
    config: &Config,
    take: bool,
) -> Result<Vec<Family>, Error> {
    let mut kernel = Kernel::open(namespace, false)?;
    // Refuses tables of others.
    kernel.find(config, &Family::ALL, take)?;
    let mut deleted = Vec::new();
    for family in Family::ALL {
        if kernel.delete(family, config)? {
            deleted.push(family);
        }
    }
    Ok(deleted)
}

/// The rules that a proxy with these settings would have in force, as text for `nft -f`. `None`: the
/// API server did not answer in time.
pub async fn render(
    client: &Client,
    settings: Settings,
    patience: Duration,
) -> Result<Option<String>, Error> {
    settings.engine.topology.validate()?;
    let selectors = crate::run::selectors(&settings);
    let conditions = Conditions::new(&selectors, &settings.watches, Instant::now());
    let hooks = Hooks {
        conditions: Arc::new(conditions),
        counters: Arc::new(()),
        address: settings.address.clone(),
    };
    let mut engine = Engine::new(settings.engine.clone());
    let list = || Addresses::open().and_then(|mut addresses| addresses.list());
    let addresses = inside(settings.namespace.as_ref(), list)?.map_err(Error::Netlink)?;
    engine.addresses(addresses.into_iter().map(|address| address.address).collect());
    let (mut batches, tasks) = watch::prepare(client, &selectors, &settings.watches, &hooks);
    let tasks: Vec<_> = tasks.iter().map(|task| tokio::spawn(task.run())).collect();
    let (metrics, mut intake) = (Metrics::new(), Intake::default());
    let filled = timeout(patience, async {
        while let Some(received) = batches.recv().await {
            intake.take(&mut engine, &metrics, received.batch);
            if engine.is_synced() {
                break;
            }
        }
    });
    let is_filled = filled.await.is_ok() && engine.is_synced();
    tasks.into_iter().for_each(|task| task.abort());
    drop(engine.sync());
    Ok(is_filled.then(|| engine.text()))
}
