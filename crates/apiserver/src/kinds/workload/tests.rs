//! Deployments, ReplicaSets and DaemonSets: what is rejected, and what counts as a change.

use serde_json::{Value, json};

use crate::{
    kinds::{
        Admission, Kind, Part, daemonset::DAEMON_SET, deployment::DEPLOYMENT,
        replicaset::REPLICA_SET,
    },
    settings::Features,
};

fn admission() -> Admission {
    Admission { now: "2020-01-01T00:00:00Z".parse().unwrap(), features: Features::default() }
}

fn object(spec: &Value) -> Value {
    let mut object = json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}}});
    for (name, value) in spec.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    object
}

fn created(kind: &Kind, spec: &Value) -> (Value, Vec<String>) {
    let mut object = object(spec);
    kind.strategy.default(&mut object, &admission());
    kind.strategy.prepare_create(&mut object, &admission());
    let errors = kind.strategy.validate_create(&object, &admission());
    (object, errors.iter().map(ToString::to_string).collect())
}

fn updated(kind: &Kind, part: Part, old: &Value, mut new: Value) -> (Value, Vec<String>) {
    kind.strategy.default(&mut new, &admission());
    kind.strategy.prepare_update(part, &mut new, old, &admission());
    let errors = kind.strategy.validate_update(part, &new, old, &admission());
    (new, errors.iter().map(ToString::to_string).collect())
}

#[test]
fn specs_are_rejected_with_kubernetes_messages() {
    let labels = "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`";
    for (kind, spec, expected) in [
        (&DEPLOYMENT, json!({}), vec![]),
        (&REPLICA_SET, json!({}), vec![]),
        (&DAEMON_SET, json!({}), vec![]),
        (&DEPLOYMENT, json!({"selector": null}), vec!["spec.selector: Required value", labels]),
        (
            &DEPLOYMENT,
            json!({"replicas": -1, "minReadySeconds": -1, "revisionHistoryLimit": -1, "progressDeadlineSeconds": -1}),
            vec![
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
                "spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds",
            ],
        ),
        (
            &DEPLOYMENT,
            json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}}),
            vec![
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
            ],
        ),
        (
            &DEPLOYMENT,
            json!({"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}),
            vec![
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\"}]}: invalid label selector",
            ],
        ),
        (
            &REPLICA_SET,
            json!({"selector": {}}),
            vec!["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            &DAEMON_SET,
            json!({"selector": {}}),
            vec!["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
        ),
        (
            &DAEMON_SET,
            json!({"updateStrategy": {"type": "Slow"}}),
            vec![
                "spec.updateStrategy: Unsupported value: {\"Type\":\"Slow\",\"RollingUpdate\":null}: supported values: \"RollingUpdate\", \"OnDelete\"",
            ],
        ),
        (
            &DAEMON_SET,
            json!({"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}}),
            vec![
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"10%\": may not be set when maxUnavailable is non-zero",
            ],
        ),
        (
            &DAEMON_SET,
            json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}),
            vec![
                "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
            ],
        ),
        (
            &REPLICA_SET,
            json!({"template": {"metadata": {"labels": {"app": "a", "bad key": "x"}}, "spec": {"containers": [], "activeDeadlineSeconds": 5}}}),
            vec![
                "spec.template.labels: Invalid value: \"bad key\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                "spec.template.spec.containers: Required value",
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
            ],
        ),
    ] {
        assert_eq!(created(kind, &spec).1, expected, "{} {spec}", kind.kind);
    }
}

#[test]
fn a_selector_stays() {
    let template = json!({"metadata": {"labels": {"app": "b"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}});
    let change = json!({"selector": {"matchLabels": {"app": "b"}}, "template": template});
    for kind in [&DEPLOYMENT, &REPLICA_SET, &DAEMON_SET] {
        let (old, _) = created(kind, &json!({}));
        let (_, errors) = updated(kind, Part::Main, &old, object(&change));
        let expected =
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable";
        assert_eq!(errors, [expected], "{}", kind.kind);
    }
}

#[test]
fn a_change_of_the_spec_raises_the_generation() {
    let annotated = |mut object: Value| {
        object["metadata"]["annotations"] = json!({"k": "v"});
        object
    };
    for (kind, by_annotation) in [(&DEPLOYMENT, 2), (&REPLICA_SET, 1), (&DAEMON_SET, 1)] {
        let (old, _) = created(kind, &json!({}));
        for (new, generation) in [
            (object(&json!({})), 1),
            (object(&json!({"minReadySeconds": 0})), 1),
            (object(&json!({"minReadySeconds": 3})), 2),
            (annotated(object(&json!({}))), by_annotation),
        ] {
            let (new, errors) = updated(kind, Part::Main, &old, new);
            assert_eq!(errors, [""; 0]);
            assert_eq!(new["metadata"]["generation"], generation, "{} {new}", kind.kind);
        }
    }
}

#[test]
fn the_generation_of_a_template_is_kept_in_an_annotation() {
    let annotation = |object: &Value| {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone()
    };
    let (old, _) = created(&DAEMON_SET, &json!({}));
    assert_eq!(annotation(&old), "1");
    let mut new = object(&json!({}));
    new["spec"]["template"]["spec"]["containers"][0]["image"] = json!("y:1");
    let (new, _) = updated(&DAEMON_SET, Part::Main, &old, new);
    assert_eq!((annotation(&new), new["metadata"]["generation"].clone()), (json!("2"), json!(2)));
    let (same, _) = updated(
        &DAEMON_SET,
        Part::Status,
        &new,
        json!({"metadata": {"name": "a"}, "status": {"numberReady": 1}}),
    );
    assert_eq!(annotation(&same), "2");
    assert_eq!(same["spec"], new["spec"]);
}

#[test]
fn a_status_is_counted_right() {
    let (old, _) = created(&REPLICA_SET, &json!({}));
    let status = json!({"metadata": {"name": "a"}, "status": {"replicas": 1, "availableReplicas": 2, "readyReplicas": 1}});
    let (_, errors) = updated(&REPLICA_SET, Part::Status, &old, status);
    assert_eq!(
        errors,
        [
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ]
    );
    let (mut old, _) = created(&DAEMON_SET, &json!({}));
    old["status"]["collisionCount"] = json!(2);
    let status =
        json!({"metadata": {"name": "a"}, "status": {"collisionCount": 1, "numberReady": -1}});
    let (_, errors) = updated(&DAEMON_SET, Part::Status, &old, status);
    assert_eq!(
        errors,
        [
            "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
            "status.collisionCount: Invalid value: 1: cannot be decremented",
        ]
    );
}

#[test]
fn the_columns_count() {
    let now = admission().now;
    for (kind, cells) in [
        (&DEPLOYMENT, json!(["a", "0/1", 0, 0, "<unknown>", "c", "x:1", "app=a"])),
        (&REPLICA_SET, json!(["a", 1, 0, 0, "<unknown>", "c", "x:1", "app=a"])),
        (&DAEMON_SET, json!(["a", 0, 0, 0, 0, 0, "<none>", "<unknown>", "c", "x:1", "app=a"])),
    ] {
        let (object, _) = created(kind, &json!({}));
        let shown: Vec<Value> =
            kind.columns.iter().map(|column| (column.cell)(&object, now)).collect();
        assert_eq!(json!(shown), cells);
    }
}
