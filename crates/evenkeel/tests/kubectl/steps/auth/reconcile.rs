//! `auth reconcile`, which adds what is missing, and removes the rest when asked to.

use super::no;
use crate::step::{Step, run};

const FIRST: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: demo}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}
";

/// Another rule, another subject.
const SECOND: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: demo}
rules:
- {apiGroups: [''], resources: [pods], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: ben}
";

/// Another role: the binding has to be created again.
const THIRD: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: demo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: ben}
";

const BOTH: &str = "\
role.rbac.authorization.k8s.io/reader reconciled
...
rolebinding.rbac.authorization.k8s.io/reader reconciled
...
";

const RULES: &str = "get role reader -o 'jsonpath={.rules[*].verbs[*]}'";
const SUBJECTS: &str = "get rolebinding reader -o 'jsonpath={.subjects[*].name}'";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run("auth reconcile -f first.yaml", BOTH).file("first.yaml", FIRST).warns("..."),
        run("auth can-i get pods --as=ann", "yes"),
        run("auth reconcile -f first.yaml", BOTH).warns("..."),
        run("auth reconcile -f second.yaml", BOTH).file("second.yaml", SECOND).warns("..."),
        run(RULES, "get list"),
        run(SUBJECTS, "ann ben"),
        run(
            "auth reconcile -f second.yaml --remove-extra-permissions --remove-extra-subjects",
            BOTH,
        )
        .warns("..."),
        run(RULES, "list"),
        run(SUBJECTS, "ben"),
        no("auth can-i get pods --as=ann"),
        run("auth reconcile -f third.yaml", "{any} reconciled\n...")
            .file("third.yaml", THIRD)
            .warns("..."),
        run("get rolebinding reader -o 'jsonpath={.roleRef.name}'", "view"),
        run("auth can-i get services --as=ben", "yes"),
    ]
}
