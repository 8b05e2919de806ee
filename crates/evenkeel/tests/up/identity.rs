//! The controller has the identity and the rights of `deploy/base`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::process::{Ran, Up, folder, shell};

const PATIENCE: Duration = Duration::from_secs(90);

const SLICES: [&str; 5] =
    ["endpointslices", "-n", "shop", "-l", "kubernetes.io/service-name=checkout"];

/// What the API server calls the controller.
const USER: &str = "system:serviceaccount:evenkeel-system:evenkeel-controller";

/// kubectl with the credentials of the controller.
fn as_controller(data: &Path, args: &[&str]) -> Ran {
    let own = data.join("evenkeel-controller.kubeconfig");
    let line = format!("exec kubectl --kubeconfig '{}' {}", own.display(), args.join(" "));
    crate::process::ran(&mut shell(&line))
}

fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder)
}

fn n_endpoints(slices: &Value) -> usize {
    let items = slices["items"].as_array().unwrap().iter();
    items.map(|slice| slice["endpoints"].as_array().map_or(0, Vec::len)).sum()
}

fn scale(up: &Up, replicas: &str) {
    let replicas = format!("--replicas={replicas}");
    let scaled = up.kubectl(&["scale", "deployment", "-n", "shop", "checkout", &replicas]);
    assert_eq!(scaled.code, 0, "{}", scaled.err);
}

/// Kind, name and generation of each object.
fn generations(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    let one = |item: &Value| {
        let Value::Object(metadata) = &item["metadata"] else { panic!("{item}") };
        format!("{} {} {:?}", item["kind"], metadata["name"], metadata.get("generation"))
    };
    items.filter(|item| item["kind"] != "Pod").map(one).collect()
}

