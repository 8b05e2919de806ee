//! What a migration means for traffic: the only place with its sentences.

use std::{fmt, sync::Arc};

use evenkeel_model::{Reason, WithMessage};
use serde::Serialize;

use crate::{Policy, ServerVersion, policy::CannotAct};

/// What a migration means for traffic, or why a setting stays as it is. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum MigrationReason {
    SamePreference {
        policy: Policy,
    },
    /// `PreferClose` and `PreferSameZone` are two names of one policy.
    Renamed,
    NoPreference,
    DisabledIsDefault {
        annotation: &'static str,
    },
    Overridden {
        place: &'static str,
        by: &'static str,
    },
    NoEffect {
        why: CannotAct,
    },
    EffectiveAgain {
        version: ServerVersion,
    },
    ZoneBeforeOthers,
    RegionNotPreferred {
        policy: Policy,
    },
    NeverDropped {
        policy: Policy,
    },
    KubeProxyNeverDrops,
    NodeOrDropped,
    ExternalNotRestricted,
    NeverGivesUp,
    OverloadProtectionLost,
    ReadByEvenkeelOnly {
        policy: Policy,
    },
    StillInUse {
        version: ServerVersion,
    },
    LabelNotSupported {
        key: Arc<str>,
    },
    NeedsEvenkeel {
        policy: Policy,
    },
    UnknownValue {
        annotation: &'static str,
        value: Arc<str>,
    },
    NoSelector {
        place: &'static str,
    },
    CurrentName {
        version: ServerVersion,
    },
    UnavailableBefore {
        policy: Policy,
        version: ServerVersion,
    },
}

/// How a reason bears on traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Traffic goes where it went.
    Same,
    /// Traffic may go elsewhere, or be dropped or no longer dropped.
    Changes,
    /// The setting stays.
    LeftAlone,
}

/// A reason with its effect and its sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    pub effect: Effect,
    #[serde(flatten)]
    pub because: WithMessage<MigrationReason>,
}

// === impl Note ===

impl From<MigrationReason> for Note {
    fn from(reason: MigrationReason) -> Self {
        Note { effect: reason.effect(), because: reason.into() }
    }
}

// === impl Effect ===

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Effect::Same => "same",
            Effect::Changes => "changes",
            Effect::LeftAlone => "left alone",
        })
    }
}

// === impl MigrationReason ===

impl MigrationReason {
    pub fn effect(&self) -> Effect {
        match self {
            MigrationReason::SamePreference { .. }
            | MigrationReason::Renamed
            | MigrationReason::NoPreference
            | MigrationReason::DisabledIsDefault { .. }
            | MigrationReason::Overridden { .. }
            | MigrationReason::NoEffect { .. } => Effect::Same,
            MigrationReason::EffectiveAgain { .. }
            | MigrationReason::ZoneBeforeOthers
            | MigrationReason::RegionNotPreferred { .. }
            | MigrationReason::NeverDropped { .. }
            | MigrationReason::KubeProxyNeverDrops
            | MigrationReason::NodeOrDropped
            | MigrationReason::ExternalNotRestricted
            | MigrationReason::NeverGivesUp
            | MigrationReason::OverloadProtectionLost
            | MigrationReason::ReadByEvenkeelOnly { .. } => Effect::Changes,
            MigrationReason::StillInUse { .. }
            | MigrationReason::LabelNotSupported { .. }
            | MigrationReason::NeedsEvenkeel { .. }
            | MigrationReason::UnknownValue { .. }
            | MigrationReason::NoSelector { .. }
            | MigrationReason::CurrentName { .. }
            | MigrationReason::UnavailableBefore { .. } => Effect::LeftAlone,
        }
    }
}

impl Reason for MigrationReason {}

impl fmt::Display for MigrationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MigrationReason::SamePreference { policy } => {
                write!(f, "{policy} prefers the endpoints that the keys preferred")
            }
            MigrationReason::Renamed => {
                write!(f, "PreferSameZone is the current name of PreferClose")
            }
            MigrationReason::NoPreference => write!(f, "the keys express no preference"),
            MigrationReason::DisabledIsDefault { annotation } => {
                write!(f, "{annotation}: Disabled is the default")
            }
            MigrationReason::Overridden { place, by } => {
                write!(f, "{place} has no effect: {by} takes precedence")
            }
            MigrationReason::NoEffect { why } => write!(f, "the setting has no effect: {why}"),
            MigrationReason::EffectiveAgain { version } => write!(
                f,
                "Kubernetes {version} and newer ignore topologyKeys; the preference takes effect \
                 again"
            ),
            MigrationReason::ZoneBeforeOthers => write!(
                f,
                "without an endpoint on the node, PreferSameNode uses endpoints of the zone before \
                 all others"
            ),
            MigrationReason::RegionNotPreferred { policy } => write!(
                f,
                "{policy} does not prefer the region: traffic that leaves its zone goes to any \
                 endpoint"
            ),
            MigrationReason::NeverDropped { policy } => write!(
                f,
                "traffic without a matching endpoint was dropped; {policy} sends it to other \
                 endpoints"
            ),
            MigrationReason::KubeProxyNeverDrops => write!(
                f,
                "Evenkeel's consumers drop traffic without an endpoint in its zone, as the keys \
                 did; kube-proxy sends it to other zones"
            ),
            MigrationReason::NodeOrDropped => {
                write!(f, "traffic on nodes without a ready endpoint is dropped, as with the keys")
            }
            MigrationReason::ExternalNotRestricted => {
                write!(
                    f,
                    "internalTrafficPolicy does not restrict external traffic; topologyKeys did"
                )
            }
            MigrationReason::NeverGivesUp => write!(
                f,
                "Auto gives up when endpoints don't match the zones' CPU; Balanced never does: it \
                 sends only the excess to other zones"
            ),
            MigrationReason::OverloadProtectionLost => write!(
                f,
                "Auto's overload protection is lost: PreferSameZone keeps all traffic in its zone, \
                 however few endpoints the zone has"
            ),
            MigrationReason::ReadByEvenkeelOnly { policy } => write!(
                f,
                "only Evenkeel's controller reads {policy}, and it does not manage the Service's \
                 slices: there is no preference until it does"
            ),
            MigrationReason::StillInUse { version } => {
                write!(f, "Kubernetes before {version} follows topologyKeys")
            }
            MigrationReason::LabelNotSupported { key } => {
                write!(f, "no policy prefers endpoints by the node label {key}")
            }
            MigrationReason::NeedsEvenkeel { policy } => write!(
                f,
                "{policy} needs Evenkeel's controller, which does not manage the Service's slices; \
                 --profile evenkeel migrates for it"
            ),
            MigrationReason::UnknownValue { annotation, value } => {
                write!(f, "{annotation}: {value} is an unknown value")
            }
            MigrationReason::NoSelector { place } => write!(
                f,
                "the Service has no selector: whatever writes its slices may read {place}"
            ),
            MigrationReason::CurrentName { version } => {
                write!(f, "Kubernetes before {version} has no other name for PreferClose")
            }
            MigrationReason::UnavailableBefore { policy, version } => {
                write!(f, "{policy} needs Kubernetes {version} or newer")
            }
        }
    }
}
