//! Who may use a custom resource, what its objects take with them, and the end of a definition.

use super::super::auth::{as_bot, no};
use crate::step::{Step, fails, run, save};

const HELD: &str = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["example.com/hold"]},"spec":{"size":1}}"#;
const LATE: &str = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"late"},"spec":{"size":1}}"#;
const OWNED: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"b","uid":"$uid"}]}}"#;
const OWNER: &str =
    r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"size":1}}"#;
const CRD_DELETED: &str =
    r#"customresourcedefinition.apiextensions.k8s.io "widgets.example.com" deleted"#;
const UNKNOWN: &str = r#"error: the server doesn't have a resource type "widgets""#;

pub(crate) fn steps() -> Vec<Step> {
    [super::with_widget(), as_bot(), limited(), owners(), namespaces(), held(), again()]
        .into_iter()
        .flatten()
        .collect()
}

fn limited() -> Vec<Step> {
    vec![
        run(
            "create role viewer --verb=get,list,watch --resource=widgets.example.com",
            "role.rbac.authorization.k8s.io/viewer created",
        ),
        run(
            "create rolebinding viewer --role=viewer --serviceaccount=$ns:bot",
            "rolebinding.rbac.authorization.k8s.io/viewer created",
        ),
        run("--context=bot auth can-i list widgets.example.com", "yes"),
        run("auth can-i get wd --as=system:serviceaccount:$ns:bot", "yes"),
        no("--context=bot auth can-i delete widgets.example.com"),
        no("--context=bot auth can-i update widgets.example.com --subresource=status"),
        no("--context=bot auth can-i list widgets.example.com -n default"),
        run("--context=bot get wd -o name", "widget.example.com/a"),
        fails(
            "--context=bot delete wd a",
            "Error from server (Forbidden): widgets.example.com \"a\" is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot delete resource \"widgets\" in API group \
             \"example.com\" in the namespace \"$ns\"",
        ),
        fails(
            "--context=bot get wd -n default",
            "Error from server (Forbidden): widgets.example.com is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot list resource \"widgets\" in API group \
             \"example.com\" in the namespace \"default\"",
        ),
    ]
}

fn owners() -> Vec<Step> {
    vec![
        run("create -f -", "widget.example.com/b created").stdin(OWNER),
        save("get wd b -o 'jsonpath={.metadata.uid}'", "uid"),
        run("create -f -", "configmap/owned created").stdin(OWNED),
        run("delete wd b", r#"widget.example.com "b" deleted{? from $ns namespace}"#),
        run("wait --for=delete cm/owned --timeout=30s", "?configmap/owned condition met").since(23),
    ]
}

fn namespaces() -> Vec<Step> {
    vec![
        run("create namespace other", "namespace/other created"),
        run("create -n other -f -", "widget.example.com/b created").stdin(OWNER),
        run("delete namespace other --timeout=60s", r#"namespace "other" deleted"#),
        run("get wd -A -o name", "widget.example.com/a"),
    ]
}

/// The definition stays until the last object is gone.
fn held() -> Vec<Step> {
    vec![
        run("create -f -", "widget.example.com/held created").stdin(HELD),
        run("get wd a --watch -o name", "widget.example.com/a").then(
            run("delete crd widgets.example.com --wait=false", CRD_DELETED),
            "widget.example.com/a",
        ),
        run(
            "wait --for=condition=Terminating crd/widgets.example.com --timeout=30s",
            "customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met",
        ),
        fails(
            "create -f late.json",
            r#"Error from server (Forbidden): error when creating "late.json": widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating"#,
        )
        .file("late.json", LATE),
        run("wait --for=delete wd/a --timeout=30s", "").since(23),
        run("get wd -o name", "widget.example.com/held"),
        run(
            r#"patch wd held --type=merge -p '{"metadata":{"finalizers":null}}'"#,
            "widget.example.com/held patched",
        ),
        run(
            "wait --for=delete crd/widgets.example.com --timeout=30s",
            "?customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met",
        )
        .since(23),
        run("api-resources --api-group=example.com -o name", ""),
        fails("get widgets", UNKNOWN),
        fails(
            "get --raw /apis/example.com/v1/widgets",
            "Error from server (NotFound): the server could not find the requested resource",
        ),
        fails(
            "apply -f a.yaml",
            "...\n{any}no matches for kind \"Widget\" in version \"example.com/v1\"\n...",
        ),
    ]
}

/// A definition of the same name begins without objects; its end takes them all with it.
fn again() -> Vec<Step> {
    let end = vec![
        run("get wd", "").warns("No resources found in $ns namespace."),
        run("apply -f a.yaml", "widget.example.com/a created"),
        run("delete -f crd.yaml --timeout=60s", CRD_DELETED),
        fails(
            "get --raw /apis/example.com/v1/widgets",
            "Error from server (NotFound): the server could not find the requested resource",
        ),
        run("api-resources --api-group=example.com -o name", ""),
        fails("get widgets", UNKNOWN),
        run("get crd", "").warns("No resources found"),
    ];
    super::defined().into_iter().chain(end).collect()
}
