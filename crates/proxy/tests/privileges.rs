//! What the proxy asks of the API server is what its roles in `deploy/proxy` let it, no more and no
//! less.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{
    collections::BTreeSet,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use evenkeel_apiserver::IpRange;
use evenkeel_proxy::{NetworkNamespace, Settings};
use evenkeel_testkit::{
    netns::Network,
    requests::{Asked, asked},
};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Config,
    api::PostParams,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn the_roles_grant_what_is_asked_for_and_no_more() {
    let mut granted =
        granted(include_str!("../../../deploy/proxy/identity.yaml"), "evenkeel-proxy");
    let reports = include_str!("../../../deploy/proxy/reports.yaml");
    granted.extend(self::granted(reports, "evenkeel-proxy-reports"));
    let network = Network::new(&[("node-a1", "zone-a")]);
    let stop = CancellationToken::new();
    let client = server(&stop).await;
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "node-a1"}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &node).await.unwrap();

    let seen = Arc::default();
    let recorder = Recorder { client, asked: Arc::clone(&seen) };
    let settings = Settings {
        namespace: Some(NetworkNamespace::at(network.host("node-a1").path()).unwrap()),
        reports: Some("default".to_owned()),
        ..Settings::new("node-a1")
    };
    let stopped = stop.clone().cancelled_owned();
    let proxy = tokio::spawn(async move {
        let client = Client::new(recorder, "default");
        evenkeel_proxy::run(client, settings, |_| (), stopped).await
    });
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE && !granted.is_subset(&seen.lock().unwrap()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    proxy.await.unwrap().unwrap();
    assert_eq!(*seen.lock().unwrap(), granted);
}

/// The embedded API server in this process, and a client of it.
async fn server(stop: &CancellationToken) -> Client {
    let settings = evenkeel_apiserver::Settings {
        service_ranges: vec![IpRange { first: "10.96.0.0".parse().unwrap(), prefix: 16 }],
        housekeeping: false,
        ..evenkeel_apiserver::Settings::default()
    };
    let (ready, is_ready) = oneshot::channel();
    let stopped = stop.clone().cancelled_owned();
    tokio::spawn(async move {
        evenkeel_apiserver::run(settings, |it| ready.send(it).unwrap(), stopped).await.unwrap();
    });
    let file = Kubeconfig::read_from(is_ready.await.unwrap().kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// What the role of this name grants.
fn granted(file: &str, name: &str) -> BTreeSet<Asked> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(file).unwrap();
    let is_it = |document: &&Value| {
        document["metadata"]["name"] == name && document["rules"] != Value::Null
    };
    let role = documents.iter().find(is_it).unwrap();
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let verbs = texts(&rule["verbs"]).into_iter();
                granted.extend(verbs.map(|verb| (verb, format!("{group}/{resource}"))));
            }
        }
    }
    granted
}

/// A client that keeps what it is asked.
#[derive(Clone)]
struct Recorder {
    client: Client,
    asked: Arc<Mutex<BTreeSet<Asked>>>,
}

impl tower_service::Service<http::Request<Body>> for Recorder {
    type Response = http::Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (method, uri) = (request.method(), request.uri());
        let asked = asked(method.as_str(), uri.path(), uri.query());
        self.asked.lock().unwrap().insert(asked);
        let client = self.client.clone();
        Box::pin(async move { client.send(request).await })
    }
}
