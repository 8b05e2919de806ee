//! The sample cluster of `evenkeel up`: a small shop in three zones.

use std::{collections::BTreeMap, fmt::Debug};

use evenkeel_model::label;
use futures_util::future::try_join_all;
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment},
    core::v1::{Namespace, Node, Service},
    discovery::v1::{Endpoint, EndpointSlice},
};
use kube::{Api, Client, Resource, ResourceExt, api::PostParams};
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
}

/// Ready endpoints, and how many there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    pub ready: usize,
    pub wanted: usize,
}

pub(crate) fn three_zones() -> Sample {
    Sample {
        namespaces: objects(include_str!("../samples/three-zones/namespace.yaml")),
        nodes: objects(include_str!("../samples/three-zones/nodes.yaml")),
        services: objects(include_str!("../samples/three-zones/services.yaml")),
        deployments: objects(include_str!("../samples/three-zones/deployments.yaml")),
        daemon_sets: objects(include_str!("../samples/three-zones/daemonsets.yaml")),
    }
}

/// Creates the objects that don't exist yet, and leaves the others unchanged.
pub(crate) async fn create(client: &Client, sample: &Sample) -> Result<(), Error> {
    let Sample { namespaces, nodes, services, deployments, daemon_sets } = sample;
    create_all(&Api::all(client.clone()), namespaces).await?;
    // Nodes before Pods, so that none stays Pending; Services before Pods, so that the controller
    // sees a cluster that is set up in the usual order.
    create_all(&Api::all(client.clone()), nodes).await?;
    create_all(&Api::namespaced(client.clone(), NAMESPACE), services).await?;
    create_all(&Api::namespaced(client.clone(), NAMESPACE), deployments).await?;
    create_all(&Api::namespaced(client.clone(), NAMESPACE), daemon_sets).await
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
        let sample = three_zones();
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
        let sample = three_zones();
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
    fn endpoints_are_counted_up_to_what_is_wanted() {
        let wanted = [("a".to_owned(), 2), ("b".to_owned(), 1)].into();
        let of = |slices: &[EndpointSlice]| count(&wanted, slices).ready;
        assert_eq!(count(&wanted, &[]), Endpoints { ready: 0, wanted: 3 });
        assert_eq!(of(&[slice("a", &[Some(true), Some(false)]), slice("x", &[None])]), 1);
        assert_eq!(of(&[slice("a", &[None, None, None])]), 2);
        assert_eq!(of(&[slice("a", &[None]), slice("a", &[None]), slice("b", &[None])]), 3);
    }
}
