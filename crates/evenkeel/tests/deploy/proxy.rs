//! The DaemonSet of the proxy and what belongs to it.

use std::{collections::BTreeSet, process::Command};

use serde_json::{Value, json};

use crate::{
    kinds,
    rendered::{self, Rendered, documents, strings, text},
};

const BASE: &str = "proxy";
const REPLACES: &str = "overlays/proxy";
const BESIDE: &str = "overlays/proxy-beside";
const CLEANUP: &str = "overlays/proxy-cleanup";
const NAMESPACE: &str = "evenkeel-proxy";

/// All that the proxy may do: API group, resource, verbs.
const CLUSTER_ROLE: &[(&str, &str, &[&str])] = &[
    ("", "nodes", &["list", "watch"]),
    ("", "services", &["list", "watch"]),
    ("discovery.k8s.io", "endpointslices", &["list", "watch"]),
];

/// The same in the namespace of reports.
const ROLE: &[(&str, &str, &[&str])] =
    &[("coordination.k8s.io", "leases", &["create", "list", "patch"])];

/// What the controller may do there.
const READER: &[(&str, &str, &[&str])] = &[("coordination.k8s.io", "leases", &["list", "watch"])];

fn all() -> [Rendered; 3] {
    [BASE, REPLACES, BESIDE].map(Rendered::new)
}

#[test]
fn every_field_is_one_that_kubernetes_has() {
    for rendered in all().into_iter().chain([Rendered::new(CLEANUP)]) {
        for object in &rendered.objects {
            let unknown = kinds::unknown_fields(object);
            assert!(unknown.is_empty(), "{}: {}: {unknown:?}", rendered.folder, object["kind"]);
            if kinds::is_namespaced(object) {
                assert_eq!(object["metadata"]["namespace"], NAMESPACE);
            }
        }
    }
}

#[test]
fn every_file_of_the_base_is_part_of_it() {
    let kustomization = &documents("proxy/kustomization.yaml")[0];
    let listed: BTreeSet<_> = strings(&kustomization["resources"]).collect();
    let mut there = rendered::files(BASE);
    assert!(there.remove("kustomization.yaml"));
    assert_eq!(listed, there.iter().map(String::as_str).collect());
}

/// clap prints its help only if it knows all that comes before.
#[test]
fn every_argument_is_one_that_the_binary_takes() {
    let controllers = ["overlays/opt-in", "overlays/sole"].map(Rendered::new);
    let of_controllers = controllers.iter().map(Rendered::container);
    let proxies = all();
    for container in proxies.iter().map(Rendered::container).chain(of_controllers) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(strings(&container["args"])).arg("--help");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{command:?}: {said}");
    }
}

#[test]
fn the_name_of_the_node_comes_from_its_pod() {
    let help = Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(["proxy", "--help"]).output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    assert!(help.contains("[env: NODE_NAME="), "{help}");
    let expected = json!([{
        "name": "NODE_NAME",
        "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
    }]);
    for rendered in all() {
        assert_eq!(rendered.container()["env"], expected);
    }
}

#[test]
fn every_name_that_is_referred_to_exists() {
    for rendered in all() {
        rendered.one("ServiceAccount", text(&rendered.pod()["serviceAccountName"]));
        for kind in ["ClusterRoleBinding", "RoleBinding"] {
            for binding in rendered.of(kind) {
                let role = &binding["roleRef"];
                rendered.one(text(&role["kind"]), text(&role["name"]));
            }
        }
        let set = rendered.one("DaemonSet", "evenkeel-proxy");
        let labels = &set["spec"]["template"]["metadata"]["labels"];
        assert_eq!(set["spec"]["selector"]["matchLabels"], *labels);
    }
}

#[test]
fn the_roles_allow_what_the_tables_say_and_no_more() {
    for rendered in all() {
        for (kind, name, table) in [
            ("ClusterRole", "evenkeel-proxy", CLUSTER_ROLE),
            ("Role", "evenkeel-proxy-reports", ROLE),
            ("Role", "evenkeel-proxy-reports-reader", READER),
        ] {
            let allowed = rendered::allowed(rendered.one(kind, name));
            assert_eq!(allowed, rendered::table(table), "{}: {name}", rendered.folder);
        }
        assert_eq!(rendered.of("ClusterRole").count() + rendered.of("Role").count(), 3);
    }
}

