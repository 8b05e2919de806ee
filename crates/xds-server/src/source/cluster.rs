//! Custom resources of `kuma.io`, followed in a Kubernetes API, with Services, EndpointSlices, Pods and Nodes if these
//! are destinations too.
//!
//! Each kind has a watch of its own. Proxies are answered once the first list of every kind is complete; a
//! kind whose definition is not installed has an empty one. After a watch was lost, the new list counts:
//! what it does not have is gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
    sync::Arc,
};

use evenkeel_admin::{
    health::{CheckScope, Health},
    supervisor::Supervisor,
};
use evenkeel_k8s::{
    watch::{self, Batch, Conditions, Hooks, Received, Selector, Selectors, WatchSettings},
    watched::{MeshKind, MeshObject},
};
use evenkeel_locality::FieldError;
use evenkeel_model::{Gone, Watched};
use kube::Client;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{Intake, Object, ObjectId};
use crate::{
    kubernetes::{Kubernetes, KubernetesSettings},
    metrics::Metrics,
};

mod objects;
#[cfg(test)]
mod tests;

/// The API whose custom resources are followed.
#[derive(Clone)]
pub struct ClusterSource {
    /// It should not retry by itself and should detect lost connections, see
    /// `evenkeel_k8s::live::long_lived`.
    pub client: Client,
    /// For log lines.
    pub address: Option<String>,
    pub watches: WatchSettings,
    /// Services are destinations of the mesh, too.
    pub services: Option<KubernetesSettings>,
}

/// The watches, and what becomes of what they bring.
pub(crate) struct Following {
    conditions: Arc<Conditions>,
    selectors: Selectors,
    tasks: Vec<watch::Task>,
    cluster: Cluster,
}

/// What the watches bring, taken into the control plane.
#[derive(Debug)]
pub(crate) struct Cluster {
    batches: mpsc::Receiver<Received>,
    intake: Intake,
    /// What the lists that are under way have so far.
    listed: BTreeMap<MeshKind, BTreeSet<ObjectId>>,
    /// Kinds whose first list is not complete.
    unlisted: BTreeSet<MeshKind>,
}

// === impl ClusterSource ===

impl ClusterSource {
    pub(crate) fn prepare(
        &self,
        intake: Intake,
        zone: Option<&Arc<str>>,
        metrics: &Arc<Metrics>,
    ) -> Following {
        let all = self.services.is_some().then(Selector::all);
        let selectors = Selectors {
            mesh: MeshKind::ALL.into(),
            nodes: all.clone(),
            pods: all.clone(),
            services: all.clone(),
            endpoint_slices: all,
            leases: None,
        };
        let intake = match &self.services {
            Some(settings) => {
                intake.with_kubernetes(Kubernetes::new(settings.clone(), zone.cloned()))
            }
            None => intake,
        };
        let conditions = Arc::new(Conditions::new(&selectors, &self.watches, Instant::now()));
        let hooks = Hooks {
            conditions: Arc::clone(&conditions),
            counters: Arc::<Metrics>::clone(metrics),
            address: self.address.clone(),
        };
        let (batches, tasks) = watch::prepare(&self.client, &selectors, &self.watches, &hooks);
        Following { conditions, selectors, tasks, cluster: Cluster::new(batches, intake) }
    }
}

impl fmt::Debug for ClusterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterSource").field("address", &self.address).finish_non_exhaustive()
    }
}

// === impl Following ===

impl Following {
    pub(crate) fn health(&self, health: Health) -> Health {
        let (conditions, selectors) = (Arc::clone(&self.conditions), self.selectors.clone());
        health.with("watches", CheckScope::Readiness, move || {
            let now = Instant::now();
            let mut problems = selectors.resources().filter_map(|of| conditions.problem(of, now));
            problems.next().map_or(Ok(()), Err)
        })
    }

