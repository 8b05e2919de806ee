//! PodTemplates and ControllerRevisions: kinds without a controller.

use crate::step::{Step, fails, run};

const OBJECTS: &str = "\
apiVersion: v1
kind: PodTemplate
metadata: {name: web}
template:
  metadata: {labels: {app: web}}
  spec: {containers: [{name: a, image: 'img:1'}, {name: b, image: 'img:2'}]}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: web-1
data: {spec: {template: {}}}
revision: 7
";
const CREATED: &str = "podtemplate/web created\ncontrollerrevision.apps/web-1 created";
const TEMPLATE: &str = "\
NAME CONTAINERS IMAGES POD LABELS
web a,b img:1,img:2 app=web
";
const REVISION: &str = "\
NAME CONTROLLER REVISION AGE
web-1 <none> 7 {age}
";
const CHANGED: &str =
    r#"The ControllerRevision "web-1" is invalid: data: Invalid value: {any}: field is immutable"#;

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run("create -f objects.yaml", CREATED).file("objects.yaml", OBJECTS),
        run("get podtemplates", TEMPLATE),
        run("get controllerrevisions", REVISION),
        run("get podtemplate web -o 'jsonpath={.template.spec.restartPolicy}'", "Always"),
        run("label podtemplate web tier=front", "podtemplate/web labeled"),
        run(
            "patch controllerrevision web-1 --type merge -p '{\"revision\":8}'",
            "controllerrevision.apps/web-1 patched",
        ),
        run("get controllerrevision web-1 -o 'jsonpath={.revision}'", "8"),
        fails("patch controllerrevision web-1 --type merge -p '{\"data\":{\"x\":1}}'", CHANGED),
        run("explain podtemplate.template", "KIND: PodTemplate\nVERSION: v1\n...").since(31),
        run(
            "delete -f objects.yaml",
            "podtemplate \"web\" deleted{? from $ns namespace}\ncontrollerrevision.apps \"web-1\" deleted{? from $ns namespace}",
        ),
    ]
}
