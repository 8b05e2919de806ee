//! The objects as they travel.

use serde::{Deserialize, Serialize};

use super::atomic::AtomicTest;

/// A priority level.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPriority {
    pub metadata: Metadata,
    pub spec: RequestPrioritySpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSchema {
    pub metadata: Metadata,
    pub spec: FlowSchemaSpec,
    /// Where prose stands for a value, as opposed to a value that is missing.
    #[serde(skip)]
    pub prose: Vec<Prose>,
}

/// What we look at; there may be more.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Metadata {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RequestPrioritySpec {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exempt: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub catch_all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assured_concurrency_shares: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_length_limit: Option<u32>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowSchemaSpec {
    /// Less is tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching_priority: Option<i32>,
    pub request_priority: LevelReference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_distinguisher: Option<Distinguishing>,
    /// True when any of them is.
    pub r#match: Vec<And>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LevelReference {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Distinguishing {
    /// `user`, `namespace`, `group` or `header:<name>`.
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transformation: Option<Transformation>,
    /// Short for `transformation: {regex: …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Transformation {
    pub regex: String,
}

/// True when all of its tests are; with none it is always true.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct And {
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