/// Gives the verbs of the rule for slices.
fn allow(up: &Up, verbs: &str) {
    let patch = format!(r#"[{{"op":"replace","path":"/rules/1/verbs","value":{verbs}}}]"#);
    let done =
        up.kubectl(&["patch", "clusterrole", "evenkeel-controller", "--type=json", "-p", &patch]);
    assert_eq!(done.code, 0, "{}", done.err);
}

#[test]
fn the_controller_has_the_rights_of_its_cluster_role() {
    let data = folder("identity");
    let mut up = Up::in_folder(&data, &[]);
    up.explained();
    scale(&up, "7");
    up.eventually(&SLICES, |seen| n_endpoints(seen) == 7);

    // Without the verb, its writes are refused, under its name.
    allow(&up, r#"["get","list","watch","create","delete"]"#);
    scale(&up, "9");
    let words = format!("User \"{USER}\" cannot patch resource \"endpointslices\"");
    let is_refused =
        |events: &Value| events["items"].to_string().contains(&words.replace('"', "\\\""));
    let failed = ["events", "-n", "shop", "--field-selector=reason=FailedToUpdateEndpointSlices"];
    up.eventually(&failed, is_refused);
    assert_eq!(n_endpoints(&up.get(&SLICES)), 7);

    // With it, they are done.
    allow(&up, r#"["get","list","watch","create","patch","delete"]"#);
    up.eventually(&SLICES, |seen| n_endpoints(seen) == 9);

    // What `deploy/base` says is in force again after a start.
    allow(&up, r#"["get","list","watch"]"#);
    assert_eq!(up.stop("-INT").0, Some(0));
    let up = Up::in_folder(&data, &[]);
    scale(&up, "5");
    up.eventually(&SLICES, |seen| n_endpoints(seen) == 5);
    assert_eq!(up.stop("-INT").0, Some(0));
}

#[test]
fn the_controller_uses_a_token_of_its_account() {
    let data = folder("account");
    let up = Up::in_folder(&data, &["--sample", "none"]);
    for file in ["evenkeel-controller.kubeconfig", "evenkeel-controller.token"] {
        let mode = fs::metadata(data.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let who =
        as_controller(&data, &["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]);
    assert_eq!(who.out, USER, "{}", who.err);
    for (verb, is_allowed) in [
        ("list pods -A", true),
        ("create endpointslices.discovery.k8s.io -n default", true),
        ("patch services --subresource=status -n default", true),
        ("update leases/evenkeel-endpointslice-controller -n evenkeel-system", true),
        ("update leases/evenkeel-endpointslice-controller -n kube-system", false),
        ("update services -n default", false),
        ("get secrets -n evenkeel-system", false),
        ("delete pods -n default", false),
    ] {
        let asked = as_controller(&data, &["auth", "can-i", verb]);
        assert_eq!(asked.code == 0, is_allowed, "{verb}: {}{}", asked.out, asked.err);
    }
    let lease = ["lease", "-n", "evenkeel-system", "evenkeel-endpointslice-controller"];
    up.eventually(&lease, |lease| lease["spec"]["holderIdentity"] == "evenkeel-up");
    recovers(&up, &data);
    assert_eq!(up.stop("-INT").0, Some(0));
}

/// An account that is deleted ends its tokens; `up` creates it again, and uses a new one.
fn recovers(up: &Up, data: &Path) {
    let gone =
        up.kubectl(&["delete", "serviceaccount", "-n", "evenkeel-system", "evenkeel-controller"]);
    assert_eq!(gone.code, 0, "{}", gone.err);
    let begun = Instant::now();
    loop {
        let who = as_controller(data, &["auth", "whoami", "-o", "name"]);
        if who.code == 0 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", who.err);
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_manifests_of_deploy_apply_unchanged() {
    let up = Up::start(&["--ephemeral", "--sample", "none"]);
    for overlay in [
        "overlays/sole",
        "overlays/opt-in",
        "overlays/proxy-beside",
        "overlays/proxy",
        "overlays/mesh",
        "overlays/mesh-compat-kuma",
    ] {
        let place = deploy(overlay);
        let applied = up.kubectl(&["apply", "-k", place.to_str().unwrap()]);
        assert_eq!(applied.code, 0, "{overlay}: {}{}", applied.out, applied.err);
        let again = up.kubectl(&["apply", "-k", place.to_str().unwrap()]);
        assert_eq!(again.code, 0, "{overlay}: {}", again.err);
    }
    // To apply them again changes nothing. kubectl sends patches even so for the strategy of a
    // Deployment and the selector of a budget, as it replaces both as a whole.
    let place = deploy("overlays/sole");
    let applied = up.kubectl(&["apply", "-k", place.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    let of_kinds = ["all,pdb,quota,sa,roles,rolebindings", "-n", "evenkeel-system"];
    let before = generations(&up.get(&of_kinds));
    let again = up.kubectl(&["apply", "-k", place.to_str().unwrap()]);
    let is_sent = |line: &str| {
        line.starts_with("deployment.apps/") || line.starts_with("poddisruptionbudget.policy/")
    };
    let is_well = |line: &str| line.ends_with(" unchanged") || is_sent(line);
    assert!(again.code == 0 && again.out.lines().all(is_well), "{}{}", again.out, again.err);
    assert_eq!(generations(&up.get(&of_kinds)), before);
    let rules = up.get(&["clusterrole", "evenkeel-controller"])["rules"].clone();
    let removed = up.kubectl(&[
        "delete",
        "--ignore-not-found",
        "-k",
        deploy("overlays/sole").to_str().unwrap(),
    ]);
    assert_eq!(removed.code, 0, "{}", removed.err);
    // The identity is needed by the controller that runs here, and comes back.
    let roles = ["clusterroles", "--field-selector=metadata.name=evenkeel-controller"];
    let back = up.eventually(&roles, |list| list["items"].as_array().unwrap().len() == 1);
    assert_eq!(back["items"][0]["rules"], rules);
    let accounts = ["serviceaccounts", "-n", "evenkeel-system"];
    up.eventually(&accounts, |list| list.to_string().contains("\"evenkeel-controller\""));
}
