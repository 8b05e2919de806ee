//! From settings that Kubernetes removed or deprecated to those of today.
//!
//! ```text
//!   setting                                   becomes
//!   topologyKeys (ignored since 1.22)         by its keys, see `keys`
//!   annotation, Auto in force                 Balanced if Evenkeel's controller writes the hints,
//!                                             else PreferSameZone; or as requested
//!   annotation, Disabled                      nothing: it is the default
//!   annotation, another value                 left alone: another implementation may read it
//!   trafficDistribution: PreferClose          PreferSameZone where the API server accepts it
//! ```
//!
//! Source: KEP-536 (`topologyKeys`), KEP-2433 (annotations), KEP-4444 and KEP-3015
//! (`trafficDistribution`). What holds for the Service today is kept before what was once meant: a
//! setting that another overrides is removed, not migrated. Migrating the result changes nothing.
//! O(keys).

mod draft;
mod keys;
mod reason;

use std::sync::Arc;

use evenkeel_model::ServiceState;
use serde::Serialize;

use self::draft::Draft;
pub use self::{
    keys::{ANY, TOPOLOGY_KEYS},
    reason::{Effect, MigrationReason, Note},
};
use crate::{Environment, Patch, Profile};

/// What Auto becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoTarget {
    /// Balanced where Evenkeel's controller writes the hints, else PreferSameZone.
    #[default]
    ByDataPlane,
    Balanced,
    SameZone,
}

/// What becomes of one Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migration {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub outcome: Outcome,
    /// The settings that were looked at.
    pub from: Vec<Setting>,
    /// What holds instead.
    pub to: Vec<Setting>,
    pub notes: Vec<Note>,
    #[serde(skip_serializing_if = "Patch::is_empty")]
    pub patch: Patch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// No removed or deprecated setting.
    UpToDate,
    /// There is a patch.
    ToChange,
    /// There are such settings, and they stay.
    LeftAlone,
}

/// An annotation or a field of a Service, with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub place: &'static str,
    pub value: Arc<str>,
}

/// Migrates one Service. `keys`: its topologyKeys, if it has the field.
pub fn migrate(
    state: &ServiceState,
    keys: Option<&[Arc<str>]>,
    auto: AutoTarget,
    environment: &Environment,
) -> Migration {
    let evenkeel = environment.data_plane(state).hints.profile == Profile::Evenkeel;
    let mut draft = Draft::new(&state.service, evenkeel, environment.server.version);
    let auto_in_force = draft.annotations(auto);
    draft.prefer_close();
    if let Some(keys) = keys {
        draft.keys(keys, auto_in_force);
    }
    draft.finish()
}
