//! The frontends of a Service. A value that is wrong is left out; the others stay.

use std::{net::IpAddr, num::NonZeroU16};

use evenkeel_model::{
    Cidr, ClientIpAffinity, Few, Frontends, IpMode, LoadBalancerIp, RareFrontends,
};

use crate::convert::{
    FieldError, field, parse_cidr, parse_ip,
    service::{ClusterIp, right},
    service_facts::{IngressFacts, ServiceFacts},
};

/// What Kubernetes' API servers accept: a day.
const LONGEST_AFFINITY: u32 = 86_400;

pub(super) fn frontends(
    service: &impl ServiceFacts,
    cluster_ip: ClusterIp,
    problem: &mut Option<FieldError>,
) -> Frontends {
    let cluster_ips = match (cluster_ip, service.cluster_ips()) {
        (ClusterIp::None | ClusterIp::Missing, _) => Few::None,
        // The API server fills in the list, files may have the first one only.
        (ClusterIp::Assigned(ip), []) => Few::One(ip),
        (ClusterIp::Assigned(_), given) => ips("spec.clusterIPs", given, problem).collect(),
    };
    let ranges = service.source_ranges().iter().enumerate();
    let ingress = service.ingress().enumerate();
    let rare = RareFrontends {
        external_ips: ips("spec.externalIPs", service.external_ips(), problem).collect(),
        load_balancer: ingress
            .filter_map(|(nth, given)| right(load_balancer_ip(nth, given), problem))
            .collect(),
        source_ranges: (ranges.len() > 0).then(|| {
            let read = |(nth, given): (_, &String)| source_range(nth, given).map(Some);
            ranges.filter_map(|range| right(read(range), problem)).collect()
        }),
        affinity: right(affinity(service), problem),
        health_check_node_port: right(
            optional_port(service.health_check_node_port(), || "spec.healthCheckNodePort".into()),
            problem,
        ),
    };
    Frontends::new(cluster_ips, rare)
}

/// 0 is none.
pub(super) fn optional_port(
    number: i64,
    path: impl FnOnce() -> String,
) -> Result<Option<NonZeroU16>, FieldError> {
    if number == 0 { Ok(None) } else { field::port(number, path).map(NonZeroU16::new) }
}

fn ips<'a>(
    path: &'static str,
    given: &'a [String],
    problem: &'a mut Option<FieldError>,
) -> impl Iterator<Item = IpAddr> + 'a {
    given.iter().enumerate().filter_map(move |(nth, text)| {
        let ip = parse_ip(text).map(Some);
        right(ip.ok_or_else(|| not_an_ip(format!("{path}[{nth}]"), text)), problem)
    })
}

fn load_balancer_ip(
    nth: usize,
    given: IngressFacts<'_>,
) -> Result<Option<LoadBalancerIp>, FieldError> {
    let path = |name| format!("status.loadBalancer.ingress[{nth}].{name}");
    let Some(text) = given.ip.filter(|ip| !ip.is_empty()) else { return Ok(None) };
    let ip = parse_ip(text).ok_or_else(|| not_an_ip(path("ip"), text))?;
    let mode = match given.ip_mode {
        None | Some("" | "VIP") => IpMode::Vip,
        Some("Proxy") => IpMode::Proxy,
        Some(other) => {
            let expected = "an IP mode; expected VIP or Proxy";
            return Err(FieldError::unexpected(path("ipMode"), other, expected));
        }
    };
    Ok(Some(LoadBalancerIp { ip, mode }))
}

/// Spaces around a range are allowed, as in Kubernetes.
fn source_range(nth: usize, text: &str) -> Result<Cidr, FieldError> {
    parse_cidr(text.trim()).ok_or_else(|| {
        let path = format!("spec.loadBalancerSourceRanges[{nth}]");
        FieldError::unexpected(path, text, "a range of addresses; expected one like 10.0.0.0/8")
    })
}

fn affinity(service: &impl ServiceFacts) -> Result<Option<ClientIpAffinity>, FieldError> {
    match service.affinity() {
        None | Some("" | "None") => return Ok(None),
        Some("ClientIP") => {}
        Some(other) => {
            let expected = "a session affinity; expected ClientIP or None";
            return Err(FieldError::unexpected("spec.sessionAffinity", other, expected));
        }
    }
    let Some(given) = service.affinity_timeout() else {
        return Ok(Some(ClientIpAffinity::default()));
    };
    let timeout =
        u32::try_from(given).ok().filter(|seconds| (1..=LONGEST_AFFINITY).contains(seconds));
    let timeout_seconds = timeout.ok_or_else(|| {
        let path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        FieldError::new(path, format!("{given} is not a timeout; expected 1 to 86400 seconds"))
    })?;
    Ok(Some(ClientIpAffinity { timeout_seconds }))
}

fn not_an_ip(path: String, text: &str) -> FieldError {
    FieldError::unexpected(path, text, "an IP address")
}
