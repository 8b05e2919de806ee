use evenkeel_k8s::{FieldError, convert};
use evenkeel_model::{Pod, PodPhase, Protocol, Topology};
use serde_json::{Value, json};

use crate::object;

fn pod(json: Value) -> Result<Pod, FieldError> {
    convert::pod(&mut Topology::default(), &object(json))
}

fn with_status(status: Value) -> Result<Pod, FieldError> {
    pod(json!({"metadata": {"name": "p"}, "status": status}))
}

fn with_spec(spec: Value) -> Result<Pod, FieldError> {
    pod(json!({"metadata": {"name": "p"}, "spec": spec}))
}

#[test]
fn addresses_come_from_pod_ips_or_else_from_pod_ip() {
    let cases = [
        (json!({}), vec![]),
        (json!({"podIP": ""}), vec![]),
        (json!({"podIP": "10.0.0.1"}), vec!["10.0.0.1"]),
        (json!({"podIP": "10.0.0.1", "podIPs": []}), vec!["10.0.0.1"]),
        (
            json!({"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}),
            vec!["10.0.0.1", "fd00::1"],
        ),
        (json!({"podIPs": [{"ip": "010.0.00.008"}]}), vec!["10.0.0.8"]),
    ];
    for (status, expected) in cases {
        let ips = with_status(status).unwrap().ips;
        let found: Vec<String> = ips.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn bad_addresses_are_told_with_their_place() {
    let cases = [
        (json!({"podIP": "x"}), "status.podIP: \"x\" is not an IP address"),
        (
            json!({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.256"}]}),
            "status.podIPs[1].ip: \"10.0.0.256\" is not an IP address",
        ),
        (json!({"podIPs": [{}]}), "status.podIPs[0].ip: \"\" is not an IP address"),
    ];
    for (status, expected) in cases {
        assert_eq!(with_status(status).unwrap_err().to_string(), expected);
    }
}

#[test]
fn phases_are_known_or_unknown_and_pending_by_default() {
    let cases = [
        (json!({}), PodPhase::Pending),
        (json!({"phase": ""}), PodPhase::Pending),
        (json!({"phase": "Pending"}), PodPhase::Pending),
        (json!({"phase": "Running"}), PodPhase::Running),
        (json!({"phase": "Succeeded"}), PodPhase::Succeeded),
        (json!({"phase": "Failed"}), PodPhase::Failed),
        (json!({"phase": "Unknown"}), PodPhase::Unknown),
        (json!({"phase": "Dreaming"}), PodPhase::Unknown),
    ];
    for (status, expected) in cases {
        assert_eq!(with_status(status).unwrap().phase, expected);
    }
    assert_eq!(pod(json!({})).unwrap().phase, PodPhase::Pending);
}

#[test]
fn readiness_and_deletion_are_read() {
    for (status, ready) in [("True", true), ("False", false)] {
        let conditions = json!([{"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": status}]);
        assert_eq!(with_status(json!({"conditions": conditions})).unwrap().ready, ready);
    }
    let meta = json!({"name": "p", "deletionTimestamp": "2025-01-01T00:00:00Z"});
    assert!(pod(json!({"metadata": meta})).unwrap().terminating);
    assert!(!with_status(json!({})).unwrap().terminating);
}

#[test]
fn empty_names_are_none() {
    let spec = json!({"containers": [], "hostname": "", "subdomain": "", "nodeName": ""});
    let pod = with_spec(spec).unwrap();
    assert_eq!((pod.hostname, pod.subdomain, pod.node), (None, None, None));
    let spec = json!({"containers": [], "hostname": "h", "subdomain": "s", "nodeName": "n1"});
    let pod = with_spec(spec).unwrap();
    assert_eq!(pod.hostname.as_deref(), Some("h"));
    assert_eq!(pod.subdomain.as_deref(), Some("s"));
    assert!(pod.node.is_some());
}

#[test]
fn named_ports_of_containers_come_before_those_of_sidecars() {
    let pod = with_spec(json!({
        "initContainers": [
            {"name": "setup", "ports": [{"name": "setup", "containerPort": 1}]},
            {"name": "once", "restartPolicy": "Never",
                "ports": [{"name": "once", "containerPort": 2}]},
            {"name": "proxy", "restartPolicy": "Always",
                "ports": [{"name": "admin", "containerPort": 3, "protocol": "UDP"}]},
        ],
        "containers": [
            {"name": "app", "ports": [
                {"containerPort": 4},
                {"name": "", "containerPort": 0},
                {"name": "http", "containerPort": 5},
            ]},
            {"name": "none"},
            {"name": "other", "ports": [
                {"name": "sctp", "containerPort": 6, "protocol": "SCTP"}]},
        ],
    }));
    let ports = pod.unwrap().ports;
    let found: Vec<_> = ports.iter().map(|p| (&*p.name, p.port, p.protocol)).collect();
    let expected =
        [("http", 5, Protocol::Tcp), ("sctp", 6, Protocol::Sctp), ("admin", 3, Protocol::Udp)];
    assert_eq!(found, expected);
}

#[test]
fn bad_ports_are_told_with_their_place() {
    let cases = [
        (
            json!({"containers": [{"name": "a"},
                {"name": "b", "ports": [{"name": "x", "containerPort": 65536}]}]}),
            "spec.containers[1].ports[0].containerPort: 65536 is not a port; \
             expected a number from 1 to 65535",
        ),
        (
            json!({"containers": [], "initContainers": [{"name": "a", "restartPolicy": "Always",
                "ports": [{"name": "x", "containerPort": 1, "protocol": "tcp"}]}]}),
            "spec.initContainers[0].ports[0].protocol: \"tcp\" is not a protocol; \
             expected TCP, UDP or SCTP",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(with_spec(spec).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_pod_is_confined_by_a_node_selector_or_a_required_affinity() {
    let by_label = json!({"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]});
    // As the DaemonSet controller binds a Pod to its node.
    let by_name = json!({"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]});
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let cases = [
        (json!({"containers": []}), false),
        (json!({"containers": [], "nodeSelector": {}}), false),
        (json!({"containers": [], "nodeSelector": {"disk": "ssd"}}), true),
        (json!({"containers": [], "affinity": {"nodeAffinity": {}}}), false),
        (json!({"containers": [], "affinity": {"nodeAffinity": {preferred: []}}}), false),
        (json!({"containers": [], "affinity": {"nodeAffinity": {required: by_label}}}), true),
        (json!({"containers": [], "affinity": {"nodeAffinity": {required: by_name}}}), false),
    ];
    for (spec, expected) in cases {
        let shown = spec.to_string();
        assert_eq!(with_spec(spec).unwrap().confined, expected, "{shown}");
    }
}
