//! What is in `deploy/`: read by the types of Kubernetes, put together by the real `kubectl
//! kustomize`, and held against tables of what it must say.

#![expect(clippy::unwrap_used, reason = "tests")]

mod alerts;
mod by_hand;
mod crds;
mod flow_control;
mod kinds;
mod mesh;
mod proxy;
mod readme;
mod rendered;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::rendered::{Rendered, documents, text};

/// Each overlay with the Services that it makes Evenkeel's.
const OVERLAYS: &[(&str, &str)] = &[("overlays/opt-in", "annotated"), ("overlays/sole", "all")];

/// All that the controller may do: API group, resource, verbs.
const CLUSTER_ROLE: &[(&str, &str, &[&str])] = &[
    ("", "events", &["create", "patch"]),
    ("", "nodes", &["get", "list", "watch"]),
    ("", "pods", &["get", "list", "watch"]),
    ("", "services", &["get", "list", "watch"]),
    ("", "services/finalizers", &["update"]),
    ("", "services/status", &["patch"]),
    ("discovery.k8s.io", "endpointslices", &["create", "delete", "get", "list", "patch", "watch"]),
];

/// The same within its own namespace.
const ROLE: &[(&str, &str, &[&str])] = &[
    ("coordination.k8s.io", "leases", &["create"]),
    ("coordination.k8s.io", "leases/evenkeel-endpointslice-controller", &["get", "update"]),
];

fn all() -> Vec<Rendered> {
    let overlays = OVERLAYS.iter().map(|(folder, _)| *folder);
    std::iter::once("base").chain(overlays).map(Rendered::new).collect()
}

#[test]
fn every_field_is_one_that_kubernetes_has() {
    for rendered in all() {
        for object in &rendered.objects {
            let unknown = kinds::unknown_fields(object);
            assert!(unknown.is_empty(), "{}: {}: {unknown:?}", rendered.folder, object["kind"]);
        }
    }
}

#[test]
fn every_file_of_the_base_is_part_of_it() {
    let kustomization = &documents("base/kustomization.yaml")[0];
    let listed: BTreeSet<_> = rendered::strings(&kustomization["resources"]).collect();
    let mut there = rendered::files("base");
    assert!(there.remove("kustomization.yaml"));
    assert_eq!(listed, there.iter().map(String::as_str).collect());
    let objects: usize = listed.iter().map(|file| documents(&format!("base/{file}")).len()).sum();
    assert_eq!(Rendered::new("base").objects.len(), objects);
}

#[test]
fn every_name_that_is_referred_to_exists() {
    for rendered in all() {
        let pod = &rendered.one("Deployment", "evenkeel-controller")["spec"]["template"];
        rendered.one("ServiceAccount", text(&pod["spec"]["serviceAccountName"]));
        for kind in ["ClusterRoleBinding", "RoleBinding"] {
            for binding in rendered.of(kind) {
                let role = &binding["roleRef"];
                rendered.one(text(&role["kind"]), text(&role["name"]));
                for subject in binding["subjects"].as_array().unwrap() {
                    let account = rendered.one(text(&subject["kind"]), text(&subject["name"]));
                    assert_eq!(subject["namespace"], account["metadata"]["namespace"]);
                }
            }
        }
        for object in rendered.objects.iter().filter(|object| kinds::is_namespaced(object)) {
            rendered.one("Namespace", text(&object["metadata"]["namespace"]));
        }
    }
}

#[test]
fn every_selector_finds_the_pods() {
    for rendered in all() {
        let deployment = rendered.one("Deployment", "evenkeel-controller");
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let budget = rendered.one("PodDisruptionBudget", "evenkeel-controller");
        let mut selectors = vec![
            &deployment["spec"]["selector"]["matchLabels"],
            &budget["spec"]["selector"]["matchLabels"],
            &rendered.one("Service", "evenkeel-controller")["spec"]["selector"],
        ];
        let spread = &deployment["spec"]["template"]["spec"]["topologySpreadConstraints"];
        let spread = spread.as_array().unwrap().iter();
        selectors.extend(spread.map(|constraint| &constraint["labelSelector"]["matchLabels"]));
        assert_eq!(selectors.len(), 5);
        for selector in selectors {
            let mut pairs = selector.as_object().unwrap().iter().peekable();
            assert!(pairs.peek().is_some(), "{}: {selector}", rendered.folder);
            assert!(pairs.all(|(key, value)| labels[key] == *value), "{selector} on {labels}");
        }
    }
}

