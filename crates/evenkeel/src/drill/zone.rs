//! Takes the Nodes of a zone away, and gives them back.
//!
//! A Node has an outage as long as its annotation says so: the sandbox stops its heartbeats, and
//! `up --proxy` cuts its network. The annotation has an end a few seconds ahead and is renewed: if this
//! process is killed, the zone comes back by itself, and nobody need know what it was doing. The
//! lock is for the next drill: what it finds while it holds it, nobody renews.

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use evenkeel_apiserver::OUTAGE_UNTIL;
use evenkeel_k8s::live::LiveError;
use evenkeel_proxy::NetworkNamespace;
use futures_util::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::subject::{Endpoint, Frontend, Subject};
use crate::{
    curl::Requests,
    error::Error,
    network::{self, Record, lock},
};

/// How far ahead the end of an outage is.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// How often it is moved.
pub(super) const RENEW: Duration = Duration::from_secs(2);

/// After this long a zone that is not back is reported as such.
const BACK_WITHIN: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(100);

/// Of endpoints that are asked whether they answer again.
const MOST_PROBED: usize = 100;

/// While this is there, no other drill runs on the cluster.
#[derive(Debug)]
pub(super) struct DrillLock {
    path: PathBuf,
    _file: File,
}

/// The Nodes of a zone. Dropped without having been given back, they come back within [`LEASE`].
#[derive(Debug)]
pub(super) struct Outage {
    nodes: Api<Node>,
    names: Vec<Arc<str>>,
}

// === impl DrillLock ===

impl DrillLock {
    pub(super) fn take(record: &Record) -> Result<DrillLock, Error> {
        let path = Path::new(network::FOLDER).join(&record.bridge).with_extension("drill");
        let failed = |source| Error::Write { path: path.clone(), source };
        let file = lock(&path).map_err(failed)?.ok_or(Error::DrillRunning)?;
        Ok(DrillLock { path, _file: file })
    }
}

impl Drop for DrillLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

// === impl Outage ===

impl Outage {
    /// Of all Nodes that have one: left by a drill that was killed.
    pub(super) async fn left_behind(client: &Client) -> Result<Option<Outage>, Error> {
        let nodes: Api<Node> = Api::all(client.clone());
        let all = nodes.list(&ListParams::default()).await.map_err(failed)?.items;
        let has_one = |node: &&Node| node.annotations().contains_key(OUTAGE_UNTIL);
        let names: Vec<Arc<str>> =
            all.iter().filter(has_one).map(|node| node.name_any().into()).collect();
        Ok((!names.is_empty()).then_some(Outage { nodes, names }))
    }

    pub(super) fn new(client: &Client, names: &[Arc<str>]) -> Outage {
        Outage { nodes: Api::all(client.clone()), names: names.to_vec() }
    }

    /// Begins it, or moves its end.
    pub(super) async fn renew(&self) -> Result<(), Error> {
        let until = Timestamp::try_from(SystemTime::now() + LEASE).unwrap_or(Timestamp::UNIX_EPOCH);
        self.annotate(Some(until)).await
    }

    /// Ends it. A Node that is gone needs nothing.
    pub(super) async fn end(&self) -> Result<(), Error> {
        self.annotate(None).await
    }

    async fn annotate(&self, until: Option<Timestamp>) -> Result<(), Error> {
        let until = until.map(|until| until.to_string());
        let patch = json!({"metadata": {"annotations": {OUTAGE_UNTIL: until}}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let each = self.names.iter().map(async |name| {
            match self.nodes.patch_metadata(name, &params, &patch).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
                other => other.map(drop),
            }
        });
        // All of them, whatever becomes of one.
        join_all(each).await.into_iter().collect::<kube::Result<()>>().map_err(failed)
    }

    /// Waits until its Nodes are ready again and `answers`; gives whether that was in time.
    pub(super) async fn is_over(
        &self,
        answers: impl AsyncFn() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let begun = Instant::now();
        while begun.elapsed() < BACK_WITHIN {
            if self.are_ready().await? && answers().await? {
                return Ok(true);
            }
            sleep(POLL).await;
        }
        Ok(false)
    }

    async fn are_ready(&self) -> Result<bool, Error> {
        let all = self.nodes.list(&ListParams::default()).await.map_err(failed)?.items;
        let is_out = |node: &Node| {
            let is_ours = self.names.iter().any(|name| **name == node.name_any());
            is_ours && (node.annotations().contains_key(OUTAGE_UNTIL) || !is_ready(node))
        };
        Ok(!all.iter().any(is_out))
    }
}

/// Whether the endpoints in the zone answer a Node of another zone. A Pod that was evicted meanwhile
/// needs not.
pub(super) async fn endpoints_answer(
    client: &Client,
    subject: &Subject,
    record: &Record,
) -> Result<bool, Error> {
    let Some(from) = subject.clients.first().and_then(|one| record.nodes.get(&*one.node)) else {
        return Ok(true);
    };
    let inside = NetworkNamespace::named(from)
        .map_err(|error| Error::Network { problem: format!("{from}: {error}") })?;
    let probes = subject.lost_endpoints().take(MOST_PROBED).map(async |(service, endpoint)| {
        let pods = Api::<Pod>::namespaced(client.clone(), &service.key.namespace);
        let pod = pods.get_opt(&endpoint.place.pod).await.map_err(failed)?;
        let Some(pod) = pod.filter(|pod| pod.metadata.deletion_timestamp.is_none()) else {
            return Ok(true);
        };
        let conditions = pod.status.and_then(|status| status.conditions).unwrap_or_default();
        let is_ready = conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True");
        Ok::<bool, Error>(match (service.frontend, endpoint.address) {
            (Some(frontend), Some(address)) if is_ready => {
                answers(&inside, endpoint, frontend, address).await
            }
            _ => is_ready,
        })
    });
    let all: Vec<bool> = join_all(probes).await.into_iter().collect::<Result<_, _>>()?;
    Ok(all.into_iter().all(|is_there| is_there))
}

async fn answers(
    from: &NetworkNamespace,
    endpoint: &Endpoint,
    frontend: Frontend,
    address: SocketAddr,
) -> bool {
    let probe = Requests {
        namespace: from.clone(),
        source: None,
        to: address,
        protocol: frontend.protocol,
        host: address.to_string(),
        path: "/".to_owned(),
        timeout: super::traffic::TIMEOUT,
    };
    probe.send().await.is_ok_and(|answer| *answer.node == *endpoint.place.node)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|one| one.type_ == "Ready" && one.status == "True")
}

fn failed(error: kube::Error) -> Error {
    Error::Live(LiveError::Failed { what: "Nodes", source: Box::new(error) })
}
