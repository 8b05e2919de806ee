//! Reads the facts from a cluster. What can't be read is a fact too.

use std::fmt::Debug;

use evenkeel_k8s::live;
use evenkeel_model::{Names, ServiceKey, SharesAnnotation, label};
use evenkeel_topology::{Gates, Policy, policy};
use jiff::Timestamp;
use k8s_openapi::api::{
    coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
};
use kube::{Api, Client, Resource, ResourceExt, api::ListParams};
use serde::de::DeserializeOwned;

use super::{
    LeaseName, StatusArgs,
    facts::{
        Cluster, Condition, Facts, Failure, Fetched, Lease, Mesh, Metrics, Node, Proxy, Service,
        Shares, Slice, Unreachable, current_lease,
    },
    mesh, metrics,
};
use crate::{
    controller::{LEASE_NAME, LEASE_NAMESPACE, access},
    error::Error,
    up::components::{self, Components},
};

/// As large as `kubectl` asks for.
const PAGE: u32 = 500;

/// Suffixes of the condition types that the controller writes, with and without prefix.
const CONDITIONS: [&str; 3] =
    ["TrafficDistributionAccepted", "TrafficDistributionProgrammed", "TrafficDistributionHonored"];

/// The namespace of the Lease as `deploy/` has it.
const DEPLOYED: &str = "evenkeel-system";

const FAILED: &str = "reason=FailedToUpdateEndpointSlices";

pub(super) async fn facts(args: &StatusArgs) -> Facts {
    let source = match args.cluster.source() {
        Ok(source) => source,
        Err(error) => return Facts { source: None, cluster: Err(unreachable(&error)) },
    };
    let client = match live::client(&source).await {
        Ok(client) => client,
        Err(error) => {
            let cluster = Err(unreachable(&error.into()));
            return Facts { source: Some(source), cluster };
        }
    };
    let components = Components::of(&source);
    let metrics = args
        .metrics
        .clone()
        .or_else(|| Some(format!("{}/metrics", components.as_ref()?.address("controller")?)));
    let mesh = args.control_plane_admin.clone();
    let mesh =
        mesh.or_else(|| components.as_ref()?.address(components::MESH).map(ToOwned::to_owned));
    let (cluster, mesh) =
        tokio::join!(cluster(&client, args.lease.as_ref(), metrics), read_mesh(mesh));
    let cluster = Cluster { mesh, ..cluster };
    Facts { source: Some(source), cluster: Ok(Box::new(cluster)) }
}

fn unreachable(error: &Error) -> Unreachable {
    Unreachable { problem: error.to_string(), help: error.help() }
}

/// `lease`: the only one to look at; `None` for those that a controller uses by default.
async fn cluster(client: &Client, lease: Option<&LeaseName>, metrics: Option<String>) -> Cluster {
    let now = Timestamp::now().as_second();
    let leases = leases(client, lease).await;
    let current = leases.as_ref().ok().and_then(|leases| current_lease(leases, now));
    let current = current.map(|lease| &lease.name).or(lease);
    let (namespace, name) = current
        .map_or((LEASE_NAMESPACE, LEASE_NAME), |LeaseName { namespace, name }| (namespace, name));
    let reports = ListParams::default().labels(&format!("{}={}", label::COMPONENT, label::PROXY));
    let (version, access, nodes, services, slices, failures, metrics, proxies) = tokio::join!(
        client.apiserver_version(),
        access::ask(client, Some((namespace, name))),
        all::<core::Node>(client, ListParams::default()),
        all::<core::Service>(client, ListParams::default()),
        all::<discovery::EndpointSlice>(client, ListParams::default()),
        all::<core::Event>(client, ListParams::default().fields(FAILED)),
        read_metrics(metrics),
        all::<coordination::Lease>(client, reports),
    );
    Cluster {
        version: version.map(|info| info.git_version).map_err(problem),
        now,
        access,
        nodes: nodes.map(|all| all.iter().map(node).collect()),
        leases,
        proxies: proxies.map(|all| all.iter().filter_map(proxy).collect()),
        services: services.map(|all| all.iter().map(service).collect()),
        slices: slices.map(|all| all.iter().filter_map(slice).collect()),
        failures: failures.map(|all| all.iter().map(failure).collect()),
        metrics,
        mesh: None,
    }
}

