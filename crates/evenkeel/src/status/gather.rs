//! Reads the facts from a cluster. What can't be had is a fact too.

use std::{
    env,
    fmt::Debug,
    path::{Path, PathBuf},
};

use evenkeel_k8s::live::{self, LiveError};
use evenkeel_model::{ServiceKey, label};
use jiff::Timestamp;
use k8s_openapi::api::{
    coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
};
use kube::{Api, Client, Resource, ResourceExt, api::ListParams};
use serde::de::DeserializeOwned;

use super::{
    LeaseName,
    facts::{Asked, Cluster, Condition, Facts, Failure, Lease, Metrics, Node, Service, Slice},
    metrics,
};
use crate::{
    controller::{ClusterArgs, access},
    error::Error,
    up::places::Places,
};

/// As large as `kubectl` asks for.
const PAGE: u32 = 500;

/// Ends the types of the conditions that the controller writes, with and without prefix.
const CONDITIONS: [&str; 2] = ["TrafficDistributionAccepted", "TrafficDistributionProgrammed"];

const FAILED: &str = "reason=FailedToUpdateEndpointSlices";

pub(super) async fn facts(
    cluster: &ClusterArgs,
    leases: &[LeaseName],
    metrics: Option<&str>,
) -> Facts {
    let connected = live::client(cluster.kubeconfig.clone(), cluster.context.clone()).await;
    let client = match connected {
        Ok(client) => client,
        Err(LiveError::NoCluster) => {
            let error = Error::NoCluster;
            return Facts::Unreachable { problem: error.to_string(), help: error.help() };
        }
        Err(error) => {
            return Facts::Unreachable { problem: error.to_string(), help: error.help() };
        }
    };
    let (lease_name, lease) = first_lease(&client, leases).await;
    let kubeconfig = cluster.kubeconfig.clone();
    let kubeconfig = kubeconfig.or_else(|| env::var_os("KUBECONFIG").map(PathBuf::from));
    let url = metrics_url(metrics, kubeconfig.as_deref());
    let (version, access, nodes, services, slices, failures, metrics) = tokio::join!(
        client.apiserver_version(),
        access::ask(&client, Some((&lease_name.namespace, &lease_name.name))),
        all::<core::Node>(&client, ListParams::default()),
        all::<core::Service>(&client, ListParams::default()),
        all::<discovery::EndpointSlice>(&client, ListParams::default()),
        all::<core::Event>(&client, ListParams::default().fields(FAILED)),
        read_metrics(url),
    );
    Facts::Reached(Box::new(Cluster {
        version: version.map(|info| info.git_version).map_err(problem),
        now: Timestamp::now().as_second(),
        access,
        nodes: nodes.map(|all| all.iter().map(node).collect()),
        lease_name,
        lease,
        services: services.map(|all| all.iter().map(service).collect()),
        slices: slices.map(|all| all.iter().filter_map(slice).collect()),
        failures: failures.map(|all| all.iter().map(failure).collect()),
        metrics,
    }))
}

/// What is named, or what `evenkeel up` has noted beside its kubeconfig.
fn metrics_url(given: Option<&str>, kubeconfig: Option<&Path>) -> Option<String> {
    given.map(ToOwned::to_owned).or_else(|| {
        let places = Places::read(kubeconfig?)?;
        Some(format!("{}/metrics", places.of("controller")?))
    })
}

async fn read_metrics(url: Option<String>) -> Metrics {
    match url {
        Some(url) => metrics::read(&url).await,
        None => Metrics::NotAsked,
    }
}

/// All objects of a kind, page by page.
async fn all<T>(client: &Client, params: ListParams) -> Asked<Vec<T>>
where
    T: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<T> = Api::all(client.clone());
    let mut page = params.limit(PAGE);
    let mut all = Vec::new();
    loop {
        let list = api.list(&page).await.map_err(problem)?;
        all.extend(list.items);
        match list.metadata.continue_ {
            Some(token) if !token.is_empty() => page.continue_token = Some(token),
            _ => return Ok(all),
        }
    }
}

