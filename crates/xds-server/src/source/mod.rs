//! Where resources come from: a folder of files ([`folder`]), the custom resources of a Kubernetes API
//! ([`ClusterSource`]), or whoever calls [`Intake::apply_objects`].
//!
//! Whatever the source, an invalid object spoils nothing but itself: its last good form stays in force, and what is
//! wrong with it is shown until it is right or gone.

mod cluster;
pub mod folder;
mod intake;
mod yaml;

use std::sync::Arc;

use evenkeel_locality::resource::Key;
use serde::Serialize;

pub use self::{
    cluster::ClusterSource,
    intake::{Intake, Object, ObjectId},
    yaml::documents,
};

/// Something that is not in force, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A file, or the name of an object of an API server.
    pub origin: Arc<str>,
    /// Of the documents in a file, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Key>,
    /// Such as `spec.to[0].default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub message: String,
    /// An earlier form of it is in force.
    pub last_good_in_force: bool,
}
