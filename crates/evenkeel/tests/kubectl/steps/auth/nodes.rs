//! A kubelet writes its own Node, and reads what Pods on it name.

use crate::step::{Step, fails, run};

const OBJECTS: &str = "\
apiVersion: v1
kind: Node
metadata: {name: node-a}
---
apiVersion: v1
kind: Node
metadata: {name: node-b}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: node-a
  containers:
  - {name: web, image: web, envFrom: [{secretRef: {name: of-web}}]}
";

pub(crate) fn steps() -> Vec<Step> {
    super::all([setup(), own(), foreign()])
}

fn setup() -> Vec<Step> {
    vec![
        run("create secret generic of-web --from-literal=a=b", "secret/of-web created"),
        run("create secret generic foreign --from-literal=a=b", "secret/foreign created"),
        run("create -f -", "node/node-a created\nnode/node-b created\npod/web created")
            .stdin(OBJECTS),
    ]
}

fn own() -> Vec<Step> {
    vec![
        run(
            "annotate node node-a a=b --as=system:node:node-a --as-group=system:nodes",
            "node/node-a annotate{?d}",
        ),
        run(
            "get secret of-web -o name --as=system:node:node-a --as-group=system:nodes",
            "secret/of-web",
        ),
        run(
            "get pods -A -o name --field-selector=spec.nodeName=node-a --as=system:node:node-a --as-group=system:nodes",
            "pod/web",
        ),
    ]
}

fn foreign() -> Vec<Step> {
    vec![
        fails(
            "annotate node node-b a=b --as=system:node:node-a --as-group=system:nodes",
            "Error from server (Forbidden): nodes \"node-b\" is forbidden: User \"system:node:node-a\" \
             cannot get resource \"nodes\" in API group \"\" at the cluster scope: node: node 'node-a' cannot \
             read 'node-b', only its own Node object",
        ),
        fails(
            "patch node node-b --type=merge -p '{\"spec\":{\"unschedulable\":true}}' \
             --as=system:node:node-a --as-group=system:nodes",
            "Error from server (Forbidden): nodes \"node-b\" is forbidden: {any}",
        ),
        fails(
            "label node node-a node-role.kubernetes.io/control-plane= --as=system:node:node-a \
             --as-group=system:nodes",
            "Error from server (Forbidden): nodes \"node-a\" is forbidden: is not allowed to modify labels: \
             node-role.kubernetes.io/control-plane",
        ),
        fails(
            "get secret foreign --as=system:node:node-a --as-group=system:nodes",
            "Error from server (Forbidden): secrets \"foreign\" is forbidden: User \"system:node:node-a\" \
             cannot get resource \"secrets\" in API group \"\" in the namespace \"$ns\": node: no relationship \
             found between node 'node-a' and this object",
        ),
        fails(
            "get secret of-web --as=system:node:node-b --as-group=system:nodes",
            "Error from server (Forbidden): secrets \"of-web\" is forbidden: User \"system:node:node-b\" \
             cannot get resource \"secrets\" in API group \"\" in the namespace \"$ns\": node: no relationship \
             found between node 'node-b' and this object",
        ),
        fails(
            "get secrets --as=system:node:node-a --as-group=system:nodes",
            "Error from server (Forbidden): secrets is forbidden: User \"system:node:node-a\" cannot list \
             resource \"secrets\" in API group \"\" in the namespace \"$ns\": node: No Object name found",
        ),
        fails(
            "create token default --as=system:node:node-a --as-group=system:nodes",
            "error: failed to create token: serviceaccounts \"default\" is forbidden: {any}",
        )
        .since(24),
        fails(
            "run more --image=more --as=system:node:node-a --as-group=system:nodes",
            "Error from server (Forbidden): pods \"more\" is forbidden: pod does not have \
             \"kubernetes.io/config.mirror\" annotation, node \"node-a\" can only create mirror pods",
        ),
        fails(
            "delete pod web --as=system:node:node-b --as-group=system:nodes",
            "Error from server (Forbidden): pods \"web\" is forbidden: {any}",
        ),
    ]
}
