//! A ServiceAccount with a role in one namespace has that, and what everybody has.

use super::no;
use crate::step::{Step, fails, run};

pub(crate) fn steps() -> Vec<Step> {
    super::all([setup(), super::as_bot(), inside(), outside()])
}

fn setup() -> Vec<Step> {
    vec![
        run("create namespace other", "namespace/other created"),
        run("create configmap a", "configmap/a created"),
        run("create configmap a -n other", "configmap/a created"),
        run(
            "create role keeper --verb=get,list,watch,create,delete --resource=configmaps",
            "role.rbac.authorization.k8s.io/keeper created",
        ),
        run(
            "create rolebinding keeper --role=keeper --serviceaccount=$ns:bot",
            "rolebinding.rbac.authorization.k8s.io/keeper created",
        ),
    ]
}

fn inside() -> Vec<Step> {
    vec![
        run("--context=bot get configmap a -o name", "configmap/a"),
        run("--context=bot get configmaps -o name", "configmap/a\n?configmap/kube-root-ca.crt"),
        run("--context=bot create configmap b", "configmap/b created"),
        run("--context=bot delete configmap b", "configmap \"b\" deleted{? from $ns namespace}"),
        run("--context=bot get --raw /version", "..."),
        run("--context=bot auth can-i get configmaps", "yes"),
        no("--context=bot auth can-i get configmaps -n other"),
    ]
}

fn outside() -> Vec<Step> {
    vec![
        fails(
            "--context=bot get configmaps -n other",
            "Error from server (Forbidden): configmaps is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot list resource \"configmaps\" in API group \"\" in the \
             namespace \"other\"",
        ),
        fails(
            "--context=bot get configmaps -A",
            "Error from server (Forbidden): configmaps is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot list resource \"configmaps\" in API group \"\" at the \
             cluster scope",
        ),
        fails(
            "--context=bot get namespaces",
            "Error from server (Forbidden): namespaces is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot list resource \"namespaces\" in API group \"\" at the \
             cluster scope",
        ),
        fails(
            "--context=bot get secrets",
            "Error from server (Forbidden): secrets is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot list resource \"secrets\" in API group \"\" in the \
             namespace \"$ns\"",
        ),
        fails(
            "--context=bot label configmap a x=y",
            "Error from server (Forbidden): configmaps \"a\" is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot patch resource \"configmaps\" in API group \"\" in the \
             namespace \"$ns\"",
        ),
        // The rights end with the binding, the token with the account.
        run(
            "delete rolebinding keeper",
            "rolebinding.rbac.authorization.k8s.io \"keeper\" deleted{any}",
        ),
        fails(
            "--context=bot get configmaps",
            "Error from server (Forbidden): configmaps is forbidden: {any}",
        ),
        run("delete serviceaccount bot", "serviceaccount \"bot\" deleted{any}"),
        fails(
            "--context=bot get configmaps",
            "...\nerror: You must be logged in to the server (Unauthorized)",
        ),
    ]
}
