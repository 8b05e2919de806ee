//! What can be set, and the two profiles.
//!
//! [`Settings::kubernetes`] does what today's Kubernetes does, to the last float.
//! [`Settings::default`] departs from it only where one of the proposals requires more; the table
//! in `ARCHITECTURE.md` lists each departure.

use std::sync::Arc;

use evenkeel_model::{Slice, label};
use thiserror::Error;

use crate::balanced::Tuning;

/// How Auto hints are given to endpoints when something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Keep every hint that is still right; move the fewest endpoints that make the rest right.
    LeastChange,
    /// As Kubernetes: every slice that is written anyway starts again from same-zone hints.
    WholeSlices,
}

/// When node hints are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeHintRule {
    /// KEP-4444: some ready endpoint is hinted for this node.
    AnyForThisNode,
    /// Kubernetes: besides, every ready endpoint has a node hint.
    AllHaveOne,
}

/// When the Event `TopologyAwareHintsEnabled` is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnabledEvent {
    /// When a family's slices had no hints in force before: a restart emits nothing.
    WhenNewInSlices,
    /// As Kubernetes: when the controller does not remember hints of the Service.
    WhenNotRemembered,
}

/// How a counted node without allocatable CPU affects zone capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownCpu {
    /// The docs page's third safeguard: no hints at all.
    NoHints,
    /// KEP-2433: all nodes count one core.
    OneCorePerNode,
}

/// Kubernetes' feature gates of this field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    pub topology_aware_hints: bool,
    pub service_traffic_distribution: bool,
    pub prefer_same_traffic_distribution: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The expected overload up to which hints are given for the first time: 0.2 is 20 %.
    pub assign_threshold: f64,
    /// The expected overload up to which hints already in force are kept.
    pub keep_threshold: f64,
    /// Balanced: by how much an endpoint may exceed its fair part; 0.1 is 10 %.
    pub allowance: f64,
    /// Balanced: zone shares in force are kept while no endpoint exceeds the allowance by more.
    pub keep_excess: f64,
    /// Balanced: zone shares in force are kept while the traffic in zone is within this part of all
    /// traffic of the best.
    pub keep_in_zone: f64,
    pub assignment: Assignment,
    /// Under [`Assignment::LeastChange`]: the part of the ready endpoints that may be hinted for
    /// another zone without need before slices are written for that alone.
    pub locality_threshold: f64,
    pub node_hint_rule: NodeHintRule,
    pub unknown_cpu: UnknownCpu,
    pub enabled_event: EnabledEvent,
    /// Look at a Service again when a node change makes hints possible for the first time.
    pub resync_when_possible: bool,
    pub max_endpoints_per_slice: usize,
    /// Written to, and expected in, the label `endpointslice.kubernetes.io/managed-by`.
    pub controller_name: Arc<str>,
    pub gates: Gates,
}

/// The keep threshold of a Service that sets the largest overload threshold.
const MOST_THRESHOLD: f64 = 10.1;

#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("{name} is {value}; it must be a number from 0 to 10, such as 0.2 for 20 %")]
    Threshold { name: &'static str, value: f64 },
    #[error(
        "the keep threshold ({keep}) is below the assign threshold ({assign}): hints would flap; raise it"
    )]
    KeepBelowAssign { keep: f64, assign: f64 },
    #[error("max endpoints per slice is {0}; Kubernetes takes 1 to 1000")]
    SliceSize(usize),
    #[error(
        "no feature gate {0:?}; there are TopologyAwareHints, ServiceTrafficDistribution and PreferSameTrafficDistribution"
    )]
    UnknownGate(String),
}

// === impl Gates ===

impl Gates {
    pub const ALL_ON: Gates = Gates {
        topology_aware_hints: true,
        service_traffic_distribution: true,
        prefer_same_traffic_distribution: true,
    };

    /// Sets the gate called `name`, as in `--feature-gates=NAME=true`.
    pub fn set(&mut self, name: &str, on: bool) -> Result<(), SettingsError> {
        let gate = match name {
            "TopologyAwareHints" => &mut self.topology_aware_hints,
            "ServiceTrafficDistribution" => &mut self.service_traffic_distribution,
            "PreferSameTrafficDistribution" => &mut self.prefer_same_traffic_distribution,
            _ => return Err(SettingsError::UnknownGate(name.to_owned())),
        };
        *gate = on;
        Ok(())
    }

