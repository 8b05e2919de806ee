//! Services.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use evenkeel_model::{
    AddressType, Exposure, Service, ServiceKey, ServicePort, TargetPort, TrafficPolicy,
};
use k8s_openapi::{api::core::v1 as core, apimachinery::pkg::util::intstr::IntOrString};

use crate::convert::{FieldError, field, parse_ip};

/// A Service. One of type `ExternalName` has no families and no ports: it is only a DNS name.
pub fn service(service: &core::Service) -> Result<Service, FieldError> {
    let none = core::ServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&none);
    let meta = &service.metadata;
    let cluster_ip = ClusterIp::of(spec)?;
    let has_endpoints = spec.type_.as_deref() != Some("ExternalName");
    Ok(Service {
        key: ServiceKey {
            namespace: field::text(meta.namespace.as_deref()),
            name: field::text(meta.name.as_deref()),
        },
        uid: field::text(meta.uid.as_deref()),
        labels: field::labels(meta.labels.as_ref()),
        annotations: field::labels(meta.annotations.as_ref()),
        selector: selector(spec),
        ports: if has_endpoints { ports(spec)? } else { Vec::new() },
        families: if has_endpoints { families(spec, cluster_ip)? } else { Vec::new() },
        headless: !matches!(cluster_ip, ClusterIp::Assigned(_)),
        cluster_ip_none: cluster_ip == ClusterIp::None,
        external_name: !has_endpoints,
        publish_not_ready: spec.publish_not_ready_addresses == Some(true),
        traffic_distribution: spec.traffic_distribution.as_deref().map(Into::into),
        exposure: exposure(service, spec),
        deleting: meta.deletion_timestamp.is_some(),
    })
}

#[derive(Clone, Copy, PartialEq)]
enum ClusterIp {
    /// Headless by wish.
    None,
    /// Not assigned (yet).
    Missing,
    Assigned(IpAddr),
}

// === impl ClusterIp ===

impl ClusterIp {
    fn of(spec: &core::ServiceSpec) -> Result<Self, FieldError> {
        match spec.cluster_ip.as_deref() {
            None | Some("") => Ok(ClusterIp::Missing),
            Some("None") => Ok(ClusterIp::None),
            Some(text) => parse_ip(text).map(ClusterIp::Assigned).ok_or_else(|| {
                let expected = "a cluster IP; expected an IP address or None";
                FieldError::unexpected("spec.clusterIP", text, expected)
            }),
        }
    }
}

fn selector(spec: &core::ServiceSpec) -> Option<BTreeMap<Arc<str>, Arc<str>>> {
    let selector = spec.selector.as_ref()?;
    (!selector.is_empty()).then(|| field::labels(Some(selector)))
}

fn ports(spec: &core::ServiceSpec) -> Result<Vec<ServicePort>, FieldError> {
    let ports = spec.ports.iter().flatten().enumerate();
    ports.map(|(index, given)| port(index, given)).collect()
}

fn port(index: usize, given: &core::ServicePort) -> Result<ServicePort, FieldError> {
    let path = |name| move || format!("spec.ports[{index}].{name}");
    let port = field::port(given.port, path("port"))?;
    // The API server fills in a missing, a zero and an empty target port alike.
    let target = match &given.target_port {
        None | Some(IntOrString::Int(0)) => TargetPort::Number(port),
        Some(IntOrString::Int(number)) => {
            TargetPort::Number(field::port(*number, path("targetPort"))?)
        }
        Some(IntOrString::String(name)) if name.is_empty() => TargetPort::Number(port),
        Some(IntOrString::String(name)) => TargetPort::Name(name.as_str().into()),
    };
    Ok(ServicePort {
        name: field::text(given.name.as_deref()),
        port,
        target,
        protocol: field::protocol(given.protocol.as_deref(), path("protocol"))?,
        app_protocol: given.app_protocol.as_deref().map(Into::into),
    })
}

/// Without `spec.ipFamilies` (an API server fills it in, files may not have it) the families are
/// guessed as the EndpointSlice controller does.
fn families(
    spec: &core::ServiceSpec,
    cluster_ip: ClusterIp,
) -> Result<Vec<AddressType>, FieldError> {
    let given = spec.ip_families.as_deref().unwrap_or_default();
    if given.is_empty() {
        return Ok(match cluster_ip {
            ClusterIp::Assigned(IpAddr::V4(_)) => vec![AddressType::IPv4],
            ClusterIp::Assigned(IpAddr::V6(_)) => vec![AddressType::IPv6],
            ClusterIp::None | ClusterIp::Missing => vec![AddressType::IPv4, AddressType::IPv6],
        });
    }
    let family = |(index, name): (usize, &String)| match name.as_str() {
        "IPv4" => Ok(AddressType::IPv4),
        "IPv6" => Ok(AddressType::IPv6),
        other => {
            let path = format!("spec.ipFamilies[{index}]");
            let expected = "an IP family; expected IPv4 or IPv6";
            Err(FieldError::unexpected(path, other, expected))
        }
    };
    given.iter().enumerate().map(family).collect()
}

fn exposure(service: &core::Service, spec: &core::ServiceSpec) -> Exposure {
    let is_local = |policy: &Option<String>| policy.as_deref() == Some("Local");
    let policy = |local| {
        if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster }
    };
    let has_external_ips = spec.external_ips.as_ref().is_some_and(|ips| !ips.is_empty());
    let honours_policy = match spec.type_.as_deref() {
        Some("NodePort" | "LoadBalancer") => true,
        None | Some("" | "ClusterIP") => has_external_ips,
        Some(_) => false,
    };
    let mut ports = spec.ports.iter().flatten();
    let reachable = ports.any(|port| port.node_port.unwrap_or(0) != 0)
        || has_external_ips
        || has_ingress_ip(service);
    let external = policy(is_local(&spec.external_traffic_policy) && honours_policy);
    Exposure {
        internal: policy(is_local(&spec.internal_traffic_policy)),
        external: reachable.then_some(external),
    }
}

fn has_ingress_ip(service: &core::Service) -> bool {
    let status = service.status.as_ref();
    let balancer = status.and_then(|status| status.load_balancer.as_ref());
    let mut ingress = balancer.into_iter().flat_map(|b| b.ingress.iter().flatten());
    ingress.any(|ingress| ingress.ip.as_ref().is_some_and(|ip| !ip.is_empty()))
}