    /// Runs until `stop`.
    pub(crate) fn spawn(
        self,
        supervisor: &Supervisor,
        stop: &CancellationToken,
    ) -> Vec<JoinHandle<()>> {
        let Following { tasks, cluster, .. } = self;
        let cluster = Arc::new(Mutex::new(cluster));
        let until = stop.clone();
        let intake = supervisor.spawn("intake", move || {
            let (stop, cluster) = (until.clone(), Arc::clone(&cluster));
            async move {
                let _ = stop.run_until_cancelled(Cluster::run(cluster)).await;
            }
        });
        let watches = tasks.into_iter().map(|task| {
            let stop = stop.clone();
            supervisor.spawn(task.name(), move || {
                let (stop, follow) = (stop.clone(), task.run());
                async move {
                    let _ = stop.run_until_cancelled(follow).await;
                }
            })
        });
        std::iter::once(intake).chain(watches).collect()
    }
}

// === impl Cluster ===

impl Cluster {
    pub(crate) fn new(batches: mpsc::Receiver<Received>, intake: Intake) -> Self {
        Self { batches, intake, listed: BTreeMap::new(), unlisted: MeshKind::ALL.into() }
    }

    /// Until the watches end.
    pub(crate) async fn run(cluster: Arc<Mutex<Self>>) {
        let mut cluster = cluster.lock_owned().await;
        while let Some(Received { batch, .. }) = cluster.batches.recv().await {
            // Computing may take long, and the other tasks are not to wait for it.
            let taken = tokio::task::spawn_blocking(move || {
                cluster.take(batch);
                cluster
            });
            cluster = match taken.await {
                Ok(cluster) => cluster,
                // The runtime ends, or its panic was shown; this task is supervised.
                Err(_) => return,
            };
        }
    }

    fn take(&mut self, batch: Batch) {
        match batch {
            Batch::Mesh(kind, changes) => self.take_mesh(kind, changes),
            batch => self.intake.apply_kubernetes(|kubernetes| objects::take(kubernetes, batch)),
        }
        if self.unlisted.is_empty() {
            self.intake.synced();
        }
    }

    fn take_mesh(&mut self, kind: MeshKind, changes: Vec<Watched<MeshObject>>) {
        let mut objects = Vec::new();
        for change in changes {
            match change {
                Watched::Restarted => {
                    self.listed.insert(kind, BTreeSet::new());
                }
                Watched::Listed(object) => {
                    let id = id(kind, object.namespace(), object.name());
                    self.listed.entry(kind).or_default().insert(id.clone());
                    objects.push(read(kind, id, object));
                }
                Watched::Applied(object) => {
                    let id = id(kind, object.namespace(), object.name());
                    objects.push(read(kind, id, object));
                }
                Watched::Deleted(Gone { namespace, name, .. }) => {
                    objects.push(Object::Deleted(id(kind, &namespace, &name)));
                }
                Watched::Complete => {
                    self.intake.apply_objects(mem::take(&mut objects));
                    self.complete(kind);
                }
            }
        }
        if !objects.is_empty() {
            self.intake.apply_objects(objects);
        }
    }

    fn complete(&mut self, kind: MeshKind) {
        let listed = self.listed.remove(&kind).unwrap_or_default();
        self.intake.keep_only(kind.name(), &listed);
        self.unlisted.remove(&kind);
    }
}

fn id(kind: MeshKind, namespace: &str, name: &str) -> ObjectId {
    ObjectId { kind: kind.name().into(), namespace: namespace.into(), name: name.into() }
}

/// The object as it was written, as far as the mesh is concerned.
fn read(kind: MeshKind, id: ObjectId, object: MeshObject) -> Object {
    let mut value = json!({
        "apiVersion": MeshKind::API_VERSION,
        "kind": kind.name(),
        "metadata": {
            "name": object.name(),
            "labels": object.labels(),
            "annotations": object.annotations(),
        },
    });
    if !object.namespace().is_empty() {
        value["metadata"]["namespace"] = object.namespace().into();
    }
    if let Some(mesh) = object.mesh() {
        value["mesh"] = Value::from(&**mesh);
    }
    match object.into_spec() {
        Ok(Value::Null) => {}
        Ok(spec) => value["spec"] = spec,
        Err(error) => {
            let error = FieldError { path: error.field, message: error.problem };
            return Object::Invalid(id, error);
        }
    }
    Object::Applied(id, value)
}
