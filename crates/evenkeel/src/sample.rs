//! The sample cluster of `evenkeel up`: a small shop in three zones.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use evenkeel_k8s::{live, watched::MeshKind};
use evenkeel_model::label;
use futures_util::future::try_join_all;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment},
    core::v1::{Namespace, Node, Service},
    discovery::v1::{Endpoint, EndpointSlice},
};
use kube::{Api, Client, Resource, ResourceExt, api::PostParams, core::DynamicObject};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::Error;

/// The namespace of its Services.
pub(crate) const NAMESPACE: &str = "shop";

/// The Service whose policy can't be satisfied.
pub(crate) const IN_TROUBLE: &str = "cart";

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    namespaces: Vec<Namespace>,
    nodes: Vec<Node>,
    services: Vec<Service>,
    deployments: Vec<Deployment>,
    daemon_sets: Vec<DaemonSet>,
    /// Objects of `kuma.io`.
    mesh: Vec<DynamicObject>,
}

/// A kind is served a moment after its definition was installed.
const SERVED_WITHIN: Duration = Duration::from_secs(10);

/// Ready endpoints, and how many there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    pub ready: usize,
    pub wanted: usize,
}

/// `mesh`: with a mesh of Envoy proxies.
pub(crate) fn three_zones(mesh: bool) -> Sample {
    Sample {
        namespaces: objects(include_str!("../samples/three-zones/namespace.yaml")),
        nodes: objects(include_str!("../samples/three-zones/nodes.yaml")),
        services: objects(include_str!("../samples/three-zones/services.yaml")),
        deployments: objects(include_str!("../samples/three-zones/deployments.yaml")),
        daemon_sets: objects(include_str!("../samples/three-zones/daemonsets.yaml")),
        mesh: match mesh {
            true => objects(include_str!("../samples/three-zones/mesh.yaml")),
            false => Vec::new(),
        },
    }
}

/// Creates the objects that don't exist yet, and leaves the others unchanged.
pub(crate) async fn create(client: &Client, sample: &Sample) -> Result<(), Error> {
    let Sample { namespaces, nodes, services, deployments, daemon_sets, mesh } = sample;
    create_all(&Api::all(client.clone()), namespaces).await?;
    // Nodes before Pods, so that none stays Pending; Services before Pods, so that the controller
    // sees a cluster that is set up in the usual order.
    create_all(&Api::all(client.clone()), nodes).await?;
    create_all(&Api::namespaced(client.clone(), NAMESPACE), services).await?;
    create_all(&Api::namespaced(client.clone(), NAMESPACE), deployments).await?;
    create_all(&Api::namespaced(client.clone(), NAMESPACE), daemon_sets).await?;
    try_join_all(mesh.iter().map(|object| create_custom(client, object))).await?;
    Ok(())
}

impl Sample {
    /// Expected endpoints by Service: a Pod for each replica, or one on each node.
    pub(crate) fn wanted(&self) -> BTreeMap<String, usize> {
        let replicas = |deployment: &Deployment| {
            let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
            usize::try_from(replicas.unwrap_or(1)).unwrap_or(0)
        };
        let deployments = self.deployments.iter().map(|one| (one.name_any(), replicas(one)));
        let daemon_sets = self.daemon_sets.iter().map(|one| (one.name_any(), self.nodes.len()));
        deployments.chain(daemon_sets).collect()
    }
}

/// Counts ready endpoints in `slices`, for each Service at most as many as expected.
pub(crate) fn count(wanted: &BTreeMap<String, usize>, slices: &[EndpointSlice]) -> Endpoints {
    let mut ready: BTreeMap<&str, usize> = BTreeMap::new();
    for slice in slices {
        let Some(service) = slice.labels().get(label::SERVICE_NAME) else { continue };
        let endpoints = slice.endpoints.iter().flatten().filter(|one| is_ready(one));
        *ready.entry(service).or_default() += endpoints.count();
    }
    let of = |(name, &n): (&String, &usize)| ready.get(name.as_str()).map_or(0, |&m| n.min(m));
    Endpoints { ready: wanted.iter().map(of).sum(), wanted: wanted.values().sum() }
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn objects<T: DeserializeOwned>(text: &str) -> Vec<T> {
    serde_saphyr::from_str_multiple(text).expect("the sample is compiled in, and tested")
}

async fn create_all<T>(api: &Api<T>, objects: &[T]) -> Result<(), Error>
where
    T: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let create = async |object: &T| match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(source) => Err(Error::Sample {
            what: format!("{}/{}", T::kind(&()), object.name_any()),
            source: Box::new(source),
        }),
    };
    try_join_all(objects.iter().map(create)).await?;
    Ok(())
}

