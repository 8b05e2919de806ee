//! What Kubernetes (1.37) answered: access reviews, refused roles, nodes.
//!
//! `recorded/policy.json` has the objects that were stored beside the default ones; the other files
//! have one question with its answer in each line.

#![allow(clippy::unwrap_used, reason = "all of it is a test")]

use std::collections::BTreeSet;

use evenkeel_authorization::{
    Attributes, User,
    node::{self, Decision, Graph, PodRefs},
    rbac::{Binding, Policy, Role, Rule, defaults, escalation},
    reasons,
};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn stored() -> Vec<Value> {
    let own: Vec<Value> = serde_json::from_str(include_str!("recorded/policy.json")).unwrap();
    own.into_iter().chain(defaults::objects().into_iter().map(|object| object.value)).collect()
}

/// The policy with all roles, and the bindings that are wanted.
fn policy(wanted: impl Fn(&str) -> bool) -> Policy {
    let mut policy = Policy::default();
    for object in stored() {
        let scope = object.pointer("/metadata/namespace").and_then(Value::as_str);
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap();
        if !object["kind"].as_str().unwrap().ends_with("Binding") {
            policy.set_role(scope, name, Some(Role::of(&object)));
        } else if wanted(name) {
            policy.set_binding(scope, name, Some(Binding::of(&object)));
        }
    }
    policy
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn user(line: &Value) -> User {
    User {
        name: line["user"].as_str().unwrap().to_owned(),
        groups: texts(&line["groups"]).into_iter().map(str::to_owned).collect(),
        ..User::default()
    }
}

fn attributes(line: &Value) -> Attributes<'_> {
    let verb = line["verb"].as_str().unwrap();
    match line.get("path").and_then(Value::as_str) {
        Some(path) => Attributes::path(verb, path),
        None => {
            let of = texts(&line["of"]).try_into().unwrap();
            let field_selector = line.get("selector").and_then(Value::as_str).unwrap_or_default();
            Attributes { field_selector, ..Attributes::resource(verb, of) }
        }
    }
}

/// The errors of a refusal, in whatever order.
fn errors(text: &str) -> BTreeSet<&str> {
    text.trim_start_matches("rbac: RBAC: ").trim_matches(['[', ']']).split(", ").collect()
}

#[test]
fn access_reviews_are_as_in_kubernetes() {
    let all = policy(|_| true);
    for line in lines(include_str!("recorded/reviews.jsonl")) {
        let (user, attributes) = (user(&line), attributes(&line));
        let reason = line["reason"].as_str().unwrap();
        let own = all.authorize(&user, &attributes);
        assert_eq!(own.is_some(), line["allowed"].as_bool().unwrap(), "{line}");
        if own.is_none() {
            let refusal = all.refusal(&user, attributes.namespace()).unwrap_or_default();
            let refusal = reasons(&[("node", ""), ("rbac", &refusal)]);
            assert_eq!(errors(&refusal), errors(reason), "{line}");
            continue;
        }
        // Kubernetes names any of the bindings that allow it.
        let binding = reason.split('"').nth(1).unwrap().split('/').next().unwrap();
        let only = policy(|name| name == binding);
        let own = only.authorize(&user, &attributes).map(|reason| reason.to_string());
        assert_eq!(own.as_deref(), Some(reason), "{line}");
    }
}

#[test]
fn refused_roles_are_as_in_kubernetes() {
    let all = policy(|_| true);
    let lines = lines(include_str!("recorded/escalations.jsonl"));
    for line in &lines {
        // Who impersonates is authenticated.
        let user = user(line).authenticated();
        let namespace = line["namespace"].as_str().unwrap();
        let resource = if namespace.is_empty() { "clusterroles" } else { "roles" };
        let of = ["rbac.authorization.k8s.io", resource, "", namespace, ""];
        if all.allows(&user, &Attributes::resource("escalate", of)) {
            assert_eq!(line["message"], "");
            continue;
        }
        let scope = Some(namespace).filter(|namespace| !namespace.is_empty());
        let own = escalation::missing(&all, &user, scope, &Rule::all_of(line));
        let own = own.err().map(|escalation| escalation.message(resource)).unwrap_or_default();
        let recorded = line["message"].as_str().unwrap();
        assert_eq!(own, recorded, "{line}");
    }
    assert!(lines.iter().filter(|line| line["message"] != "").count() > 50);
}

#[test]
fn nodes_may_do_what_they_may_in_kubernetes() {
    let all = policy(|_| true);
    let lines = lines(include_str!("recorded/node.jsonl"));
    let mut graph = Graph::default();
    for pod in lines[0]["pods"].as_array().unwrap() {
        graph.changed(None, Some(&PodRefs::of(pod)));
    }
    let node = User {
        name: "system:node:n1".to_owned(),
        groups: vec!["system:nodes".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    for line in &lines[1..] {
        let attributes = attributes(line);
        let decision = node::authorize(&node, &attributes, &graph);
        assert!(!all.allows(&node, &attributes), "{line}");
        let (allowed, reason) = match decision {
            Decision::Allowed => (true, String::new()),
            Decision::NoOpinion(reason) => (false, reasons(&[("node", &reason)])),
        };
        assert_eq!(allowed, line["allowed"].as_bool().unwrap(), "{line}");
        assert_eq!(reason, line["reason"], "{line}");
    }
}
