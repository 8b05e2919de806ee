//! Services, EndpointSlices, Pods and Nodes of watches, put into the model's words.
//!
//! A slice or Pod that can't be read counts as gone; a Service counts with what can be read of it. All is logged,
//! and stops nothing else.

use evenkeel_k8s::{watch::Batch, watched};
use evenkeel_model::{Gone, Watched};

use crate::kubernetes::{Kubernetes, PodFacts, SeenNode};

pub(super) fn take(kubernetes: &mut Kubernetes, batch: Batch) {
    match batch {
        Batch::Services(batch) => batch.into_iter().for_each(|seen| service(kubernetes, seen)),
        Batch::Slices(batch) => batch.into_iter().for_each(|seen| slice(kubernetes, seen)),
        Batch::Pods(batch) => batch.into_iter().for_each(|seen| pod(kubernetes, seen)),
        Batch::Nodes(batch) => batch.into_iter().for_each(|seen| node(kubernetes, seen)),
        Batch::Leases(_) | Batch::Mesh(..) => {}
    }
}

fn service(kubernetes: &mut Kubernetes, seen: Watched<watched::Service>) {
    let converted = seen.read(|service| {
        let seen = service.seen();
        if let Some(problem) = &seen.problem {
            ignore("services", &service.gone(), problem);
        }
        Ok(seen)
    });
    converted.into_iter().for_each(|seen| kubernetes.service(seen));
}

fn slice(kubernetes: &mut Kubernetes, seen: Watched<watched::EndpointSlice>) {
    let converted = seen.read(|slice| {
        slice.seen(kubernetes.names_mut()).map_err(|error| {
            ignore("endpointslices", &slice.gone(), &error.to_string());
            slice.gone()
        })
    });
    converted.into_iter().for_each(|seen| kubernetes.slice(seen));
}

fn pod(kubernetes: &mut Kubernetes, seen: Watched<watched::Pod>) {
    let converted = seen.read(|pod| match pod.seen(kubernetes.names_mut()) {
        Ok(seen) => Ok(PodFacts::from(seen)),
        Err(error) => {
            ignore("pods", &pod.gone(), &error.to_string());
            Err(pod.gone())
        }
    });
    converted.into_iter().for_each(|seen| kubernetes.pod(seen));
}

fn node(kubernetes: &mut Kubernetes, seen: Watched<watched::Node>) {
    let converted = seen.read(|node| {
        let tags = node.tags(kubernetes.node_labels());
        let id = node.seen(kubernetes.names_mut()).0.id;
        Ok(SeenNode::new(id, node.name(), tags))
    });
    converted.into_iter().for_each(|seen| kubernetes.node(seen));
}

fn ignore(resource: &str, object: &Gone, error: &str) {
    let Gone { namespace, name, .. } = object;
    tracing::warn!(resource, %namespace, %name, error, "ignoring invalid object");
}
