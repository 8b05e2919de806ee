//! Why endpoints are in a group, or in none.

use core::net::SocketAddr;
use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

/// One for each zone, or for each tag of the client's zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AssignReason {
    /// In the client's zone, with the client's value of an affinity tag.
    SharesTag { zone: Arc<str>, key: Arc<str>, value: Arc<str>, weight: u32, endpoints: usize },
    /// In the client's zone, with none of the client's values of affinity tags.
    OwnZone { zone: Arc<str>, endpoints: usize },
    /// No policy: another zone is used when the client's own has too few healthy endpoints.
    OtherZone { zone: Arc<str>, priority: u32, endpoints: usize },
    /// Locality awareness is disabled.
    AllAlike { zone: Arc<str>, endpoints: usize },
    /// No policy: the own topology of a Service of Kubernetes selects these.
    Selected { zone: Arc<str>, rule: &'static str, weight: u32, endpoints: usize },
    /// Left out: the own topology of a Service of Kubernetes selects others.
    NotSelected { zone: Arc<str>, rule: &'static str, endpoints: usize },
    /// A failover rule accepts the zone.
    AcceptedByRule { zone: Arc<str>, rule: u32, priority: u32, endpoints: usize },
    /// Left out: the policy has no failover rules.
    NoRules { zone: Arc<str>, endpoints: usize },
    /// Left out: no failover rule is for the client's zone.
    NoRuleForClient { zone: Arc<str>, client_zone: Arc<str>, endpoints: usize },
    /// Left out: the rules for the client's zone name other zones.
    NoRuleAccepts { zone: Arc<str>, endpoints: usize },
    /// Left out: an AnyExcept names the zone, and no other rule accepts it.
    ExcludedByRule { zone: Arc<str>, rule: u32, endpoints: usize },
    /// Left out: a None ends the rules for the client's zone.
    StoppedByRule { zone: Arc<str>, rule: u32, endpoints: usize },
    /// Left out: an endpoint with the same address and port is kept, and Envoy uses only one.
    SameAddress { zone: Arc<str>, address: SocketAddr, kept_in: Arc<str>, endpoints: usize },
    /// Sent, but Envoy uses only the endpoint of another zone with the same address and port.
    AddressInTwoZones { zone: Arc<str>, address: SocketAddr, used_in: Arc<str>, endpoints: usize },
}

impl Reason for AssignReason {}

impl fmt::Display for AssignReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharesTag { key, value, weight, endpoints, .. } => {
                write!(f, "{} of the client's zone: {key}={value}, weight {weight}", n(*endpoints))
            }
            Self::OwnZone { zone, endpoints } => {
                write!(f, "{} of the client's {}", n(*endpoints), named(zone))
            }
            Self::OtherZone { zone, priority, endpoints } => {
                let zone = named(zone);
                write!(f, "{} of {zone}: another zone, priority {priority}", n(*endpoints))
            }
            Self::AllAlike { zone, endpoints } => {
                let zone = named(zone);
                write!(f, "{} of {zone}: locality awareness is disabled", n(*endpoints))
            }
            Self::Selected { zone, rule, weight, endpoints } => {
                let zone = named(zone);
                let n = n(*endpoints);
                write!(
                    f,
                    "{n} of {zone}: selected by the Service's topology ({rule}), weight {weight}"
                )
            }
            Self::AcceptedByRule { zone, rule, priority, endpoints } => {
                let zone = named(zone);
                write!(f, "{} of {zone}: failover rule {rule}, priority {priority}", n(*endpoints))
            }
            left_out => left_out.fmt_left_out(f),
        }
    }
}

impl AssignReason {
    fn fmt_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left_out = |endpoints: &usize, zone: &str, why: fmt::Arguments<'_>| {
            write!(f, "{} of {} left out: {why}", n(*endpoints), named(zone))
        };
        match self {
            Self::NoRules { zone, endpoints } => {
                left_out(endpoints, zone, format_args!("the policy has no failover rules"))
            }
            Self::NotSelected { zone, rule, endpoints } => {
                let why = format_args!("not selected by the Service's topology ({rule})");
                left_out(endpoints, zone, why)
            }
            Self::NoRuleForClient { zone, client_zone, endpoints } => {
                let client = named(client_zone);
                left_out(endpoints, zone, format_args!("no failover rule is for {client}"))
            }
            Self::NoRuleAccepts { zone, endpoints } => {
                left_out(endpoints, zone, format_args!("no failover rule names it"))
            }
            Self::ExcludedByRule { zone, rule, endpoints } => {
                left_out(endpoints, zone, format_args!("failover rule {rule} excludes it"))
            }
            Self::StoppedByRule { zone, rule, endpoints } => {
                left_out(endpoints, zone, format_args!("failover rule {rule} (None) ends the list"))
            }
            Self::SameAddress { zone, address, kept_in, endpoints } => {
                let kept = named(kept_in);
                let why = format_args!("same address as one of {kept}, such as {address}");
                left_out(endpoints, zone, why)
            }
            Self::AddressInTwoZones { zone, address, used_in, endpoints } => {
                let used = named(used_in);
                write!(
                    f,
                    "{} of {} not used by Envoy: same address as one of {used}, such as {address}",
                    n(*endpoints),
                    named(zone)
                )
            }
            _ => Ok(()),
        }
    }
}

fn n(endpoints: usize) -> String {
    match endpoints {
        1 => "1 endpoint".to_owned(),
        n => format!("{n} endpoints"),
    }
}

fn named(zone: &str) -> String {
    if zone.is_empty() { "no zone".to_owned() } else { format!("zone {zone}") }
}