/// The controller reads reports where proxies write them, and may.
#[test]
fn controller_and_proxy_agree_on_where_reports_are() {
    let controller = Rendered::new("overlays/sole");
    let account = controller.one("ServiceAccount", "evenkeel-controller");
    assert_eq!(controller.argument("--proxy-lease-namespace"), [NAMESPACE]);
    for rendered in all() {
        assert_eq!(rendered.argument("--report-namespace"), [NAMESPACE]);
        let binding = rendered.one("RoleBinding", "evenkeel-proxy-reports-reader");
        let subject = json!([{
            "kind": "ServiceAccount",
            "name": account["metadata"]["name"],
            "namespace": account["metadata"]["namespace"],
        }]);
        assert_eq!(binding["subjects"], subject);
    }
}

#[test]
fn probes_ask_where_the_proxy_listens() {
    for rendered in all() {
        let listen = rendered.argument("--healthz-bind-address");
        let listen = listen.first().copied().unwrap_or("0.0.0.0:10256");
        let port: u16 = listen.strip_prefix("0.0.0.0:").unwrap().parse().unwrap();
        for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
            let asked = &rendered.container()[probe]["httpGet"];
            assert_eq!(*asked, json!({"path": path, "port": port}), "{}", rendered.folder);
        }
    }
}

#[test]
fn beside_kube_proxy_nothing_is_shared_with_it() {
    let beside = Rendered::new(BESIDE);
    assert_eq!(beside.argument("--service-proxy-name"), ["evenkeel"]);
    // The defaults are kube-proxy's.
    for flag in ["--masquerade-bit", "--healthz-bind-address", "--metrics-bind-address"] {
        let [value] = beside.argument(flag)[..] else { panic!("no {flag}") };
        assert!(!["14", "0.0.0.0:10256", "127.0.0.1:10249"].contains(&value), "{flag}={value}");
    }
    for folder in [BASE, REPLACES] {
        assert!(Rendered::new(folder).argument("--service-proxy-name").is_empty());
    }
}

/// Where it replaces kube-proxy, nobody else makes the cluster IP of the API server reachable.
#[test]
fn the_address_of_the_api_server_is_required_in_place_of_kube_proxy() {
    for (folder, is_optional) in [(REPLACES, false), (BESIDE, true)] {
        let rendered = Rendered::new(folder);
        let expected = json!([{
            "configMapRef": {"name": "evenkeel-api-server", "optional": is_optional},
        }]);
        assert_eq!(rendered.container()["envFrom"], expected, "{folder}");
    }
}

#[test]
fn the_pod_has_one_capability_and_the_network_of_its_node() {
    let expected = json!({
        "runAsUser": 0,
        "runAsGroup": 0,
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    });
    for rendered in all() {
        assert_eq!(rendered.container()["securityContext"], expected);
        let spec = rendered.pod();
        assert_eq!(spec["hostNetwork"], true);
        assert_eq!(spec["priorityClassName"], "system-node-critical");
        assert_eq!(spec["tolerations"], json!([{"operator": "Exists"}]));
        for field in ["hostPID", "hostIPC", "volumes"] {
            assert_eq!(spec[field], Value::Null, "{field}");
        }
        let image = format!("evenkeel:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(rendered.container()["image"], image);
    }
}

/// It takes the place of the proxy on each node, and removes what that one left.
#[test]
fn cleanup_replaces_the_proxy_and_runs_its_command() {
    let (proxy, cleanup) = (Rendered::new(REPLACES), Rendered::new(CLEANUP));
    let [before] = &cleanup.pod()["initContainers"].as_array().unwrap()[..] else {
        panic!("one init container")
    };
    let args: Vec<_> = strings(&before["args"]).collect();
    assert_eq!(args, ["proxy", "cleanup"]);
    for field in ["image", "command", "securityContext"] {
        assert_eq!(before[field], proxy.container()[field], "{field}");
    }
    for field in ["hostNetwork", "tolerations", "nodeSelector"] {
        assert_eq!(cleanup.pod()[field], proxy.pod()[field], "{field}");
    }
    let selector =
        |it: &Rendered| it.one("DaemonSet", "evenkeel-proxy")["spec"]["selector"].clone();
    assert_eq!(selector(&cleanup), selector(&proxy));
}
