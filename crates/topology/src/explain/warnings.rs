//! The constraints of the docs page ("Constraints"), where they apply to this cluster.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use super::{
    Subject,
    load::{ZoneLoad, is_overload, loads},
};
use crate::{
    Policy,
    auto::bounds::next_possible,
    reason::{count, percent},
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
}

pub(super) fn warnings(subject: &Subject<'_>) -> Vec<Warning> {
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
    warnings.extend(autoscaling(subject));
    warnings
}

/// Zones with too few endpoints for their share of the CPU. PreferSameZone and PreferSameNode don't
/// balance that.
pub(crate) fn zones(subject: &Subject<'_>) -> Vec<Warning> {
    if subject.requested.policy == Policy::Auto {
        return Vec::new();
    }
    let warning = |ZoneLoad { zone, endpoints, load }: ZoneLoad| match load {
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
        }
    }
}