/// The first of these Leases that exists, or else the first of them.
async fn first_lease(client: &Client, names: &[LeaseName]) -> (LeaseName, Asked<Option<Lease>>) {
    let mut missed = None;
    for name in names {
        let found = lease(client, name).await;
        if matches!(found, Ok(Some(_))) {
            return (name.clone(), found);
        }
        missed.get_or_insert((name.clone(), found));
    }
    missed.expect("there is a Lease to look for")
}

async fn lease(client: &Client, name: &LeaseName) -> Asked<Option<Lease>> {
    let api: Api<coordination::Lease> = Api::namespaced(client.clone(), &name.namespace);
    let lease = api.get_opt(&name.name).await.map_err(problem)?;
    let spec = lease.map(|lease| lease.spec.unwrap_or_default());
    Ok(spec.map(|spec| Lease {
        holder: spec.holder_identity,
        renewed: spec.renew_time.map(|time| time.0.as_second()),
        duration_seconds: spec.lease_duration_seconds.unwrap_or(0).into(),
    }))
}

fn node(node: &core::Node) -> Node {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let is_ready =
        |condition: &core::NodeCondition| condition.type_ == "Ready" && condition.status == "True";
    let labels = node.labels();
    let is_control_plane = |name: &&str| labels.contains_key(*name);
    let cpu = status.and_then(|status| status.allocatable.as_ref()?.get("cpu"));
    Node {
        name: node.name_any(),
        is_ready: conditions.into_iter().any(is_ready),
        is_control_plane: [label::CONTROL_PLANE, label::MASTER].iter().any(is_control_plane),
        zone: labels.get(label::ZONE).filter(|zone| !zone.is_empty()).cloned(),
        has_cpu: cpu.is_some_and(|cpu| cpu.0.contains(|digit: char| ('1'..='9').contains(&digit))),
    }
}

fn service(service: &core::Service) -> Service {
    let spec = service.spec.as_ref();
    let is_named = spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName");
    let selector = spec.and_then(|spec| spec.selector.as_ref());
    let has_selector = selector.is_some_and(|selector| !selector.is_empty())
        || service.annotations().contains_key(label::SELECTOR);
    let status = service.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let is_ours = |kind: &str| CONDITIONS.iter().any(|ours| kind.ends_with(ours));
    Service {
        key: key(service),
        created: service.creation_timestamp().map(|time| time.0.as_second()),
        has_selector: has_selector && !is_named,
        conditions: conditions
            .filter(|condition| is_ours(&condition.type_))
            .map(|condition| Condition {
                kind: condition.type_.clone(),
                status: condition.status == "True",
                reason: condition.reason.clone(),
                message: condition.message.clone(),
            })
            .collect(),
    }
}

/// `None` for a slice that belongs to no Service.
fn slice(slice: &discovery::EndpointSlice) -> Option<Slice> {
    let labels = slice.labels();
    let namespace = slice.namespace().unwrap_or_default();
    Some(Slice {
        service: ServiceKey::new(&*namespace, labels.get(label::SERVICE_NAME)?.as_str()),
        manager: labels.get(label::MANAGED_BY).cloned().unwrap_or_default(),
        endpoints: slice.endpoints.as_ref().map_or(0, Vec::len),
    })
}

fn failure(event: &core::Event) -> Failure {
    let about = &event.involved_object;
    let namespace = about.namespace.as_deref().unwrap_or_default();
    let last = event.last_timestamp.as_ref().map(|time| time.0.as_second());
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let series = series.map(|time| time.0.as_second());
    let first = event.event_time.as_ref().map(|time| time.0.as_second());
    Failure {
        service: ServiceKey::new(namespace, about.name.as_deref().unwrap_or_default()),
        at: last.max(series).max(first),
        message: event.message.clone().unwrap_or_default(),
    }
}

fn key(object: &core::Service) -> ServiceKey {
    ServiceKey::new(&*object.namespace().unwrap_or_default(), &*object.name_any())
}

/// The innermost words: what the server said, or why there was no answer.
fn problem(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        error => error.to_string(),
    }
}