#[test]
fn the_roles_allow_what_the_tables_say_and_no_more() {
    for rendered in all() {
        let allowed = rendered.one("ClusterRole", "evenkeel-controller");
        assert_eq!(
            rendered::allowed(allowed),
            rendered::table(CLUSTER_ROLE),
            "{}",
            rendered.folder
        );
        let allowed = rendered.one("Role", "evenkeel-controller-lease");
        assert_eq!(rendered::allowed(allowed), rendered::table(ROLE), "{}", rendered.folder);
        assert_eq!(rendered.of("ClusterRole").count() + rendered.of("Role").count(), 2);
    }
}

#[test]
fn the_lease_is_where_the_role_allows_it() {
    for rendered in all() {
        let role = rendered.one("Role", "evenkeel-controller-lease");
        let namespace = rendered.argument("--leader-elect-resource-namespace");
        assert_eq!(namespace, [text(&role["metadata"]["namespace"])]);
        let name = rendered.argument("--leader-elect-resource-name");
        assert_eq!(name, ["evenkeel-endpointslice-controller"]);
    }
}

#[test]
fn probes_and_metrics_ask_where_the_controller_listens() {
    for rendered in all() {
        let container = rendered.container();
        let ports = container["ports"].as_array().unwrap();
        let [port] = &ports[..] else { panic!("one port, not {ports:?}") };
        let listen = rendered.argument("--listen");
        assert_eq!(listen, [format!("0.0.0.0:{}", port["containerPort"])]);
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": port["name"]}));
        }
        let service = &rendered.one("Service", "evenkeel-controller")["spec"];
        assert_eq!(service["ports"][0]["targetPort"], port["name"]);
        assert_eq!(service["ports"][0]["port"], port["containerPort"]);
    }
}

#[test]
fn each_overlay_says_which_services_are_evenkeels() {
    assert!(Rendered::new("base").argument("--services").is_empty());
    for (folder, services) in OVERLAYS {
        assert_eq!(Rendered::new(folder).argument("--services"), [*services], "{folder}");
    }
}

#[test]
fn the_image_is_of_this_version() {
    let image = format!("evenkeel:{}", env!("CARGO_PKG_VERSION"));
    for rendered in all() {
        assert_eq!(rendered.container()["image"], image);
    }
}

/// Manifests start it by name, and an image of nothing else has no PATH but the runtime's.
#[test]
fn the_image_has_the_binary_where_it_is_looked_for() {
    let file = rendered::read("Containerfile");
    assert!(file.contains("COPY --from=build /evenkeel /usr/local/bin/evenkeel\n"), "{file}");
    assert!(file.contains(r#"ENTRYPOINT ["/usr/local/bin/evenkeel"]"#), "{file}");
    assert!(all().iter().all(|rendered| rendered.container()["command"] == json!(["evenkeel"])));
}

#[test]
fn the_pod_has_no_rights_on_its_node() {
    let container = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    let pod = json!({
        "runAsNonRoot": true,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    for rendered in all() {
        assert_eq!(rendered.container()["securityContext"], container);
        let spec = rendered.pod();
        assert_eq!(spec["securityContext"], pod);
        for field in ["hostNetwork", "hostPID", "hostIPC", "volumes"] {
            assert_eq!(spec[field], Value::Null, "{field}");
        }
        let namespace = rendered.one("Namespace", "evenkeel-system");
        let level = &namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
        assert_eq!(level, "restricted");
    }
}
