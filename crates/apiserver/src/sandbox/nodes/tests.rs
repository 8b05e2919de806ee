use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{HEARTBEAT, OUTAGE_UNTIL, beats, evict, is_ready, reconcile};
use crate::{
    sandbox::{
        action::{Action, Step},
        world::{
            World,
            testing::{carry_out, present, put, world},
        },
    },
    settings::Sandbox,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn node(metadata: &Value) -> Value {
    let mut node = json!({"kind": "Node", "metadata": metadata});
    node["metadata"]["name"] = "n1".into();
    node["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z".into();
    node
}

fn pod(spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["nodeName"] = "n1".into();
    spec["containers"] = json!([]);
    let status = json!({"phase": "Running", "startTime": "1970-01-01T00:00:00Z",
        "conditions": [{"type": "Ready", "status": "True"}]});
    json!({"kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": spec, "status": status})
}

fn look(world: &mut World, second: i64) -> Step {
    let step = reconcile(world, "n1", at(second), &Sandbox::default());
    carry_out(world, &step, at(second));
    step
}

fn annotate(world: &mut World, heartbeat: &Value, now: Timestamp) {
    let mut node = present(world, "nodes", "n1");
    node["kind"] = "Node".into();
    node["metadata"]["annotations"] = json!({HEARTBEAT: heartbeat});
    if heartbeat.is_null() {
        node["metadata"].as_object_mut().unwrap().remove("annotations");
    }
    put(world, node, now);
}

fn taints(world: &World) -> Vec<String> {
    let node = present(world, "nodes", "n1");
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let text = |taint: &Value, name: &str| taint[name].as_str().unwrap_or_default().to_owned();
    taints.iter().map(|taint| format!("{}:{}", text(taint, "key"), text(taint, "effect"))).collect()
}

#[test]
fn a_new_node_gets_only_missing_fields() {
    let mut given = node(&json!({}));
    given["status"] = json!({"capacity": {"cpu": "64"}, "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}]});
    let mut world = world(&[given]);
    look(&mut world, 3);
    let node = present(&world, "nodes", "n1");
    assert_eq!(node["metadata"]["labels"], json!({"kubernetes.io/hostname": "n1"}));
    assert_eq!(node["status"]["capacity"], json!({"cpu": "64", "memory": "16Gi", "pods": "110"}));
    assert_eq!(node["status"]["allocatable"], node["status"]["capacity"]);
    assert_eq!(node["status"]["addresses"][0]["address"], "192.0.2.7");
    assert!(is_ready(world.node("n1").unwrap()));
    assert!(taints(&world).is_empty());
    let lease = present(&world, "leases", "kube-node-lease/n1");
    assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:00:03.000000Z");
    assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "n1");
}

#[test]
fn a_ready_condition_without_a_time_gets_the_current_one() {
    let mut given = node(&json!({}));
    given["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let mut world = world(&[given]);
    for second in [3, 9] {
        look(&mut world, second);
        let node = present(&world, "nodes", "n1");
        let conditions = node["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.len(), 4);
        for condition in conditions {
            assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:03Z", "{condition}");
            assert_eq!(condition["lastHeartbeatTime"], "1970-01-01T00:00:03Z", "{condition}");
        }
    }
}

#[test]
fn heartbeats_come_at_multiples_of_their_interval() {
    let mut world = world(&[node(&json!({}))]);
    assert_eq!(look(&mut world, 3).again, Some(at(10)));
    assert_eq!(look(&mut world, 9), Step::nothing().again(at(10)));
    let step = look(&mut world, 10);
    assert!(matches!(step.actions[..], [Action::Patch { .. }]), "{step:?}");
    assert_eq!(step.again, Some(at(20)));
    assert_eq!(look(&mut world, 10), Step::nothing().again(at(20)));
    // After a long pause a heartbeat arrives at once, and nothing was lost.
    look(&mut world, 5_000);
    assert!(is_ready(world.node("n1").unwrap()));
    assert_eq!(look(&mut world, 5_001), Step::nothing().again(at(5_010)));
}

#[test]
fn silence_makes_a_node_unknown_and_a_heartbeat_brings_it_back() {
    let mut world = world(&[node(&json!({}))]);
    look(&mut world, 0);
    annotate(&mut world, &json!("off"), at(5));
    assert!(!beats(world.node("n1").unwrap()));
    assert_eq!(look(&mut world, 5), Step::nothing().again(at(40)));
    assert!(is_ready(world.node("n1").unwrap()));
    look(&mut world, 40);
    let lost = present(&world, "nodes", "n1");
    for condition in lost["status"]["conditions"].as_array().unwrap() {
        assert_eq!(condition["status"], "Unknown");
        assert_eq!(condition["reason"], "NodeStatusUnknown");
        assert_eq!(condition["message"], "Kubelet stopped posting node status.");
        assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:40Z");
    }
    let unreachable =
        ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"];
    assert_eq!(taints(&world), unreachable);
    assert_eq!(look(&mut world, 1_000), Step::nothing());
    annotate(&mut world, &Value::Null, at(1_000));
    look(&mut world, 1_000);
    assert!(is_ready(world.node("n1").unwrap()));
    assert!(taints(&world).is_empty());
}

#[test]
fn a_node_that_was_never_heard_is_lost_after_its_creation() {
    let mut world = world(&[node(&json!({"annotations": {HEARTBEAT: "off"}}))]);
    assert_eq!(look(&mut world, 1), Step::nothing().again(at(40)));
    look(&mut world, 40);
    let lost = present(&world, "nodes", "n1");
    assert_eq!(lost["status"]["conditions"][0]["reason"], "NodeStatusNeverUpdated");
    assert_eq!(look(&mut world, 41), Step::nothing());
}

#[test]
fn pods_of_a_lost_node_are_unready_at_once_and_deleted_when_they_tolerate_it_no_longer() {
    let tolerates = |seconds: &Value| {
        json!({"tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": seconds}]})
    };
    for (spec, deleted) in [
        (json!({}), Some(340)),
        (tolerates(&json!(10)), Some(50)),
        (tolerates(&Value::Null), None),
        (json!({"tolerations": [{"operator": "Exists"}]}), None),
    ] {
        let mut world = world(&[node(&json!({})), pod(&spec)]);
        look(&mut world, 0);
        annotate(&mut world, &json!("off"), at(0));
        look(&mut world, 40);
        let settings = Sandbox { pod_eviction: Duration::from_secs(300), ..Sandbox::default() };
        let step = evict(&world, "default/a", at(40), &settings);
        carry_out(&mut world, &step, at(40));
        assert_eq!(step.again, deleted.map(at), "{spec}");
        let unready = present(&world, "pods", "default/a");
        assert_eq!(unready["status"]["conditions"][0]["status"], "False", "{spec}");
        let Some(deleted) = deleted else { continue };
        assert_eq!(
            evict(&world, "default/a", at(deleted - 1), &settings),
            Step::nothing().again(at(deleted))
        );
        let step = evict(&world, "default/a", at(deleted), &settings);
        assert!(
            matches!(step.actions[..], [Action::Delete { grace_seconds: None, .. }]),
            "{step:?}"
        );
        carry_out(&mut world, &step, at(deleted));
        // The termination is never confirmed, and not requested twice.
        assert_eq!(evict(&world, "default/a", at(deleted + 500), &settings), Step::nothing());
    }
}

#[test]
fn a_taint_by_hand_ends_pods_that_do_not_tolerate_it() {
    let mut tainted = node(&json!({}));
    tainted["spec"]["taints"] =
        json!([{"key": "drain", "effect": "NoExecute"}, {"key": "x", "effect": "NoSchedule"}]);
    let mut world = world(&[tainted, pod(&json!({}))]);
    look(&mut world, 7);
    assert_eq!(
        present(&world, "nodes", "n1")["spec"]["taints"][0]["timeAdded"],
        "1970-01-01T00:00:07Z"
    );
    assert_eq!(taints(&world), ["drain:NoExecute", "x:NoSchedule"]);
    let step = evict(&world, "default/a", at(7), &Sandbox::default());
    assert!(matches!(step.actions[..], [Action::Delete { grace_seconds: None, .. }]), "{step:?}");
}

#[test]
fn pods_of_a_missing_node_are_deleted_unless_they_have_not_started() {
    let settings = Sandbox::default();
    let started = world(&[pod(&json!({}))]);
    let step = evict(&started, "default/a", at(1), &settings);
    assert!(
        matches!(step.actions[..], [Action::Delete { grace_seconds: Some(0), .. }]),
        "{step:?}"
    );
    let mut new = pod(&json!({}));
    new["status"] = json!({"phase": "Pending"});
    new["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z".into();
    let early = world(&[new]);
    assert_eq!(evict(&early, "default/a", at(1), &settings), Step::nothing().again(at(40)));
    assert_eq!(evict(&early, "default/a", at(40), &settings).actions.len(), 1);
}

#[test]
fn a_node_that_is_cordoned_is_tainted_until_it_is_not() {
    let mut world = world(&[node(&json!({}))]);
    look(&mut world, 1);
    for (cordoned, expected) in
        [(true, &["node.kubernetes.io/unschedulable:NoSchedule"][..]), (false, &[])]
    {
        let mut node = present(&world, "nodes", "n1");
        node["kind"] = "Node".into();
        node["spec"]["unschedulable"] = cordoned.into();
        put(&mut world, node, at(2));
        look(&mut world, 2);
        assert_eq!(taints(&world), expected);
        assert_eq!(look(&mut world, 2).actions, []);
    }
}

#[test]
fn an_outage_ends_by_itself_and_its_annotation_is_removed() {
    let mut world = world(&[node(&json!({})), pod(&json!({}))]);
    look(&mut world, 0);
    let mut given = present(&world, "nodes", "n1");
    given["kind"] = "Node".into();
    given["metadata"]["annotations"] = json!({OUTAGE_UNTIL: "1970-01-01T00:01:00Z", "other": "x"});
    put(&mut world, given, at(1));
    assert!(!beats(world.node("n1").unwrap()));
    assert_eq!(look(&mut world, 1), Step::nothing().again(at(40)), "lost after the grace");
    assert_eq!(look(&mut world, 40).again, Some(at(60)), "over at its end");
    assert!(!is_ready(world.node("n1").unwrap()));
    look(&mut world, 60);
    let annotations = &present(&world, "nodes", "n1")["metadata"]["annotations"];
    assert_eq!(annotations, &json!({"other": "x"}));
    look(&mut world, 60);
    assert!(is_ready(world.node("n1").unwrap()) && taints(&world).is_empty());
}

#[test]
fn an_outage_until_what_is_no_time_is_over_at_once() {
    let annotations = json!({OUTAGE_UNTIL: "tomorrow"});
    let mut world = world(&[node(&json!({"annotations": annotations}))]);
    assert_eq!(look(&mut world, 1).actions.len(), 1);
    assert!(beats(world.node("n1").unwrap()));
}
