use std::{sync::Arc, time::Duration};

use evenkeel_store::{Object, ResourceId};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::{
    custom::definition,
    document,
    kinds::{
        CUSTOM_RESOURCE_DEFINITION, Catalogue,
        catalogue::CustomResource,
        read::{at, text},
    },
    openapi::{Document, DocumentRequest, Reply, v2, v3, v3_index},
};

/// What Kubernetes published: the definitions, then a document per line.
const RECORDED: &str = include_str!("recorded.jsonl");

fn recorded() -> (Vec<Value>, Vec<Value>) {
    let mut lines = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let definitions = lines.next().unwrap()["customResourceDefinitions"].take();
    (serde_json::from_value(definitions).unwrap(), lines.collect())
}

/// A definition with its names accepted.
fn accepted(mut definition: Value) -> Value {
    let names = definition["spec"]["names"].clone();
    let conditions =
        ["NamesAccepted", "Established"].map(|type_| json!({ "type": type_, "status": "True" }));
    definition["status"] = json!({ "acceptedNames": names, "conditions": conditions });
    definition
}

fn custom(number: u32, definition: Value, old: Option<&CustomResource>) -> Arc<CustomResource> {
    let definition = accepted(definition);
    let stored = document::stored(&CUSTOM_RESOURCE_DEFINITION, &definition);
    let object = Object {
        key: text(&definition, &["metadata", "name"]).into(),
        revision: 1,
        labels: stored.labels,
        fields: stored.fields,
        encoded: stored.encoded,
    };
    let id = ResourceId(1000 + number);
    Arc::new(definition::defined(&Arc::new(object), id, old).unwrap().unwrap())
}

fn serving(definitions: impl IntoIterator<Item = Value>) -> Catalogue {
    let mut served = Catalogue::default();
    for (number, definition) in (0..).zip(definitions) {
        served.insert(custom(number, definition, None));
    }
    served
}

fn widgets(group: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

fn parsed(document: &Document) -> Value {
    serde_json::from_slice(&document.json().concat()).unwrap()
}

/// Numbers compare as numbers, and lists of media types as sets.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.iter().map(comparable).collect(),
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| {
                let mut value = comparable(value);
                if let ("consumes" | "produces", Value::Array(types)) = (key.as_str(), &mut value) {
                    types.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                }
                (key.clone(), value)
            });
            entries.collect::<serde_json::Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Where the recorded value is not in the other one.
fn differences(path: &str, recorded: &Value, own: &Value, found: &mut Vec<String>) {
    match (recorded, own) {
        (Value::Object(recorded), Value::Object(own)) => {
            for key in recorded.keys().chain(own.keys().filter(|key| !recorded.contains_key(*key)))
            {
                let value = |object: &serde_json::Map<String, Value>| object.get(key).cloned();
                match (value(recorded), value(own)) {
                    (Some(a), Some(b)) => differences(&format!("{path}/{key}"), &a, &b, found),
                    (a, b) => found.push(format!("{path}/{key}: {a:?}, ours {b:?}")),
                }
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: {a}, ours {b}")),
    }
}

/// Only the fields that were recorded.
fn restricted(own: &Value, recorded: &Value) -> Value {
    match (own, recorded) {
        (Value::Object(own), Value::Object(recorded)) => {
            let kept = own.iter().filter_map(|(key, value)| {
                Some((key.clone(), restricted(value, recorded.get(key)?)))
            });
            kept.collect::<serde_json::Map<_, _>>().into()
        }
        (own, _) => own.clone(),
    }
}

#[test]
fn documents_are_those_that_kubernetes_publishes() {
    let (definitions, documents) = recorded();
    let served = serving(definitions);
    let mut found = Vec::new();
    for recorded in &documents {
        let name = recorded["document"].as_str().unwrap();
        let (own, schemas) = if name == "v2" {
            (parsed(&v2(&served)), "/definitions")
        } else {
            let own = parsed(&v3(&served, name).unwrap());
            assert_eq!((&own["info"], &own["openapi"]), (&recorded["info"], &recorded["openapi"]));
            (own, "/components/schemas")
        };
        let own_schemas = own.pointer(schemas).unwrap();
        for other in recorded["others"].as_array().into_iter().flatten() {
            assert!(own_schemas.get(other.as_str().unwrap()).is_some(), "{name}: {other}");
        }
        let recorded_schemas =
            if name == "v2" { &recorded["definitions"] } else { &recorded["schemas"] };
        for (schema, expected) in recorded_schemas.as_object().unwrap() {
            let own = comparable(&own_schemas[schema]);
            differences(&format!("{name} {schema}"), &comparable(expected), &own, &mut found);
        }
        let is_whole = matches!(name, "v2" | "apis/example.com/v1");
        for (path, expected) in recorded["paths"].as_object().unwrap() {
            let mut own = comparable(&own["paths"][path]);
            if !is_whole {
                own = restricted(&own, expected);
            }
            differences(&format!("{name} {path}"), &comparable(expected), &own, &mut found);
        }
        if name != "v2" {
            let paths = |document: &Value| document["paths"].as_object().unwrap().len();
            assert_eq!(paths(&own), paths(recorded), "{name}");
        }
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    assert!(documents.len() > 5);
}

#[test]
fn the_index_names_the_documents_of_served_versions() {
    let (definitions, documents) = recorded();
    let served = serving(definitions);
    let index = parsed(&v3_index(&served));
    for document in documents.iter().filter(|one| one["document"] != "v2") {
        let name = document["document"].as_str().unwrap();
        let address = format!("/openapi/v3/{name}?hash={}", v3(&served, name).unwrap().hash());
        assert_eq!(index["paths"][name]["serverRelativeURL"], *address, "{name}");
    }
    for missing in ["apis/example.com", "apis/example.com/v1alpha1", "apis/example.com/v1/widgets"]
    {
        assert!(index["paths"].get(missing).is_none(), "{missing}");
        assert!(v3(&served, missing).is_none(), "{missing}");
    }
}

#[test]
fn every_reference_leads_to_a_schema() {
    let (definitions, _) = recorded();
    let served = serving(definitions);
    let v2 = v2(&served).json().concat();
    let v3 = v3(&served, "apis/example.com/v1").unwrap().json().concat();
    let cases = [
        (v2, "#/definitions/", "/definitions"),
        (v3, "#/components/schemas/", "/components/schemas"),
    ];
    for (document, prefix, pointer) in cases {
        let document: Value = serde_json::from_slice(&document).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            let name = reference.strip_prefix(prefix).unwrap();
            assert!(document.pointer(pointer).unwrap().get(name).is_some(), "{name} is missing");
        }
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|one| references(one, found)),
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|one| references(one, found));
        }
        _ => {}
    }
}

