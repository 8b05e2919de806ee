//! How problems are fixed, from the problem alone.

use evenkeel_model::label;

use super::Problem;
use crate::policy::{FIELD, OWN};

impl Problem {
    /// What to do, from the problem alone.
    pub(super) fn fix(&self) -> String {
        match self {
            Problem::SelectorMatchesNoPods { nearest, .. } if !nearest.is_empty() => {
                format!("Change the selector to {}, or label the Pods", nearest.join(","))
            }
            Problem::SelectorMatchesNoPods { selector, .. } => {
                format!("Label the Pods {selector}, or change the selector")
            }
            Problem::PodsPending { pod, .. } | Problem::PodsNotReady { pod, .. } => {
                format!("Run kubectl describe pod {pod}")
            }
            Problem::NoReadyEndpoints { .. } => "Make endpoints ready".to_owned(),
            Problem::UnknownValue { place, value, .. } if **place == *FIELD && is_own(value) => {
                let annotation = label::TRAFFIC_DISTRIBUTION;
                format!("Remove {place} and set annotation {annotation}: {value}")
            }
            Problem::UnknownValue { place, nearest: Some(value), .. } => {
                format!("Set {place}: {value}")
            }
            Problem::UnknownValue { place, nearest: None, .. } => {
                format!("Remove {place}, or set a known value")
            }
            Problem::UnknownAnnotation { nearest: Some(name), .. } => {
                format!("Rename the annotation to {name}")
            }
            Problem::UnknownAnnotation { annotation, nearest: None } => {
                format!("Remove the annotation {annotation}")
            }
            Problem::UnavailableBefore { value, version } => {
                format!("Upgrade to Kubernetes {version}, or remove {value}")
            }
            Problem::OrphanedSlices => "Delete the slices, or create the Service".to_owned(),
            Problem::NodesNotReady { first, .. } => format!("Run kubectl describe node {first}"),
            Problem::NodesCordoned { first, .. } => {
                format!("Run kubectl uncordon {first} when its maintenance is over")
            }
            Problem::ZoneDrained { .. } => "Uncordon or repair a node of the zone".to_owned(),
            Problem::NodeWithoutZone => {
                "Label the node: topology.kubernetes.io/zone=ZONE".to_owned()
            }
            Problem::AnnotationNotHonoured { .. }
            | Problem::InvalidOverloadThreshold { .. }
            | Problem::OverloadThresholdUnused { .. }
            | Problem::SharesOnForeignSlice { .. }
            | Problem::SharesNotHonoured { .. }
            | Problem::RequirementNotEnforced
            | Problem::RequiredZoneEmpty { .. }
            | Problem::RegionLabelsMissing { .. }
            | Problem::ZoneInSeveralRegions { .. } => self.fix_own(),
            Problem::ZoneWithoutEndpoint { zone } => format!("Run a Pod in {zone}"),
            Problem::ZoneOverloaded { .. } => {
                "Spread the Pods evenly over zones (`evenkeel plan` shows the figures)".to_owned()
            }
            _ => "Check that the EndpointSlice controller is running".to_owned(),
        }
    }

    /// What to do about what only Evenkeel knows.
    fn fix_own(&self) -> String {
        match self {
            Problem::AnnotationNotHonoured { annotation, .. } => format!(
                "Let Evenkeel's controller manage the EndpointSlices, or remove annotation {annotation}"
            ),
            Problem::InvalidOverloadThreshold { .. } => {
                format!("Set annotation {}: 20%, or remove it", label::OVERLOAD_THRESHOLD)
            }
            Problem::OverloadThresholdUnused { .. } => {
                format!("Remove annotation {}, or set policy Auto or Balanced", label::OVERLOAD_THRESHOLD)
            }
            Problem::SharesOnForeignSlice { slice, .. } => {
                format!("Run kubectl annotate endpointslice {slice} {}-", label::ZONE_SHARES)
            }
            Problem::SharesNotHonoured { .. } => {
                "Nothing to change on the Service: zone shares take effect where nodes run Evenkeel's proxy"
                    .to_owned()
            }
            Problem::RequirementNotEnforced => {
                "Do not rely on the zone for isolation until all nodes run Evenkeel's proxy".to_owned()
            }
            Problem::RequiredZoneEmpty { zones, .. } => format!("Run a Pod in {}", zones.join(", ")),
            Problem::RegionLabelsMissing { first, .. } => format!(
                "Label the nodes, as with kubectl label node {first} topology.kubernetes.io/region=REGION"
            ),
            _ => "Give all nodes of the zone the same label topology.kubernetes.io/region".to_owned(),
        }
    }
}

/// Whether it is a policy of Evenkeel's own.
fn is_own(value: &str) -> bool {
    OWN.iter().any(|policy| policy.as_str() == value)
}
