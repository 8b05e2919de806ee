//! EndpointSlices that are handed over, unchanged but for the label.

use std::{fs, path::Path};

use serde_json::Value;

use crate::process::{Up, folder};

const SLICE: &str = "
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: NAME-1
  labels:
    kubernetes.io/service-name: NAME
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.evenkeel.dev
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}, zone: a, hints: {forZones: [{name: a}]}}]
ports: [{name: http, port: 80, protocol: TCP}]
";

const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: NAME}, ports: [{name: http, port: 80}]}
";

/// Who manages the slice of a Service, and the slice without what every write changes.
fn slice(up: &Up, service: &str) -> (String, Value) {
    let mut slice = up.get(&["endpointslices", &format!("{service}-1")]);
    let label = "endpointslice.kubernetes.io/managed-by";
    let manager = slice["metadata"]["labels"][label].as_str().unwrap().to_owned();
    let metadata = slice["metadata"].as_object_mut().unwrap();
    for field in ["resourceVersion", "generation", "managedFields", "labels"] {
        metadata.remove(field);
    }
    (manager, slice)
}

fn apply(up: &Up, path: &Path) {
    let applied = up.kubectl(&["create", "-f", path.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{}", applied.err);
}

#[test]
fn slices_are_released_and_adopted_with_their_endpoints() {
    let up = Up::apiserver(&["--ephemeral"]);
    let manifests = folder("handover.yaml");
    let all: Vec<String> = ["web", "cart"]
        .iter()
        .flat_map(|name| [SERVICE, SLICE].map(|one| one.replace("NAME", name)))
        .collect();
    fs::write(&manifests, all.join("---")).unwrap();
    apply(&up, &manifests);
    let (ours, before) = slice(&up, "web");

    let released = up.evenkeel(&["controller", "release", "svc/web"]);
    assert_eq!(released.code, 0, "{}", released.err);
    assert_eq!(released.out, "endpointslice/default/web-1 released to kube-controller-manager\n");
    assert_eq!(slice(&up, "web"), ("endpointslice-controller.k8s.io".to_owned(), before.clone()));
    assert_eq!(slice(&up, "cart").0, ours);

    let adopted = up.evenkeel(&["controller", "adopt", "-A"]);
    assert_eq!(adopted.out, "endpointslice/default/web-1 adopted by Evenkeel\n", "{}", adopted.err);
    assert_eq!(slice(&up, "web"), (ours, before));
    let again = up.evenkeel(&["controller", "adopt", "-A"]);
    assert_eq!((again.code, again.out.as_str()), (0, ""));
    assert!(again.err.contains("no EndpointSlices managed by"), "{}", again.err);
}
