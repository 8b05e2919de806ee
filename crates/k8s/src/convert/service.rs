//! Services.

use std::{collections::BTreeMap, net::IpAddr};

use evenkeel_model::{
    AddressType, Exposure, Service, ServiceKey, ServicePort, TargetPort, TrafficPolicy, label,
};

use crate::convert::{
    FieldError, field,
    frontends::{frontends, optional_port},
    parse_ip,
    selector::{self, Selector},
    service_facts::{ServiceFacts, ServicePortFacts, TargetPortFacts},
};

/// A Service. One of type `ExternalName` has no families and no ports: it is only a DNS name.
/// Without `spec.selector`, the selector is that of the annotation [`label::SELECTOR`].
pub fn service(service: &k8s_openapi::api::core::v1::Service) -> Result<Service, FieldError> {
    let Read { service, problem, frontend_problem } = from_facts(service);
    problem.or(frontend_problem).map_or(Ok(service), Err)
}

/// A Service without what is wrong with it.
pub(crate) struct Read {
    pub(crate) service: Service,
    /// The first thing that is wrong of what its slices depend on.
    pub(crate) problem: Option<FieldError>,
    /// The first thing that is wrong with its frontends: its slices don't depend on them.
    pub(crate) frontend_problem: Option<FieldError>,
}

pub(crate) fn from_facts(service: &impl ServiceFacts) -> Read {
    let (mut problem, mut frontend_problem) = (None, None);
    let meta = service.meta();
    let cluster_ip = right(ClusterIp::of(service.cluster_ip()), &mut problem);
    let has_endpoints = service.kind() != Some("ExternalName");
    let annotation = meta.annotation(label::SELECTOR);
    let selector = service.selector().filter(|selector| !selector.is_empty());
    let read = Service {
        key: ServiceKey { namespace: field::text(meta.namespace), name: field::text(meta.name) },
        uid: field::text(meta.uid),
        labels: field::labels(meta.labels),
        annotations: field::labels(meta.annotations),
        selector: right(pick_selector(selector, annotation), &mut problem),
        opted_in: selector.is_none() && annotation.is_some(),
        ports: match has_endpoints {
            true => ports(service, &mut problem, &mut frontend_problem),
            false => Vec::new(),
        },
        families: match has_endpoints {
            true => right(families(service.ip_families(), cluster_ip), &mut problem),
            false => Vec::new(),
        },
        headless: !matches!(cluster_ip, ClusterIp::Assigned(_)),
        cluster_ip_none: cluster_ip == ClusterIp::None,
        external_name: !has_endpoints,
        publish_not_ready: service.publish_not_ready(),
        traffic_distribution: service.traffic_distribution().map(Into::into),
        exposure: exposure(service),
        frontends: frontends(service, cluster_ip, &mut frontend_problem),
        deleting: meta.deleting,
    };
    Read { service: read, problem, frontend_problem }
}

/// What was read, or the default; the first problem is kept.
pub(super) fn right<T: Default>(
    read: Result<T, FieldError>,
    problem: &mut Option<FieldError>,
) -> T {
    read.unwrap_or_else(|error| {
        problem.get_or_insert(error);
        T::default()
    })
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum ClusterIp {
    /// `None` is set: headless.
    None,
    /// Not assigned (yet).
    #[default]
    Missing,
    Assigned(IpAddr),
}

// === impl ClusterIp ===

impl ClusterIp {
    fn of(text: Option<&str>) -> Result<Self, FieldError> {
        match text {
            None | Some("") => Ok(ClusterIp::Missing),
            Some("None") => Ok(ClusterIp::None),
            Some(text) => parse_ip(text).map(ClusterIp::Assigned).ok_or_else(|| {
                let expected = "a cluster IP; expected an IP address or None";
                FieldError::unexpected("spec.clusterIP", text, expected)
            }),
        }
    }
}

/// The annotation of a Service with a selector of its own is ignored: the Service is
/// that of Kubernetes' own controller.
fn pick_selector(
    given: Option<&BTreeMap<String, String>>,
    annotation: Option<&str>,
) -> Result<Option<Selector>, FieldError> {
    match given {
        Some(selector) => Ok(Some(field::labels(Some(selector)))),
        None => annotation.map(selector::parse).transpose(),
    }
}

/// A wrong node port is left out; anything else that is wrong leaves the Service without ports.
fn ports(
    service: &impl ServiceFacts,
    problem: &mut Option<FieldError>,
    frontend_problem: &mut Option<FieldError>,
) -> Vec<ServicePort> {
    let ports = service.ports().enumerate();
    let mut ports: Vec<ServicePort> =
        right(ports.map(|(index, given)| port(index, given)).collect(), problem);
    for (index, (port, given)) in ports.iter_mut().zip(service.ports()).enumerate() {
        let path = || format!("spec.ports[{index}].nodePort");
        port.node_port = right(optional_port(given.node_port, path), frontend_problem);
    }
    ports
}

fn port(index: usize, given: ServicePortFacts<'_>) -> Result<ServicePort, FieldError> {
    let path = |name| move || format!("spec.ports[{index}].{name}");
    let port = field::port(given.number, path("port"))?;
    // The API server fills in a missing, a zero and an empty target port alike.
    let target = match given.target {
        None | Some(TargetPortFacts::Number(0) | TargetPortFacts::Name("")) => {
            TargetPort::Number(port)
        }
        Some(TargetPortFacts::Number(number)) => {
            TargetPort::Number(field::port(number, path("targetPort"))?)
        }
        Some(TargetPortFacts::Name(name)) => TargetPort::Name(name.into()),
    };
    Ok(ServicePort {
        name: field::text(given.name),
        port,
        target,
        protocol: field::protocol(given.protocol, path("protocol"))?,
        app_protocol: given.app_protocol.map(Into::into),
        node_port: None,
    })
}

/// Without `spec.ipFamilies` (an API server fills it in, files may not have it) the families are
/// guessed as the EndpointSlice controller does.
fn families(given: &[String], cluster_ip: ClusterIp) -> Result<Vec<AddressType>, FieldError> {
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

fn exposure(service: &impl ServiceFacts) -> Exposure {
    let policy = |local| {
        if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster }
    };
    let has_external_ips = !service.external_ips().is_empty();
    let honours_policy = match service.kind() {
        Some("NodePort" | "LoadBalancer") => true,
        None | Some("" | "ClusterIP") => has_external_ips,
        Some(_) => false,
    };
    let reachable = service.ports().any(|port| port.node_port != 0)
        || has_external_ips
        || service.ingress().any(|ingress| ingress.ip.is_some_and(|ip| !ip.is_empty()));
    let external = policy(service.external_policy() == Some("Local") && honours_policy);
    Exposure {
        internal: policy(service.internal_policy() == Some("Local")),
        external: reachable.then_some(external),
    }
}
