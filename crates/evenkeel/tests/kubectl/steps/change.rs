//! Changes in place: `label`, `annotate`, `patch`, `edit`, `scale`, `set`, `taint`, `cordon`.

use crate::step::{Step, fails, run};

pub(crate) fn steps() -> Vec<Step> {
    [metadata(), patches(), at_once(), edits(), workloads(), nodes()]
        .into_iter()
        .flatten()
        .collect()
}

fn metadata() -> Vec<Step> {
    vec![
        run("create configmap cfg --from-literal=a=1", "configmap/cfg created"),
        run("label cm cfg x=1", "configmap/cfg labeled"),
        run("label cm cfg x=1", "configmap/cfg not labeled").since(21),
        fails("label cm cfg x=2", "error: 'x' already has a value (1), and --overwrite is false"),
        run("label cm cfg x=2 --overwrite", "configmap/cfg labeled"),
        run("label cm cfg x-", "configmap/cfg {?un}labeled"),
        fails(
            "label cm cfg 'y=a b'",
            "{any}a valid label must be an empty string or consist of alphanumeric characters{any}",
        ),
        run("annotate cm cfg 'note=two words'", "configmap/cfg annotate{any}"),
        run("get cm cfg -o 'jsonpath={.metadata.annotations.note}'", "two words"),
        run("annotate cm cfg note-", "configmap/cfg annotate{any}"),
    ]
}

fn patches() -> Vec<Step> {
    vec![
        run("create service clusterip web --tcp=80:80", "service/web created"),
        run(r#"patch cm cfg --type=merge -p '{"data":{"m":"1"}}'"#, "configmap/cfg patched"),
        run(
            r#"patch cm cfg --type=merge -p '{"data":{"m":"1"}}'"#,
            "configmap/cfg patched (no change)",
        ),
        run(
            r#"patch cm cfg --type=json -p '[{"op":"add","path":"/data/j","value":"1"}]'"#,
            "configmap/cfg patched",
        ),
        run(
            r#"patch svc web -p '{"spec":{"ports":[{"port":80,"targetPort":8080}]}}'"#,
            "service/web patched",
        ),
        run(
            "get svc web -o 'jsonpath={.spec.ports[*].name} {.spec.ports[*].targetPort}'",
            "80-80 8080",
        ),
        fails(
            r#"patch cm cfg --type=json -p '[{"op":"test","path":"/data/j","value":"2"}]'"#,
            "The request is invalid{?: the server rejected our request due to an error in our request}",
        ),
        fails(
            r#"patch cm cfg --type=merge -p '{"metadata":{"resourceVersion":"1"}}'"#,
            r#"Error from server (Conflict): Operation cannot be fulfilled on configmaps "cfg": the object has been modified; please apply your changes to the latest version and try again"#,
        ),
    ]
}

/// No patch is lost, and none is rejected, since it names no version.
fn at_once() -> Vec<Step> {
    let label = |command| run(command, "configmap/cfg labeled");
    vec![
        label("label cm cfg l1=1")
            .meanwhile(label("label cm cfg l2=1"))
            .meanwhile(label("label cm cfg l3=1"))
            .meanwhile(label("label cm cfg l4=1"))
            .meanwhile(label("label cm cfg l5=1"))
            .meanwhile(label("label cm cfg l6=1")),
        run("get cm cfg --show-labels --no-headers", "cfg 3 {age} l1=1,l2=1,l3=1,l4=1,l5=1,l6=1"),
    ]
}

fn edits() -> Vec<Step> {
    vec![
        run("edit cm cfg", "configmap/cfg edited").editor("s/a: \"1\"/a: \"3\"/"),
        run("get cm cfg -o 'jsonpath={.data.a}'", "3"),
        run("edit cm cfg", "").editor("s/nothing/else/").warns("Edit cancelled, no changes made."),
    ]
}

fn workloads() -> Vec<Step> {
    vec![
        run("create deployment web --image=img:1", "deployment.apps/web created"),
        run("scale deploy web --replicas=3", "deployment.apps/web scaled"),
        run("get deploy web -o 'jsonpath={.spec.replicas} {.metadata.generation}'", "3 2"),
        fails(
            "scale deploy web --replicas=4 --current-replicas=5",
            "error: Expected replicas to be 5, was 3",
        ),
        run("set image deploy/web img=img:2", "deployment.apps/web image updated"),
        run("set env deploy/web A=1", "deployment.apps/web env updated"),
        run(
            "set resources deploy/web --limits=cpu=1",
            "deployment.apps/web resource requirements updated",
        ),
        run(
            "get deploy web -o 'jsonpath={.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].resources.limits.cpu}'",
            "img:2 1",
        ),
        run("set selector svc/web app=web", "service/web selector updated"),
    ]
}

fn nodes() -> Vec<Step> {
    vec![
        run("create -f -", "node/n1 created")
            .stdin(r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}"#),
        run("taint node n1 k=v:NoSchedule", "node/n1 tainted"),
        run("taint node n1 k:NoSchedule-", "node/n1 untainted"),
        run("cordon n1", "node/n1 cordoned"),
        run("cordon n1", "node/n1 already cordoned"),
        run(
            "get node n1",
            "NAME STATUS ROLES AGE VERSION\nn1 {any},SchedulingDisabled <none> {age}",
        ),
        run("uncordon n1", "node/n1 uncordoned"),
        run("drain n1", "node/n1 cordoned\nnode/n1 drained"),
        fails("cordon nope", r#"Error from server (NotFound): nodes "nope" not found"#),
    ]
}
