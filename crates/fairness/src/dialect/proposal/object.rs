//! The objects as they travel.

use serde::{Deserialize, Serialize};

use super::atomic::AtomicTest;

/// A priority level.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPriority {
    /// The name of the level.
    pub metadata: Metadata,
    /// How many seats the level has and how requests wait for them.
    pub spec: RequestPrioritySpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSchema {
    /// The name of the schema.
    pub metadata: Metadata,
    /// Which requests it matches, and where they go.
    pub spec: FlowSchemaSpec,
    /// Where prose stands for a value, as opposed to a value that is missing.
    #[serde(skip)]
    pub prose: Vec<Prose>,
}

/// What we look at; there may be more.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Metadata {
    /// Unique among objects of the kind.
    pub name: String,
    /// Set by the API server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RequestPrioritySpec {
    /// Requests of the level never wait and take no seats.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exempt: bool,
    /// Requests that no schema matches go to this level.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub catch_all: bool,
    /// The seats of the level, in proportion to the shares of all levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assured_concurrency_shares: Option<u32>,
    /// Number of queues; without queues, requests that find no seat are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Number of queues that a flow may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_size: Option<u32>,
    /// Number of requests that may wait in a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_length_limit: Option<u32>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowSchemaSpec {
    /// Less is tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching_priority: Option<i32>,
    /// The level of matching requests.
    pub request_priority: LevelReference,
    /// What distinguishes flows; without it all requests are one flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_distinguisher: Option<Distinguishing>,
    /// True when any of them is.
    pub r#match: Vec<And>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LevelReference {
    /// The name of a RequestPriority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Distinguishing {
    /// `user`, `namespace`, `group` or `header:<name>`.
    pub source: String,
    /// The part of the value that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transformation: Option<Transformation>,
    /// Short for `transformation: {regex: …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Transformation {
    /// Its first group is the distinguisher.
    pub regex: String,
}

/// True when all of its tests are; with none it is always true.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct And {
    /// Tests that must all be true.
    pub and: Vec<AtomicTest>,
}

/// A field in which prose stood.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prose {
    MatchingPriority,
    RequestPriority,
}

impl FlowSchemaSpec {
    pub const DEFAULT_MATCHING_PRIORITY: i32 = 1000;

    pub fn matching_priority(&self) -> i32 {
        self.matching_priority.unwrap_or(Self::DEFAULT_MATCHING_PRIORITY)
    }
}
