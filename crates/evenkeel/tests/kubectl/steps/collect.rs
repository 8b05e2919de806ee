//! Garbage collection, and namespace deletion.

use crate::step::{Step, fails, run, save};

const OWNED: &str = "\
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: owned
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: $owner, controller: true, blockOwnerDeletion: true}]
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: 'img:1'}]}}
";
const DELETED: &str = r#"deployment.apps "web" deleted{? from $ns namespace}"#;
const GONE: &str = r#"Error from server (NotFound): replicasets.apps "owned" not found"#;
const CONTENT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"held","namespace":"held","finalizers":["example.com/hold"]}}"#;
/// No kubelet will report its termination.
const PLACED: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"placed"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"img:1"}]}}"#;

pub(crate) fn steps() -> Vec<Step> {
    [background(), foreground(), orphans(), namespace(), held_namespace()]
        .into_iter()
        .flatten()
        .collect()
}

fn owner_with_dependent() -> Vec<Step> {
    vec![
        run("create deployment web --image=img:1", "deployment.apps/web created"),
        save("get deploy web -o 'jsonpath={.metadata.uid}'", "owner"),
        run("create -f -", "replicaset.apps/owned created").stdin(OWNED),
    ]
}

fn background() -> Vec<Step> {
    let mut steps = owner_with_dependent();
    steps.push(
        run("get rs owned --watch -o name", "replicaset.apps/owned")
            .then(run("delete deploy web", DELETED), "replicaset.apps/owned"),
    );
    steps.push(fails("get rs owned", GONE));
    steps
}

fn foreground() -> Vec<Step> {
    let mut steps = owner_with_dependent();
    steps.push(run("delete deploy web --cascade=foreground --timeout=30s", DELETED));
    steps.push(fails("get rs owned", GONE));
    steps
}

fn orphans() -> Vec<Step> {
    let mut steps = owner_with_dependent();
    steps.push(run("delete deploy web --cascade=orphan --timeout=30s", DELETED));
    steps.push(run(
        "get rs owned -o 'jsonpath={.metadata.name},{.metadata.ownerReferences}'",
        "owned,",
    ));
    steps
}

fn namespace() -> Vec<Step> {
    vec![
        run("create namespace full", "namespace/full created"),
        run("create configmap a -n full", "configmap/a created"),
        run("run p --image=img:1 -n full", "pod/p created"),
        run("create -n full -f -", "pod/placed created").stdin(PLACED),
        run("create deployment web --image=img:1 -n full", "deployment.apps/web created"),
        run("create service clusterip web --tcp=80 -n full", "service/web created"),
        run("delete namespace full --timeout=30s", r#"namespace "full" deleted"#),
        fails("get namespace full", r#"Error from server (NotFound): namespaces "full" not found"#),
        run("get cm,pods,deploy,svc -n full", "").warns("No resources found in full namespace."),
    ]
}

fn held_namespace() -> Vec<Step> {
    vec![
        run("create namespace held", "namespace/held created"),
        run("create -f -", "configmap/held created").stdin(CONTENT),
        run("delete namespace held --wait=false", r#"namespace "held" deleted"#),
        run("get namespace held", "NAME STATUS AGE\nheld Terminating {age}"),
        fails(
            "run p --image=img:1 -n held",
            r#"Error from server (Forbidden): pods "p" is forbidden: unable to create new content in namespace held because it is being terminated"#,
        ),
        run("get namespace held --watch -o name", "namespace/held").then(
            run(
                r#"patch cm held -n held --type=merge -p '{"metadata":{"finalizers":null}}'"#,
                "configmap/held patched",
            ),
            "namespace/held",
        ),
    ]
}
