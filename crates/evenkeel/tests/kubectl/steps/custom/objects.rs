//! Objects that fit their schema, or do not, and the forms of `get`.

use crate::step::{Step, fails, run};

const YAML: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {any}
  creationTimestamp: \"{time}\"
  generation: 1
  name: a
  namespace: $ns
  resourceVersion: \"{n}\"
  uid: {uid}
spec:
  color: red
  limit: 8
  note: first
  replicas: 1
  serial: x1
  size: 3
";
const SEVERAL: &str = "\
The Widget \"b\" is invalid:
* spec.color: Unsupported value: \"blue\": supported values: \"red\", \"green\"
* spec.note: Too long: may not be more than 20 bytes
* spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10
* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
";
const WITHOUT_SIZE: &str = "\
The Widget \"b\" is invalid:
* spec.size: Required value
* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
";
const ABOVE_LIMIT: &str =
    r#"The Widget "b" is invalid: spec: Invalid value: size must not exceed the limit"#;
const UNKNOWN_FIELD: &str = r#"Error from server (BadRequest): error when creating "unknown.yaml": Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nope""#;
const DIFFERENCE: &str = "\
diff -u -N {any}/LIVE{any}/example.com.v1.Widget.$ns.b {any}/MERGED{any}/example.com.v1.Widget.$ns.b
--- {any}/example.com.v1.Widget.$ns.b {any}
+++ {any}/example.com.v1.Widget.$ns.b {any}
@@ {any} @@
...
- generation: 1
+ generation: 2
...
- color: green
- free:
- kept: 1
+ color: red
...
- size: 2
+ size: 5
";
const BETA_WARNING: &str =
    "Warning: example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget";

/// A widget `b` with this specification.
macro_rules! widget_b {
    ($spec:literal) => {
        concat!(
            "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: b}\nspec: ",
            $spec,
            "\n"
        )
    };
}

pub(crate) fn steps() -> Vec<Step> {
    [super::with_widget(), invalid(), unknown_fields(), shown(), selected(), versions()]
        .into_iter()
        .flatten()
        .collect()
}

fn invalid() -> Vec<Step> {
    let apply = |widget, err| fails("apply -f b.yaml", err).file("b.yaml", widget);
    vec![
        apply(widget_b!("{size: 11, color: blue, note: longer than twenty characters}"), SEVERAL),
        apply(widget_b!("{}"), WITHOUT_SIZE),
        apply(widget_b!("{size: 9}"), ABOVE_LIMIT),
        apply(widget_b!("{size: 9, limit: 8}"), ABOVE_LIMIT),
        fails("create -f b.yaml", ABOVE_LIMIT),
        fails("get widget b", r#"Error from server (NotFound): widgets.example.com "b" not found"#),
    ]
}

fn unknown_fields() -> Vec<Step> {
    const UNKNOWN: &str = widget_b!("{size: 2, color: green, nope: 1, free: {kept: 1}}");
    let created = "widget.example.com/b created";
    let fields = "get wd b -o 'jsonpath={.spec.nope}{.spec.free}'";
    let deleted = r#"widget.example.com "b" deleted{? from $ns namespace}"#;
    vec![
        fails("apply --validate=strict -f unknown.yaml", UNKNOWN_FIELD)
            .file("unknown.yaml", UNKNOWN)
            .since(25),
        fails("apply -f unknown.yaml", UNKNOWN_FIELD).since(25),
        run("apply --validate=ignore -f unknown.yaml", created).since(25),
        run("delete -f unknown.yaml", deleted).since(25),
        run("apply --validate=warn -f unknown.yaml", created)
            .warns(r#"Warning: unknown field "spec.nope""#)
            .since(25),
        run(fields, r#"{"kept":1}"#).since(25),
    ]
}

fn shown() -> Vec<Step> {
    vec![
        run("get wd", "NAME SIZE COLOR READY AGE\na 3 red {age}\nb 2 green {age}"),
        run(
            "get widgets.example.com -o wide",
            "NAME SIZE COLOR READY NOTE AGE\na 3 red first {age}\nb 2 green {age}",
        ),
        run("get gadgets -o name", "widget.example.com/a\nwidget.example.com/b"),
        run("get widget/a -o yaml", YAML),
        run("get wd -o 'custom-columns=N:.metadata.name,S:.spec.size'", "N S\na 3\nb 2"),
        run("get wd --sort-by=.spec.size -o name", "widget.example.com/b\nwidget.example.com/a"),
        run(
            "get wd -A",
            "NAMESPACE NAME SIZE COLOR READY AGE\n$ns a 3 red {age}\n$ns b 2 green {age}",
        ),
        run("describe wd a", "Name: a\nNamespace: $ns\n...\nSpec:\nColor: red\nLimit: 8\n..."),
    ]
}

fn selected() -> Vec<Step> {
    vec![
        run("get wd --field-selector spec.color=green -o name", "widget.example.com/b"),
        run("get wd --field-selector spec.color!=green -o name", "widget.example.com/a"),
        fails(
            "get wd --field-selector spec.size=3",
            r#"Error from server (BadRequest): Unable to find "example.com/v1, Resource=widgets" that match label selector "", field selector "spec.size=3": field label not supported: spec.size"#,
        ),
    ]
}

/// One object in both versions, each with its own columns.
fn versions() -> Vec<Step> {
    vec![
        run("get widgets.v1beta1.example.com", "NAME AGE\na {age}\nb {age}").warns(BETA_WARNING),
        run(
            "get widgets.v1beta1.example.com a -o 'jsonpath={.apiVersion} {.spec.size}'",
            "example.com/v1beta1 3",
        )
        .warns(BETA_WARNING),
        run("diff -f next.yaml", "").but(1, DIFFERENCE).file("next.yaml", widget_b!("{size: 5}")),
        run("apply -f next.yaml", "widget.example.com/b configured"),
        run("apply -f next.yaml", "widget.example.com/b unchanged"),
        run("diff -f next.yaml", ""),
        run("get wd b -o 'jsonpath={.spec.color} {.spec.free}'", "red"),
    ]
}
