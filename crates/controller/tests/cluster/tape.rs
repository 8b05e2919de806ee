//! Watch events of slices and Pods as they came, in the order of their resource versions.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{ListParams, WatchEvent, WatchParams},
};
use serde::de::DeserializeOwned;

use crate::harness::{Cluster, PATIENCE, Running};

/// What was watched from one moment to another.
pub(crate) struct Tape {
    kept: Arc<Mutex<Vec<(u64, Seen)>>>,
    watches: Vec<Running>,
}

#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Slice(Box<EndpointSlice>),
    SliceGone(Box<EndpointSlice>),
    Pod(Box<Pod>),
    PodGone(Box<Pod>),
}

impl Tape {
    /// Begins with what happens from now on.
    pub(crate) async fn start(cluster: &Cluster) -> Tape {
        let kept = Arc::default();
        let slices = follow(cluster, &kept, |slice: WatchEvent<EndpointSlice>| match slice {
            WatchEvent::Added(slice) | WatchEvent::Modified(slice) => {
                Some(Seen::Slice(slice.into()))
            }
            WatchEvent::Deleted(slice) => Some(Seen::SliceGone(slice.into())),
            _ => None,
        });
        let pods = follow(cluster, &kept, |pod: WatchEvent<Pod>| match pod {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => Some(Seen::Pod(pod.into())),
            WatchEvent::Deleted(pod) => Some(Seen::PodGone(pod.into())),
            _ => None,
        });
        let watches = vec![slices.await, pods.await];
        Tape { kept, watches }
    }

    /// All that happened until now, each with its resource version.
    pub(crate) async fn end(self, cluster: &Cluster) -> Vec<(u64, Seen)> {
        let list = cluster.api::<EndpointSlice>().list(&ListParams::default()).await.unwrap();
        let last = list.items.iter().map(version).max().unwrap();
        let begun = std::time::Instant::now();
        while !self.kept.lock().unwrap().iter().any(|(version, _)| *version == last) {
            assert!(begun.elapsed() < PATIENCE, "the watch never showed version {last}");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        for watch in self.watches {
            watch.stop().await;
        }
        let mut kept = std::mem::take(&mut *self.kept.lock().unwrap());
        kept.sort_by_key(|(version, _)| *version);
        kept
    }
}

pub(crate) fn version(object: &impl Resource) -> u64 {
    object.meta().resource_version.as_ref().unwrap().parse().unwrap()
}

async fn follow<T>(
    cluster: &Cluster,
    kept: &Arc<Mutex<Vec<(u64, Seen)>>>,
    seen: impl Fn(WatchEvent<T>) -> Option<Seen> + Send + 'static,
) -> Running
where
    T: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + 'static,
{
    let api: Api<T> = cluster.api();
    let from = api.list(&ListParams::default()).await.unwrap();
    let from = from.metadata.resource_version.unwrap();
    let kept = Arc::clone(kept);
    Running::spawn(|stop| async move {
        let params = WatchParams::default();
        let events = api.watch(&params, &from).await.unwrap().take_until(stop);
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            let event = event.unwrap();
            let (WatchEvent::Added(object)
            | WatchEvent::Modified(object)
            | WatchEvent::Deleted(object)) = &event
            else {
                panic!("{event:?}");
            };
            let version = object.resource_version().unwrap().parse().unwrap();
            kept.lock().unwrap().extend(seen(event).map(|seen| (version, seen)));
        }
    })
}
