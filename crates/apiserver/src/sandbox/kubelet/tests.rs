use jiff::Timestamp;
use serde_json::{Value, json};

use super::{EXIT, READY, READY_AFTER, reconcile};
use crate::{
    sandbox::{
        action::{Action, Step},
        nodes::HEARTBEAT,
        world::{
            World, phase_of,
            testing::{carry_out, mark, present, put, world},
        },
    },
    settings::{IpRange, Sandbox},
};

const KEY: &str = "default/a";

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

fn node() -> Value {
    let addresses = json!([{"type": "InternalIP", "address": "172.16.0.9"}]);
    json!({"kind": "Node", "metadata": {"name": "n1"}, "status": {"addresses": addresses}})
}

fn pod(annotations: &Value, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["nodeName"] = "n1".into();
    spec["containers"] = json!([{"name": "web", "image": "web:1"}]);
    let metadata = json!({"name": "a", "namespace": "default", "annotations": annotations});
    json!({"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})
}

fn look(world: &mut World, millis: i64) -> Step {
    let step = reconcile(world, KEY, at(millis), &Sandbox::default());
    carry_out(world, &step, at(millis));
    step
}

/// Status and time of a condition.
fn condition(world: &World, kind: &str) -> (String, String) {
    let pod = present(world, "pods", KEY);
    let all = pod["status"]["conditions"].as_array().unwrap().clone();
    let one = all.iter().find(|one| one["type"] == kind).unwrap();
    let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
    (text("status"), text("lastTransitionTime"))
}

fn ready(world: &World) -> String {
    condition(world, "Ready").0
}

#[test]
fn a_pod_runs_at_once_and_is_ready_after_its_time() {
    let mut world = world(&[node(), pod(&json!({}), &json!({}))]);
    look(&mut world, 1_700);
    let started = present(&world, "pods", KEY);
    assert_eq!(started["status"]["phase"], "Running");
    assert_eq!(started["status"]["podIP"], "10.244.0.1");
    assert_eq!(started["status"]["podIPs"], json!([{"ip": "10.244.0.1"}]));
    assert_eq!(started["status"]["hostIP"], "172.16.0.9");
    assert_eq!(started["status"]["startTime"], "1970-01-01T00:00:01Z");
    assert_eq!(ready(&world), "False");
    // The World knows the moment more precisely than the object.
    assert_eq!(look(&mut world, 2_600), Step::nothing().again(at(2_700)));
    look(&mut world, 2_700);
    let one_second_later = ("True".to_owned(), "1970-01-01T00:00:02Z".to_owned());
    assert_eq!(condition(&world, "Ready"), one_second_later);
    assert_eq!(condition(&world, "ContainersReady"), one_second_later);
    assert_eq!(condition(&world, "Initialized").1, "1970-01-01T00:00:01Z");
    let containers = &present(&world, "pods", KEY)["status"]["containerStatuses"];
    assert_eq!((&containers[0]["ready"], &containers[0]["image"]), (&json!(true), &json!("web:1")));
    assert_eq!(look(&mut world, 9_000), Step::nothing());
}

#[test]
fn annotations_and_gates_decide_when_it_is_ready() {
    let gate = json!({"readinessGates": [{"conditionType": "example.com/in"}]});
    for (annotations, spec, after_one, after_three) in [
        (json!({}), json!({}), "True", "True"),
        (json!({READY_AFTER: "3s"}), json!({}), "False", "True"),
        (json!({READY_AFTER: "500ms"}), json!({}), "True", "True"),
        (json!({READY_AFTER: "soon"}), json!({}), "True", "True"),
        (json!({READY: "false"}), json!({}), "False", "False"),
        (json!({READY: "true"}), json!({}), "True", "True"),
        (json!({}), gate, "False", "False"),
    ] {
        let mut world = world(&[node(), pod(&annotations, &spec)]);
        look(&mut world, 0);
        look(&mut world, 1_000);
        assert_eq!(ready(&world), after_one, "{annotations} {spec}");
        look(&mut world, 3_000);
        assert_eq!(ready(&world), after_three, "{annotations} {spec}");
    }
}

#[test]
fn readiness_follows_the_annotation_and_the_gate() {
    let gate = json!({"readinessGates": [{"conditionType": "example.com/in"}]});
    let mut world = world(&[node(), pod(&json!({}), &gate)]);
    look(&mut world, 0);
    look(&mut world, 1_000);
    assert_eq!(
        (ready(&world), condition(&world, "ContainersReady").0),
        ("False".into(), "True".into())
    );
    let mut open = present(&world, "pods", KEY);
    open["kind"] = "Pod".into();
    open["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "example.com/in", "status": "True"}));
    put(&mut world, open.clone(), at(2_000));
    look(&mut world, 2_000);
    assert_eq!(ready(&world), "True");
    open["metadata"]["annotations"][READY] = "false".into();
    put(&mut world, open, at(3_000));
    look(&mut world, 3_000);
    assert_eq!(ready(&world), "False");
    assert_eq!(condition(&world, "example.com/in").0, "True");
}

#[test]
fn a_pod_that_is_not_started_again_ends_with_its_code() {
    for (policy, code, expected) in [
        ("Never", "0", "Succeeded"),
        ("Never", "1", "Failed"),
        ("OnFailure", "0", "Succeeded"),
        ("OnFailure", "1", "Running"),
        ("Always", "0", "Running"),
        ("Never", "soon", "Running"),
    ] {
        let mut world =
            world(&[node(), pod(&json!({EXIT: code}), &json!({"restartPolicy": policy}))]);
        look(&mut world, 0);
        look(&mut world, 1_000);
        assert_eq!(phase_of(world.pod(KEY).unwrap()), expected, "{policy} {code}");
        assert_eq!(look(&mut world, 5_000), Step::nothing());
    }
}

#[test]
fn a_terminating_pod_is_unready_at_once_and_removed_after_its_grace_period() {
    for (grace, gone) in [(30, 11_000), (1, 11_000), (0, 10_000)] {
        let mut world = world(&[node(), pod(&json!({}), &json!({}))]);
        look(&mut world, 0);
        look(&mut world, 1_000);
        mark(&mut world, KEY, grace, at(10_000));
        if grace > 0 {
            assert_eq!(look(&mut world, 10_000).again, Some(at(gone)));
            assert_eq!(ready(&world), "False");
            assert_eq!(phase_of(world.pod(KEY).unwrap()), "Running");
            assert_eq!(look(&mut world, 10_999), Step::nothing().again(at(gone)));
        }
        let step = look(&mut world, gone);
        assert!(
            matches!(step.actions[..], [Action::Delete { grace_seconds: Some(0), .. }]),
            "{step:?}"
        );
        assert!(world.pod(KEY).is_none());
    }
}

#[test]
fn without_a_heartbeat_nobody_runs_or_ends_pods() {
    let mut silent = node();
    silent["metadata"]["annotations"] = json!({HEARTBEAT: "off"});
    let mut world = world(&[silent, pod(&json!({}), &json!({}))]);
    assert_eq!(look(&mut world, 0), Step::nothing());
    mark(&mut world, KEY, 1, at(0));
    assert_eq!(look(&mut world, 100_000), Step::nothing());
}

#[test]
fn addresses_are_unique_are_freed_and_run_out() {
    let range = IpRange { first: "10.1.0.0".parse().unwrap(), prefix: 30 };
    let settings = Sandbox { pod_cidr: range, ..Sandbox::default() };
    let mut world = world(&[node()]);
    let mut start = |name: &str| {
        let mut new = pod(&json!({}), &json!({}));
        new["metadata"]["name"] = name.into();
        put(&mut world, new, at(0));
        let step = reconcile(&world, &format!("default/{name}"), at(0), &settings);
        // Assumed actions already count.
        step.actions.iter().for_each(|action| world.assume(action, at(0)));
        step.actions.first().map(|action| match action {
            Action::Patch { patch, .. } => patch["status"]["podIP"].as_str().unwrap().to_owned(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(start("a").as_deref(), Some("10.1.0.1"));
    assert_eq!(start("b").as_deref(), Some("10.1.0.2"));
    assert_eq!(start("c"), None);
    world.put_pod("default/a", None, at(0));
    let step = reconcile(&world, "default/c", at(0), &settings);
    let Action::Patch { patch, .. } = &step.actions[0] else { panic!("{step:?}") };
    assert_eq!(patch["status"]["podIP"], "10.1.0.1");
}

#[test]
fn a_pod_in_the_network_of_its_node_has_the_address_of_the_node() {
    let mut world = world(&[node(), pod(&json!({}), &json!({"hostNetwork": true}))]);
    look(&mut world, 0);
    assert_eq!(present(&world, "pods", KEY)["status"]["podIP"], "172.16.0.9");
}
