//! Which Node is chosen, and why none is.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{asks, cpu, node, place, pod};
use crate::{
    sandbox::{
        action::{Action, Step},
        scheduler::reconcile,
        world::testing,
    },
    settings::Sandbox,
};

fn new() -> Value {
    pod("new", "")
}

fn affinity(term: &Value) -> Value {
    let required = json!({"nodeSelectorTerms": [term]});
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}})
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    affinity(&json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
}

#[test]
fn a_pod_is_scheduled_to_a_node_that_it_selects() {
    let mut big = node("b", "z2");
    big["metadata"]["labels"]["size"] = "20".into();
    for (spec, expected) in [
        (json!({}), Some("a")),
        (json!({"nodeSelector": {"size": "20"}}), Some("b")),
        (json!({"nodeSelector": {"size": "3"}}), None),
        (expression("size", "In", &["10", "20"]), Some("b")),
        (expression("size", "NotIn", &["20"]), Some("a")),
        (expression("size", "Exists", &[]), Some("b")),
        (expression("size", "DoesNotExist", &[]), Some("a")),
        (expression("size", "Gt", &["19"]), Some("b")),
        (expression("size", "Gt", &["20"]), None),
        (expression("size", "Lt", &["21"]), Some("b")),
        (expression("size", "Lt", &["x"]), None),
        (affinity(&json!({})), None),
        (
            affinity(
                &json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}),
            ),
            Some("b"),
        ),
    ] {
        let found = place(&[node("a", "z1"), big.clone(), asks(new(), &spec)]);
        let refused =
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.";
        assert_eq!(found, expected.map(str::to_owned).ok_or(refused.to_owned()), "{spec}");
    }
}

#[test]
fn a_preferred_node_is_chosen_if_it_is_eligible() {
    let prefers = |zones: &[(&str, i32)]| {
        let terms = zones.iter().map(|(zone, weight)| {
            let term =
                json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]});
            json!({"weight": weight, "preference": {"matchExpressions": [term]}})
        });
        let terms: Vec<Value> = terms.collect();
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}})
    };
    let mut cordoned = node("c", "z3");
    cordoned["spec"]["unschedulable"] = true.into();
    for (zones, expected) in [
        (&[][..], "a"),
        (&[("z2", 1)], "b"),
        (&[("z2", 1), ("z1", 2)], "a"),
        (&[("z2", 1), ("z1", 2), ("z2", 2)], "b"),
        (&[("z3", 100), ("z2", 1)], "b"),
        (&[("elsewhere", 100)], "a"),
    ] {
        let pod = asks(new(), &prefers(zones));
        let found = place(&[node("a", "z1"), node("b", "z2"), cordoned.clone(), pod]);
        assert_eq!(found.as_deref(), Ok(expected), "{zones:?}");
    }
    // Preferences come before what is least loaded.
    let busy = asks(pod("p", "b"), &cpu("1500m"));
    let pod = asks(new(), &prefers(&[("z2", 1)]));
    assert_eq!(place(&[node("a", "z1"), node("b", "z2"), busy, pod]).as_deref(), Ok("b"));
}

#[test]
fn each_node_is_refused_for_its_first_reason() {
    let mut cordoned = node("a", "z");
    cordoned["spec"]["unschedulable"] = true.into();
    let mut tainted = node("b", "z");
    tainted["spec"]["taints"] = json!([{"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "soft", "effect": "PreferNoSchedule"}]);
    let mut unready = node("c", "z");
    unready["status"]["conditions"][0]["status"] = "Unknown".into();
    let full = [node("d", "z"), asks(pod("p", "d"), &cpu("1500m"))];
    let crowd = |name: &str| pod(name, "e");
    let objects = [
        cordoned,
        tainted,
        unready,
        full[0].clone(),
        full[1].clone(),
        node("e", "z"),
        crowd("1"),
        crowd("2"),
        crowd("3"),
        crowd("4"),
        crowd("5"),
        asks(new(), &cpu("600m")),
    ];
    let message = "0/5 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 node(s) had \
                   untolerated taint {gpu: yes}, 1 node(s) had untolerated taint \
                   {node.kubernetes.io/not-ready: }, 1 node(s) were unschedulable.";
    assert_eq!(place(&objects), Err(message.to_owned()));
    for (spec, expected) in [
        (json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}), "b"),
        (
            json!({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}),
            "c",
        ),
        (
            json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}),
            "a",
        ),
        (cpu("500m"), "d"),
    ] {
        let mut objects = objects.to_vec();
        let last = objects.len() - 1;
        objects[last] = asks(objects[last].clone(), &spec);
        assert_eq!(place(&objects), Ok(expected.to_owned()), "{spec}");
    }
    assert_eq!(place(&[new()]), Err("no nodes available to schedule pods".to_owned()));
}

