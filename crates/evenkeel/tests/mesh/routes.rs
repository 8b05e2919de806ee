//! The route example of the decision record: a split between zone-1 and zone-3 of a service whose
//! strategy allows zone-1 only.

use evenkeel_testkit::envoy::{Answers, Requests, Server};

use crate::{
    client::{Client, MANY, Spec, TOLERANCE},
    control_plane::ControlPlane,
    folder::{Folder, Instance},
};

const SERVICES: [&str; 2] = ["backend", "backend-tcp"];

/// As the record writes them: `to` as one object, `defaults`, `backendRef`.
const STRATEGY: &str = "
apiVersion: kuma.io/v1alpha1
kind: MeshLoadBalancingStrategy
metadata:
  name: mlbs-only-zone-1-of-SERVICE
  namespace: kuma-system
  labels:
    kuma.io/mesh: default
spec:
  targetRef:
    kind: Mesh
  to:
    targetRef:
      kind: MeshService
      name: SERVICE
    defaults:
      localityAwareness:
        disabled: false
        crossZone:
          failover:
            - to:
                type: Only
                zones: ['zone-1']
";
const ROUTE: &str = "
apiVersion: kuma.io/v1alpha1
kind: KIND
metadata:
  name: route-all-zones-of-SERVICE
  namespace: kuma-system
  labels:
    kuma.io/mesh: default
spec:
  targetRef:
    kind: MeshService
    name: frontend
  to:
  - targetRef:
      kind: MeshService
      name: SERVICE
    rules:
      default:
        backendRef:
        - kind: MeshServiceSubset
          name: SERVICE
          tags:
            kuma.io/zone: zone-1
        - kind: MeshServiceSubset
          name: SERVICE
          tags:
            kuma.io/zone: zone-3
";

#[test]
fn a_split_stays_within_the_zones_of_the_strategy() {
    let folder = Folder::new("routes");
    let http = ["zone-1", "zone-3"].map(Server::http);
    let tcp = ["zone-1", "zone-3"].map(Server::tcp);
    for (service, kind) in SERVICES.into_iter().zip(["MeshHTTPRoute", "MeshTCPRoute"]) {
        let fill = |text: &str| text.replace("SERVICE", service).replace("KIND", kind);
        folder.write(&format!("strategy-{service}"), &fill(STRATEGY));
        folder.write(&format!("route-{service}"), &fill(ROUTE));
    }
    for (n, zone) in ["zone-1", "zone-3"].into_iter().enumerate() {
        folder.put(&Instance::new("backend", zone, &http[n]).dataplane("Ready"));
        let instance = Instance::new("backend-tcp", zone, &tcp[n]);
        folder.put(&Instance { protocol: "tcp", ..instance }.dataplane("Ready"));
    }
    let control_plane = ControlPlane::start(folder.path());
    for (zone, stays) in [("zone-1", 1.0), ("zone-2", 1.0), ("zone-3", 0.5)] {
        // The route is for proxies of this service.
        let tags = &[("kuma.io/service", "frontend")];
        let spec = Spec {
            mesh: "default",
            name: zone,
            zone,
            tags,
            services: &SERVICES,
            protocol: "delta",
        };
        let client = Client::start(&spec, &folder, &control_plane);
        is_near(zone, &client.measure("backend"), stays);
        is_near(zone, &Requests::new(MANY).tcp(client.outbound("backend-tcp")), stays);
    }
}

fn is_near(what: &str, answers: &Answers, expected: f64) {
    assert!(answers.failures.is_empty(), "{what}: {:?}", answers.failures);
    let measured = answers.share("zone-1");
    let tolerance = if expected < 1.0 { TOLERANCE } else { 0.0 };
    assert!((measured - expected).abs() <= tolerance, "{what}: {:?}", answers.by_server);
    let all = measured + answers.share("zone-3");
    assert!((all - 1.0).abs() < 1e-9, "{what}: {answers:?}");
}
