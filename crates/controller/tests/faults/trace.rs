//! Objects and requests on one line each, for the trace of a seed that failed.

use std::sync::Arc;

use evenkeel_model::{Endpoint, Id, Node, SeenPod, SeenService, SeenSlice, Slice, Watched};
use evenkeel_testkit::sim::{Answer, Request};

pub(crate) trait Brief {
    fn brief(&self) -> String;
}

impl Brief for Node {
    fn brief(&self) -> String {
        let Node { id, zone, region, cpu_milli, ready, control_plane } = self;
        let (zone, region) = (zone.map(Id::index), region.map(Id::index));
        let kind = if *control_plane { "control plane" } else { "worker" };
        format!(
            "node #{} zone {zone:?} region {region:?} cpu {cpu_milli} ready {ready} {kind}",
            id.index()
        )
    }
}

impl Brief for SeenPod {
    fn brief(&self) -> String {
        let pod = &self.pod;
        let state = if pod.terminating { "ending" } else { "" };
        format!(
            "{}/{} {:?} {:?} node {:?} {:?} ready {} {state}",
            pod.namespace,
            pod.name,
            self.labels,
            pod.ips,
            pod.node.map(Id::index),
            pod.phase,
            pod.ready,
        )
    }
}

impl Brief for SeenService {
    fn brief(&self) -> String {
        let service = &self.service;
        let conditions: Vec<_> = self
            .conditions
            .iter()
            .map(|c| format!("{}={} {}", c.kind, c.status, c.reason))
            .collect();
        format!(
            "{} {} v{} {:?} {:?} {:?} {:?} {conditions:?}",
            service.key,
            service.uid,
            self.version.resource_version,
            service.selector,
            service.families,
            service.annotations,
            service.traffic_distribution,
        )
    }
}

impl Brief for SeenSlice {
    fn brief(&self) -> String {
        let version = &self.version;
        let state = format!("{} v{}", version.uid, version.resource_version);
        format!("{}/{} {state} g{}", self.namespace, self.slice.brief(), version.generation)
    }
}

impl Brief for Slice {
    fn brief(&self) -> String {
        let ports: Vec<_> = self.ports.iter().map(|p| (&*p.name, p.port.unwrap_or(0))).collect();
        let endpoints: Vec<_> = self.endpoints.iter().map(Brief::brief).collect();
        let labels: Vec<_> = self.labels.values().collect();
        format!("{} {} {ports:?} {labels:?} {endpoints:?}", self.name, self.address_type)
    }
}

impl Brief for Endpoint {
    fn brief(&self) -> String {
        let pod = self.target.as_ref().map_or("nobody", |target| &target.name);
        let ready = if self.is_ready() { "" } else { " not ready" };
        let zone = self.zone.map(Id::index);
        let zones: Vec<_> = self.zone_hints().iter().map(|id| id.index()).collect();
        let nodes: Vec<_> = self.node_hints().iter().map(|id| id.index()).collect();
        format!("{pod}{ready} in {zone:?} for {zones:?} {nodes:?}")
    }
}

impl Brief for Request {
    fn brief(&self) -> String {
        match self {
            Request::Create { slice, .. } => format!("create {}", slice.brief()),
            Request::Update { slice, version, gone, .. } => {
                format!("update v{} {} without {gone:?}", version.resource_version, slice.brief())
            }
            Request::Relabel { key, version, .. } => {
                format!("relabel v{} {key}", version.resource_version)
            }
            Request::Delete { key, version } => {
                format!("delete v{} {key}", version.resource_version)
            }
            Request::Read { key } => format!("read {key}"),
            Request::Conditions { key, set, remove, .. } => {
                let set: Vec<_> =
                    set.iter().map(|c| format!("{}={} {}", c.kind, c.status, c.reason)).collect();
                format!("conditions of {key}: {set:?} without {remove:?}")
            }
        }
    }
}

impl Brief for Answer {
    fn brief(&self) -> String {
        match self {
            Answer::Found(seen) => format!("found {}", seen.brief()),
            Answer::Stored(seen) => format!("stored {}", seen.brief()),
            other => format!("{other:?}"),
        }
    }
}

impl<T: Brief> Brief for Watched<Arc<T>> {
    fn brief(&self) -> String {
        match self {
            Watched::Restarted => "a new list:".into(),
            Watched::Complete => "the end of the list".into(),
            Watched::Listed(value) | Watched::Applied(value) => value.brief(),
            Watched::Deleted(gone) => format!("{}/{} is gone", gone.namespace, gone.name),
        }
    }
}
