//! `evenkeel proxy` where it can't start: the error, and the exit code.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::{
    apiserver::Server,
    run::{evenkeel, root},
};

#[test]
fn wrong_settings_are_refused_with_what_to_do() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--feature-gates", "Nope=true"], &["Nope", "ServiceTrafficDistribution"]),
        (&["--cluster-cidr", "here"], &["is not a range like 10.244.0.0/16"]),
        (&["--nodeport-addresses", "some"], &["--nodeport-addresses", "is not a range"]),
        (&["--masquerade-bit", "32"], &["--masquerade-bit", "0..=31"]),
        (&["--detect-local-mode", "BridgeInterface"], &["--pod-bridge-interface"]),
        (&["--table", "a b"], &["--table", "is not a name"]),
        (&["render", "--ip-families", "ipx"], &["ipv4", "ipv6"]),
    ];
    for (args, parts) in cases {
        let ran = evenkeel(&[&["proxy"], *args].concat(), b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        for part in *parts {
            assert!(ran.stderr.contains(part), "{part:?} is not in {:?}", ran.stderr);
        }
    }
}

/// What it asks for is what the ClusterRole in `deploy/` grants.
#[test]
fn missing_permissions_are_those_of_the_cluster_role() {
    let (_server, kubeconfig) = Server::without_permissions("proxy");
    let ran = evenkeel(&["proxy", "--kubeconfig", kubeconfig.to_str().unwrap()], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("bind the roles in deploy/proxy"), "{}", ran.stderr);
    let (_, rest) = ran.stderr.split_once("permissions the proxy needs: ").unwrap();
    let missing: BTreeSet<String> =
        rest.lines().next().unwrap().split(", ").map(ToOwned::to_owned).collect();
    assert_eq!(missing, granted());
}

/// As `kubectl auth can-i` takes them.
fn granted() -> BTreeSet<String> {
    let file = fs::read_to_string(root().join("deploy/proxy/identity.yaml")).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&file).unwrap();
    let role = documents.iter().find(|document| document["kind"] == "ClusterRole").unwrap();
    let strings = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        let group = &strings(&rule["apiGroups"])[0];
        let dot = if group.is_empty() { "" } else { "." };
        for resource in strings(&rule["resources"]) {
            let verbs = strings(&rule["verbs"]).into_iter();
            granted.extend(verbs.map(|verb| format!("{verb} {resource}{dot}{group}")));
        }
    }
    granted
}
