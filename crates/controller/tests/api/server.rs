//! The embedded API server in this process, and a client of it.

use evenkeel_apiserver::{IpRange, Settings};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server that runs until it is stopped or dropped. All it knows is in memory.
#[derive(Debug)]
pub(crate) struct Server {
    task: JoinHandle<()>,
    stop: DropGuard,
}

/// Starts a server on a free port. Nothing is collected there but what clients delete.
pub(crate) async fn server() -> (Server, Client) {
    let (ready, is_ready) = oneshot::channel();
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    let task = tokio::spawn(async move {
        evenkeel_apiserver::run(settings(), |it| ready.send(it).unwrap(), stopped).await.unwrap();
    });
    let file = Kubeconfig::read_from(is_ready.await.unwrap().kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    (Server { task, stop: stop.drop_guard() }, Client::try_from(config).unwrap())
}

impl Server {
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }
}

fn settings() -> Settings {
    Settings {
        service_ranges: vec![IpRange { first: "10.96.0.0".parse().unwrap(), prefix: 16 }],
        housekeeping: false,
        ..Settings::default()
    }
}
