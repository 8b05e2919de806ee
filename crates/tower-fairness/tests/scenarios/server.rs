//! A server as its owner would write it: axum, the layer, and someone who says who the user is.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    middleware,
    routing::any,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tower_fairness::{
    FairnessLayer, Head, User,
    evenkeel_fairness::{
        self, Settings, dialect,
        flow::{FlowHash, FlowKey},
    },
};

use crate::clients::{Caller, Load, Outcome, call, run};

/// How long a request is served.
const SERVICE: Duration = Duration::from_millis(4);
/// How long a request waits for its seats.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a scenario runs.
const RUN: Duration = Duration::from_millis(1500);

pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(config: &str, seats: u32) -> Self {
        Server::with(config, seats, Settings::default()).await
    }

    /// Flows are hashed under a fixed key: which of them share queues is the same at each run.
    pub(crate) async fn with(config: &str, seats: u32, mut settings: Settings) -> Self {
        if settings.flow_hash == FlowHash::Keyed(None) {
            settings.flow_hash = FlowHash::Keyed(Some(FlowKey::new([1; 32])));
        }
        let compiled = dialect::load("scenario.yaml", config).compile().expect("it is valid");
        let layer = FairnessLayer::builder()
            .settings(settings)
            .wait_limit(patience)
            .identify(resource)
            .build(compiled.config, seats)
            .expect("levels have shares");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let app = Router::new()
            .fallback(any(serve))
            .layer(layer)
            .layer(middleware::map_request(authenticate))
            .with_state(address);
        let task = tokio::spawn(async move {
            axum::serve(listener, app).await.expect("it serves until it is aborted");
        });
        Server { address, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// All of the loads at once, and beside them one connection for each of the innocent.
    pub(crate) async fn run(&self, loads: Vec<Load>, innocent: Vec<Caller>) -> Outcome {
        run(self.address, loads, innocent, RUN).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The user is who the client says: these tests are not about authentication.
async fn authenticate(mut request: Request) -> Request {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let user = User {
        name: header("x-user").unwrap_or_default().to_owned(),
        groups: header("x-groups").unwrap_or_default().split(',').map(str::to_owned).collect(),
    };
    request.extensions_mut().insert(user);
    request
}

/// Paths as Kubernetes has them.
fn resource<'r>(
    head: Head<'r>,
    mut attributes: evenkeel_fairness::Request<'r>,
) -> evenkeel_fairness::Request<'r> {
    let Some(rest) = head.uri.path().strip_prefix("/api/v1/") else { return attributes };
    let mut parts = rest.split('/');
    let mut resource = parts.next().unwrap_or_default();
    if resource == "namespaces" {
        attributes.namespace = parts.next().unwrap_or_default();
        resource = parts.next().unwrap_or_default();
    }
    attributes.is_resource = true;
    attributes.resource = resource;
    attributes.name = parts.next().unwrap_or_default();
    attributes
}

fn patience(head: Head<'_>) -> Duration {
    millis(head.headers, "x-patience-ms").unwrap_or(PATIENCE)
}

fn millis(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let millis = headers.get(name)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_millis(millis))
}

async fn serve(State(address): State<SocketAddr>, request: Request) -> StatusCode {
    tokio::time::sleep(millis(request.headers(), "x-service-ms").unwrap_or(SERVICE)).await;
    if request.headers().contains_key("x-review") {
        let user = "system:serviceaccount:example-com:network-apiserver";
        let review = Caller::new(user, &[]).path("/api/v1/tokenreviews").method("POST");
        return call(address, &review).await;
    }
    StatusCode::OK
}
