use evenkeel_k8s::{Objects, Origin, manifest};

use crate::{parse, snapshot};

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";

fn error(text: &str) -> String {
    snapshot(text).unwrap_err().to_string()
}

#[test]
fn documents_of_all_known_kinds_are_collected() {
    let objects = parse(
        "# A comment first.\n\
         ---\n\
         apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n\
         ---\n\
         ---\n\
         # Only a comment.\n\
         ---\n\
         apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n\
         ---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {name: web-0, creationTimestamp: null}\n\
         ---\n\
         apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: web-1}\n\
         addressType: IPv4\nendpoints: []\n\
         ---\n\
         apiVersion: v1\nkind: Event\nmetadata: {name: e1}\ninvolvedObject: {}\n\
         ---\n\
         apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: e2}\nnote: hello\n\
         ---\n\
         apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h1}\n\
         spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}\n\
         ---\n\
         apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h2}\n\
         spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}\n\
         ...\n",
    );
    let objects = objects.unwrap();
    let counts = [
        objects.nodes.len(),
        objects.services.len(),
        objects.pods.len(),
        objects.slices.len(),
        objects.events.len(),
        objects.autoscalers.len(),
    ];
    assert_eq!(counts, [1, 1, 1, 1, 2, 2]);
    assert_eq!(objects.len(), 8);
    let second = objects.events.iter().nth(1).unwrap();
    assert_eq!(second.object.message.as_deref(), Some("hello"));
    let service = objects.services.iter().next().unwrap();
    assert_eq!(service.origin.to_string(), "in.yaml, document 2 (line 10)");
}

#[test]
fn a_missing_namespace_is_default_except_for_nodes() {
    let objects = parse(
        "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"a\"}}\n\
         {\"apiVersion\": \"v1\", \"kind\": \"Pod\", \
             \"metadata\": {\"name\": \"b\", \"namespace\": \"\"}}\n\
         {\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"c\"}}\n",
    );
    let objects = objects.unwrap();
    let service = objects.services.iter().next().unwrap();
    assert_eq!(service.object.metadata.namespace.as_deref(), Some("default"));
    let pod = objects.pods.iter().next().unwrap();
    assert_eq!(pod.object.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(pod.origin.to_string(), "in.yaml, document 2");
    let node = objects.nodes.iter().next().unwrap();
    assert_eq!(node.object.metadata.namespace, None);
}

#[test]
fn lists_are_opened_whether_their_items_say_what_they_are_or_not() {
    let cases = [
        // As `kubectl get -o yaml` prints it, its kind behind its items.
        "apiVersion: v1\nitems:\n\
         - {apiVersion: v1, kind: Service, metadata: {name: a}}\n\
         - {apiVersion: v1, kind: Service, metadata: {name: b}}\n\
         kind: List\nmetadata: {resourceVersion: ''}\n",
        // As the API answers.
        "{\"kind\": \"ServiceList\", \"apiVersion\": \"v1\", \"metadata\": {}, \
          \"items\": [{\"metadata\": {\"name\": \"a\"}}, {\"metadata\": {\"name\": \"b\"}}]}",
        "items: [{metadata: {name: a}}, {metadata: {name: b}}]\n\
         kind: ServiceList\napiVersion: v1\n",
        // A list of lists, as `kubectl get` of several files leaves behind.
        "apiVersion: v1\nkind: List\nitems:\n\
         - {apiVersion: v1, kind: ServiceList, items: [{metadata: {name: a}}]}\n\
         - {apiVersion: v1, kind: Service, metadata: {name: b}}\n",
    ];
    for text in cases {
        let objects = parse(text).unwrap();
        let names: Vec<_> = objects.services.iter().map(|s| &s.object.metadata.name).collect();
        assert_eq!(names, [&Some("a".to_owned()), &Some("b".to_owned())], "{text}");
        let last = objects.services.iter().last().unwrap();
        assert_eq!(last.origin.item, Some(1), "{text}");
    }
    for empty in ["kind: List\napiVersion: v1\nitems: []\n", "kind: List\nitems:\n"] {
        assert!(parse(empty).unwrap().is_empty());
    }
}

#[test]
fn other_kinds_are_counted() {
    let objects = parse(
        "apiVersion: v1\nkind: List\nitems:\n\
         - {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: eA==}}\n\
         - {apiVersion: v1, kind: Secret, metadata: {name: b}, weird: .nan}\n\
         - {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: b}}\n\
         ---\n\
         {apiVersion: example.org/v1, kind: Shelf, items: {a: [b]}}\n\
         ---\n\
         {apiVersion: example.org/v1, kind: Shelf, items: 3}\n",
    );
    let objects = objects.unwrap();
    assert!(objects.is_empty());
    let skipped: Vec<_> = objects.skipped.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    let expected = [("Secret", 2), ("Service (serving.knative.dev/v1)", 1), ("Shelf", 2)];
    assert_eq!(skipped, expected);
}

#[test]
fn the_same_object_twice_is_fine_unless_it_differs() {
    let objects = parse(&format!("{SERVICE}---\n{SERVICE}")).unwrap();
    assert_eq!(objects.services.len(), 1);

    let other = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: other}\n";
    let objects = parse(&format!("{SERVICE}---\n{other}")).unwrap();
    assert_eq!(objects.services.len(), 2);

    let mut objects = parse(SERVICE).unwrap();
    let changed = format!("{SERVICE}spec: {{clusterIP: None}}\n");
    let error = manifest::parse("b.yaml", &changed, &mut objects).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b.yaml, document 1 (line 1): Service/default/web: spec: differs from the one in \
         in.yaml, document 1 (line 1)",
    );
    assert!(error.help().is_some());
}

