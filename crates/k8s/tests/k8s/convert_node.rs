use evenkeel_k8s::convert;
use evenkeel_model::Topology;
use serde_json::{Value, json};

use crate::object;

/// The zone's name, the milli-CPU, ready, control plane.
type Expected = (Option<&'static str>, u64, bool, bool);

fn check(node: Value, expected: Expected) {
    let mut topology = Topology::default();
    let shown = node.to_string();
    let node = convert::node(&mut topology, &object(node)).unwrap();
    let zone = node.zone.map(|zone| topology.zones.name(zone).to_string());
    let found = (zone.as_deref(), node.cpu_milli, node.ready, node.control_plane);
    assert_eq!(found, expected, "{shown}");
}

fn labelled(labels: Value) -> Value {
    json!({"metadata": {"name": "n1", "labels": labels}})
}

fn with_status(status: Value) -> Value {
    json!({"metadata": {"name": "n1"}, "status": status})
}

#[test]
fn a_node_is_read_from_labels_conditions_and_allocatable() {
    let zone = "topology.kubernetes.io/zone";
    check(json!({}), (None, 0, false, false));
    check(labelled(json!({zone: "zone-a"})), (Some("zone-a"), 0, false, false));
    check(labelled(json!({zone: ""})), (None, 0, false, false));
    for role in ["control-plane", "master"] {
        for value in ["", "false", "true"] {
            let labels = json!({format!("node-role.kubernetes.io/{role}"): value});
            check(labelled(labels), (None, 0, false, true));
        }
    }
    for (status, ready) in [("True", true), ("False", false), ("Unknown", false), ("true", false)] {
        let conditions = json!([
            {"type": "MemoryPressure", "status": "True"},
            {"type": "Ready", "status": status},
            {"type": "Ready", "status": "True"},
        ]);
        check(with_status(json!({"conditions": conditions})), (None, 0, ready, false));
    }
    for (cpu, milli) in [(json!("3920m"), 3920), (json!("4"), 4000), (json!(4), 4000)] {
        let status = json!({"capacity": {"cpu": "8"}, "allocatable": {"cpu": cpu}});
        check(with_status(status), (None, milli, false, false));
    }
    check(with_status(json!({"allocatable": {"memory": "1Gi"}})), (None, 0, false, false));
}

#[test]
fn bad_cpu_says_what_was_found_and_what_is_expected() {
    let cases = [
        (
            "banana",
            "status.allocatable.cpu: \"banana\" is not a quantity; \
             expected something like 4 or 3920m",
        ),
        ("-1", "status.allocatable.cpu: \"-1\" is negative; expected something like 4 or 3920m"),
        (
            "1e30",
            "status.allocatable.cpu: \"1e30\" is too large; expected something like 4 or 3920m",
        ),
    ];
    for (cpu, expected) in cases {
        let node = object(with_status(json!({"allocatable": {"cpu": cpu}})));
        let error = convert::node(&mut Topology::default(), &node).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn nodes_of_one_zone_share_its_id() {
    let mut topology = Topology::default();
    let ids = ["n1", "n2"].map(|name| {
        let labels = json!({"topology.kubernetes.io/zone": "zone-a"});
        let node = object(json!({"metadata": {"name": name, "labels": labels}}));
        convert::node(&mut topology, &node).unwrap()
    });
    assert_eq!(ids[0].zone, ids[1].zone);
    assert_ne!(ids[0].id, ids[1].id);
}
