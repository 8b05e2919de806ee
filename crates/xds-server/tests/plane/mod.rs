//! A control plane in this process, and clients that speak to it over sockets.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use envoy_types::pb::{
    envoy::{
        config::core::v3::Node,
        service::discovery::v3::{
            DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
            aggregated_discovery_service_client::AggregatedDiscoveryServiceClient,
        },
    },
    google::rpc::Status as Rejection,
};
use evenkeel_xds::ResourceType;
use evenkeel_xds_server::{
    Ready, Settings, prepare,
    source::{Intake, Object, ObjectId},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tonic::{Status, Streaming};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Plane {
    pub(crate) ready: Ready,
    pub(crate) intake: Intake,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

pub(crate) fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("takes too long")
}

impl Plane {
    pub(crate) async fn start(objects: Vec<Value>) -> Plane {
        let settings = Settings { admin: Some(loopback()), ..Settings::intake(loopback()) };
        let (plane, mut intake) = prepare(settings);
        intake.apply_objects(objects.into_iter().map(applied));
        intake.synced();
        Plane::of(plane, intake).await
    }

    pub(crate) async fn of(plane: evenkeel_xds_server::ControlPlane, intake: Intake) -> Plane {
        let (stop, stopped) = oneshot::channel();
        let (tell, ready) = oneshot::channel();
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            plane.run(|ready| tell.send(ready).unwrap(), stopped).await.unwrap();
        });
        Plane { ready: soon(ready).await.unwrap(), intake, stop, task }
    }

    pub(crate) fn apply(&mut self, object: Value) {
        self.intake.apply_objects([applied(object)]);
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        soon(self.task).await.unwrap();
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.ready.admin.unwrap()).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        soon(stream.read_to_string(&mut text)).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Asks until it holds.
    pub(crate) async fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        soon(async {
            loop {
                let value = self.json(path).await;
                if holds(&value) {
                    return value;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }
}

pub(crate) fn id(object: &Value) -> ObjectId {
    let text = |value: &Value| Arc::from(value.as_str().unwrap());
    ObjectId {
        kind: text(&object["kind"]),
        namespace: "".into(),
        name: text(&object["metadata"]["name"]),
    }
}

pub(crate) fn applied(object: Value) -> Object {
    Object::Applied(id(&object), object)
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": kind,
        "metadata": { "name": name }, "mesh": "default", "spec": spec,
    })
}

pub(crate) fn server(name: &str, service: &str, last: u8, ready: bool) -> Value {
    object(
        "Dataplane",
        name,
        &json!({ "networking": {
        "address": format!("10.0.0.{last}"),
        "inbound": [{
            "port": 8080, "servicePort": 9090, "state": if ready { "Ready" } else { "NotReady" },
            "tags": { "kuma.io/service": service, "kuma.io/zone": "zone-1" },
        }],
    } }),
    )
}

pub(crate) fn client(name: &str, services: &[&str]) -> Value {
    let outbound = services
        .iter()
        .enumerate()
        .map(|(n, service)| json!({ "port": 10_000 + n, "tags": { "kuma.io/service": service } }));
    object(
        "Dataplane",
        name,
        &json!({ "networking": {
        "address": "10.9.9.9",
        "gateway": { "tags": { "kuma.io/service": "edge", "kuma.io/zone": "zone-1" } },
        "outbound": outbound.collect::<Vec<Value>>(),
    } }),
    )
}

/// Outlier detection: what changes every cluster.
pub(crate) fn breaker(errors: u32) -> Value {
    let conf = json!({ "outlierDetection": {
        "detectors": { "totalFailures": { "consecutive": errors } },
    } });
    object(
        "MeshCircuitBreaker",
        "all",
        &json!({
            "targetRef": { "kind": "Mesh" },
            "to": [{ "targetRef": { "kind": "Mesh" }, "default": conf }],
        }),
    )
}

pub(crate) fn strategy(rules: &Value) -> Value {
    object(
        "MeshLoadBalancingStrategy",
        "near",
        &json!({
            "targetRef": { "kind": "Mesh" },
            "to": [{
                "targetRef": { "kind": "Mesh" },
                "default": { "localityAwareness": { "crossZone": { "failover": rules } } },
            }],
        }),
    )
}

pub(crate) fn node(id: &str) -> Node {
    Node { id: id.to_owned(), cluster: "test".to_owned(), ..Node::default() }
}

async fn service(
    address: SocketAddr,
) -> AggregatedDiscoveryServiceClient<tonic::transport::Channel> {
    soon(AggregatedDiscoveryServiceClient::connect(format!("http://{address}"))).await.unwrap()
}

fn stream_of<T: Send + 'static>(
    receiver: mpsc::Receiver<T>,
) -> impl futures_util::Stream<Item = T> + Send + 'static {
    futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|item| (item, receiver))
    })
}

/// A client of the incremental variant.
pub(crate) struct DeltaClient {
    pub(crate) requests: mpsc::Sender<DeltaDiscoveryRequest>,
    pub(crate) responses: Streaming<DeltaDiscoveryResponse>,
    /// What it has, by type and name.
    pub(crate) versions: HashMap<String, HashMap<String, String>>,
}

