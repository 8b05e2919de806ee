//! Custom resources: from the definition to the end of its objects.

pub(crate) mod changes;
pub(crate) mod end;
pub(crate) mod objects;
pub(crate) mod schema;

use crate::step::{Step, run};

const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [gadgets]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Note, type: string, jsonPath: .spec.note, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: A widget.
        type: object
        required: [spec]
        properties:
          spec:
            description: What it should be.
            type: object
            required: [size]
            x-kubernetes-validations:
            - {rule: self.size <= self.limit, message: size must not exceed the limit}
            properties:
              size: {description: In centimetres., type: integer, minimum: 1, maximum: 10}
              limit: {type: integer, default: 8}
              color: {type: string, enum: [red, green], default: red}
              replicas: {type: integer, default: 1}
              note: {type: string, maxLength: 20}
              serial:
                type: string
                x-kubernetes-validations: [{rule: self == oldSelf, message: serial is immutable}]
              port: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              parts:
                type: array
                items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}}}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
              conditions:
                type: array
                items: {type: object, required: [type, status], properties: {type: {type: string}, status: {type: string}}}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {description: An early widget., type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;
const WIDGET: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: 3, serial: x1, note: first}
";

/// The definition is there, and known to kubectl, which keeps what it has discovered.
fn defined() -> Vec<Step> {
    vec![
        run(
            "apply -f crd.yaml",
            "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
        )
        .file("crd.yaml", DEFINITION),
        // `wait` fails on conditions that are null, as those of a new definition are, in Kubernetes too.
        run(
            "wait --for=jsonpath={.status.conditions[0].type} crd/widgets.example.com --timeout=30s",
            "customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met",
        ),
        run(
            "wait --for=condition=Established crd/widgets.example.com --timeout=30s",
            "customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met",
        ),
        run(
            "api-resources --api-group=example.com",
            "NAME SHORTNAMES APIVERSION NAMESPACED KIND\nwidgets wd example.com/v1 true Widget",
        ),
    ]
}

/// The definition, and an object.
fn with_widget() -> Vec<Step> {
    let created = run("apply -f a.yaml", "widget.example.com/a created").file("a.yaml", WIDGET);
    defined().into_iter().chain([created]).collect()
}
