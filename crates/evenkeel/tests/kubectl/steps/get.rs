//! `get` in all its forms.

use crate::step::{Step, fails, run};

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {tier: x}}
data: {k: '2'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, labels: {tier: w}}
data: {k: '1', l: '1'}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'img:1'}]}
";
const CREATED: &str =
    "configmap/a created\nconfigmap/b created\nservice/web created\ndeployment.apps/web created";
const YAML: &str = "\
apiVersion: v1
data:
  k: \"2\"
kind: ConfigMap
metadata:
  creationTimestamp: \"{time}\"
  labels:
    tier: x
  name: a
  namespace: $ns
  resourceVersion: \"{n}\"
  uid: {uid}
";
const JSON: &str = "\
{
    \"apiVersion\": \"v1\",
    \"data\": {
        \"k\": \"2\"
    },
    \"kind\": \"ConfigMap\",
    \"metadata\": {
        \"creationTimestamp\": \"{time}\",
        \"labels\": {
            \"tier\": \"x\"
        },
        \"name\": \"a\",
        \"namespace\": \"$ns\",
        \"resourceVersion\": \"{n}\",
        \"uid\": \"{uid}\"
    }
}
";
const TWO_KINDS: &str = "\
NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE
service/web ClusterIP {ip} <none> 80/TCP {age}

NAME READY UP-TO-DATE AVAILABLE AGE
deployment.apps/web 0/1 0 0 {age}
";
const MISSING: &str = r#"Error from server (NotFound): configmaps "nope" not found"#;

pub(crate) fn steps() -> Vec<Step> {
    [tables(), forms(), selections(), errors(), raw()].into_iter().flatten().collect()
}

fn tables() -> Vec<Step> {
    vec![
        run("get secrets", "").warns("No resources found in $ns namespace."),
        run("create -f -", CREATED).stdin(OBJECTS),
        run("get cm", "NAME DATA AGE\na 1 {age}\nb 2 {age}\nkube-root-ca.crt 1 {age}"),
        run("get cm a --no-headers", "a 1 {age}"),
        run("get cm a --show-labels", "NAME DATA AGE LABELS\na 1 {age} tier=x"),
        run(
            "get cm -L tier",
            "NAME DATA AGE TIER\na 1 {age} x\nb 2 {age} w\nkube-root-ca.crt 1 {age}",
        ),
        run("get cm -A -l tier", "NAMESPACE NAME DATA AGE\n$ns a 1 {age}\n$ns b 2 {age}"),
        run(
            "get svc -o wide",
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR\nweb ClusterIP {ip} <none> 80/TCP {age} app=web",
        ),
        run(
            "get deploy -o wide",
            "NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR\nweb 0/1 0 0 {age} c img:1 app=web",
        ),
        run("get ns $ns", "NAME STATUS AGE\n$ns Active {age}"),
        run("get svc,deploy", TWO_KINDS),
        run("get all", TWO_KINDS),
        run(
            "get cm --watch --request-timeout=1s",
            "NAME DATA AGE\na 1 {age}\nb 2 {age}\nkube-root-ca.crt 1 {age}",
        ),
        run("get cm a --watch-only --request-timeout=1s", ""),
        run(
            "get cm --output-watch-events --watch --request-timeout=1s",
            "EVENT NAME DATA AGE\nADDED a 1 {age}\nADDED b 2 {age}\nADDED kube-root-ca.crt 1 {age}",
        ),
    ]
}

fn forms() -> Vec<Step> {
    vec![
        run("get cm -o name", "configmap/a\nconfigmap/b\nconfigmap/kube-root-ca.crt"),
        run("get cm/a svc/web -o name", "configmap/a\nservice/web"),
        run("get cm b a -o name", "configmap/b\nconfigmap/a"),
        run("get cm a -o yaml", YAML),
        run("get cm a -o json", JSON),
        run(
            "get cm -o yaml",
            "apiVersion: v1\nitems:\n...\nkind: List\nmetadata:\nresourceVersion: \"\"\n?selfLink: \"\"",
        ),
        run("get cm -o 'jsonpath={.items[*].metadata.name}'", "a b kube-root-ca.crt"),
        run(
            "get cm -o 'go-template={{range .items}}{{.metadata.name}};{{end}}'",
            "a;b;kube-root-ca.crt;",
        ),
        run(
            "get cm -o 'custom-columns=N:.metadata.name,K:.data.k'",
            "N K\na 2\nb 1\nkube-root-ca.crt <none>",
        ),
        run(
            "get cm --chunk-size=1 -o name",
            "configmap/a\nconfigmap/b\nconfigmap/kube-root-ca.crt",
        ),
        run("get deploy web --subresource=scale -o 'jsonpath={.kind} {.spec.replicas}'", "Scale 1")
            .since(24),
        run("get deploy web --subresource=scale", "NAME DESIRED AVAILABLE AGE\nweb 1 0 {age}")
            .since(24),
    ]
}

fn selections() -> Vec<Step> {
    vec![
        run("get cm -l tier=x -o name", "configmap/a"),
        run("get cm -l 'tier in (w,z)' -o name", "configmap/b"),
        run("get cm -l 'tier!=x' -o name", "configmap/b\nconfigmap/kube-root-ca.crt"),
        run("get cm --field-selector metadata.name=b -o name", "configmap/b"),
        run(
            "get cm --sort-by=.data.k -o name",
            "configmap/kube-root-ca.crt\nconfigmap/b\nconfigmap/a",
        ),
        run(
            "get cm --sort-by=.data.k",
            "NAME DATA AGE\nkube-root-ca.crt 1 {age}\nb 2 {age}\na 1 {age}",
        ),
        run("get pods --field-selector=status.phase=Running", "")
            .warns("No resources found in $ns namespace."),
        run("get cm nope --ignore-not-found", ""),
    ]
}

fn errors() -> Vec<Step> {
    vec![
        fails("get cm nope", MISSING),
        fails("get cm a nope -o name", MISSING).but(1, "configmap/a"),
        fails("get nosuch", r#"error: the server doesn't have a resource type "nosuch""#),
        fails(
            "get cm --field-selector data.k=1",
            r#"Error from server (BadRequest): Unable to find {any} that match label selector "", field selector "data.k=1": {any}"#,
        ),
        fails("get cm -l '='", "{any}"),
    ]
}

fn raw() -> Vec<Step> {
    vec![
        run("get --raw /readyz", "ok"),
        run(
            "get --raw /healthz?verbose",
            "[+]ping ok\n[+]log ok\n[+]etcd ok\n\
             [+]poststarthook/start-system-namespaces-controller ok\n\
             [+]poststarthook/bootstrap-controller ok\n\
             [+]poststarthook/rbac/bootstrap-roles ok\n[+]poststarthook/priority-and-fairness-config-producer ok\nhealthz check passed",
        ),
        run("get --raw /metrics", "...\napiserver_request_total{any}verb=\"LIST\"{any}\n..."),
        run("get --raw /api", "{\"kind\":\"APIVersions\",{any}"),
        run("get --raw /api/v1/namespaces/$ns/configmaps/a", "{{any}\"kind\":\"ConfigMap\",{any}"),
        fails(
            "get --raw /nope",
            "Error from server (NotFound): the server could not find the requested resource",
        ),
    ]
}
