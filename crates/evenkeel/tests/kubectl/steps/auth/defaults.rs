//! `view`, `edit` and `admin`, bound in a namespace.

use super::no;
use crate::step::{Step, fails, run};

/// A question, and the answers for the users of `view`, `edit` and `admin`.
const TABLE: [(&str, [bool; 3]); 17] = [
    ("list pods", [true, true, true]),
    ("get configmaps", [true, true, true]),
    ("watch endpointslices.discovery.k8s.io", [true, true, true]),
    ("get services --subresource=status", [true, true, true]),
    ("create pods", [false, true, true]),
    ("patch deployments.apps", [false, true, true]),
    ("update deployments.apps --subresource=scale", [false, true, true]),
    ("get secrets", [false, true, true]),
    ("create secrets", [false, true, true]),
    ("create serviceaccounts --subresource=token", [false, true, true]),
    ("impersonate serviceaccounts", [false, true, true]),
    ("get roles.rbac.authorization.k8s.io", [false, false, true]),
    ("create rolebindings.rbac.authorization.k8s.io", [false, false, true]),
    ("create localsubjectaccessreviews.authorization.k8s.io", [false, false, true]),
    ("update endpointslices.discovery.k8s.io", [false, false, false]),
    ("delete namespaces", [false, false, false]),
    ("get nodes", [false, false, false]),
];

const USERS: [&str; 3] = ["vera", "eve", "adam"];

pub(crate) fn steps() -> Vec<Step> {
    super::all([setup(), table(), requests()])
}

fn setup() -> Vec<Step> {
    vec![
        run("create rolebinding vera --clusterrole=view --user=vera", "{any} created"),
        run("create rolebinding eve --clusterrole=edit --user=eve", "{any} created"),
        run("create rolebinding adam --clusterrole=admin --user=adam", "{any} created"),
        run("create secret generic s --from-literal=a=b", "secret/s created"),
    ]
}

fn table() -> Vec<Step> {
    let mut steps = Vec::new();
    for (what, answers) in TABLE {
        for (user, is_allowed) in USERS.iter().zip(answers) {
            // Steps have texts of the program; a few more live as long.
            let command: &'static str = format!("auth can-i {what} --as={user}").leak();
            // kubectl warns of resources without namespace.
            let warning = "?Warning: {any}\n?";
            steps.push(match is_allowed {
                true => run(command, "yes").warns(warning),
                false => no(command).warns(warning),
            });
        }
        let elsewhere: &'static str = format!("auth can-i {what} -n default --as=adam").leak();
        steps.push(no(elsewhere).warns("?Warning: {any}\n?"));
    }
    steps
}

fn requests() -> Vec<Step> {
    vec![
        run("get pods --as=vera", "").warns("No resources found in $ns namespace."),
        fails(
            "get secret s --as=vera",
            "Error from server (Forbidden): secrets \"s\" is forbidden: User \"vera\" cannot get resource \
             \"secrets\" in API group \"\" in the namespace \"$ns\"",
        ),
        run("get secret s -o name --as=eve", "secret/s"),
        fails(
            "get roles --as=eve",
            "Error from server (Forbidden): roles.rbac.authorization.k8s.io is forbidden: User \"eve\" \
             cannot list resource \"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \
             \"$ns\"",
        ),
        fails(
            "delete rolebinding vera --as=eve",
            "Error from server (Forbidden): rolebindings.rbac.authorization.k8s.io \"vera\" is forbidden: \
             User \"eve\" cannot delete resource \"rolebindings\" in API group \
             \"rbac.authorization.k8s.io\" in the namespace \"$ns\"",
        ),
        // An administrator of a namespace hands on what they have, and no more.
        run("create rolebinding more --clusterrole=edit --user=zoe --as=adam", "{any} created"),
        run("auth can-i create pods --as=zoe", "yes"),
        fails(
            "create rolebinding most --clusterrole=cluster-admin --user=zoe --as=adam",
            "error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io \"most\" is \
             forbidden: user \"adam\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n...",
        ),
        // A role of a namespace covers what is in it, and the Namespace itself for reading.
        run("get namespace $ns -o name --as=vera", "namespace/$ns"),
        fails(
            "get namespace default --as=vera",
            "Error from server (Forbidden): namespaces \"default\" is forbidden: User \"vera\" cannot get \
             resource \"namespaces\" in API group \"\" in the namespace \"default\"",
        ),
    ]
}
