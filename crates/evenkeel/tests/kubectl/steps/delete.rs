//! `delete`: waiting, forced, held by finalizers, by selection.

use crate::step::{Step, fails, run};

const HELD: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"held","finalizers":["example.com/hold"]}}"#;
/// Some builds print a line about a watch cut short by the timeout.
const TIMED_OUT: &str = "...\nerror: timed out waiting for the condition on configmaps/held";
const FORCED: &str = "{any}arning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.";

pub(crate) fn steps() -> Vec<Step> {
    [plain(), held(), selected(), namespaces()].into_iter().flatten().collect()
}

fn plain() -> Vec<Step> {
    vec![
        run("create configmap cfg", "configmap/cfg created"),
        run(
            "delete cm cfg --dry-run=server",
            r#"configmap "cfg" deleted{? from $ns namespace} (server dry run)"#,
        ),
        run("delete cm cfg", r#"configmap "cfg" deleted{? from $ns namespace}"#),
        fails("delete cm cfg", r#"Error from server (NotFound): configmaps "cfg" not found"#),
        run("delete cm cfg --ignore-not-found", ""),
        run("create service clusterip web --tcp=80", "service/web created"),
        run("create service clusterip web2 --tcp=80", "service/web2 created"),
        run(
            "delete svc web web2",
            "service \"web\" deleted{? from $ns namespace}\nservice \"web2\" deleted{? from $ns namespace}",
        ),
        run("run p --image=img:1", "pod/p created"),
        run(
            "delete pod p --grace-period=0 --force",
            r#"pod "p" force deleted{? from $ns namespace}"#,
        )
        .warns(FORCED),
        run("create deployment web --image=img:1", "deployment.apps/web created"),
        run(
            "delete deploy web --cascade=orphan",
            r#"deployment.apps "web" deleted{? from $ns namespace}"#,
        ),
    ]
}

fn held() -> Vec<Step> {
    vec![
        run("create -f -", "configmap/held created").stdin(HELD),
        fails("delete cm held --timeout=2s", TIMED_OUT)
            .but(1, r#"configmap "held" deleted{? from $ns namespace}"#),
        run("get cm held -o 'jsonpath={.metadata.deletionTimestamp}'", "{time}"),
        run(
            r#"patch cm held --type=merge -p '{"metadata":{"finalizers":null}}'"#,
            "configmap/held patched",
        ),
        run("wait --for=delete cm/held --timeout=5s", "").since(23),
        run("create -f -", "configmap/held created").stdin(HELD),
        run("delete cm held --timeout=30s", r#"configmap "held" deleted{? from $ns namespace}"#)
            .meanwhile(run(
                r#"patch cm held --type=merge -p '{"metadata":{"finalizers":null}}'"#,
                "configmap/held patched",
            )),
        fails("get cm held", r#"Error from server (NotFound): configmaps "held" not found"#),
    ]
}

fn selected() -> Vec<Step> {
    vec![
        run("create configmap a", "configmap/a created"),
        run("create configmap b", "configmap/b created"),
        run("create configmap c", "configmap/c created"),
        run("label cm a b t=1", "configmap/a labeled\nconfigmap/b labeled"),
        run(
            "delete cm -l t=1",
            "configmap \"a\" deleted{? from $ns namespace}\nconfigmap \"b\" deleted{? from $ns namespace}",
        ),
        run(
            "delete cm --all",
            "configmap \"c\" deleted{? from $ns namespace}\n\
             configmap \"kube-root-ca.crt\" deleted{? from $ns namespace}",
        ),
        // It is published again, sooner or later.
        run("get cm -o name --field-selector=metadata.name!=kube-root-ca.crt", ""),
    ]
}

fn namespaces() -> Vec<Step> {
    vec![fails(
        "delete namespace default",
        r#"Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted"#,
    )]
}
