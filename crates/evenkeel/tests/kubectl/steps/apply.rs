//! `apply`, `diff`, `replace`.

use crate::step::{Step, fails, run};

const SERVICE: &str = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},
"spec":{"selector":{"app":"web"},"ports":[{"name":"http","port":80}],"trafficDistribution":"PreferClose"}}"#;
const SERVICE_2: &str = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},
"spec":{"selector":{"app":"web"},"ports":[{"name":"http","port":80}],"trafficDistribution":"PreferSameNode"}}"#;
const CONFIG: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cfg3"},"data":{"a":"2"}}"#;
const TWO_CONTAINERS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: two}
spec:
  selector: {matchLabels: {app: two}}
  template:
    metadata: {labels: {app: two}}
    spec:
      containers:
      - {name: a, image: 'img:1'}
      - {name: b, image: 'img:1'}
";
const TWO_CONTAINERS_2: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: two}
spec:
  selector: {matchLabels: {app: two}}
  template:
    metadata: {labels: {app: two}}
    spec:
      containers:
      - {name: a, image: 'img:2'}
      - {name: b, image: 'img:1'}
";
const LIST: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {k: v}
---
apiVersion: v1
kind: Secret
metadata: {name: one}
stringData: {k: v}
";
const DEPRECATED: &str =
    r#"Warning: spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone""#;
const INVALID: &str = "\
The Service \"inv\" is invalid:
* spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive
* spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive
";
const DIFFERENCE: &str = "\
diff -u -N {any}/LIVE{any}/v1.Service.$ns.web {any}/MERGED{any}/v1.Service.$ns.web
--- {any}/v1.Service.$ns.web {any}
+++ {any}/v1.Service.$ns.web {any}
@@ {any} @@
selector:
app: web
sessionAffinity: None
- trafficDistribution: PreferSameNode
+ trafficDistribution: PreferClose
type: ClusterIP
status:
loadBalancer: {}
";

const NO_SERVER_SIDE: &str = "error: Server-side apply not available on the server: (server-side apply is not supported by this server)";

pub(crate) fn steps() -> Vec<Step> {
    [service(), others(), two_containers()].into_iter().flatten().collect()
}

fn service() -> Vec<Step> {
    vec![
        run("apply -f svc.json", "service/web created").file("svc.json", SERVICE).warns(DEPRECATED),
        run("apply -f svc2.json", "service/web configured").file("svc2.json", SERVICE_2),
        run("apply -f svc2.json", "service/web unchanged"),
        run("diff -f svc2.json", ""),
        run("diff -f svc.json", DIFFERENCE).but(1, DIFFERENCE).warns(DEPRECATED),
        run("get svc web -o 'jsonpath={.spec.trafficDistribution}'", "PreferSameNode"),
        run(
            "apply view-last-applied svc web -o json",
            "...\n\"trafficDistribution\": \"PreferSameNode\"\n...",
        ),
        run("delete -f svc.json", r#"service "web" deleted{? from $ns namespace}"#),
    ]
}

fn others() -> Vec<Step> {
    vec![
        run("apply --dry-run=server -f cm3.json", "configmap/cfg3 created (server dry run)")
            .file("cm3.json", CONFIG),
        run("apply --dry-run=client -f cm3.json", "configmap/cfg3 created (dry run)"),
        fails("get cm cfg3", r#"Error from server (NotFound): configmaps "cfg3" not found"#),
        fails(
            "replace -f cm3.json",
            r#"Error from server (NotFound): error when replacing "cm3.json": configmaps "cfg3" not found"#,
        ),
        run("create -f cm3.json", "configmap/cfg3 created"),
        run("replace -f cm3.json", "configmap/cfg3 replaced"),
        run("replace --force -f cm3.json", "configmap \"cfg3\" deleted{? from $ns namespace}\nconfigmap/cfg3 replaced"),
        run("apply -f -", "configmap/one created\nsecret/one created").stdin(LIST),
        run("apply -f -", "configmap/one unchanged\nsecret/one {any}").stdin(LIST),
        run("get secret one -o 'jsonpath={.data.k}'", "dg=="),
        fails("apply --server-side -f cm3.json", NO_SERVER_SIDE),
        fails(
            "diff --server-side -f cm3.json",
            "Error from server (UnsupportedMediaType): server-side apply is not supported by this server",
        )
        .but(2, ""),
        fails(
            "apply -f bad.json",
            r#"Error from server (BadRequest): error when creating "bad.json": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "datas""#,
        )
        .file("bad.json", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"datas":{}}"#)
        .since(25),
        fails(
            "apply -f invalid.json",
            INVALID,
        )
        .file("invalid.json", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"inv"},"spec":{"ports":[{"port":70000}]}}"#),
    ]
}

/// The merge is by name: fields set by another client in the other container are kept.
fn two_containers() -> Vec<Step> {
    vec![
        run("apply -f two.yaml", "deployment.apps/two created").file("two.yaml", TWO_CONTAINERS),
        run("set env deploy/two -c b KEPT=1", "deployment.apps/two env updated"),
        run("apply -f two2.yaml", "deployment.apps/two configured")
            .file("two2.yaml", TWO_CONTAINERS_2),
        run(
            "get deploy two -o 'jsonpath={range .spec.template.spec.containers[*]}{.name}={.image},{.env[*].name};{end}'",
            "a=img:2,;b=img:1,KEPT;",
        ),
    ]
}
