//! What is written, laid onto what is there.

use evenkeel_k8s::convert::{
    conditions_patch, endpoint_slice, new_slice, relabel_patch, slice_patch,
};
use evenkeel_model::{Condition, Slice, Topology, Version, label};
use serde_json::{Value, json};

use crate::object;

/// A slice as it is on the server, where others keep things in its metadata too.
fn present() -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "web-1", "namespace": "shop", "uid": "s1", "resourceVersion": "7",
            "labels": {"kubernetes.io/service-name": "web", "old": "1", "team": "a", "theirs": "x",
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
            "annotations": {"theirs": "y",
                "endpoints.kubernetes.io/last-change-trigger-time": "2020-01-01T00:00:00Z"},
            "finalizers": ["example.org/f"],
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.9"], "hostname": "gone"}, {"addresses": ["10.0.0.8"]}],
        "ports": [{"name": "http", "port": 1, "protocol": "TCP"}],
    })
}

/// A slice as Kubernetes' own controller writes one.
fn wanted() -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "web-1", "namespace": "shop",
            "labels": {"kubernetes.io/service-name": "web", "team": "b",
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.evenkeel.dev"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "web",
                "uid": "u1", "controller": true, "blockOwnerDeletion": true}],
        },
        "addressType": "IPv4",
        "endpoints": [{
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": "n1",
            "zone": "zone-a",
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "p0"},
            "hints": {"forZones": [{"name": "zone-a"}]},
        }],
        "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
    })
}

fn model(topology: &mut Topology) -> Slice {
    endpoint_slice(topology, &object(wanted())).unwrap()
}

fn version() -> Version {
    Version { uid: "s1".into(), resource_version: "7".into(), generation: 2 }
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        match value {
            Value::Null => drop(target.as_object_mut().unwrap().remove(key)),
            _ => merge(&mut target[key], value),
        }
    }
}

#[test]
fn a_new_slice_is_what_kubernetes_would_create() {
    let mut topology = Topology::default();
    let slice = model(&mut topology);
    let trigger = "endpoints.kubernetes.io/last-change-trigger-time";
    let cases = [
        (None, Value::Null),
        (Some(1_794_814_260), json!("2026-11-16T07:31:00Z")),
        (Some(0), json!("1970-01-01T00:00:00Z")),
        (Some(i64::MAX), Value::Null),
        (Some(i64::MIN), Value::Null),
    ];
    for (seconds, time) in cases {
        let mut expected = wanted();
        if !time.is_null() {
            expected["metadata"]["annotations"] = json!({trigger: time});
        }
        let written = new_slice(&slice, &topology, "shop", seconds);
        assert_eq!(serde_json::to_value(written).unwrap(), expected, "{seconds:?}");
    }
}

#[test]
fn a_patch_brings_a_slice_to_its_content_and_leaves_what_others_keep() {
    let mut topology = Topology::default();
    let slice = model(&mut topology);
    let gone = ["old".into(), "never-there".into(), "team".into()];
    for (trigger, time) in [(None, None), (Some(1_794_814_260), Some("2026-11-16T07:31:00Z"))] {
        let patch = slice_patch(&slice, &topology, &version(), &gone, trigger);
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let mut patched = present();
        merge(&mut patched, &patch);

        let mut expected = present();
        expected["endpoints"] = wanted()["endpoints"].clone();
        expected["ports"] = wanted()["ports"].clone();
        expected["metadata"]["labels"] = wanted()["metadata"]["labels"].clone();
        expected["metadata"]["labels"]["theirs"] = "x".into();
        expected["metadata"]["annotations"] = match time {
            None => json!({"theirs": "y"}),
            Some(time) => json!({"theirs": "y", label::TRIGGER_TIME: time}),
        };
        assert_eq!(patched, expected);
    }
}

#[test]
fn a_patch_to_nothing_says_so() {
    let mut topology = Topology::default();
    let mut slice = model(&mut topology);
    slice.endpoints.clear();
    slice.ports.clear();
    let mut patched = present();
    merge(&mut patched, &slice_patch(&slice, &topology, &version(), &[], None));
    assert_eq!((&patched["endpoints"], &patched["ports"]), (&json!([]), &json!([])));
}

#[test]
fn relabelling_changes_the_manager_and_nothing_else() {
    let patch = relabel_patch(&version(), label::EVENKEEL);
    let mut expected = present();
    expected["metadata"]["labels"][label::MANAGED_BY] = label::EVENKEEL.into();
    let mut patched = present();
    merge(&mut patched, &patch);
    assert_eq!(patched, expected);
    assert_eq!(patch["metadata"]["resourceVersion"], "7");
    // Zone shares are for the slices of the controller that wrote them.
    patched["metadata"]["annotations"][label::ZONE_SHARES] = "{}".into();
    merge(&mut patched, &patch);
    assert_eq!(patched, expected);
    let other = Version { resource_version: "8".into(), ..version() };
    assert_eq!(relabel_patch(&other, "x")["metadata"]["resourceVersion"], "8");
}

/// Kubernetes' strategic merge for a list that is merged by `type`: items are merged with those of
/// their type or added; those with the directive to delete are taken out.
fn merge_conditions(service: &mut Value, patch: &Value) {
    let present = service["status"]["conditions"].as_array_mut().unwrap();
    for item in patch["status"]["conditions"].as_array().unwrap() {
        let place = present.iter().position(|known| known["type"] == item["type"]);
        match (place, item["$patch"].as_str()) {
            (Some(place), Some("delete")) => drop(present.remove(place)),
            (None, Some("delete")) => {}
            (_, Some(other)) => panic!("unknown directive {other}"),
            (Some(place), None) => merge(&mut present[place], item),
            (None, None) => present.push(item.clone()),
        }
    }
}

#[test]
fn conditions_are_set_and_removed_and_those_of_others_stay() {
    let condition = |kind: &str, status, reason: &str| Condition {
        kind: kind.into(),
        status,
        reason: reason.into(),
        message: "M".into(),
    };
    let shown = |kind: &str, status: &str, reason: &str, time: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "M",
            "lastTransitionTime": time})
    };
    let (old, now) = ("2020-01-01T00:00:00Z", "2026-11-16T07:31:00Z");
    let mut service = json!({"status": {"conditions": [
        shown("Theirs", "True", "T", old),
        shown("Kept", "True", "Before", old),
        shown("Flips", "True", "Before", old),
        shown("Goes", "True", "Before", old),
    ]}});
    let set = [
        (condition("Kept", true, "After"), false),
        (condition("Flips", false, "After"), true),
        (condition("New", true, "After"), true),
    ];
    let patch = conditions_patch("u1", &set, &["Goes".into(), "NeverThere".into()], now);
    assert_eq!(patch["metadata"], json!({"uid": "u1"}));
    merge_conditions(&mut service, &patch);
    let expected = json!([
        shown("Theirs", "True", "T", old),
        shown("Kept", "True", "After", old),
        shown("Flips", "False", "After", now),
        shown("New", "True", "After", now),
    ]);
    assert_eq!(service["status"]["conditions"], expected);
}
