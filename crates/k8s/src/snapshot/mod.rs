//! All objects of a cluster to one [`Snapshot`], grouped by Service.

mod autoscalers;
mod events;
mod pod_labels;
mod pod_problems;
mod reports;
mod revisions;
mod selectors;

use evenkeel_model::{
    Autoscaler, Node, Pod, PodProblem, Service, ServiceKey, ServiceState, Slice, Snapshot,
    Topology, label,
};
use k8s_openapi::api::{core::v1 as core, discovery::v1::EndpointSlice};
use rustc_hash::FxHashSet;

use self::{autoscalers::Autoscalers, selectors::Selectors};
use crate::{Collected, Objects, convert, manifest::ManifestError};

/// Converts everything and puts it in its place. The first object that cannot be converted is the
/// error; slices that are being deleted count as gone.
///
/// The cost is that of one pass over all objects and one look-up for each label of each Pod, plus
/// one copy of a Pod for each Service that selects it.
pub fn build(objects: Objects) -> Result<Snapshot, ManifestError> {
    let mut topology = Topology::default();
    let cordoned = cordoned(&objects.nodes);
    let nodes = nodes(&mut topology, objects.nodes)?;
    let is_cordoned = |node: &&Node| cordoned.contains(&**topology.nodes.name(node.id));
    let cordoned = nodes.iter().filter(is_cordoned).map(|node| node.id).collect();
    let services = services(&objects.services)?;
    let (mut slices, orphans) = slices(&mut topology, &services, &objects.slices)?;
    let scalers = Autoscalers::new(&objects.autoscalers);
    let mut pods = pods(&mut topology, &services, &scalers, &objects.pods)?;
    let unmatched = services.iter().zip(&pods).filter(|(_, behind)| behind.pods.is_empty());
    let unmatched = unmatched.map(|(service, _)| service).filter(|s| s.selector.is_some());
    let pod_labels = pod_labels::of(unmatched, &objects.pods);
    let mut revisions = revisions::of(&services, &objects.services, &objects.slices);
    let mut events = events::by_service(&services, &objects.events);
    let services = services.into_iter().enumerate().map(|(index, service)| {
        let Behind { pods, pod_problems, autoscaler } = std::mem::take(&mut pods[index]);
        ServiceState {
            service,
            slices: std::mem::take(&mut slices[index]),
            pods,
            pod_problems,
            events: std::mem::take(&mut events[index]),
            autoscaler,
            revisions: revisions[index].take(),
        }
    });
    Ok(Snapshot {
        services: services.collect(),
        topology,
        nodes,
        orphans,
        cordoned,
        has_pods: objects.pods_listed || !objects.pods.is_empty(),
        pod_labels,
        reports: reports::reports(&objects.leases),
        read_at: objects.read_at,
    })
}

/// The Pods of one Service.
#[derive(Clone, Default)]
struct Behind {
    pods: Vec<Pod>,
    pod_problems: Vec<PodProblem>,
    autoscaler: Option<Autoscaler>,
}

/// The names of nodes that accept no new Pods.
fn cordoned(given: &Collected<core::Node>) -> FxHashSet<String> {
    let is_cordoned = |node: &core::Node| node.spec.as_ref()?.unschedulable.filter(|on| *on);
    let nodes = given.iter().map(|item| &item.object);
    let cordoned = nodes.filter(|node| is_cordoned(node).is_some());
    cordoned.filter_map(|node| node.metadata.name.clone()).collect()
}

fn nodes(
    topology: &mut Topology,
    given: Collected<core::Node>,
) -> Result<Vec<Node>, ManifestError> {
    let mut nodes = Vec::with_capacity(given.len());
    for item in given {
        let converted = convert::node(topology, &item.object);
        let fail = |error| ManifestError::in_field(item.origin, &item.object, error);
        nodes.push(converted.map_err(fail)?);
    }
    nodes.sort_by(|a, b| topology.nodes.name(a.id).cmp(topology.nodes.name(b.id)));
    Ok(nodes)
}

/// Sorted by key, which is what lets [`find`] search.
fn services(given: &Collected<core::Service>) -> Result<Vec<Service>, ManifestError> {
    let mut services = Vec::with_capacity(given.len());
    for item in given {
        let converted = convert::service(&item.object);
        let fail = |error| ManifestError::in_field(item.origin.clone(), &item.object, error);
        services.push(converted.map_err(fail)?);
    }
    services.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(services)
}

/// The place of a Service in the sorted list.
fn find(services: &[Service], namespace: &str, name: &str) -> Option<usize> {
    let wanted = (namespace, name);
    let key =
        |service: &Service| wanted.cmp(&(&service.key.namespace, &service.key.name)).reverse();
    services.binary_search_by(key).ok()
}

/// The slices of each Service by its place, and the missing Services that slices name.
fn slices(
    topology: &mut Topology,
    services: &[Service],
    given: &Collected<EndpointSlice>,
) -> Result<(Vec<Vec<Slice>>, Vec<ServiceKey>), ManifestError> {
    let mut slices = vec![Vec::new(); services.len()];
    let mut orphans = Vec::new();
    for item in given {
        let meta = &item.object.metadata;
        if meta.deletion_timestamp.is_some() {
            continue;
        }
        let converted = convert::endpoint_slice(topology, &item.object);
        let fail = |error| ManifestError::in_field(item.origin.clone(), &item.object, error);
        let slice = converted.map_err(fail)?;
        let Some(name) = slice.labels.get(label::SERVICE_NAME) else {
            continue;
        };
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        match find(services, namespace, name) {
            Some(place) => slices[place].push(slice),
            None => orphans.push(ServiceKey::new(namespace, name.clone())),
        }
    }
    for slices in &mut slices {
        slices.sort_by(|a, b| a.name.cmp(&b.name));
    }
    orphans.sort();
    orphans.dedup();
    Ok((slices, orphans))
}

fn pods(
    topology: &mut Topology,
    services: &[Service],
    scalers: &Autoscalers<'_>,
    given: &Collected<core::Pod>,
) -> Result<Vec<Behind>, ManifestError> {
    let selectors = Selectors::new(services);
    let mut behind = vec![Behind::default(); services.len()];
    for item in given {
        let converted = convert::pod(topology, &item.object);
        let fail = |error| ManifestError::in_field(item.origin.clone(), &item.object, error);
        let pod = converted.map_err(fail)?;
        let problem = pod_problems::problem(&item.object);
        for place in selectors.selecting(&item.object) {
            let behind = &mut behind[place];
            behind.pod_problems.extend(problem.clone());
            behind.pods.push(pod.clone());
            scalers.pick(&item.object, &mut behind.autoscaler);
        }
    }
    for behind in &mut behind {
        behind.pods.sort_by(|a, b| a.name.cmp(&b.name));
        behind.pod_problems.sort_by(|a, b| a.pod.cmp(&b.pod));
    }
    Ok(behind)
}
