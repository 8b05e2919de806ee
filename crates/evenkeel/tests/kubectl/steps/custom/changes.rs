//! `edit`, `scale`, `patch`, the status, labels, and watches of a custom resource.

use crate::step::{Step, fails, run};

const STATUS: &str = r#"patch wd a --subresource=status --type=merge -p '{"spec":{"size":7},"status":{"replicas":1,"selector":"w=a","conditions":[{"type":"Ready","status":"True"}]}}'"#;
const SCALE: &str = "\
apiVersion: autoscaling/v1
kind: Scale
metadata:
  creationTimestamp: \"{time}\"
  name: a
  namespace: $ns
  resourceVersion: \"{n}\"
  uid: {uid}
spec:
  replicas: 3
status:
  replicas: 1
  selector: w=a
";
const NO_STRATEGIC: &str = "{any}: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
const NOT_EDITED: &str = "\
error: widgets.example.com \"a\" is invalid
A copy of your changes has been stored to \"{any}\"
error: Edit cancelled, no valid changes were saved.
";
const PATCHED: &str = "widget.example.com/a patched";

pub(crate) fn steps() -> Vec<Step> {
    [super::with_widget(), patches(), status(), scale(), edits(), watches()]
        .into_iter()
        .flatten()
        .collect()
}

fn patches() -> Vec<Step> {
    vec![
        fails(r#"patch wd a -p '{"spec":{"size":4}}'"#, NO_STRATEGIC),
        run(r#"patch wd a --type=merge -p '{"spec":{"size":4}}'"#, PATCHED),
        run(
            r#"patch wd a --type=merge -p '{"spec":{"size":4}}'"#,
            "widget.example.com/a patched (no change)",
        ),
        run(
            r#"patch wd a --type=json -p '[{"op":"replace","path":"/spec/note","value":"second"}]'"#,
            PATCHED,
        ),
        fails(
            r#"patch wd a --type=merge -p '{"spec":{"serial":"x2"}}'"#,
            r#"The Widget "a" is invalid: spec.serial: Invalid value: "x2": serial is immutable"#,
        ),
        fails(
            r#"patch wd a --type=merge -p '{"spec":{"size":9}}'"#,
            r#"The Widget "a" is invalid: spec: Invalid value: size must not exceed the limit"#,
        ),
        run(
            "get wd a -o 'jsonpath={.spec.size} {.spec.note} {.metadata.generation}'",
            "4 second 3",
        ),
        run("label wd a x=1", "widget.example.com/a labeled"),
        run("annotate wd a 'note=two words'", "widget.example.com/a annotate{any}"),
        run("get wd -l x=1 --show-labels --no-headers", "a 4 red {age} x=1"),
        run(
            "get wd a -o 'jsonpath={.metadata.annotations.note} {.metadata.generation}'",
            "two words 3",
        ),
    ]
}

/// The status changes through its subresource only, and nothing else does.
fn status() -> Vec<Step> {
    vec![
        run(STATUS, PATCHED).since(24),
        run(
            r#"patch wd a --type=merge -p '{"status":{"replicas":9}}'"#,
            "widget.example.com/a patched (no change)",
        ),
        run(
            "get wd a -o 'jsonpath={.spec.size} {.status.replicas} {.metadata.generation}'",
            "4 1 3",
        )
        .since(24),
        run("get wd", "NAME SIZE COLOR READY AGE\na 4 red True {age}").since(24),
        run("wait --for=condition=Ready wd/a --timeout=30s", "widget.example.com/a condition met")
            .since(24),
        run("get wd a --subresource=status --no-headers", "a 4 red True {age}").since(24),
    ]
}

fn scale() -> Vec<Step> {
    vec![
        run("scale wd a --replicas=3", "widget.example.com/a scaled"),
        run("get wd a --subresource=scale -o yaml", SCALE).since(24),
        run("get wd a --subresource=scale", "NAME DESIRED AVAILABLE AGE\na 3 1 {age}").since(24),
        run("get wd a -o 'jsonpath={.spec.replicas} {.metadata.generation}'", "3 4"),
        fails(
            "scale wd a --replicas=4 --current-replicas=5",
            "error: Expected replicas to be 5, was 3",
        ),
    ]
}

fn edits() -> Vec<Step> {
    vec![
        run("edit wd a", "widget.example.com/a edited").editor("s/size: 4/size: 6/"),
        run("get wd a -o 'jsonpath={.spec.size}'", "6"),
        run("edit wd a", "").editor("s/nothing/else/").warns("Edit cancelled, no changes made."),
        fails("edit wd a", NOT_EDITED).editor("s/size: 6/size: 12/"),
        run("edit wd a --subresource=status", "widget.example.com/a edited")
            .editor("s/status: \"True\"/status: \"False\"/")
            .since(32),
    ]
}

fn watches() -> Vec<Step> {
    vec![
        run("get wd --watch", "NAME SIZE COLOR READY AGE\na 6 red {any} {age}").then(
            run(r#"patch wd a --type=merge -p '{"spec":{"size":5}}'"#, PATCHED),
            "a 5 red {any} {age}",
        ),
        run("get wd --watch --output-watch-events --field-selector spec.color=green", "")
            .then(
                run(r#"patch wd a --type=merge -p '{"spec":{"color":"green"}}'"#, PATCHED),
                "EVENT NAME SIZE COLOR READY AGE\nADDED a 5 green {any} {age}",
            )
            .then(
                run(r#"patch wd a --type=merge -p '{"spec":{"color":"red"}}'"#, PATCHED),
                "DELETED a 5 {any}",
            ),
    ]
}
