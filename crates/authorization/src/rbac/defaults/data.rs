//! The default objects as text, and how it is read. The format is at the head of the text.

use serde_json::{Map, Value, json};

use super::{AUTO_UPDATE, DefaultObject};
use crate::rbac::GROUP;

pub(super) const TEXT: &str = include_str!("defaults.txt");

const READ: &str = "get,list,watch";
const WRITE: &str = "create,delete,deletecollection,patch,update";
const READ_AND_WRITE: &str = "create,delete,deletecollection,get,list,patch,update,watch";

/// The objects, or the line that can't be read.
pub(super) fn read(text: &'static str) -> Result<Vec<DefaultObject>, &'static str> {
    let mut objects: Vec<DefaultObject> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let done = match (line.strip_prefix("  "), objects.last_mut()) {
            (Some(rule), Some(object)) => add(rule, &mut object.value),
            (Some(_), None) => None,
            (None, _) => head(line).map(|object| objects.push(object)),
        };
        done.ok_or(line)?;
    }
    Ok(objects)
}

fn head(line: &'static str) -> Option<DefaultObject> {
    let mut words = line.split(' ');
    let kind = words.next()?;
    let namespace = match kind {
        "ClusterRole" | "ClusterRoleBinding" => None,
        "Role" | "RoleBinding" => Some(words.next()?),
        _ => return None,
    };
    let name = words.next()?;
    let mut labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
    let mut value = json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind});
    if kind.ends_with("Binding") {
        value["roleRef"] = role_ref(kind, name, words.next()?)?;
        let subjects: Option<Vec<Value>> = words.map(subject).collect();
        let subjects = subjects?;
        if !subjects.is_empty() {
            value["subjects"] = Value::Array(subjects);
        }
    } else {
        for word in words {
            let (key, value) = word.split_once('=')?;
            labels[key] = json!(value);
        }
    }
    let mut metadata =
        json!({"name": name, "labels": labels, "annotations": {AUTO_UPDATE: "true"}});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    value["metadata"] = metadata;
    Some(DefaultObject { kind, namespace, name, value })
}

fn role_ref(kind: &str, name: &str, word: &str) -> Option<Value> {
    let (kind, name) = match word {
        "=" => (kind.strip_suffix("Binding")?, name),
        _ => word.split_once(':')?,
    };
    Some(json!({"apiGroup": GROUP, "kind": kind, "name": name}))
}

fn subject(word: &str) -> Option<Value> {
    let (kind, name) = word.split_once(':')?;
    match kind {
        "User" | "Group" => Some(json!({"kind": kind, "apiGroup": GROUP, "name": name})),
        "ServiceAccount" => {
            let (namespace, name) = name.split_once('/')?;
            Some(json!({"kind": kind, "name": name, "namespace": namespace}))
        }
        _ => None,
    }
}

/// Adds a line below a role.
fn add(line: &str, role: &mut Value) -> Option<()> {
    let role = role.as_object_mut()?;
    if let Some(label) = line.strip_prefix("aggregate ") {
        let (key, value) = label.split_once('=')?;
        let selector = json!({"matchLabels": {key: value}});
        let aggregation =
            role.entry("aggregationRule").or_insert_with(|| json!({"clusterRoleSelectors": []}));
        aggregation["clusterRoleSelectors"].as_array_mut()?.push(selector);
        return Some(());
    }
    let rule = rule(line)?;
    role.entry("rules").or_insert_with(|| json!([])).as_array_mut()?.push(rule);
    Some(())
}

fn rule(line: &str) -> Option<Value> {
    let mut rule = Map::new();
    let mut words = line.split(' ');
    let verbs = match words.next()? {
        "read" => READ,
        "write" => WRITE,
        "read+write" => READ_AND_WRITE,
        verbs => verbs,
    };
    rule.insert("verbs".to_owned(), list(verbs));
    match words.next()? {
        "path" => drop(rule.insert("nonResourceURLs".to_owned(), list(words.next()?))),
        groups => {
            let groups = list(groups).as_array()?.iter().map(group).collect();
            rule.insert("apiGroups".to_owned(), Value::Array(groups));
            rule.insert("resources".to_owned(), list(words.next()?));
        }
    }
    match (words.next(), words.next(), words.next()) {
        (None, ..) => {}
        (Some("of"), Some(names), None) => {
            rule.insert("resourceNames".to_owned(), list(names));
        }
        _ => return None,
    }
    Some(Value::Object(rule))
}

fn group(name: &Value) -> Value {
    if name == "core" { json!("") } else { name.clone() }
}

fn list(text: &str) -> Value {
    Value::Array(text.split(',').map(|word| json!(word)).collect())
}