#[test]
fn a_change_of_one_resource_changes_its_documents_only() {
    let schema = |words: &str| json!({ "type": "object", "description": words });
    let mut served = serving([
        widgets("a.example.com", &schema("one")),
        widgets("b.example.com", &schema("one")),
    ]);
    let hashes = |served: &Catalogue| {
        let hash = |name| v3(served, name).unwrap().hash().to_owned();
        let whole = (v2(served).hash().to_owned(), v3_index(served).hash().to_owned());
        (hash("apis/a.example.com/v1"), hash("apis/b.example.com/v1"), whole)
    };
    let before = hashes(&served);
    let document = v3(&served, "apis/b.example.com/v1").unwrap();
    let asked = DocumentRequest { hash: Some(&before.1), ..DocumentRequest::default() };
    assert!(matches!(document.reply(&asked), Reply::Document { immutable: true, .. }));

    let old = served.custom("b.example.com", "widgets").unwrap().clone();
    let same = custom(1, widgets("b.example.com", &schema("one")), Some(&old));
    assert!(Arc::ptr_eq(&old.published, &same.published), "the parts are generated once");
    served.insert(same);
    assert_eq!(hashes(&served), before);

    let new = custom(1, widgets("b.example.com", &schema("two")), Some(&old));
    served.insert(new);
    let after = hashes(&served);
    assert_eq!(after.0, before.0);
    assert!(after.1 != before.1 && after.2.0 != before.2.0 && after.2.1 != before.2.1);
    let document = v3(&served, "apis/b.example.com/v1").unwrap();
    let Reply::Moved { location } = document.reply(&asked) else { panic!("not moved") };
    assert_eq!(location, format!("/openapi/v3/apis/b.example.com/v1?hash={}", after.1));
    let words = ["components", "schemas", "com.example.b.v1.Widget", "description"];
    assert_eq!(*at(&parsed(&document), &words), json!("two"));

    served.remove("b.example.com", "widgets");
    assert!(v3(&served, "apis/b.example.com/v1").is_none());
    let v2 = parsed(&v2(&served));
    assert!(v2["definitions"].get("com.example.b.v1.Widget").is_none());
    assert!(v2["definitions"].get("com.example.a.v1.Widget").is_some());
}

#[test]
fn a_group_may_have_built_in_kinds_too() {
    let served = serving([widgets("events.k8s.io", &json!({ "type": "object" }))]);
    let document = parsed(&v3(&served, "apis/events.k8s.io/v1").unwrap());
    for path in ["widgets", "events"] {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{{namespace}}/{path}");
        assert!(document["paths"].get(&path).is_some(), "{path}");
    }
    for schema in
        ["io.k8s.events.v1.Widget", "io.k8s.api.events.v1.Event", "io.k8s.api.autoscaling.v1.Scale"]
    {
        assert!(document["components"]["schemas"].get(schema).is_some(), "{schema}");
    }
}

