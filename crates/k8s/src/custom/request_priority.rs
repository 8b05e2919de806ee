//! Priority levels of requests.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]
#![expect(unreachable_pub, reason = "`KubeSchema` copies each type into a function")]

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::status::FairnessStatus;

/// How many requests of a priority level run at the same time, and how the others wait.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "evenkeel.dev",
    version = "v1alpha1",
    kind = "RequestPriority",
    plural = "requestpriorities",
    shortname = "rp",
    category = "evenkeel",
    status = "FairnessStatus",
    derive = "PartialEq",
    doc = "A priority level of requests to the API server. FlowSchemas of evenkeel.dev send requests \
           to it. In force on a server with --fairness-dialect=evenkeel.",
    printcolumn(name = "Exempt", type_ = "boolean", json_path = ".spec.exempt"),
    printcolumn(name = "Shares", type_ = "integer", json_path = ".spec.assuredConcurrencyShares"),
    printcolumn(name = "Queues", type_ = "integer", json_path = ".spec.queues"),
    printcolumn(name = "HandSize", type_ = "integer", json_path = ".spec.handSize"),
    printcolumn(
        name = "QueueLengthLimit",
        type_ = "integer",
        json_path = ".spec.queueLengthLimit"
    ),
    printcolumn(
        name = "InForce",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"InForce\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "CatchAll", type_ = "boolean", json_path = ".spec.catchAll", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"InForce\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = ("!(has(self.exempt) && self.exempt) || !(has(self.assuredConcurrencyShares) || \
                   has(self.queues) || has(self.handSize) || has(self.queueLengthLimit))",
                  "an exempt level has no limits: remove assuredConcurrencyShares, queues, handSize \
                   and queueLengthLimit"),
    validation = ("(has(self.exempt) && self.exempt) || (has(self.assuredConcurrencyShares) && \
                   has(self.queues) && has(self.queueLengthLimit))",
                  "a level that is not exempt needs assuredConcurrencyShares, queues and \
                   queueLengthLimit"),
    validation = ("!has(self.queues) || self.queues <= 1 || has(self.handSize)",
                  "handSize is required for more than one queue"),
    validation = ("!has(self.queues) || !has(self.handSize) || self.handSize <= self.queues",
                  "handSize must be at most queues"),
)]
pub struct RequestPrioritySpec {
    /// Requests of this level never wait and take no seats. An exempt level has no limits, so
    /// none of the numbers. There should be one such level.
    #[serde(default)]
    pub exempt: bool,
    /// Requests that match no FlowSchema go to this level. One level should have it.
    #[serde(default)]
    pub catch_all: bool,
    /// The level's part of the server's seats, in proportion to the shares of all levels. A level
    /// with 0 shares has no seats. Required unless the level is exempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4_294_967_295_u32), extend("format" = "int64"))]
    pub assured_concurrency_shares: Option<u32>,
    /// Number of queues. With more than one, flows are kept apart. Required unless the level is
    /// exempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 67_108_864), extend("format" = "int64"))]
    pub queues: Option<u32>,
    /// Number of queues that a flow may use: its hand. Required for more than one queue. Must be at
    /// most queues, and queues!/(queues-handSize)! must be below 2^60: at most 8 of 128 queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 19), extend("format" = "int64"))]
    pub hand_size: Option<u32>,
    /// Number of requests that may wait in a queue. Further ones are rejected with 429. Required
    /// unless the level is exempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32), extend("format" = "int64"))]
    pub queue_length_limit: Option<u32>,
}
