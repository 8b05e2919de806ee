//! A real API server in this process, a real controller against it, and a client.

use std::{collections::BTreeMap, time::Duration};

use evenkeel_apiserver::Sandbox;
use evenkeel_controller::{Ready, Settings};
use futures_util::StreamExt as _;
use k8s_openapi::api::{
    core::v1::{Event, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Cluster {
    pub(crate) client: Client,
    server: Running,
}

/// Something that runs beside the test until it is stopped.
pub(crate) struct Running {
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Cluster {
    pub(crate) async fn start() -> Cluster {
        Cluster::with(None, true).await
    }

    /// Nobody empties namespaces that are being deleted.
    pub(crate) async fn without_housekeeping() -> Cluster {
        Cluster::with(None, false).await
    }

    /// With a sandbox in which everything happens at once.
    pub(crate) async fn sandbox() -> Cluster {
        let sandbox = Sandbox {
            ready_after: Duration::from_millis(20),
            end_after: Duration::from_millis(20),
            ..Sandbox::default()
        };
        Cluster::with(Some(sandbox), true).await
    }

    async fn with(sandbox: Option<Sandbox>, housekeeping: bool) -> Cluster {
        let settings = evenkeel_apiserver::Settings {
            housekeeping,
            sandbox,
            ..evenkeel_apiserver::Settings::default()
        };
        let (ready, is_ready) = oneshot::channel();
        let server = Running::spawn(|stop| async move {
            let ready = |at: evenkeel_apiserver::Ready| drop(ready.send(at));
            evenkeel_apiserver::run(settings, ready, stop).await.unwrap();
        });
        let ready = is_ready.await.unwrap();
        let file = Kubeconfig::read_from(&ready.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
        Cluster { client: Client::try_from(config).unwrap(), server }
    }

    /// A controller that has read everything.
    pub(crate) async fn controller(&self, settings: Settings) -> Running {
        controller(self.client.clone(), settings).await.0
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }

    pub(crate) fn api<T>(&self) -> Api<T>
    where
        T: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// A ready Node, with cores or without.
    pub(crate) async fn node(&self, name: &str, zone: &str, cores: Option<u64>) {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        let node = object(json!({"metadata": {"name": name, "labels": labels}}));
        self.nodes().create(&PostParams::default(), &node).await.unwrap();
        let allocatable = cores.map(|cores| json!({"cpu": cores.to_string()}));
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let status = json!({"status": {"allocatable": allocatable, "conditions": conditions}});
        let patch = Patch::Merge(status);
        self.nodes().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// A ready Pod with label `app`.
    pub(crate) async fn pod(&self, app: &str, name: &str, node: &str, ip: &str) {
        let pod = object(json!({
            "metadata": {"name": name, "labels": {"app": app}},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        }));
        self.api::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
        self.ready(name, ip, true).await;
    }

    pub(crate) async fn ready(&self, pod: &str, ip: &str, ready: bool) {
        let condition = json!({
            "type": "Ready",
            "status": if ready { "True" } else { "False" },
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status = json!({"status": {
            "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition],
        }});
        let patch = Patch::Merge(status);
        self.api::<Pod>().patch_status(pod, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete_pod(&self, name: &str) {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.api::<Pod>().delete(name, &now).await.unwrap();
    }

    /// A Service of the Pods with label `app: NAME`; `more` is merged into it.
    pub(crate) async fn service(&self, name: &str, more: Value) -> Service {
        let mut service = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
        });
        merge(&mut service, more);
        self.api::<Service>().create(&PostParams::default(), &object(service)).await.unwrap()
    }

    pub(crate) async fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        let params = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
        self.api::<EndpointSlice>().list(&params).await.unwrap().items
    }

    pub(crate) async fn events(&self, service: &str) -> Vec<Event> {
        let fields = format!("involvedObject.kind=Service,involvedObject.name={service}");
        self.api::<Event>().list(&ListParams::default().fields(&fields)).await.unwrap().items
    }

    /// Waits until the slices of a Service are as wanted; shows them if they never are.
    pub(crate) async fn until(
        &self,
        service: &str,
        wanted: impl Fn(&[EndpointSlice]) -> bool,
    ) -> Vec<EndpointSlice> {
        let begun = std::time::Instant::now();
        loop {
            let slices = self.slices(service).await;
            if wanted(&slices) {
                return slices;
            }
            assert!(begun.elapsed() < PATIENCE, "{}", serde_json::to_string(&slices).unwrap());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A controller that has read everything.
pub(crate) async fn controller(client: Client, settings: Settings) -> (Running, Ready) {
    let (ready, is_ready) = oneshot::channel();
    let running = Running::spawn(|stop| async move {
        let ready = |at| ready.send(at).unwrap_or_default();
        evenkeel_controller::run(client, settings, ready, stop).await.unwrap();
    });
    let ready = tokio::time::timeout(PATIENCE, is_ready).await.unwrap().unwrap();
    (running, ready)
}

impl Running {
    pub(crate) fn spawn<F>(run: impl FnOnce(Stopped) -> F) -> Running
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(run(Stopped(stopped)));
        Running { stop: Some(stop), task: Some(task) }
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        let task = self.task.take().unwrap();
        tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Ends when [`Running`] says so.
pub(crate) struct Stopped(oneshot::Receiver<()>);

impl Future for Stopped {
    type Output = ();
    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        std::pin::Pin::new(&mut self.0).poll(context).map(drop)
    }
}

/// How many endpoints are hinted for each zone.
pub(crate) fn hinted(slices: &[EndpointSlice]) -> BTreeMap<String, usize> {
    let mut zones = BTreeMap::new();
    for endpoint in slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()) {
        let hints = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
        for zone in hints {
            *zones.entry(zone.name.clone()).or_default() += 1;
        }
    }
    zones
}

pub(crate) fn n_endpoints(slices: &[EndpointSlice]) -> usize {
    slices.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).sum()
}

/// How many requests the tests have under way at once.
const AT_ONCE: usize = 16;

/// Does all of it, some at a time.
pub(crate) async fn at_once<F: Future<Output = ()>>(tasks: impl IntoIterator<Item = F>) {
    futures_util::stream::iter(tasks).buffer_unordered(AT_ONCE).collect::<()>().await;
}

pub(crate) fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn merge(into: &mut Value, patch: Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch,
    }
}
