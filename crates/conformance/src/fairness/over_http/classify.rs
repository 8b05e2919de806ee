//! `classify.jsonl`: the schema and the level that a response names.
//!
//! The default schemas that a configuration lacks are made to match nothing, since a server restores
//! those that are deleted; configurations without the mandatory levels can't be set up. An object that the server refuses is left out: a case whose schema is
//! another one is decided as with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    client::{Client, LEVELS, SCHEMAS},
    id, text,
};
use crate::{
    Report,
    apiserver::http::Message,
    report::{Verdict, diff},
};

const FILE: &str = "classify.jsonl over HTTP";
const MANDATORY: [&str; 2] = ["exempt", "catch-all"];

pub(super) fn run(configs: &[Value], cases: &[Value], report: &mut Report) -> Result<(), String> {
    for config in configs {
        let own = |case: &&Value| case["config"] == config["id"] && can_be_sent(case);
        let own: Vec<&Value> = cases.iter().filter(own).collect();
        if own.is_empty() || !has_mandatory_levels(config) {
            continue;
        }
        let client = Client::start()?;
        let refused = configure(&client, config)?;
        let names = names(&client)?;
        for case in own {
            if refused.contains(text(&case["expect"], "flow_schema")) {
                continue;
            }
            let verdict = check(&client, &names, case)?;
            report.count(FILE, &id(case), verdict);
        }
    }
    Ok(())
}

fn has_mandatory_levels(config: &Value) -> bool {
    let levels = config["priority_levels"].as_array().map(Vec::as_slice).unwrap_or_default();
    MANDATORY.iter().all(|name| levels.iter().any(|level| name_of(level) == *name))
}

pub(super) fn can_be_sent(case: &Value) -> bool {
    let request = &case["request"];
    let groups = groups(request);
    let is_known = |group: &str| groups.contains(&group);
    let has_group = is_known("system:authenticated") || is_known("system:unauthenticated");
    let is_anonymous = text(request, "user") == "system:anonymous";
    let is_plain = |text: &str| text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    has_group
        && is_anonymous == is_known("system:unauthenticated")
        && method(request).is_some()
        && !text(request, "user").is_empty()
        && target(request).starts_with('/')
        && is_plain(&target(request))
        // A request to a namespace is in that namespace.
        && (text(request, "resource") != "namespaces" || !text(request, "namespace").is_empty())
        && groups.iter().all(|group| !group.is_empty() && is_plain(group))
}

/// Writes the objects of a configuration; the schemas that are refused.
fn configure(client: &Client, config: &Value) -> Result<BTreeSet<String>, String> {
    for level in config["priority_levels"].as_array().into_iter().flatten() {
        client.put(LEVELS, level)?;
    }
    let wanted = config["flow_schemas"].as_array().cloned().unwrap_or_default();
    let is_wanted = |name: &str| wanted.iter().any(|schema| name_of(schema) == name);
    for schema in client.items(SCHEMAS)? {
        let name = name_of(&schema);
        if !is_wanted(name) && !MANDATORY.contains(&name) {
            let mut nothing = schema.clone();
            nothing["spec"]["rules"] = json!([]);
            client.put(SCHEMAS, &nothing)?;
        }
    }
    let mut refused = BTreeSet::new();
    for schema in &wanted {
        if !client.put(SCHEMAS, schema)? && !MANDATORY.contains(&name_of(schema)) {
            refused.insert(name_of(schema).to_owned());
        }
    }
    client.settle(0)?;
    Ok(refused)
}

fn name_of(object: &Value) -> &str {
    text(&object["metadata"], "name")
}

/// Names by UID.
fn names(client: &Client) -> Result<BTreeMap<String, String>, String> {
    let mut all = client.items(SCHEMAS)?;
    all.extend(client.items(LEVELS)?);
    let pair =
        |object: &Value| (text(&object["metadata"], "uid").to_owned(), name_of(object).to_owned());
    Ok(all.iter().map(pair).collect())
}

fn check(
    client: &Client,
    names: &BTreeMap<String, String>,
    case: &Value,
) -> Result<Verdict, String> {
    let request = &case["request"];
    let groups = groups(request);
    let method = method(request).unwrap_or_default();
    let message: Message = client.message(&method, &target(request), None);
    let message = client.as_user(message, text(request, "user"), &groups);
    let answer = client.send(&message)?;
    let [schema, level] = Client::destination(&answer).map(|uid| {
        names.get(&uid).cloned().unwrap_or_else(|| format!("{} {uid:?}", answer.status))
    });
    let expect = &case["expect"];
    let wanted = json!({"schema": expect["flow_schema"], "level": expect["priority_level"]});
    let diffs = diff("", &wanted, &json!({"schema": schema, "level": level}));
    Ok(match diffs.is_empty() {
        true => Verdict::Passed,
        false => Verdict::Failed(diffs.join("\n")),
    })
}

fn groups(request: &Value) -> Vec<&str> {
    let groups = request["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    groups.iter().filter_map(Value::as_str).collect()
}

/// The method that makes this verb.
fn method(request: &Value) -> Option<String> {
    let verb = text(request, "verb");
    if request["is_resource_request"] == false {
        let is_method = verb.bytes().all(|byte| byte.is_ascii_lowercase());
        return (is_method && !verb.is_empty()).then(|| verb.to_uppercase());
    }
    let named = !text(request, "name").is_empty();
    let method = match (verb, named) {
        ("get", true) | ("list" | "watch", false) => "GET",
        ("create", false) => "POST",
        ("update", true) => "PUT",
        ("patch", true) => "PATCH",
        ("delete", true) | ("deletecollection", false) => "DELETE",
        _ => return None,
    };
    (!text(request, "resource").is_empty()).then(|| method.to_owned())
}

fn target(request: &Value) -> String {
    if request["is_resource_request"] == false {
        return text(request, "path").to_owned();
    }
    let mut target = match text(request, "api_group") {
        "" => "/api/v1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    let [namespace, resource, name, subresource] =
        ["namespace", "resource", "name", "subresource"].map(|field| text(request, field));
    if !namespace.is_empty() && resource != "namespaces" {
        target.push_str(&format!("/namespaces/{namespace}"));
    }
    for part in [resource, name, subresource].into_iter().filter(|part| !part.is_empty()) {
        target.push_str(&format!("/{part}"));
    }
    if text(request, "verb") == "watch" {
        target.push_str("?watch=true&timeoutSeconds=1");
    }
    target
}