async fn read_mesh(url: Option<String>) -> Option<Mesh> {
    Some(mesh::read(&url?).await)
}

async fn read_metrics(url: Option<String>) -> Metrics {
    match url {
        Some(url) => metrics::read(&url).await,
        None => Metrics::NotChecked,
    }
}

/// All objects of a kind, page by page.
async fn all<T>(client: &Client, params: ListParams) -> Fetched<Vec<T>>
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

/// The Leases of controllers. By default they are looked for in all namespaces, and where that is
/// not allowed, in those that the flags and `deploy/` use.
async fn leases(client: &Client, given: Option<&LeaseName>) -> Fetched<Vec<Lease>> {
    if let Some(name) = given {
        return Ok(get_lease(client, &name.namespace, &name.name).await?.into_iter().collect());
    }
    let named = ListParams::default().fields(&format!("metadata.name={LEASE_NAME}"));
    if let Ok(found) = all::<coordination::Lease>(client, named).await {
        return Ok(found.iter().map(lease).collect());
    }
    let mut found = Vec::new();
    for namespace in [LEASE_NAMESPACE, DEPLOYED] {
        found.extend(get_lease(client, namespace, LEASE_NAME).await?);
    }
    Ok(found)
}

async fn get_lease(client: &Client, namespace: &str, name: &str) -> Fetched<Option<Lease>> {
    let api: Api<coordination::Lease> = Api::namespaced(client.clone(), namespace);
    Ok(api.get_opt(name).await.map_err(problem)?.as_ref().map(lease))
}

fn lease(lease: &coordination::Lease) -> Lease {
    let spec = lease.spec.clone().unwrap_or_default();
    Lease {
        name: LeaseName {
            namespace: lease.namespace().unwrap_or_default(),
            name: lease.name_any(),
        },
        holder: spec.holder_identity,
        renewed: spec.renew_time.map(|time| time.0.as_second()),
        duration_seconds: spec.lease_duration_seconds.unwrap_or(0).into(),
    }
}

/// `None` for a Lease that can't be read: its node counts as one without.
fn proxy(lease: &coordination::Lease) -> Option<Proxy> {
    let seen = evenkeel_k8s::convert::report(lease).ok()?;
    Some(Proxy {
        node: seen.report.node.to_string(),
        renewed: seen.renewed,
        valid_for_seconds: i64::try_from(seen.valid_for.as_secs()).unwrap_or(i64::MAX),
        exceptions: seen.report.exceptions.len() + seen.report.left_out,
    })
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
        is_cordoned: node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)),
        is_control_plane: [label::CONTROL_PLANE, label::MASTER].iter().any(is_control_plane),
        zone: labels.get(label::ZONE).filter(|zone| !zone.is_empty()).cloned(),
        region: labels.get(label::REGION).filter(|region| !region.is_empty()).cloned(),
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
        policy: policy(service),
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

/// None for a Service that can't be read: other checks report it.
fn policy(service: &core::Service) -> Policy {
    let read = evenkeel_k8s::convert::service(service).ok();
    read.map_or(Policy::None, |read| policy::requested(&read, Gates::ALL_ON).policy)
}

fn shares(slice: &discovery::EndpointSlice) -> Shares {
    let Some(text) = slice.annotations().get(label::ZONE_SHARES) else {
        return Shares::None;
    };
    match evenkeel_k8s::convert::zone_shares(text, &mut Names::default()) {
        SharesAnnotation::Valid(_) => Shares::Valid,
        SharesAnnotation::Invalid(error) => Shares::Invalid(error.to_string()),
    }
}

/// `None` for a slice that belongs to no Service.
fn slice(slice: &discovery::EndpointSlice) -> Option<Slice> {
    let labels = slice.labels();
    let namespace = slice.namespace().unwrap_or_default();
    let endpoints = || slice.endpoints.iter().flatten();
    let is_ready = |endpoint: &&discovery::Endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions.and_then(|conditions| conditions.ready) != Some(false)
    };
    Some(Slice {
        service: ServiceKey::new(&*namespace, labels.get(label::SERVICE_NAME)?.as_str()),
        manager: labels.get(label::MANAGED_BY).cloned().unwrap_or_default(),
        endpoints: endpoints().count(),
        ready: endpoints().filter(is_ready).count(),
        shares: shares(slice),
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

/// What the server answered, or why there was no answer.
fn problem(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        error => live::innermost(&error),
    }
}
