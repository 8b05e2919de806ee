//! Which fields there are. Decoding passes over others, so that objects of a newer API server can
//! be read; in a file they are a slip of the pen.

use serde_json::Value;

/// By the path of the object they are in, without indices. Metadata and status are not looked at.
const FIELDS: &[(&str, &[&str])] = &[
    (".FlowSchema", &["apiVersion", "kind", "metadata", "spec", "status"]),
    (
        ".FlowSchema.spec",
        &["priorityLevelConfiguration", "matchingPrecedence", "distinguisherMethod", "rules"],
    ),
    (".FlowSchema.spec.priorityLevelConfiguration", &["name"]),
    (".FlowSchema.spec.distinguisherMethod", &["type"]),
    (".FlowSchema.spec.rules", &["subjects", "resourceRules", "nonResourceRules"]),
    (".FlowSchema.spec.rules.subjects", &["kind", "user", "group", "serviceAccount"]),
    (".FlowSchema.spec.rules.subjects.user", &["name"]),
    (".FlowSchema.spec.rules.subjects.group", &["name"]),
    (".FlowSchema.spec.rules.subjects.serviceAccount", &["namespace", "name"]),
    (
        ".FlowSchema.spec.rules.resourceRules",
        &["verbs", "apiGroups", "resources", "clusterScope", "namespaces"],
    ),
    (".FlowSchema.spec.rules.nonResourceRules", &["verbs", "nonResourceURLs"]),
    (".PriorityLevelConfiguration", &["apiVersion", "kind", "metadata", "spec", "status"]),
    (".PriorityLevelConfiguration.spec", &["type", "limited", "exempt"]),
    (
        ".PriorityLevelConfiguration.spec.limited",
        &["nominalConcurrencyShares", "limitResponse", "lendablePercent", "borrowingLimitPercent"],
    ),
    (".PriorityLevelConfiguration.spec.exempt", &["nominalConcurrencyShares", "lendablePercent"]),
    (".PriorityLevelConfiguration.spec.limited.limitResponse", &["type", "queuing"]),
    (
        ".PriorityLevelConfiguration.spec.limited.limitResponse.queuing",
        &["queues", "handSize", "queueLengthLimit"],
    ),
];

/// The paths of fields that objects of this kind don't have.
pub(in crate::dialect) fn unknown_fields(kind: &str, object: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(&format!(".{kind}"), "", object, &mut unknown);
    unknown
}

fn walk(location: &str, path: &str, value: &Value, unknown: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate().filter(|(_, item)| item.is_object()) {
                walk(location, &format!("{path}[{i}]"), item, unknown);
            }
        }
        Value::Object(members) => {
            let Some((_, fields)) = FIELDS.iter().find(|(known, _)| *known == location) else {
                return;
            };
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if fields.contains(&name.as_str()) {
                    walk(&format!("{location}.{name}"), &path, value, unknown);
                } else {
                    unknown.push(path);
                }
            }
        }
        _ => {}
    }
}
