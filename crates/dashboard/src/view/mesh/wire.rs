//! What a control plane's admin pages answer, as far as it is shown.
//!
//! The peer may lie. Whatever it leaves out is `None` here and *unknown* on the page, lists are kept up to a
//! bound and counted beyond it, and of large values only counts are kept, so that an answer takes little more
//! memory than its text.

use serde::Deserialize;

use super::bounded::{Healthy, List, Pairs, Share};

/// More proxies than this are counted, and not looked at.
pub(super) const MOST_PROXIES: usize = 20_000;
const MOST_CHANGES: usize = 256;
const MOST_POLICIES: usize = 1000;
const MOST_FINDINGS: usize = 1000;
const MOST_DESTINATIONS: usize = 5000;
const MOST_LISTENERS: usize = 5000;
const MOST_GROUPS: usize = 1000;
const MOST_ZONES: usize = 32;
/// Of anything small: names in a list, reasons, routes.
const MOST_PARTS: usize = 100;

/// Of `/mesh/proxies`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Proxies {
    pub(super) proxies: Option<List<Peer, MOST_PROXIES>>,
    pub(super) not_connected: Option<List<Missing, MOST_PROXIES>>,
}

/// A stream of a proxy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Peer {
    pub mesh: String,
    pub dataplane: String,
    pub has_dataplane: Option<bool>,
    pub node: Option<Node>,
    pub protocol: Option<Protocol>,
    /// Seconds since 1970, as all times.
    pub connected_at: Option<f64>,
    /// The number of a change.
    pub oldest_unacknowledged_change: Option<u64>,
    pub types: Option<Types>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Node {
    pub zone: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    Sotw,
    Delta,
    #[serde(other)]
    Other,
}

/// The four types of resources that the mesh is made of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct Types {
    pub cds: Option<TypeState>,
    pub eds: Option<TypeState>,
    pub lds: Option<TypeState>,
    pub rds: Option<TypeState>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypeState {
    pub state: Option<SyncState>,
    /// Since when it is stale or rejected.
    pub since: Option<f64>,
    pub resources: Option<u64>,
    pub acknowledged_at: Option<f64>,
    pub message: Option<String>,
    /// Names of resources.
    pub rejected: Option<List<String, MOST_PARTS>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum SyncState {
    NotRequested,
    Synced,
    Stale,
    Nacked,
    #[serde(other)]
    Other,
}

/// A Dataplane without a proxy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Missing {
    pub mesh: String,
    pub name: String,
}

/// Of `/mesh/propagation`, the newest change first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Propagation {
    pub(super) changes: Option<List<Change, MOST_CHANGES>>,
}

/// Times are milliseconds since the change was received.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    pub id: u64,
    pub what: Option<String>,
    pub age_seconds: Option<f64>,
    pub computed: Option<f64>,
    /// Streams that were told.
    pub streams: Option<u64>,
    pub sent: Option<Stage>,
    pub acknowledged: Option<Stage>,
    pub rejected: Option<u64>,
    pub behind: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct Stage {
    pub streams: u64,
    pub p50: f64,
    pub p99: f64,
}

/// Of `/mesh/policies`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Policies {
    pub(super) policies: Option<List<Policy, MOST_POLICIES>>,
    pub(super) findings: Option<List<Finding, MOST_FINDINGS>>,
    pub(super) invalid: Option<List<Invalid, MOST_FINDINGS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Key {
    pub mesh: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Policy {
    pub mesh: String,
    pub kind: String,
    pub name: String,
    /// Whose traffic.
    pub target_ref: Option<Target>,
    pub to: Option<List<To, MOST_PARTS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct To {
    pub target_ref: Option<Target>,
    pub sets: Option<List<String, MOST_PARTS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    pub kind: String,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub labels: Option<Pairs<String, MOST_PARTS>>,
    pub tags: Option<Pairs<String, MOST_PARTS>>,
    pub section_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Finding {
    pub policy: Option<Key>,
    /// The item of `to`, counted from 0.
    pub to: Option<u64>,
    pub severity: Option<Severity>,
    pub message: String,
    pub advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Severity {
    Info,
    Warning,
    Error,
    #[serde(other)]
    Other,
}

/// A resource that is not in force as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invalid {
    pub origin: Option<String>,
    pub document: Option<u64>,
    pub field: Option<String>,
    pub message: String,
    pub last_good_in_force: Option<bool>,
}

/// Of `/mesh/inspect`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    pub(super) connected: Option<bool>,
    pub(super) listeners: Option<List<Listener, MOST_LISTENERS>>,
    pub(super) destinations: List<Destination, MOST_DESTINATIONS>,
    pub(super) reasons: Option<List<Reason, MOST_PARTS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Listener {
    pub address: Option<String>,
    pub direction: Option<Direction>,
    pub routes: Option<List<Route, MOST_PARTS>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    Inbound,
    Outbound,
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Route {
    pub matches: Option<String>,
    pub clusters: Option<List<Part, MOST_PARTS>>,
    pub unavailable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Part {
    pub cluster: String,
    #[serde(default)]
    pub share: Share,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Destination {
    pub cluster: String,
    pub service: Option<Key>,
    pub subset: Option<Pairs<String, MOST_PARTS>>,
    #[serde(default)]
    pub by_topology: bool,
    pub place: Option<Place>,
    pub load_balancer: Option<String>,
    pub overprovisioning_factor: Option<u32>,
    /// By kind.
    pub policies: Option<Pairs<Merged, MOST_PARTS>>,
    pub groups: Option<List<Group, MOST_GROUPS>>,
    #[serde(default)]
    pub errors: Share,
    pub without_zone: Option<Pairs<Lost, MOST_ZONES>>,
    #[serde(default)]
    pub zones_not_shown: usize,
    pub reasons: Option<List<Reason, MOST_PARTS>>,
    pub share_reasons: Option<List<Reason, MOST_PARTS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Place {
    pub zone: Option<String>,
    pub tags: Option<Pairs<String, MOST_PARTS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Merged {
    /// The policy that each field comes from, by path.
    pub origins: Option<Pairs<String, MOST_PARTS>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Group {
    pub priority: u32,
    pub zone: Option<String>,
    #[serde(default)]
    pub sub_zone: String,
    pub weight: Option<u32>,
    #[serde(default)]
    pub share: Share,
    pub endpoints: Option<Healthy>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Lost {
    pub groups: List<Group, MOST_GROUPS>,
    #[serde(default)]
    pub errors: Share,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Reason {
    pub message: String,
}