impl DeltaClient {
    pub(crate) async fn open(
        address: SocketAddr,
        first: DeltaDiscoveryRequest,
    ) -> Result<Self, Status> {
        let (requests, incoming) = mpsc::channel(64);
        requests.send(first).await.unwrap();
        let mut service = service(address).await;
        let responses = soon(service.delta_aggregated_resources(stream_of(incoming))).await?;
        Ok(Self { requests, responses: responses.into_inner(), versions: HashMap::new() })
    }

    /// Like `open`, where nobody may listen yet.
    pub(crate) async fn try_open(
        address: SocketAddr,
        first: DeltaDiscoveryRequest,
    ) -> Result<Self, String> {
        TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        Self::open(address, first).await.map_err(|status| status.to_string())
    }

    /// Connects as Envoy does, until it has clusters and their endpoints.
    pub(crate) async fn settled(address: SocketAddr, proxy: &str) -> Self {
        let first = DeltaDiscoveryRequest {
            node: Some(node(proxy)),
            ..subscribe(ResourceType::Cluster, &[])
        };
        let mut client = Self::open(address, first).await.unwrap();
        let clusters = client.next().await;
        assert_eq!(clusters.type_url, ResourceType::Cluster.type_url());
        let names: Vec<&str> = clusters.resources.iter().map(|resource| &*resource.name).collect();
        if !names.is_empty() {
            client.send(subscribe(ResourceType::Endpoint, &names)).await;
            client.ack(&clusters).await;
            let endpoints = client.next().await;
            assert_eq!(endpoints.type_url, ResourceType::Endpoint.type_url());
            assert_eq!(endpoints.resources.len(), names.len());
            client.ack(&endpoints).await;
        } else {
            client.ack(&clusters).await;
        }
        client
    }

    pub(crate) async fn send(&self, request: DeltaDiscoveryRequest) {
        self.requests.send(request).await.unwrap();
    }

    pub(crate) async fn ack(&self, response: &DeltaDiscoveryResponse) {
        self.send(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    pub(crate) async fn nack(&self, response: &DeltaDiscoveryResponse, message: &str) {
        self.send(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: Some(Rejection { message: message.to_owned(), ..Rejection::default() }),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    pub(crate) async fn next(&mut self) -> DeltaDiscoveryResponse {
        let response = soon(self.responses.message()).await.unwrap().expect("the stream ended");
        let of_type = self.versions.entry(response.type_url.clone()).or_default();
        for resource in &response.resources {
            of_type.insert(resource.name.clone(), resource.version.clone());
        }
        response
    }

    /// The next response, which it acknowledges.
    pub(crate) async fn take(&mut self) -> DeltaDiscoveryResponse {
        let response = self.next().await;
        self.ack(&response).await;
        response
    }

    /// The next response with resources.
    pub(crate) async fn take_news(&mut self) -> DeltaDiscoveryResponse {
        loop {
            let response = self.take().await;
            if !response.resources.is_empty() {
                return response;
            }
        }
    }

    /// Reads to the end, and returns how the stream ended.
    pub(crate) async fn end(&mut self) -> Status {
        soon(async {
            loop {
                match self.responses.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return Status::ok(""),
                    Err(status) => return status,
                }
            }
        })
        .await
    }
}

pub(crate) fn subscribe(kind: ResourceType, names: &[&str]) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: kind.type_url().to_owned(),
        resource_names_subscribe: names.iter().map(|name| (*name).to_owned()).collect(),
        ..DeltaDiscoveryRequest::default()
    }
}

/// A client of the state-of-the-world variant.
pub(crate) struct SotwClient {
    pub(crate) requests: mpsc::Sender<DiscoveryRequest>,
    pub(crate) responses: Streaming<DiscoveryResponse>,
}

impl SotwClient {
    pub(crate) async fn open(address: SocketAddr, first: DiscoveryRequest) -> Result<Self, Status> {
        let (requests, incoming) = mpsc::channel(64);
        requests.send(first).await.unwrap();
        let mut service = service(address).await;
        let responses = soon(service.stream_aggregated_resources(stream_of(incoming))).await?;
        Ok(Self { requests, responses: responses.into_inner() })
    }

    pub(crate) async fn send(&self, request: DiscoveryRequest) {
        self.requests.send(request).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> DiscoveryResponse {
        soon(self.responses.message()).await.unwrap().expect("the stream ended")
    }
}

pub(crate) fn ask(kind: ResourceType, names: &[String]) -> DiscoveryRequest {
    DiscoveryRequest {
        type_url: kind.type_url().to_owned(),
        resource_names: names.to_vec(),
        ..DiscoveryRequest::default()
    }
}

/// The request that accepts a response and asks for the same names.
pub(crate) fn accept(response: &DiscoveryResponse, names: &[String]) -> DiscoveryRequest {
    DiscoveryRequest {
        type_url: response.type_url.clone(),
        version_info: response.version_info.clone(),
        response_nonce: response.nonce.clone(),
        resource_names: names.to_vec(),
        ..DiscoveryRequest::default()
    }
}