    /// The gates that are on in both.
    #[must_use]
    pub fn and(self, other: Gates) -> Gates {
        Gates {
            topology_aware_hints: self.topology_aware_hints && other.topology_aware_hints,
            service_traffic_distribution: self.service_traffic_distribution
                && other.service_traffic_distribution,
            prefer_same_traffic_distribution: self.prefer_same_traffic_distribution
                && other.prefer_same_traffic_distribution,
        }
    }
}

// === impl Settings ===

impl Settings {
    /// What today's Kubernetes does.
    pub fn kubernetes() -> Self {
        Settings {
            keep_threshold: 0.2,
            assignment: Assignment::WholeSlices,
            node_hint_rule: NodeHintRule::AllHaveOne,
            enabled_event: EnabledEvent::WhenNotRemembered,
            resync_when_possible: false,
            ..Settings::default()
        }
    }

    /// Rejects values that can't work.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let thresholds = [
            ("the assign threshold", self.assign_threshold),
            ("the keep threshold", self.keep_threshold),
            ("the allowance", self.allowance),
            ("the excess up to which zone shares are kept", self.keep_excess),
            ("the loss of in-zone traffic up to which zone shares are kept", self.keep_in_zone),
            ("the locality threshold", self.locality_threshold),
        ];
        for (name, value) in thresholds {
            if !(0.0..=MOST_THRESHOLD).contains(&value) {
                return Err(SettingsError::Threshold { name, value });
            }
        }
        if self.keep_threshold < self.assign_threshold {
            return Err(SettingsError::KeepBelowAssign {
                keep: self.keep_threshold,
                assign: self.assign_threshold,
            });
        }
        if !(1..=1000).contains(&self.max_endpoints_per_slice) {
            return Err(SettingsError::SliceSize(self.max_endpoints_per_slice));
        }
        Ok(())
    }

    /// Whether an endpoint controller writes this slice: ours, or Kubernetes' built-in one.
    pub fn manages(&self, slice: &Slice) -> bool {
        let manager = slice.labels.get(label::MANAGED_BY);
        let known = [&*self.controller_name, label::BUILT_IN, label::EVENKEEL];
        manager.is_some_and(|name| known.contains(&&**name))
    }

    /// How zone shares are decided.
    pub fn tuning(&self) -> Tuning {
        let Settings { allowance, keep_excess, keep_in_zone, .. } = *self;
        Tuning { allowance, keep_excess, keep_in_zone }
    }

    /// The overload that is accepted, depending on whether hints are in force already.
    pub fn threshold(&self, in_force: bool) -> f64 {
        if in_force { self.keep_threshold } else { self.assign_threshold }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            assign_threshold: 0.2,
            keep_threshold: 0.3,
            allowance: 0.0,
            keep_excess: 0.1,
            keep_in_zone: 0.03,
            assignment: Assignment::LeastChange,
            locality_threshold: 0.1,
            node_hint_rule: NodeHintRule::AnyForThisNode,
            unknown_cpu: UnknownCpu::NoHints,
            enabled_event: EnabledEvent::WhenNewInSlices,
            resync_when_possible: true,
            max_endpoints_per_slice: 100,
            controller_name: label::BUILT_IN.into(),
            gates: Gates::ALL_ON,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_profiles_are_valid() {
        assert_eq!(Settings::default().validate(), Ok(()));
        assert_eq!(Settings::kubernetes().validate(), Ok(()));
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let base = Settings::default;
        let wrong = [
            Settings { assign_threshold: f64::NAN, ..base() },
            Settings { assign_threshold: -0.1, ..base() },
            Settings { keep_threshold: f64::INFINITY, ..base() },
            Settings { keep_threshold: 0.1, ..base() },
            Settings { allowance: -0.1, ..base() },
            Settings { keep_excess: f64::NAN, ..base() },
            Settings { keep_in_zone: 11.5, ..base() },
            Settings { locality_threshold: -0.1, ..base() },
            Settings { locality_threshold: f64::NAN, ..base() },
            Settings { max_endpoints_per_slice: 0, ..base() },
            Settings { max_endpoints_per_slice: 1001, ..base() },
        ];
        for settings in wrong {
            assert!(settings.validate().is_err(), "{settings:?}");
        }
        assert!(Gates::ALL_ON.clone().set("Typo", true).is_err());
    }
}
