//! `create` with files and with its generators, `run`, `expose`.

use crate::step::{Step, fails, run};

const GENERATED: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-"}}"#;
const LOST: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"nowhere"}}"#;
const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: both}
spec:
  containers:
  - {name: c, image: 'img:1'}
";
const DRY: &str = "\
apiVersion: v1
data:
  a: \"1\"
kind: ConfigMap
metadata:
?  creationTimestamp: null
  name: x
?  namespace: $ns
";

pub(crate) fn steps() -> Vec<Step> {
    [generators(), files(), dry_runs()].into_iter().flatten().collect()
}

fn generators() -> Vec<Step> {
    vec![
        run("create configmap c1 --from-literal=a=1", "configmap/c1 created"),
        run("get cm c1 -o 'jsonpath={.data.a}'", "1"),
        fails(
            "create configmap c1 --from-literal=a=1",
            r#"error: failed to create configmap: configmaps "c1" already exists"#,
        )
        .since(21),
        run("create secret generic s1 --from-literal=p=q", "secret/s1 created"),
        run("get secret s1 -o 'jsonpath={.type} {.data.p}'", "Opaque cQ=="),
        run("create service clusterip s --tcp=80:8080", "service/s created"),
        run("get svc s -o 'jsonpath={.spec.ports[0].targetPort} {.spec.clusterIP}'", "8080 {ip}"),
        run("create service nodeport np --tcp=80 --node-port=30123", "service/np created"),
        run("get svc np -o 'jsonpath={.spec.ports[0].nodePort}'", "30123"),
        run("create service externalname ext --external-name=example.com", "service/ext created"),
        run("create deployment d --image=img:1 --replicas=2", "deployment.apps/d created"),
        run("get deploy d -o 'jsonpath={.spec.replicas} {.metadata.generation}'", "2 1"),
        run("expose deploy d --port=80 --name=d2", "service/d2 exposed"),
        run("get svc d2 -o 'jsonpath={.spec.selector.app}'", "d"),
        run("create serviceaccount sa1", "serviceaccount/sa1 created"),
        run("create namespace other", "namespace/other created"),
        run("run p --image=img:1", "pod/p created"),
        run(
            "get pod p -o 'jsonpath={.metadata.labels.run} {.status.phase} {.spec.restartPolicy}'",
            "p Pending Always",
        ),
    ]
}

fn files() -> Vec<Step> {
    vec![
        run("create -f pod.yaml", "pod/both created").file("pod.yaml", POD),
        fails(
            "create -f pod.yaml",
            r#"Error from server (AlreadyExists): error when creating "pod.yaml": pods "both" already exists"#,
        ),
        run("create -f gen.yaml", "configmap/gen-{any} created").file("gen.yaml", GENERATED),
        run("create -f gen.yaml -o name", "configmap/gen-{any}"),
        fails(
            "create -f lost.yaml",
            r#"Error from server (NotFound): error when creating "lost.yaml": namespaces "nowhere" not found"#,
        )
        .file("lost.yaml", LOST)
        .but(1, ""),
    ]
}

fn dry_runs() -> Vec<Step> {
    vec![
        run(
            "create configmap x --from-literal=a=1 --dry-run=server",
            "configmap/x created (server dry run)",
        ),
        run(
            "create configmap x --from-literal=a=1 --dry-run=client",
            "configmap/x created (dry run)",
        ),
        run("create configmap x --from-literal=a=1 --dry-run=client -o yaml", DRY),
        fails("get cm x", r#"Error from server (NotFound): configmaps "x" not found"#),
        fails(
            "create configmap c1 --dry-run=server",
            r#"error: failed to create configmap: configmaps "c1" already exists"#,
        )
        .since(21),
    ]
}
