//! Why a schema does not match a request.

use std::fmt;

use serde::Serialize;

use crate::config::{Field, Op, Subject, Test};

/// Why a schema does not match a request: the rule or conjunction that came closest, and what failed
/// in it. Codes and fields are API; rules and conjunctions count from 0.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Miss {
    /// It has no rules and no conjunctions.
    NoRules,
    /// The rule is for other subjects.
    Subject { rule: usize, user: String, groups: Vec<String>, wanted: Vec<String> },
    /// The rule is for resources only.
    NotResourceRequest { rule: usize, path: String },
    /// The rule is for paths only.
    ResourceRequest { rule: usize, resource: String },
    /// The rule is for other verbs.
    Verb { rule: usize, verb: String, wanted: Vec<String> },
    /// With its subresource.
    Resource { rule: usize, resource: String, wanted: Vec<String> },
    /// The rule is for other API groups.
    ApiGroup { rule: usize, api_group: String, wanted: Vec<String> },
    /// The rule is for other namespaces.
    Namespace { rule: usize, namespace: String, wanted: Vec<String> },
    /// The request has no namespace, and the rule is for those that have one.
    ClusterScope { rule: usize },
    /// The rule is for other paths.
    Path { rule: usize, path: String, wanted: Vec<String> },
    /// A test of the conjunction is false.
    Test {
        conjunction: usize,
        test: usize,
        field: String,
        op: &'static str,
        /// What the request has.
        values: Vec<String>,
        wanted: Vec<String>,
    },
}

/// Its name in configurations.
pub(super) fn field_name(field: &Field) -> String {
    match field {
        Field::User => "user",
        Field::Groups => "groups",
        Field::Verb => "verb",
        Field::ApiGroup => "apiGroup",
        Field::Resource => "resource",
        Field::Subresource => "subresource",
        Field::Namespace => "namespace",
        Field::Name => "name",
        Field::Path => "path",
        Field::Method => "method",
        Field::Header(name) => return format!("header {name}"),
    }
    .to_owned()
}

/// Its name in configurations.
pub(super) fn op_name(test: &Test) -> &'static str {
    match (&test.op, test.negated) {
        (Op::Equals(_), false) => "equals",
        (Op::Equals(_), true) => "notEquals",
        (Op::InSet(_), false) => "inSet",
        (Op::InSet(_), true) => "notInSet",
        (Op::SuperSet(_), false) => "superSet",
        (Op::SuperSet(_), true) => "notSuperSet",
        (Op::Pattern(_), false) => "patternMatch",
        (Op::Pattern(_), true) => "notPatternMatch",
    }
}

pub(super) fn subject_name(subject: &Subject) -> String {
    match subject {
        Subject::Anyone => "anyone".to_owned(),
        Subject::User(name) => format!("user {name}"),
        Subject::Group(name) => format!("group {name}"),
        Subject::ServiceAccount { namespace, name } => {
            format!("service account {namespace}/{name}")
        }
        Subject::ServiceAccountsOf(namespace) => format!("service accounts of {namespace}"),
    }
}

// === impl Miss ===

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Miss::NoRules => write!(f, "it has no rules, so it matches no request"),
            Miss::Subject { rule, user, groups, wanted } => {
                let (groups, wanted) = (List(groups), List(wanted));
                write!(
                    f,
                    "spec.rules[{rule}]: user {user:?} in groups {groups} does not match {wanted}"
                )
            }
            Miss::NotResourceRequest { rule, path } => {
                write!(f, "spec.rules[{rule}] matches resources only, and {path:?} is not one")
            }
            Miss::ResourceRequest { rule, resource } => {
                write!(f, "spec.rules[{rule}] matches paths only, and {resource:?} is a resource")
            }
            Miss::Verb { rule, verb, wanted } => unwanted(f, *rule, "verb", verb, wanted),
            Miss::Resource { rule, resource, wanted } => {
                unwanted(f, *rule, "resource", resource, wanted)
            }
            Miss::ApiGroup { rule, api_group, wanted } => {
                unwanted(f, *rule, "API group", api_group, wanted)
            }
            Miss::Namespace { rule, namespace, wanted } => {
                unwanted(f, *rule, "namespace", namespace, wanted)
            }
            Miss::ClusterScope { rule } => {
                write!(
                    f,
                    "spec.rules[{rule}]: the request has no namespace, and clusterScope is not set"
                )
            }
            Miss::Path { rule, path, wanted } => unwanted(f, *rule, "path", path, wanted),
            Miss::Test { conjunction, test, field, op, values, wanted } => {
                let (values, wanted) = (List(values), List(wanted));
                write!(
                    f,
                    "spec.match[{conjunction}].and[{test}]: {field} {values} fails {op} {wanted}"
                )
            }
        }
    }
}

fn unwanted(
    f: &mut fmt::Formatter<'_>,
    rule: usize,
    what: &str,
    value: &str,
    wanted: &[String],
) -> fmt::Result {
    write!(f, "spec.rules[{rule}]: {what} {value:?} does not match {}", List(wanted))
}

/// The first few, and how many more there are.
struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let visible = |name: &String| if name.is_empty() { "\"\"" } else { name }.to_owned();
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(visible).collect();
        write!(f, "[{}", shown.join(", "))?;
        match self.0.len().saturating_sub(SHOWN) {
            0 => write!(f, "]"),
            more => write!(f, " and {more} more]"),
        }
    }
}
