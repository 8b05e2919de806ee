//! The constraints of the docs page ("Constraints"), where they apply to this cluster.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use super::{
    FamilyView, Subject,
    load::{ZoneLoad, is_overload, loads},
    own,
};
use crate::{
    Policy,
    auto::bounds::next_possible,
    reason::{count, percent},
    region::MOST_ZONES,
};

/// A circumstance that limits what the policy achieves. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Warning {
    ManyNodesUnready {
        unready: usize,
        workers: usize,
    },
    PodsRestrictedToNodes {
        pods: usize,
    },
    /// Clients of the zone load its endpoints with `load` times their fair share.
    ZoneOverloaded {
        zone: Arc<str>,
        endpoints: u32,
        load: f64,
    },
    ZoneWithoutEndpoint {
        zone: Arc<str>,
    },
    Autoscaled {
        autoscaler: Arc<str>,
        max_replicas: u32,
    },
    /// Auto removes hints at these numbers between the autoscaler's bounds.
    HintsUnstable {
        replicas: Vec<u32>,
    },
    LocalPolicyIgnoresHints,
    Headless,
    /// The nodes' proxy does not know zone shares. `has_hints`: it follows the hints of Auto instead.
    SharesNotHonoured {
        has_hints: bool,
    },
    /// The worst case while some nodes apply zone shares and others follow hints: with the nodes of
    /// `aware_zones` applying them, an endpoint in `zone` gets `load` times its fair share.
    UnevenAdoption {
        aware_zones: Vec<Arc<str>>,
        zone: Arc<str>,
        load: f64,
    },
    /// RequireSameZone: the nodes' proxy only prefers the zone.
    RequirementNotEnforced,
    /// RequireSameZone: clients in these zones are refused, or would be if the policy were enforced.
    RequiredZonesEmpty {
        zones: Vec<Arc<str>>,
        enforced: bool,
    },
    /// RequireSameZone: clients on nodes without a zone are refused, or would be.
    RequiredZoneUnknown {
        nodes: usize,
        first: Arc<str>,
        enforced: bool,
    },
    /// Some worker nodes have no region label.
    RegionLabelsMissing {
        nodes: usize,
        of: usize,
        first: Arc<str>,
    },
    /// Nodes of a zone name several regions. The one that most of them name counts.
    ZoneInSeveralRegions {
        zone: Arc<str>,
        regions: Vec<Arc<str>>,
        counts: Arc<str>,
    },
    /// A region has more zones than an endpoint can be hinted for, so zone shares name them.
    RegionByShares {
        zones: usize,
    },
}

pub(super) fn warnings(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let service = &subject.state.service;
    if subject.requested.policy == Policy::None || service.external_name {
        return warnings;
    }
    if service.cluster_ip_none {
        warnings.push(Warning::Headless);
    }
    if service.exposure.uses_local() {
        warnings.push(Warning::LocalPolicyIgnoresHints);
    }
    let (unready, workers) = subject.unready_workers();
    if unready * 5 > workers {
        warnings.push(Warning::ManyNodesUnready { unready, workers });
    }
    let confined = subject.state.pods.iter().filter(|pod| pod.confined).count();
    if confined > 0 {
        warnings.push(Warning::PodsRestrictedToNodes { pods: confined });
    }
    warnings.extend(zones(subject));
    warnings.extend(own::warnings(subject, families));
    warnings.extend(autoscaling(subject));
    warnings
}

/// Zones with too few endpoints for their share of the CPU. Policies that keep traffic in its zone
/// don't balance that.
pub(crate) fn zones(subject: &Subject<'_>) -> Vec<Warning> {
    let policy = subject.requested.policy;
    if matches!(policy, Policy::Auto | Policy::Balanced | Policy::PreferSameRegion) {
        return Vec::new();
    }
    let warning = |ZoneLoad { zone, endpoints, load }: ZoneLoad| match load {
        // It has a warning of its own.
        None if policy == Policy::RequireSameZone => None,
        None => Some(Warning::ZoneWithoutEndpoint { zone }),
        Some(load) if is_overload(subject, load) => {
            Some(Warning::ZoneOverloaded { zone, endpoints, load })
        }
        Some(_) => None,
    };
    loads(subject).into_iter().filter_map(warning).collect()
}

