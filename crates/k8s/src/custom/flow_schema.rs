//! Which requests go to which priority level.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]
#![expect(unreachable_pub, reason = "`KubeSchema` copies each type into a function")]

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::status::FairnessStatus;

/// Which requests the schema matches, and where they go.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "evenkeel.dev",
    version = "v1alpha1",
    kind = "FlowSchema",
    plural = "flowschemas",
    shortname = "evfs",
    category = "evenkeel",
    status = "FairnessStatus",
    derive = "PartialEq",
    doc = "Sends requests to a RequestPriority, and tells their flows apart. In force on a server with \
           --fairness-dialect=evenkeel. Not the FlowSchema of flowcontrol.apiserver.k8s.io.",
    printcolumn(
        name = "RequestPriority",
        type_ = "string",
        json_path = ".spec.requestPriority.name"
    ),
    printcolumn(
        name = "MatchingPriority",
        type_ = "integer",
        json_path = ".spec.matchingPriority"
    ),
    printcolumn(
        name = "Distinguisher",
        type_ = "string",
        json_path = ".spec.flowDistinguisher.source"
    ),
    printcolumn(
        name = "InForce",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"InForce\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"InForce\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct FlowSchemaSpec {
    /// Schemas are tried in ascending order, ties by name, and the first that matches is used.
    /// Defaults to 1000.
    #[serde(default = "matching_priority", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -2_147_483_648_i32, max = 2_147_483_647_i32))]
    pub matching_priority: Option<i32>,
    /// The priority level of requests that match.
    pub request_priority: LevelReference,
    /// What tells flows apart. Without it, all requests that match are one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_distinguisher: Option<Distinguisher>,
    /// The schema matches a request if any of these does. With none, it matches no request.
    pub r#match: Vec<Conjunction>,
}

/// A reference to a priority level.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct LevelReference {
    /// Name of a RequestPriority. While it does not exist, the schema is not in force.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// What tells flows apart: an attribute of the request, or a part of it.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = ("!(has(self.transformation) && has(self.regex))",
                  "set either transformation or regex"),
    validation = ("self.source != 'group' || has(self.transformation) || has(self.regex)",
                  "a user has several groups: add a transformation that selects one"),
)]
pub struct Distinguisher {
    /// `user`, `namespace`, `group` or `header:<name>`. For `namespace`, every part of match must test
    /// for a resource or a namespace.
    #[schemars(regex(pattern = r"^(user|namespace|group|header:[0-9A-Za-z!#$%&'*+.^_`|~-]+)$"))]
    pub source: String,
    /// The part of the value that counts. Without it, the whole value does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transformation: Option<Transformation>,
    /// Short for `transformation: {regex: …}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    #[x_kube(validation = ("self.contains('(')",
                           "needs a capturing group: its capture tells flows apart"))]
    pub regex: Option<String>,
}

/// Selects the part of a value that counts.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct Transformation {
    /// A regular expression (RE2 syntax) that matches the whole value. What its first group captures
    /// tells flows apart.
    #[schemars(length(max = 4096))]
    #[x_kube(validation = ("self.contains('(')",
                           "needs a capturing group: its capture tells flows apart"))]
    pub regex: String,
}

/// Matches a request if all of its tests do.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct Conjunction {
    /// Tests that must all be true. With none, every request matches.
    pub and: Vec<Test>,
}

/// Compares one attribute of the request. Exactly one operator is set, with its operands inside. The
/// form in which the proposal prints tests is accepted too: an operator without a value, and its
/// operands beside it.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
// Not in CEL: a rule inside of two lists would need limits of their lengths to be accepted.
#[schemars(transform = one_operator)]
pub struct Test {
    /// The attribute has this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<ToValue>,
    /// The attribute has one of these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_set: Option<InSet>,
    /// The attribute has all of these values. For attributes with several: groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub super_set: Option<InSet>,
    /// A regular expression matches the whole attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern_match: Option<PatternMatch>,
    /// The inverse of equals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_equals: Option<ToValue>,
    /// The inverse of inSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_in_set: Option<InSet>,
    /// The inverse of superSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_super_set: Option<InSet>,
    /// The inverse of patternMatch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_pattern_match: Option<PatternMatch>,
    /// The attribute, for an operator without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Attribute")]
    pub field: Option<Attribute>,
    /// The operand, for equals or notEquals without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub value: Option<String>,
    /// The operand, for inSet, superSet, notInSet or notSuperSet without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub set: Option<Vec<String>>,
    /// The operand, for patternMatch or notPatternMatch without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 4096))]
    pub pattern: Option<String>,
}

/// The name of an attribute of requests.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Attribute(
    #[schemars(regex(
        pattern = r"^(user|groups|verb|apiGroup|resource|subresource|namespace|name|path|method|header:[0-9A-Za-z!#$%&'*+.^_`|~-]+)$"
    ))]
    pub String,
);

/// An attribute, and the value it is compared with.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct ToValue {
    /// `user`, `groups`, `verb`, `apiGroup`, `resource`, `subresource`, `namespace`, `name`, `path`,
    /// `method` or `header:<name>`.
    pub field: Attribute,
    /// The value. An attribute that a request does not have is empty.
    pub value: String,
}

/// An attribute, and the values it is compared with.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct InSet {
    /// `user`, `groups`, `verb`, `apiGroup`, `resource`, `subresource`, `namespace`, `name`, `path`,
    /// `method` or `header:<name>`.
    pub field: Attribute,
    /// The values.
    pub set: Vec<String>,
}

/// An attribute, and the pattern it is compared with.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct PatternMatch {
    /// `user`, `groups`, `verb`, `apiGroup`, `resource`, `subresource`, `namespace`, `name`, `path`,
    /// `method` or `header:<name>`.
    pub field: Attribute,
    /// A regular expression (RE2 syntax). It must match the whole value.
    #[schemars(length(max = 4096))]
    pub pattern: String,
}

/// Exactly one operator.
fn one_operator(schema: &mut Schema) {
    let one: Vec<Value> =
        OPERATORS.iter().map(|operator| json!({"required": [operator]})).collect();
    schema.insert("oneOf".to_owned(), one.into());
}

fn matching_priority() -> Option<i32> {
    Some(1000)
}

/// Of a [`Test`].
const OPERATORS: [&str; 8] = [
    "equals",
    "inSet",
    "superSet",
    "patternMatch",
    "notEquals",
    "notInSet",
    "notSuperSet",
    "notPatternMatch",
];
