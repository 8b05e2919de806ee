//! Whether the zone shares in force are the desired ones.

use std::{fmt, sync::Arc};

use evenkeel_model::{Reason, SharesError};
use serde::Serialize;

use crate::plan::NoShares;

/// How the zone shares in force compare with the desired ones. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum SharesState {
    SharesUpToDate,
    /// No slice has the annotation.
    SharesMissing,
    /// The annotation can't be used. Consumers follow hints meanwhile.
    SharesInvalid {
        error: SharesError,
    },
    /// Rows of these client zones differ from the desired ones, or are missing.
    SharesOutdated {
        zones: Vec<Arc<str>>,
    },
    /// There is nothing to share out: one zone only, or no ready endpoint.
    SharesNotNeeded,
    /// A table is in force where there is nothing to share out.
    SharesLeftOver,
    /// The desired table is not known, or can't be written.
    SharesNotPossible {
        why: NoShares,
    },
    /// The controller that manages the slices does not write zone shares.
    SharesNotWritten {
        manager: Arc<str>,
    },
}

impl SharesState {
    /// The controller would change the slices.
    pub(crate) fn is_wrong(&self) -> bool {
        !matches!(
            self,
            SharesState::SharesUpToDate
                | SharesState::SharesNotNeeded
                | SharesState::SharesNotPossible { .. }
                | SharesState::SharesNotWritten { .. }
        )
    }
}

impl Reason for SharesState {}

impl fmt::Display for SharesState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharesState::SharesUpToDate => write!(f, "zone shares match the desired state"),
            SharesState::SharesMissing => write!(f, "no EndpointSlice has zone shares"),
            SharesState::SharesInvalid { error } => write!(f, "zone shares are ignored: {error}"),
            SharesState::SharesOutdated { zones } => {
                write!(f, "zone shares of {} differ from the desired state", zones.join(", "))
            }
            SharesState::SharesNotNeeded => write!(f, "no zone shares are needed"),
            SharesState::SharesLeftOver => write!(f, "zone shares are in force but not needed"),
            SharesState::SharesNotPossible { why } => {
                write!(f, "no zone shares can be written: {why}")
            }
            SharesState::SharesNotWritten { manager } => {
                write!(f, "{manager} manages the slices and does not write zone shares")
            }
        }
    }
}
