//! Electors against a real API server in this process, and against one that falls silent.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod deaf;

use std::{path::PathBuf, time::Duration};

use evenkeel_admin::lease::{self, Settings};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    kubeconfig: PathBuf,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

struct Elector {
    leads: watch::Receiver<bool>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    async fn start() -> Server {
        let settings = evenkeel_apiserver::Settings {
            housekeeping: false,
            ..evenkeel_apiserver::Settings::default()
        };
        let stop = CancellationToken::new();
        let (tell, told) = oneshot::channel();
        let stopped = stop.clone().cancelled_owned();
        let ready = |ready: evenkeel_apiserver::Ready| tell.send(ready.kubeconfig).unwrap();
        let run = async move { evenkeel_apiserver::run(settings, ready, stopped).await.unwrap() };
        let task = tokio::spawn(run);
        let kubeconfig = timeout(PATIENCE, told).await.unwrap().unwrap();
        Server { kubeconfig, stop, task }
    }

    async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap())
            .unwrap()
    }

    async fn lease(&self) -> LeaseSpec {
        let api: Api<Lease> = Api::namespaced(self.client().await, "kube-system");
        api.get("election").await.unwrap().spec.unwrap()
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }
}

impl Elector {
    async fn start(server: &Server, identity: &str) -> Elector {
        let settings = Settings {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_millis(100),
            ..Settings::new("kube-system", "election", identity)
        };
        let (tell, leads) = watch::channel(false);
        let stop = CancellationToken::new();
        let run = lease::run(server.client().await, settings, tell, stop.clone());
        Elector { leads, stop, task: tokio::spawn(run) }
    }

    async fn leads(&mut self) {
        timeout(PATIENCE, self.leads.wait_for(|leads| *leads)).await.unwrap().unwrap();
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.task).await.unwrap().unwrap();
        assert!(!*self.leads.borrow());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_stops_the_next_one_leads() {
    let server = Server::start().await;
    let mut first = Elector::start(&server, "first").await;
    first.leads().await;
    let created = server.lease().await;
    assert_eq!(created.holder_identity.as_deref(), Some("first"));
    assert_eq!((created.lease_duration_seconds, created.lease_transitions), (Some(15), Some(0)));

    let mut second = Elector::start(&server, "second").await;
    // The first goes on renewing while the second looks on.
    let renewed = async {
        while server.lease().await.renew_time == created.renew_time {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, renewed).await.unwrap();
    assert_eq!((*first.leads.borrow(), *second.leads.borrow()), (true, false));

    first.end().await;
    // Released, not run out: the second need not wait for the lease's duration.
    timeout(Duration::from_secs(10), second.leads()).await.unwrap();
    let taken = server.lease().await;
    assert_eq!(taken.holder_identity.as_deref(), Some("second"));
    assert_eq!(taken.lease_transitions, Some(1));

    second.end().await;
    let released = server.lease().await;
    assert_eq!(released.holder_identity.as_deref(), Some(""));
    assert_eq!((released.lease_duration_seconds, released.lease_transitions), (Some(1), Some(1)));
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_elector_that_is_dropped_does_not_say_that_it_leads() {
    let server = Server::start().await;
    let mut elector = Elector::start(&server, "only").await;
    elector.leads().await;
    elector.task.abort();
    timeout(PATIENCE, elector.leads.wait_for(|leads| !*leads)).await.unwrap().unwrap();
    server.end().await;
}

#[tokio::test]
async fn settings_that_are_not_safe_elect_nobody() {
    let server = Server::start().await;
    let settings = Settings {
        duration: Duration::from_secs(1),
        ..Settings::new("kube-system", "election", "me")
    };
    let (tell, mut leads) = watch::channel(true);
    let run = lease::run(server.client().await, settings, tell, CancellationToken::new());
    timeout(PATIENCE, run).await.unwrap();
    assert!(!*leads.borrow_and_update());
    server.end().await;
}
