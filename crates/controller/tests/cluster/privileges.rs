//! What the controller asks of the API server is what its roles in `deploy/base`, and in `deploy/proxy`
//! the one for reports, let it, no more and, but for a few, no less.

use std::{
    collections::BTreeSet,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use evenkeel_admin::lease;
use evenkeel_controller::Settings;
use evenkeel_testkit::requests::{Asked, asked};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Client, ResourceExt as _, api::PostParams, client::Body};
use serde_json::{Value, json};

use crate::{
    harness::{Cluster, PATIENCE, controller, n_endpoints, object},
    kep_2433::{auto, settings},
};

/// Granted, and not asked for here: rarely needed, or for others.
const UNASKED: [(&str, &str); 5] = [
    // `kubectl` and `evenkeel status`, run with the same account, show what it sees.
    ("get", "/nodes"),
    ("get", "/pods"),
    ("get", "/services"),
    // Only after a write whose end is not known.
    ("get", "discovery.k8s.io/endpointslices"),
    // Not a request: admission looks whether it would be allowed.
    ("update", "/services/finalizers"),
];

#[tokio::test]
async fn the_role_grants_what_is_asked_for_and_no_more() {
    let mut granted = granted(include_str!("../../../../deploy/base/identity.yaml"), |_| true);
    let reports = include_str!("../../../../deploy/proxy/reports.yaml");
    granted.extend(self::granted(reports, |name| name == "evenkeel-proxy-reports-reader"));
    let asked = asked_in_a_life().await;
    let needless: BTreeSet<Asked> =
        UNASKED.map(|(verb, resource)| (verb.to_owned(), resource.to_owned())).into();
    let refused: Vec<&Asked> = asked.difference(&granted).collect();
    assert!(refused.is_empty(), "asked for, and not granted: {refused:?}");
    let unused: BTreeSet<Asked> = granted.difference(&asked).cloned().collect();
    assert!(unused.is_subset(&needless), "granted, and never asked for: {unused:?}");
    assert!(needless.is_subset(&granted), "of {needless:?} not all are granted");
}

/// Create, update, delete, adopt, conditions, Events and the lease.
async fn asked_in_a_life() -> BTreeSet<Asked> {
    let cluster = Cluster::start().await;
    cluster.node("a", "a", Some(4)).await;
    cluster.node("b", "b", Some(4)).await;
    cluster.service("web", json!({"spec": {"trafficDistribution": "PreferSameZone"}})).await;
    let taken = cluster.service("taken", auto()).await;
    built_in_slice(&cluster, &taken).await;
    let asked = Arc::default();
    let client = Client::new(
        Recorder { client: cluster.client.clone(), asked: Arc::clone(&asked) },
        "default",
    );
    let one_each = settings(|topology| topology.max_endpoints_per_slice = 1);
    let election = lease::Settings {
        namespace: "kube-system".to_owned(),
        name: "evenkeel-endpointslice-controller".to_owned(),
        identity: "test".to_owned(),
        duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry: Duration::from_millis(200),
    };
    let reports = Some(election.namespace.clone());
    let with_lease = Settings { election: Some(election), reports, ..one_each };
    let (controller, _) = controller(client, with_lease).await;

    cluster.pod("web", "web-1", "a", "10.1.0.1").await;
    cluster.pod("web", "web-2", "a", "10.1.0.2").await;
    cluster.until("web", |slices| n_endpoints(slices) == 2 && slices.len() == 2).await;
    cluster.delete_pod("web-2").await;
    cluster.until("web", |slices| n_endpoints(slices) == 1 && slices.len() == 1).await;
    let ours = |slice: &EndpointSlice| {
        let manager = &slice.labels()["endpointslice.kubernetes.io/managed-by"];
        manager == "endpointslice-controller.evenkeel.dev"
    };
    cluster.until("taken", |slices| !slices.is_empty() && slices.iter().all(ours)).await;
    cluster.pod("taken", "taken-1", "a", "10.1.0.3").await;
    let begun = Instant::now();
    let rare = [
        ("patch", "/events"),
        ("patch", "/services/status"),
        ("update", "coordination.k8s.io/leases"),
        ("watch", "coordination.k8s.io/leases"),
    ];
    for round in 0_u32.. {
        let is_asked = |(verb, resource): &(&str, &str)| {
            asked.lock().unwrap().contains(&((*verb).to_owned(), (*resource).to_owned()))
        };
        if rare.iter().all(is_asked) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", asked.lock().unwrap());
        // One endpoint or none, in two zones: the same two Events come again and again.
        cluster.ready("taken-1", "10.1.0.3", round % 2 == 0).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    controller.stop().await;
    cluster.stop().await;
    asked.lock().unwrap().clone()
}

async fn built_in_slice(cluster: &Cluster, service: &Service) {
    let labels = json!({
        "kubernetes.io/service-name": "taken",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    let owner = json!({
        "apiVersion": "v1", "kind": "Service", "name": "taken", "uid": service.uid(),
        "controller": true, "blockOwnerDeletion": true,
    });
    let slice = object(json!({
        "metadata": {"name": "taken-abcde", "labels": labels, "ownerReferences": [owner]},
        "addressType": "IPv4", "endpoints": [], "ports": [],
    }));
    cluster.api::<EndpointSlice>().create(&PostParams::default(), &slice).await.unwrap();
}

/// All that the roles of a file with such names grant.
fn granted(text: &str, is_meant: impl Fn(&str) -> bool) -> BTreeSet<Asked> {
    let documents = text.split("\n---\n").map(|document| {
        let document: Value = serde_saphyr::from_str(document).unwrap();
        document
    });
    let mut granted = BTreeSet::new();
    let is_meant = |role: &Value| role["metadata"]["name"].as_str().is_some_and(&is_meant);
    let is_role = |kind: &Value| kind == "ClusterRole" || kind == "Role";
    for role in documents.filter(|it| is_role(&it["kind"]) && is_meant(it)) {
        for rule in role["rules"].as_array().unwrap() {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    let resource = format!("{group}/{resource}");
                    let verbs = texts(&rule["verbs"]);
                    granted.extend(verbs.map(|verb| (verb.to_owned(), resource.clone())));
                }
            }
        }
    }
    granted
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
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
