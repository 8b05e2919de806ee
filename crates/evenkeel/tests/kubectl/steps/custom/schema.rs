//! The definition as kubectl shows it, and the kind in discovery and `explain`.

use crate::step::{Step, fails, run};

const RESOURCES: &str = "\
NAME SHORTNAMES APIVERSION NAMESPACED KIND VERBS CATEGORIES
widgets wd example.com/v1 true Widget delete,deletecollection,get,list,patch,create,update,watch gadgets
";
const DEFINITIONS: &str = "\
NAME SCOPE VERSIONS CREATED AT
widgets.example.com Namespaced v1(storage),v1beta1 {time}
";
const SPEC: &str = "\
GROUP: example.com
KIND: Widget
VERSION: v1

FIELD: spec <Object>


DESCRIPTION:
What it should be.

FIELDS:
color <string>
?enum: red, green
<no description>

free <Object>
<no description>

limit <integer>
<no description>

note <string>
<no description>

parts <[]Object>
<no description>

port <Object>
<no description>

replicas <integer>
<no description>

serial <string>
<no description>

size <integer> -required-
In centimetres.
";
const RECURSIVE: &str = "\
GROUP: example.com
KIND: Widget
VERSION: v1

DESCRIPTION:
A widget.

FIELDS:
apiVersion <string>
kind <string>
metadata <ObjectMeta>
annotations <map[string]string>
...
uid <string>
spec <Object> -required-
color <string>
?enum: red, green
free <Object>
limit <integer>
note <string>
parts <[]Object>
count <integer>
name <string> -required-
port <Object>
replicas <integer>
serial <string>
size <integer> -required-
status <Object>
conditions <[]Object>
status <string> -required-
type <string> -required-
replicas <integer>
selector <string>
";
const HEAD_OF_BETA: &str = "?GROUP: example.com\n?KIND: Widget\n?VERSION: v1beta1";
const BETA: &str = "\
GROUP: example.com
KIND: Widget
VERSION: v1beta1

DESCRIPTION:
An early widget.

?FIELDS:
...
";
/// Not served before, not accepted now.
const WITHOUT_SCHEMA: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gears, kind: Gear}
  versions: [{name: v1, served: true, storage: true}]
";

pub(crate) fn steps() -> Vec<Step> {
    [super::defined(), definition(), discovery(), explained()].into_iter().flatten().collect()
}

fn definition() -> Vec<Step> {
    vec![
        run(
            "apply -f crd.yaml",
            "customresourcedefinition.apiextensions.k8s.io/widgets.example.com unchanged",
        ),
        run("diff -f crd.yaml", ""),
        run("get crd", DEFINITIONS),
        run(
            "get crd widgets.example.com -o 'jsonpath={range .status.conditions[*]}{.type}={.status} {end}{.status.storedVersions} {.spec.names.listKind}'",
            "NamesAccepted=True Established=True [\"v1\"] WidgetList",
        ),
        fails(
            "apply -f gears.yaml",
            r#"The CustomResourceDefinition "gears.example.com" is invalid: spec.versions[0].schema.openAPIV3Schema: Required value"#,
        )
        .file("gears.yaml", WITHOUT_SCHEMA),
    ]
}

fn discovery() -> Vec<Step> {
    vec![
        run("api-resources --api-group=example.com -o wide", RESOURCES).since(26),
        run("api-resources --categories=gadgets -o name", "widgets.example.com").since(26),
        run("api-versions", "...\nexample.com/v1\nexample.com/v1beta1\n..."),
        run("get wd", "").warns("No resources found in $ns namespace."),
        run("get gadgets", "").warns("No resources found in $ns namespace."),
    ]
}

fn explained() -> Vec<Step> {
    let explained = vec![
        run("explain widgets.spec", SPEC),
        run("explain wd --recursive", RECURSIVE),
        run(
            "explain widget.spec.size --api-version=example.com/v1",
            "GROUP: example.com\nKIND: Widget\nVERSION: v1\n\nFIELD: size <integer>\n\n\nDESCRIPTION:\nIn centimetres.",
        ),
        run("explain widgets --api-version=example.com/v1beta1", BETA),
        fails(
            "explain widgets.spec --api-version=example.com/v1beta1",
            r#"error: field "spec" does not exist"#,
        )
        .but(1, HEAD_OF_BETA),
    ];
    explained.into_iter().map(|step| step.since(27)).collect()
}
