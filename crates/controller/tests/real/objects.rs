//! The Nodes, Pods and Services of a namespace.

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// How many requests are under way at once.
const AT_ONCE: usize = 32;

pub(crate) const NODES: [(&str, &str); 3] =
    [("evenkeel-1", "za"), ("evenkeel-2", "zb"), ("evenkeel-3", "zc")];

/// Pods of a Service that have an address and have not ended.
pub(crate) const ENDPOINTS: usize = 10;

pub(crate) async fn at_once<F: Future<Output = ()>>(tasks: impl IntoIterator<Item = F>) {
    futures_util::stream::iter(tasks).buffer_unordered(AT_ONCE).collect::<()>().await;
}

pub(crate) async fn nodes(client: &Client) {
    let api: Api<Node> = Api::all(client.clone());
    for (name, zone) in NODES {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        create(&api, json!({"metadata": {"name": name, "labels": labels}})).await;
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        status(&api, name, json!({"allocatable": {"cpu": "4"}, "conditions": conditions})).await;
    }
}

pub(crate) async fn namespace(client: &Client, name: &str) {
    let api: Api<Namespace> = Api::all(client.clone());
    create(&api, json!({"metadata": {"name": name}})).await;
}

/// Nine ready Pods, three in each zone; one that is not ready; one without an address; one that
/// ended.
pub(crate) async fn pods(client: &Client, namespace: &str, app: &str, subnet: usize) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for number in 0..12 {
        let (node, _) = NODES[number % 3];
        // For one Pod the named port is another number.
        let port = if number == 8 { 9090 } else { 8080 };
        let ports = json!([{"name": "http", "containerPort": port}]);
        let name = format!("{app}-{number}");
        create(
            &api,
            json!({
                "metadata": {"name": name, "labels": {"app": app}},
                "spec": {
                    "nodeName": node,
                    "containers": [{"name": "c", "image": "i", "ports": ports}],
                },
            }),
        )
        .await;
        let (phase, ready) = match number {
            9 => ("Running", "False"),
            10 => continue,
            11 => ("Succeeded", "False"),
            _ => ("Running", "True"),
        };
        let ips = addresses(subnet, number);
        status(&api, &name, pod_status(phase, ready, &ips)).await;
    }
}

pub(crate) fn addresses(subnet: usize, number: usize) -> [String; 2] {
    let (high, low) = (subnet / 256, subnet % 256);
    [format!("10.{}.{low}.{}", 128 + high, number + 1), format!("fd00:{subnet:x}::{}", number + 1)]
}

pub(crate) fn pod_status(phase: &str, ready: &str, ips: &[String; 2]) -> Value {
    json!({
        "phase": phase,
        "podIP": ips[0],
        "podIPs": [{"ip": ips[0]}, {"ip": ips[1]}],
        "conditions": [
            {"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
    })
}

/// Services of every kind over the Pods `web`. The ready ones of all but `none` are the same.
pub(crate) async fn services(client: &Client, namespace: &str) {
    let auto = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let kinds = [
        ("plain", json!({"labels": {"team": "t1"}}), json!({})),
        ("close", json!({}), json!({"trafficDistribution": "PreferClose"})),
        ("zone", json!({}), json!({"trafficDistribution": "PreferSameZone"})),
        ("node", json!({}), json!({"trafficDistribution": "PreferSameNode"})),
        ("auto", json!({"annotations": auto}), json!({})),
        ("headless", json!({}), json!({"clusterIP": "None"})),
        ("portless", json!({}), json!({"clusterIP": "None", "ports": []})),
        ("named", json!({}), json!({"ports": [{"port": 80, "targetPort": "http"}]})),
        ("unready", json!({}), json!({"publishNotReadyAddresses": true})),
        ("dual", json!({}), json!({"ipFamilyPolicy": "PreferDualStack"})),
        ("none", json!({}), json!({"selector": {"app": "nobody"}})),
        (
            "ports",
            json!({}),
            json!({"ports": [
                {"name": "web", "port": 80, "targetPort": 8080, "appProtocol": "http"},
                {"name": "dns", "port": 53, "protocol": "UDP"},
            ]}),
        ),
    ];
    for (name, metadata, spec) in kinds {
        service(client, namespace, name, "web", metadata, spec).await;
    }
}

pub(crate) async fn service(
    client: &Client,
    namespace: &str,
    name: &str,
    app: &str,
    metadata: Value,
    spec: Value,
) {
    let api: Api<Service> = Api::namespaced(client.clone(), namespace);
    let ports = json!([{"port": 80, "targetPort": 8080}]);
    let mut service = json!({
        "metadata": {"name": name},
        "spec": {"selector": {"app": app}, "ports": ports},
    });
    for (part, more) in [("metadata", metadata), ("spec", spec)] {
        for (key, value) in more.as_object().unwrap() {
            service[part][key] = value.clone();
        }
    }
    create(&api, service).await;
}

pub(crate) async fn status<K>(api: &Api<K>, name: &str, status: Value)
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Creates the object, if it is not there.
pub(crate) async fn create<K>(api: &Api<K>, object: Value)
where
    K: Resource + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
        Err(error) => panic!("{error}"),
    }
}