#[test]
fn managed_fields_make_no_difference() {
    let managed = format!("{SERVICE}  managedFields: [{{manager: kubectl}}]\n");
    let objects = parse(&format!("{SERVICE}---\n{managed}")).unwrap();
    assert_eq!(objects.services.len(), 1);
}

#[test]
fn what_is_no_object_is_described() {
    let cases = [
        ("hello", "expected a Kubernetes object, found a string of 5 characters"),
        ("ä", "expected a Kubernetes object, found a string of 1 character"),
        ("42", "expected a Kubernetes object, found the number 42"),
        ("-1.5", "expected a Kubernetes object, found the number -1.5e0"),
        ("true", "expected a Kubernetes object, found true"),
        ("- a\n- b\n", "expected a Kubernetes object, found a list of 2 items"),
        ("[1]", "expected a Kubernetes object, found a list of 1 item"),
        ("[]", "expected a Kubernetes object, found a list of 0 items"),
    ];
    for (text, expected) in cases {
        let found = error(text);
        assert!(found.starts_with("in.yaml, document 1"), "{found}");
        assert!(found.ends_with(expected), "{found}");
    }
    let item = error("apiVersion: v1\nkind: List\nitems: [{kind: Foo, apiVersion: v1}, x]\n");
    let expected = "in.yaml, document 1 (line 1), items[1]: \
         expected a Kubernetes object, found a string of 1 character";
    assert_eq!(item, expected);
    for nothing in ["", "\n", "---\n", "~", "null", "# x", "\u{feff}", "---\n---\n"] {
        assert!(parse(nothing).unwrap().is_empty(), "{nothing:?}");
    }
}

#[test]
fn kind_version_and_name_are_asked_for() {
    let cases = [
        ("{}", "no kind"),
        ("apiVersion: v1", "no kind"),
        ("kind: Service", "Service/?: no apiVersion"),
        ("kind: Node\nmetadata: {name: n1}", "Node/n1: no apiVersion"),
        ("kind: 3\napiVersion: v1", "no kind"),
        ("kind: Service\napiVersion: v1", "Service/?: metadata.name: no name"),
        ("items: [{metadata: {name: a}}]", "no kind"),
        ("kind: List\napiVersion: v1\nitems: [{metadata: {name: a}}]", "no kind"),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().ends_with(&format!(": {expected}")), "{error}");
        assert!(error.help().is_some(), "{error}");
    }
}

