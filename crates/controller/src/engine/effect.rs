//! What the engine wants done, and what it is told of it.

use std::{sync::Arc, time::Duration};

use evenkeel_model::{Condition, SeenSlice, ServiceKey, Slice, Version};
use evenkeel_topology::{Policy, plan::FamilyPlan};

/// Names one write under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// To be carried out, and its end told with `Engine::done`, exactly once.
    Write(Write),
    /// To be told people, as an Event on the Service. Its end matters to nobody.
    Event(ServiceEvent),
    /// A sync ended; for metrics and logs.
    Synced(Report),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub ticket: Ticket,
    pub service: ServiceKey,
    pub action: Action,
    /// How hints came out in the plan this write is part of; empty for all but slices.
    pub why: Arc<[FamilyPlan]>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A new slice, with its name. `trigger` goes into the annotation
    /// `endpoints.kubernetes.io/last-change-trigger-time`, in seconds since 1970.
    Create { slice: Slice, trigger: Option<i64> },
    /// Brings the slice to this content. A merge patch under `version.resource_version`, so that
    /// what others keep in its metadata stays. `gone`: labels to be removed; without a trigger the
    /// annotation is removed.
    Update { slice: Slice, version: Version, gone: Vec<Arc<str>>, trigger: Option<i64> },
    /// Changes who manages the slice and removes zone shares, under `version.resource_version`.
    Relabel { name: Arc<str>, version: Version, manager: Arc<str> },
    /// With uid and resourceVersion as preconditions.
    Delete { name: Arc<str>, version: Version },
    /// Reads a slice as it is now.
    Read { name: Arc<str> },
    /// A strategic merge patch of the Service's status, for this uid only. `true` beside a
    /// condition: its status flips, so that its transition time is now.
    Conditions { uid: Arc<str>, set: Vec<(Condition, bool)>, remove: Vec<Arc<str>> },
}

impl Action {
    /// The slice it is about.
    pub fn slice_name(&self) -> Option<&Arc<str>> {
        match self {
            Action::Create { slice, .. } | Action::Update { slice, .. } => Some(&slice.name),
            Action::Relabel { name, .. } | Action::Delete { name, .. } | Action::Read { name } => {
                Some(name)
            }
            Action::Conditions { .. } => None,
        }
    }
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Created, updated or relabelled: the slice as the server stored it, which need not be what was
    /// sent.
    Stored(Box<SeenSlice>),
    /// Conditions were written.
    Done,
    /// Deleted, or was not there (404).
    Gone,
    /// The answer to [`Action::Read`] where the slice exists.
    Read(Box<SeenSlice>),
    /// 409 with reason `AlreadyExists`.
    Exists,
    /// 409 otherwise: the version is not that of the server.
    Conflict,
    /// Not carried out, because the server is busy: 429. `after`: the server's `Retry-After`.
    Busy { after: Option<Duration> },
    /// Not carried out, because the namespace is being deleted: no object is created in it.
    NamespaceTerminating,
    /// Nothing is known of what became of it: 408, 5xx, a timeout, a lost connection. `after`: when
    /// the server wants to be asked again.
    Unknown { after: Option<Duration>, message: String },
    /// Refused for good, as it is: other 4xx.
    Refused { code: u16, message: String },
}

/// An Event on a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceEvent {
    pub service: ServiceKey,
    pub uid: Arc<str>,
    pub warning: bool,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SyncResult {
    Success,
    /// The cache was behind; the sync is tried again at once.
    Stale,
    /// The server was busy; the sync is tried again when it allows.
    Throttled,
    Error,
}

/// One sync, for metrics and logs.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub service: ServiceKey,
    pub result: SyncResult,
    /// What went wrong, for people.
    pub problem: Option<String>,
    pub policy: Policy,
    /// The value of `spec.trafficDistribution`, where it is one that is known.
    pub traffic_distribution: Option<Arc<str>>,
    /// Endpoints that the sync added to slices and removed from them.
    pub endpoints_added: usize,
    pub endpoints_removed: usize,
    pub slices_created: usize,
    pub slices_updated: usize,
    pub slices_deleted: usize,
    /// Pods left out because their node is not known.
    pub without_node: usize,
    /// A slice that the server stored with other endpoints, hints or ports than it was sent.
    pub altered: Option<Arc<str>>,
    /// Endpoints whose hints the plan changed, new ones included, and the code of the reason.
    pub hints_changed: usize,
    pub hints_reason: String,
    /// Slices whose zone shares the plan changed, new ones included.
    pub shares_changed: usize,
    /// Slices that are written for zone shares alone.
    pub writes_for_shares: usize,
    /// From the plan to the last answer.
    pub took: Duration,
    /// When a sync that did not succeed is tried again.
    pub retry_in: Option<Duration>,
}

/// Sums over all Services, for gauges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub services: usize,
    pub pods: usize,
    pub nodes: usize,
    pub endpoints: usize,
    pub slices: usize,
    /// How many slices would do.
    pub desired_slices: usize,
    /// Services by the value of `spec.trafficDistribution`; values that are not known here count
    /// as `implementation-specific`.
    pub by_traffic_distribution: std::collections::BTreeMap<Arc<str>, usize>,
    /// Services left to Kubernetes' own controller because live slices of both were found.
    pub withdrawn: usize,
    /// Slices of ours that nobody updates, of Services that are no longer ours.
    pub stale_slices: usize,
    /// Services with zone shares.
    pub with_shares: usize,
    /// Nodes whose proxy reports its rules.
    pub reporting_nodes: usize,
    /// Services that wait for a sync or a retry.
    pub waiting: usize,
    pub in_flight: usize,
}
