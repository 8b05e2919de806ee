//! What was found in a cluster, before anything is made of it.

use evenkeel_model::ServiceKey;

use super::LeaseName;
use crate::controller::access::{Answer, Permission};

/// What was asked for, or why it was not given.
pub(super) type Asked<T> = Result<T, String>;

#[derive(Clone, Debug)]
pub(super) enum Facts {
    /// The API server can't be asked at all.
    Unreachable {
        problem: String,
        help: Option<String>,
    },
    Reached(Box<Cluster>),
}

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// Of Kubernetes, as the API server says.
    pub version: Asked<String>,
    /// In seconds since 1970.
    pub now: i64,
    pub access: Vec<(Permission, Answer)>,
    pub nodes: Asked<Vec<Node>>,
    pub lease_name: LeaseName,
    /// `None`: there is no such Lease.
    pub lease: Asked<Option<Lease>>,
    pub services: Asked<Vec<Service>>,
    pub slices: Asked<Vec<Slice>>,
    /// Events about syncs that failed.
    pub failures: Asked<Vec<Failure>>,
    pub metrics: Metrics,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub name: String,
    pub is_ready: bool,
    pub is_control_plane: bool,
    pub zone: Option<String>,
    pub has_cpu: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lease {
    pub holder: Option<String>,
    /// In seconds since 1970.
    pub renewed: Option<i64>,
    pub duration_seconds: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Service {
    pub key: ServiceKey,
    /// In seconds since 1970.
    pub created: Option<i64>,
    /// With a selector of either kind, so that a controller writes its slices.
    pub has_selector: bool,
    /// Of the types this project writes.
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub kind: String,
    pub status: bool,
    pub reason: String,
    pub message: String,
}

#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub service: ServiceKey,
    pub manager: String,
    pub endpoints: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub service: ServiceKey,
    /// In seconds since 1970.
    pub at: Option<i64>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Metrics {
    /// Nobody knows where they are.
    NotAsked,
    Unreachable {
        url: String,
        problem: String,
    },
    Read {
        url: String,
        syncs: Syncs,
    },
}

/// Syncs since the controller started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Syncs {
    pub success: u64,
    pub stale: u64,
    pub error: u64,
}