#[test]
fn a_wrongly_typed_field_is_named_with_its_path() {
    let cases = [
        (
            "spec:\n  ports:\n  - port: eighty\n",
            "in.yaml, document 1 (line 1): Service/web: spec.ports[0].port: \
             invalid type: string \"eighty\", expected a whole number",
        ),
        (
            "spec:\n  selector:\n    app: 3\n",
            "in.yaml, document 1 (line 1): Service/web: spec.selector.app: \
             invalid type: integer `3`, expected a string",
        ),
        (
            "spec: x\n",
            "in.yaml, document 1 (line 1): Service/web: spec: \
             invalid type: string \"x\", expected ServiceSpec",
        ),
    ];
    for (rest, expected) in cases {
        assert_eq!(error(&format!("{SERVICE}{rest}")), expected);
    }
}

#[test]
fn a_field_that_makes_no_sense_is_named_with_its_object() {
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n\
         status: {allocatable: {cpu: banana}}\n";
    let found = snapshot(node).unwrap_err();
    assert_eq!(
        found.to_string(),
        "in.yaml, document 1 (line 1): Node/n1: status.allocatable.cpu: \"banana\" is not a \
         quantity; expected something like 4 or 3920m",
    );
    assert_eq!(found.object.as_deref(), Some("Node/n1"));
    assert_eq!(found.field.as_deref(), Some("status.allocatable.cpu"));
    let slice = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s}\n\
         addressType: IPv4\nendpoints: [{addresses: [x]}]\n";
    assert_eq!(
        error(slice),
        "in.yaml, document 1 (line 1): EndpointSlice/default/s: endpoints[0].addresses[0]: \
         \"x\" is not an IPv4 address",
    );
}

#[test]
fn text_that_cannot_be_read_is_told_with_line_and_column() {
    let cases = [
        ("kind: Service\n  x: y\n", "in.yaml: not YAML: ", " at line 2, column 4"),
        ("kind: X\nkind: Y\n", "in.yaml: not YAML: duplicate", " at line 2, column 1"),
        ("a: *nobody\n", "in.yaml: not YAML: ", " at line 1, column 4"),
        ("{\"kind\": \n oops}", "in.yaml: not JSON: ", " at line 2, column 2"),
        ("{\"kind\": \"X\"", "in.yaml: not JSON: ", " at line 1, column 12"),
    ];
    for (text, start, end) in cases {
        let found = error(text);
        assert!(found.starts_with(start) && found.ends_with(end), "{found}");
    }
}

#[test]
fn json_and_yaml_are_told_apart_by_how_they_start() {
    let cases = [
        "{apiVersion: v1, kind: Node, metadata: {name: a}}",
        "{ \"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"a\"}}",
        "\n{\n\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"a\"}}\n---\n",
        "---\n{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"a\"}}",
        "\u{feff}apiVersion: v1\nkind: Node\nmetadata: {name: a}",
    ];
    for text in cases {
        assert_eq!(parse(text).unwrap().nodes.len(), 1, "{text}");
    }
}

#[test]
fn what_came_before_a_problem_is_kept() {
    let mut objects = Objects::default();
    let text = format!("{SERVICE}---\nnonsense\n");
    manifest::parse("in.yaml", &text, &mut objects).unwrap_err();
    assert_eq!(objects.services.len(), 1);
}

#[test]
fn an_origin_shows_only_what_is_known() {
    let mut origin = Origin::new("the cluster");
    assert_eq!(origin.to_string(), "the cluster");
    origin.document = Some(2);
    origin.item = Some(7);
    assert_eq!(origin.to_string(), "the cluster, document 2, items[7]");
}
