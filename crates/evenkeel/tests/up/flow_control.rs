//! Which flow schema matches, by the objects of the server itself.

use std::fs;

use serde_json::Value;

use crate::process::{Up, folder, ran};

const MINE: &str = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: mine}
spec:
  matchingPrecedence: 450
  priorityLevelConfiguration: {name: workload-high}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: alice}}]
    resourceRules:
    - {apiGroups: ['*'], resources: ['*'], verbs: ['*'], namespaces: ['*'], clusterScope: true}
";

const MATCH: [&str; 3] = ["fairness", "match", "--live"];
const ALICE: [&str; 8] = ["--user", "alice", "--verb", "list", "--resource", "pods", "-n", "shop"];

#[test]
fn a_live_match_is_by_the_objects_of_the_server() {
    let up = Up::apiserver(&["--ephemeral"]);
    let matched = |up: &Up| -> Value {
        let ran = up.evenkeel(&[&MATCH[..], &ALICE, &["-o", "json"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("kubeconfig: "), "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let defaults = up.evenkeel(&[&["fairness", "match"], &ALICE[..], &["-o", "json"]].concat());
    let defaults: Value = serde_json::from_str(&defaults.out).unwrap();
    assert_eq!(matched(&up), defaults, "the server has Kubernetes' default objects");

    let file = folder("flow-control").with_extension("yaml");
    fs::write(&file, MINE).unwrap();
    let applied = up.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    let own = matched(&up);
    assert_eq!((&own["schema"], &own["level"]), (&"mine".into(), &"workload-high".into()));
}

#[test]
fn a_live_match_without_access_says_which_permission_is_missing() {
    let up = Up::apiserver(&["--ephemeral"]);
    let kubeconfig = fs::read_to_string(&up.kubeconfig).unwrap();
    let limited = folder("flow-control-limited").with_extension("kubeconfig");
    fs::write(&limited, kubeconfig.replace("  user:\n", "  user:\n    as: alice\n")).unwrap();
    let limited = ["--kubeconfig", limited.to_str().unwrap()];
    let ran = up.evenkeel(&[&MATCH[..], &limited, &ALICE].concat());
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    let permission = "can-i list prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";
    assert!(ran.err.contains(permission), "{}", ran.err);
}

#[test]
fn a_live_match_takes_no_files_and_a_kubeconfig_needs_it() {
    for args in [
        &["--live", "-f", "x.yaml"][..],
        &["--live", "--default", "kubernetes"],
        &["--kubeconfig", "x"],
        &["--context", "x"],
    ] {
        let ran = ran(&mut crate::process::evenkeel(
            &[&["fairness", "match"], args, &ALICE[..]].concat(),
        ));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("--live"), "{args:?}: {}", ran.err);
    }
}
