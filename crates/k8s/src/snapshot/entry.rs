//! What is kept of each object.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{
    Node, Pod, PodProblem, SeenService, SeenSlice, Service, ServiceKey, Slice, label,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};

use super::{
    autoscalers::{self, Workload},
    pod_problems,
};
use crate::convert::{field, pod::PodFacts};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct NodeEntry {
    pub(super) node: Node,
    pub(super) cordoned: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServiceEntry {
    pub(super) service: Service,
    pub(super) version: Arc<str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SliceEntry {
    pub(super) key: ServiceKey,
    /// The Service that it is labelled with.
    pub(super) service: Option<ServiceKey>,
    pub(super) slice: Slice,
    pub(super) version: Arc<str>,
    /// When the change happened that it was written for, in seconds since 1970.
    pub(super) changed: Option<i64>,
    pub(super) deleting: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PodEntry {
    pub(super) pod: Pod,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) problem: Option<PodProblem>,
    pub(super) workloads: Vec<Workload>,
}

impl ServiceEntry {
    pub(super) fn new(service: Service, meta: &ObjectMeta) -> ServiceEntry {
        ServiceEntry { service, version: field::text(meta.resource_version.as_deref()) }
    }
}

impl From<SeenService> for ServiceEntry {
    fn from(seen: SeenService) -> ServiceEntry {
        ServiceEntry { service: seen.service, version: seen.version.resource_version }
    }
}

impl SliceEntry {
    pub(super) fn new(seen: SeenSlice, changed: Option<Timestamp>) -> SliceEntry {
        let SeenSlice { namespace, slice, version, deleting } = seen;
        let service = slice.labels.get(label::SERVICE_NAME);
        SliceEntry {
            service: service.map(|name| ServiceKey::new(Arc::clone(&namespace), Arc::clone(name))),
            key: ServiceKey { namespace, name: Arc::clone(&slice.name) },
            slice,
            version: version.resource_version,
            changed: changed.map(Timestamp::as_second),
            deleting,
        }
    }
}

impl PodEntry {
    pub(super) fn new(pod: Pod, labels: BTreeMap<String, String>, given: &impl PodFacts) -> Self {
        let (problem, workloads) = (pod_problems::problem(given), autoscalers::workloads(given));
        PodEntry { pod, labels, problem, workloads }
    }

    pub(super) fn key(&self) -> ServiceKey {
        ServiceKey::new(Arc::clone(&self.pod.namespace), Arc::clone(&self.pod.name))
    }
}