fn autoscaling(subject: &Subject<'_>) -> Vec<Warning> {
    let Some(autoscaler) = &subject.state.autoscaler else {
        return Vec::new();
    };
    // All endpoints get the same, wherever they are.
    if subject.requested.policy == Policy::Balanced {
        return Vec::new();
    }
    let mut warnings = vec![Warning::Autoscaled {
        autoscaler: Arc::clone(&autoscaler.name),
        max_replicas: autoscaler.max_replicas,
    }];
    if let (Policy::Auto, Ok(capacity)) = (subject.requested.policy, &subject.capacity) {
        let threshold = subject.settings.keep_threshold;
        // Beyond some dozens of replicas hints always fit.
        let last = autoscaler.max_replicas.min(100);
        let lost = |n: &u32| next_possible(capacity, *n, threshold, *n).is_none();
        let replicas: Vec<u32> = (autoscaler.min_replicas..=last).filter(lost).collect();
        if !replicas.is_empty() {
            warnings.push(Warning::HintsUnstable { replicas });
        }
    }
    warnings
}

// === impl Warning ===

impl Reason for Warning {}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::ManyNodesUnready { unready, workers } => write!(
                f,
                "{unready} of {workers} worker nodes are not ready and don't count for the capacity of their zone"
            ),
            Warning::PodsRestrictedToNodes { pods } => write!(
                f,
                "{} restricted to some nodes by selector or affinity; zone capacity counts all nodes",
                count(*pods as u64, "Pod")
            ),
            Warning::ZoneOverloaded { zone, endpoints, load } => write!(
                f,
                "{zone} has {}: clients in the zone load it to {} % of its fair share",
                count(*endpoints, "endpoint"),
                percent(*load).round()
            ),
            Warning::ZoneWithoutEndpoint { zone } => {
                write!(f, "{zone} has no endpoint: its clients use other zones")
            }
            Warning::Autoscaled { autoscaler, max_replicas } => write!(
                f,
                "autoscaler {autoscaler} (up to {max_replicas}) scales by the average of all zones and may add Pods in the wrong zone"
            ),
            Warning::HintsUnstable { replicas } => {
                let replicas: Vec<String> = replicas.iter().map(ToString::to_string).collect();
                write!(f, "Auto removes hints at {} replicas", replicas.join(", "))
            }
            Warning::LocalPolicyIgnoresHints => {
                write!(f, "traffic under policy Local stays on its node and ignores hints")
            }
            Warning::Headless => write!(
                f,
                "the Service is headless: clients get all addresses by DNS, and no proxy applies hints"
            ),
            Warning::RegionLabelsMissing { .. }
            | Warning::ZoneInSeveralRegions { .. }
            | Warning::RegionByShares { .. } => self.fmt_regions(f),
            _ => self.fmt_own(f),
        }
    }
}

impl Warning {
    /// The sentences about policies of Evenkeel's own.
    fn fmt_own(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::SharesNotHonoured { has_hints } => {
                let follows =
                    if *has_hints { "follows hints as under Auto" } else { "uses all endpoints" };
                write!(
                    f,
                    "zone shares have no effect yet: no node reports Evenkeel's proxy, and kube-proxy {follows}"
                )
            }
            Warning::UnevenAdoption { aware_zones, zone, load } => {
                let place = match &**zone {
                    "" => "without a zone".to_owned(),
                    zone => format!("in {zone}"),
                };
                write!(
                    f,
                    "uneven adoption: while only the nodes in {} apply zone shares, an endpoint {place} gets {} % of its fair share, the worst case of a roll-out",
                    aware_zones.join(", "),
                    percent(*load).round()
                )
            }
            Warning::RequirementNotEnforced => write!(
                f,
                "kube-proxy only prefers the zone: where a zone has no endpoint, its clients use other zones; only Evenkeel's proxy refuses, and no node reports it"
            ),
            Warning::RequiredZonesEmpty { zones, enforced } => {
                write!(f, "no endpoint in {}: {}", zones.join(", "), refusal(*enforced))
            }
            Warning::RequiredZoneUnknown { nodes, first, enforced } => write!(
                f,
                "{} without a zone label, as {first}: {}",
                count(*nodes as u64, "node"),
                refusal(*enforced)
            ),
            _ => Ok(()),
        }
    }

    fn fmt_regions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::RegionLabelsMissing { nodes, of, first } => write!(
                f,
                "{nodes} of {} without the label topology.kubernetes.io/region, as {first}; zones without a region count as one region",
                count(*of as u64, "worker node")
            ),
            Warning::ZoneInSeveralRegions { zone, regions, counts } => write!(
                f,
                "nodes in {zone} name several regions ({}); {counts} counts",
                regions.join(", ")
            ),
            Warning::RegionByShares { zones } => write!(
                f,
                "an endpoint would need hints for {zones} zones, and the API allows {MOST_ZONES}: zone shares name them instead"
            ),
            _ => Ok(()),
        }
    }
}

fn refusal(enforced: bool) -> &'static str {
    if enforced {
        "clients there are refused (RequireSameZone)"
    } else {
        "Evenkeel's proxy would refuse clients there (RequireSameZone)"
    }
}
