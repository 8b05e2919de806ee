mod choices;
mod spreading;

use serde_json::{Value, json};

use super::{choose, message};
use crate::sandbox::world::{World, testing};

/// A ready Node with 2 CPUs.
fn node(name: &str, zone: &str) -> Value {
    let labels = json!({"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name});
    json!({
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "5"},
        },
    })
}

/// A Pod of the application `web`, with or without a Node.
fn pod(name: &str, node: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": []},
    })
}

fn asks(mut pod: Value, spec: &Value) -> Value {
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn cpu(amount: &str) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": amount}}}]})
}

/// The Node for the Pod `default/new`, or the message.
fn placed(world: &World) -> Result<String, String> {
    let pod = world.pod("default/new").expect("every case has it");
    let spec = pod.spec.as_ref().expect("every Pod here has one");
    choose(world, pod, spec).map(str::to_owned).map_err(|refused| message::of(&refused))
}

fn place(objects: &[Value]) -> Result<String, String> {
    placed(&testing::world(objects))
}
