//! What `migrate` prints, carried out with the real `kubectl`.

use std::fs;

use serde_json::json;

use crate::{plan::shell, process::Up};

const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

/// The manifest of a Service that the cluster has, from before Kubernetes 1.22.
const OLD: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
  ports: [{port: 80}]
  topologyKeys: [kubernetes.io/hostname]
";

fn carry_out(up: &Up, commands: &str) {
    assert_ne!(commands, "");
    for command in commands.lines() {
        let ran = shell(up, command, "");
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
    }
}

#[test]
fn each_printed_command_migrates_its_service_and_then_nothing_is_left() {
    let mut up = Up::start(&["--ephemeral"]);
    up.explained();
    let before = up.get(&["svc", "cart", "-n", "shop"]);
    assert_eq!(before["metadata"]["annotations"], json!({TOPOLOGY_MODE: "Auto"}));
    let migrate = |more: &[&str]| {
        let ran = up.evenkeel(&[&["migrate", "-o", "patch"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran
    };
    carry_out(&up, &migrate(&["-A"]).out);
    let after = up.get(&["svc", "cart", "-n", "shop"]);
    let balanced = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    assert_eq!(after["metadata"]["annotations"], balanced);
    let again = migrate(&["-A"]);
    assert_eq!(again.out, "");
    assert!(again.err.ends_with("note: nothing to change\n"), "{}", again.err);

    // The server does not know topologyKeys, and takes the patch that removes them.
    let file = crate::process::folder("migrate").with_extension("yaml");
    fs::write(&file, OLD).unwrap();
    let ran = up.evenkeel(&["migrate", "-f", file.to_str().unwrap(), "-o", "patch"]);
    assert!(ran.out.contains(r#""topologyKeys":null"#), "{}", ran.out);
    carry_out(&up, &ran.out);
    let web = up.get(&["svc", "web", "-n", "shop"]);
    assert_eq!(web["spec"]["internalTrafficPolicy"], "Local");
}