async fn create_custom(client: &Client, object: &DynamicObject) -> Result<(), Error> {
    let api = api_of(client, object);
    let deadline = tokio::time::Instant::now() + SERVED_WITHIN;
    loop {
        let source = match api.create(&PostParams::default(), object).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_already_exists() => return Ok(()),
            Err(error) => error,
        };
        let is_unknown = matches!(&source, kube::Error::Api(status) if status.is_not_found());
        if !is_unknown || tokio::time::Instant::now() > deadline {
            let kind = object.types.as_ref().map_or("", |types| &types.kind);
            let what = format!("{kind}/{}", object.name_any());
            return Err(Error::Sample { what, source: Box::new(source) });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn api_of(client: &Client, object: &DynamicObject) -> Api<DynamicObject> {
    let kind = object.types.as_ref().and_then(|types| MeshKind::of(&types.kind));
    let kind = kind.expect("the sample is compiled in, and tested");
    let resource = live::mesh_resource(kind);
    match kind.is_namespaced() {
        true => Api::namespaced_with(client.clone(), NAMESPACE, &resource),
        false => Api::all_with(client.clone(), &resource),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::discovery::v1::EndpointConditions;
    use kube::core::ObjectMeta;

    use super::*;

    fn slice(service: &str, ready: &[Option<bool>]) -> EndpointSlice {
        let labels = BTreeMap::from([(label::SERVICE_NAME.to_owned(), service.to_owned())]);
        let endpoint = |&ready: &Option<bool>| Endpoint {
            conditions: Some(EndpointConditions { ready, ..EndpointConditions::default() }),
            ..Endpoint::default()
        };
        EndpointSlice {
            metadata: ObjectMeta { labels: Some(labels), ..ObjectMeta::default() },
            endpoints: Some(ready.iter().map(endpoint).collect()),
            ..EndpointSlice::default()
        }
    }

    #[test]
    fn the_sample_has_three_zones_of_unequal_size_and_six_nodes() {
        let mut zones: BTreeMap<String, u64> = BTreeMap::new();
        let sample = three_zones(false);
        for node in &sample.nodes {
            let status = node.status.as_ref().unwrap();
            let cpu = &status.allocatable.as_ref().unwrap()["cpu"].0;
            *zones.entry(node.labels()[label::ZONE].clone()).or_default() +=
                cpu.parse::<u64>().unwrap();
        }
        assert_eq!(sample.nodes.len(), 6);
        let expected = [("zone-a", 12), ("zone-b", 8), ("zone-c", 4)];
        assert_eq!(zones, expected.map(|(zone, cpu)| (zone.to_owned(), cpu)).into());
    }

    #[test]
    fn every_service_selects_the_pods_of_one_workload() {
        let sample = three_zones(false);
        let wanted = sample.wanted();
        let names: Vec<String> = sample.services.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names.len(), wanted.len());
        assert!(names.iter().any(|name| name == IN_TROUBLE));
        for service in &sample.services {
            let selector = service.spec.as_ref().unwrap().selector.as_ref().unwrap();
            assert_eq!(selector["app"], service.name_any());
            assert!(wanted.contains_key(&service.name_any()), "{}", service.name_any());
        }
        assert_eq!((wanted["web"], wanted[IN_TROUBLE], wanted["dns-cache"]), (6, 2, 6));
    }

    #[test]
    fn the_sample_mesh_is_valid_and_its_policy_has_no_findings() {
        use evenkeel_locality::{
            Compat, lint_resources,
            resource::{Form, parse},
        };
        let sample = three_zones(true);
        assert!(three_zones(false).mesh.is_empty());
        let read = |object: &DynamicObject| {
            let mut value = serde_json::to_value(object).unwrap();
            value["metadata"]["namespace"] = NAMESPACE.into();
            parse(&value, Form::Custom, Compat::Record).unwrap()
        };
        let resources: Vec<_> = sample.mesh.iter().map(read).collect();
        assert_eq!(resources.len(), 9);
        assert_eq!(lint_resources(&resources, None, Compat::Record), []);
        let zones: std::collections::BTreeSet<_> =
            sample.nodes.iter().map(|node| node.labels()[label::ZONE].clone()).collect();
        let text = serde_json::to_string(&sample.mesh).unwrap();
        assert!(zones.iter().all(|zone| text.contains(zone)), "{zones:?}");
    }

    #[test]
    fn endpoints_are_counted_up_to_what_is_wanted() {
        let wanted = [("a".to_owned(), 2), ("b".to_owned(), 1)].into();
        let of = |slices: &[EndpointSlice]| count(&wanted, slices).ready;
        assert_eq!(count(&wanted, &[]), Endpoints { ready: 0, wanted: 3 });
        assert_eq!(of(&[slice("a", &[Some(true), Some(false)]), slice("x", &[None])]), 1);
        assert_eq!(of(&[slice("a", &[None, None, None])]), 2);
        assert_eq!(of(&[slice("a", &[None]), slice("a", &[None]), slice("b", &[None])]), 3);
    }
}