#[test]
fn what_has_ended_leaves_room_and_first_containers_count_by_their_peak() {
    let mut ended = asks(pod("p", "a"), &cpu("2"));
    ended["status"]["phase"] = "Succeeded".into();
    assert_eq!(place(&[node("a", "z"), ended, asks(new(), &cpu("2"))]), Ok("a".to_owned()));
    let first = |amount: &str, policy: Value| {
        let mut spec = cpu("1");
        let requests = json!({"requests": {"cpu": amount}});
        spec["initContainers"] =
            json!([{"name": "i", "resources": requests, "restartPolicy": policy}]);
        place(&[node("a", "z"), asks(new(), &spec)]).is_ok()
    };
    assert!(first("2", Value::Null));
    assert!(!first("2001m", Value::Null));
    assert!(first("1", json!("Always")));
    assert!(!first("1001m", json!("Always")));
}

#[test]
fn pods_of_one_owner_spread_over_zones_then_over_nodes() {
    let owned = |mut pod: Value| {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true}]);
        pod
    };
    let nodes =
        [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b"), node("c1", "c")];
    let mut objects = nodes.to_vec();
    let mut order = Vec::new();
    for index in 0..7 {
        let mut all = objects.clone();
        all.push(owned(new()));
        let chosen = place(&all).unwrap();
        objects.push(owned(pod(&format!("p{index}"), &chosen)));
        order.push(chosen);
    }
    assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "c1", "a1"]);
}

#[test]
fn the_least_loaded_node_is_taken_and_then_the_first_by_name() {
    let objects =
        [node("a", "z"), node("b", "z"), node("c", "z"), asks(pod("p", "a"), &cpu("1")), new()];
    assert_eq!(place(&objects), Ok("b".to_owned()));
}

fn apart(key: &str, kind: &str) -> Value {
    let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}});
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

#[test]
fn pods_keep_together_and_apart_by_topology() {
    const ZONE: &str = "topology.kubernetes.io/zone";
    const HOST: &str = "kubernetes.io/hostname";
    let nodes = [node("a1", "a"), node("a2", "a"), node("b1", "b")];
    let with = |there: Value, new: Value| place(&[&nodes[..], &[there, new]].concat());
    let refused = |why: &str| Err(format!("0/3 nodes are available: {why}."));
    let there = || pod("p", "a1");
    let other = || {
        let mut other = pod("p", "a1");
        other["metadata"]["labels"] = json!({"app": "other"});
        other
    };
    let to = |name: &str| Ok(name.to_owned());
    assert_eq!(with(there(), asks(new(), &apart(HOST, "podAntiAffinity"))), to("a2"));
    assert_eq!(with(there(), asks(new(), &apart(ZONE, "podAntiAffinity"))), to("b1"));
    assert_eq!(with(other(), asks(new(), &apart(ZONE, "podAntiAffinity"))), to("a1"));
    assert_eq!(with(pod("p", "b1"), asks(new(), &apart(ZONE, "podAffinity"))), to("b1"));
    assert_eq!(with(asks(there(), &apart(ZONE, "podAntiAffinity")), new()), to("b1"));
    // The first of a group has no other Pod to join.
    assert_eq!(with(other(), asks(new(), &apart(ZONE, "podAffinity"))), to("a1"));
    let none = apart("rack", "podAffinity");
    assert_eq!(
        with(there(), asks(new(), &none)),
        refused("3 node(s) didn't match pod affinity rules")
    );
}

#[test]
fn why_a_pod_waits_is_said_once_for_each_reason() {
    let look = |objects: &[Value]| {
        let world = testing::world(objects);
        reconcile(&world, "default/new", Timestamp::UNIX_EPOCH, &Sandbox::default())
    };
    let step = look(&[new()]);
    let [Action::Patch { patch, .. }, Action::Event { reason, warning: true, .. }] =
        &step.actions[..]
    else {
        panic!("{step:?}");
    };
    assert_eq!(*reason, "FailedScheduling");
    let mut told = new();
    told["status"]["conditions"] = patch["status"]["conditions"].clone();
    assert_eq!(look(&[told.clone()]), Step::nothing());
    let bound = look(&[told, node("a", "z")]);
    assert!(
        matches!(&bound.actions[..], [Action::Bind { node, .. }, Action::Event { .. }] if node == "a")
    );
    for spec in [
        json!({"schedulerName": "mine"}),
        json!({"schedulingGates": [{"name": "g"}]}),
        json!({"nodeName": "a"}),
    ] {
        assert_eq!(look(&[asks(new(), &spec), node("a", "z")]), Step::nothing(), "{spec}");
    }
}