/// Group, version and kind may be chosen so that they spell the name of a built-in type.
#[test]
fn a_definition_does_not_replace_a_built_in_type() {
    let mut definition = widgets("meta.apis.pkg.apimachinery.k8s.io", &json!({ "type": "object" }));
    definition["spec"]["names"]["kind"] = "ObjectMeta".into();
    let served = serving([definition]);
    let name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let v3 = v3(&served, "apis/meta.apis.pkg.apimachinery.k8s.io/v1").unwrap();
    let v3 = parsed(&v3)["components"]["schemas"].take();
    for schemas in [v3, parsed(&v2(&served))["definitions"].take()] {
        assert!(schemas[name]["properties"].get("ownerReferences").is_some());
        let kind = &schemas[&format!("{name}_v2")]["x-kubernetes-group-version-kind"][0]["kind"];
        assert_eq!(*kind, "ObjectMeta");
    }
}

/// A reader of protobuf merges the parts: the same fields follow one another.
#[test]
fn protobuf_has_every_part() {
    let (definitions, _) = recorded();
    let served = serving(definitions);
    let contains =
        |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|at| at == text.as_bytes());
    let v3 = v3(&served, "apis/example.com/v1").unwrap().protobuf().concat();
    let v2 = v2(&served).protobuf().concat();
    for (bytes, start) in [(v3, &b"\x0a\x053.0.0"[..]), (v2, b"\x0a\x032.0")] {
        assert!(bytes.starts_with(start));
        for text in [
            "com.example.v1.Widget",
            "com.example.v1.GadgetCollection",
            "Kubernetes",
            "x-kubernetes-validations",
        ] {
            assert!(contains(&bytes, text), "{text}");
        }
    }
}

/// Names of fields may be any text, and a schema as deep as a stored object.
#[test]
fn deep_schemas_with_odd_names_are_published() {
    const NAME: &str = "\"/~{}\u{2028}\u{7f}";
    let mut deep = json!({ "type": "string", "enum": [NAME] });
    for _ in 0..45 {
        deep = json!({ "type": "object", "properties": { NAME: deep } });
    }
    let served = serving([widgets("example.com", &deep)]);
    let (v2, v3) = (v2(&served), v3(&served, "apis/example.com/v1").unwrap());
    let v3_schema = parsed(&v3)["components"]["schemas"]["com.example.v1.Widget"].take();
    let v2_schema = parsed(&v2)["definitions"]["com.example.v1.Widget"].take();
    for mut schema in [v3_schema, v2_schema] {
        for _ in 0..45 {
            schema = schema["properties"][NAME].take();
        }
        assert_eq!(schema, json!({ "type": "string", "enum": [NAME] }));
    }
    let levels =
        |bytes: Vec<u8>| bytes.windows(NAME.len()).filter(|at| *at == NAME.as_bytes()).count();
    assert_eq!([levels(v2.protobuf().concat()), levels(v3.protobuf().concat())], [45, 45]);
}

/// Linear work takes four times as long for four times as much, quadratic work sixteen times.
#[test]
fn work_is_linear_in_fields_and_resources() {
    let fields = |number: usize| {
        let property =
            |number| (format!("field{number}"), json!({ "type": "string", "nullable": true }));
        let properties: serde_json::Map<_, _> = (0..number).map(property).collect();
        let required: Vec<&String> = properties.keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    };
    let one = |number| {
        let served = serving([widgets("example.com", &fields(number))]);
        cpu_time(|| {
            let (v2, v3) = (v2(&served), v3(&served, "apis/example.com/v1").unwrap());
            for document in [&v2 as &Document, &v3] {
                drop((document.json(), document.protobuf()));
            }
        })
    };
    let many = |number| {
        let group = |number| format!("g{number}.example.com");
        let definitions = (0..number).map(|number| widgets(&group(number), &json!({})));
        let served = serving(definitions);
        cpu_time(|| drop((v3_index(&served), v2(&served))))
    };
    // The parts that are generated once are not measured.
    one(1);
    many(1);
    check_linear("fields", 2_000, one);
    check_linear("resources", 1_000, many);
}

fn check_linear(what: &str, number: usize, work: impl Fn(usize) -> Duration) {
    let ratio = (0..5).map(|_| work(4 * number).as_secs_f64() / work(number).as_secs_f64());
    let ratio = ratio.fold(f64::INFINITY, f64::min);
    assert!(ratio < 10.0, "{what}: {ratio} times as long");
}

fn cpu_time(work: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let start = now();
    work();
    now() - start
}

#[test]
fn an_unreadable_schema_is_an_object() {
    let mut definition = widgets("example.com", &json!(null));
    definition["spec"]["versions"][0]["schema"] = json!(null);
    let served = serving([definition]);
    let document = parsed(&v3(&served, "apis/example.com/v1").unwrap());
    let kinds = json!([{ "group": "example.com", "kind": "Widget", "version": "v1" }]);
    let expected = json!({ "type": "object", "x-kubernetes-group-version-kind": kinds });
    assert_eq!(document["components"]["schemas"]["com.example.v1.Widget"], expected);
}
