//! The Deployment of the mesh's control plane and what belongs to it.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use evenkeel_k8s::watched::MeshKind;
use serde_json::{Value, json};

use crate::{
    kinds,
    rendered::{self, Rendered, documents, strings, text},
};

const BASE: &str = "mesh";
const RECORD: &str = "overlays/mesh";
const KUMA: &str = "overlays/mesh-compat-kuma";
const NAME: &str = "evenkeel-mesh";

const FOLLOW: &[&str] = &["get", "list", "watch"];

/// What the control plane may do besides following the kinds of `kuma.io`.
const CLUSTER_ROLE: &[(&str, &str, &[&str])] = &[
    ("", "nodes", FOLLOW),
    ("", "pods", FOLLOW),
    ("", "services", FOLLOW),
    ("discovery.k8s.io", "endpointslices", FOLLOW),
];

fn all() -> [Rendered; 3] {
    [BASE, RECORD, KUMA].map(Rendered::new)
}

#[test]
fn every_field_is_one_that_kubernetes_has() {
    for rendered in all() {
        for object in &rendered.objects {
            let unknown = kinds::unknown_fields(object);
            assert!(unknown.is_empty(), "{}: {}: {unknown:?}", rendered.folder, object["kind"]);
            if kinds::is_namespaced(object) {
                assert_eq!(object["metadata"]["namespace"], NAME);
            }
        }
    }
}

#[test]
fn every_file_of_the_base_is_part_of_it() {
    let kustomization = &documents("mesh/kustomization.yaml")[0];
    let listed: BTreeSet<_> = strings(&kustomization["resources"]).collect();
    let mut there = rendered::files(BASE);
    assert!(there.remove("kustomization.yaml"));
    assert_eq!(listed, there.iter().map(String::as_str).collect());
}

/// clap prints its help only if it knows all that comes before.
#[test]
fn every_argument_is_one_that_the_binary_takes() {
    for rendered in all() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(strings(&rendered.container()["args"])).arg("--help").stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{command:?}: {said}");
    }
}

#[test]
fn every_name_that_is_referred_to_exists() {
    for rendered in all() {
        let account = rendered.one("ServiceAccount", text(&rendered.pod()["serviceAccountName"]));
        let binding = rendered.one("ClusterRoleBinding", NAME);
        let role = &binding["roleRef"];
        rendered.one(text(&role["kind"]), text(&role["name"]));
        let subject = json!([{
            "kind": "ServiceAccount",
            "name": account["metadata"]["name"],
            "namespace": account["metadata"]["namespace"],
        }]);
        assert_eq!(binding["subjects"], subject);
        for object in rendered.objects.iter().filter(|object| kinds::is_namespaced(object)) {
            rendered.one("Namespace", text(&object["metadata"]["namespace"]));
        }
    }
}

#[test]
fn every_selector_finds_the_pods() {
    for rendered in all() {
        let labels = &rendered.workload()["spec"]["template"]["metadata"]["labels"];
        let budget = rendered.one("PodDisruptionBudget", NAME);
        let mut selectors = vec![
            &rendered.workload()["spec"]["selector"]["matchLabels"],
            &budget["spec"]["selector"]["matchLabels"],
            &rendered.one("Service", NAME)["spec"]["selector"],
            &rendered.one("Service", "evenkeel-mesh-metrics")["spec"]["selector"],
        ];
        let spread = rendered.pod()["topologySpreadConstraints"].as_array().unwrap().iter();
        selectors.extend(spread.map(|constraint| &constraint["labelSelector"]["matchLabels"]));
        assert_eq!(selectors.len(), 6);
        assert!(selectors.iter().all(|selector| *selector == labels), "{selectors:?}");
    }
}

/// It follows each kind that the source of resources follows, and writes nothing.
#[test]
fn the_role_allows_to_follow_the_kinds_of_the_mesh_and_services_and_no_more() {
    let kinds = MeshKind::ALL.map(|kind| (MeshKind::GROUP, kind.plural(), FOLLOW));
    let table: Vec<_> = kinds.into_iter().chain(CLUSTER_ROLE.iter().copied()).collect();
    for rendered in all() {
        let allowed = rendered::allowed(rendered.one("ClusterRole", NAME));
        assert_eq!(allowed, rendered::table(&table), "{}", rendered.folder);
        assert_eq!(rendered.of("ClusterRole").count() + rendered.of("Role").count(), 1);
    }
}

#[test]
fn ports_probes_and_services_are_where_it_listens() {
    for rendered in all() {
        let container = rendered.container();
        for (flag, name) in [("--listen", "xds"), ("--admin-listen", "admin")] {
            let ports = container["ports"].as_array().unwrap();
            let port = ports.iter().find(|port| port["name"] == name).unwrap();
            let expected = format!("0.0.0.0:{}", port["containerPort"]);
            assert_eq!(rendered.argument(flag), [expected]);
        }
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": "admin"}));
        }
        for (service, target, port) in
            [(NAME, "xds", 5678), ("evenkeel-mesh-metrics", "admin", 5680)]
        {
            let ports = &rendered.one("Service", service)["spec"]["ports"];
            assert_eq!(
                (&ports[0]["targetPort"], &ports[0]["port"]),
                (&json!(target), &json!(port))
            );
            assert_eq!(ports.as_array().unwrap().len(), 1, "the mesh is told to nobody else");
        }
    }
}

#[test]
fn two_replicas_answer_and_one_stays_while_nodes_are_drained() {
    for rendered in all() {
        let spec = &rendered.workload()["spec"];
        assert_eq!(spec["replicas"], 2);
        let rolling = json!({"maxSurge": 1, "maxUnavailable": 0});
        assert_eq!(spec["strategy"]["rollingUpdate"], rolling);
        assert_eq!(rendered.one("PodDisruptionBudget", NAME)["spec"]["maxUnavailable"], 1);
    }
}

#[test]
fn each_overlay_says_whose_behaviour_counts() {
    for (folder, compat) in [(BASE, &[][..]), (RECORD, &[]), (KUMA, &["kuma"])] {
        assert_eq!(Rendered::new(folder).argument("--compat"), compat, "{folder}");
    }
}

#[test]
fn the_pod_has_no_rights_on_its_node() {
    let (expected, expected_pod) = (
        json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        }),
        json!({
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }),
    );
    for rendered in all() {
        assert_eq!(rendered.container()["securityContext"], expected);
        assert_eq!(rendered.pod()["securityContext"], expected_pod);
        for field in ["hostNetwork", "hostPID", "hostIPC", "volumes"] {
            assert_eq!(rendered.pod()[field], Value::Null, "{field}");
        }
        let labels = &rendered.one("Namespace", NAME)["metadata"]["labels"];
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
        let image = format!("evenkeel:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(rendered.container()["image"], image);
        assert_eq!(rendered.container()["command"], json!(["evenkeel"]));
    }
}
