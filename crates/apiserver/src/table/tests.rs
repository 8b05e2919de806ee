//! Tables compared with recorded ones.

use super::*;
use crate::kinds::{KINDS, KindRef, facts};

const METADATA: TableOptions =
    TableOptions { include_object: IncludeObject::Metadata, no_headers: false, version: "v1" };

fn kind(plural: &str) -> &'static KindRef {
    KINDS.iter().find(|kind| kind.plural == plural).unwrap()
}

fn now() -> Timestamp {
    "2020-01-01T00:00:00Z".parse().unwrap()
}

/// Ages depend on the clock.
fn masked(mut table: Value) -> Value {
    let columns = table["columnDefinitions"].clone();
    for row in table["rows"].as_array_mut().unwrap() {
        for (index, column) in columns.as_array().unwrap().iter().enumerate() {
            if column["name"] == "Age" {
                row["cells"][index] = json!("<age>");
            }
        }
    }
    table
}

#[test]
fn whole_tables_are_as_recorded() {
    let mut compared = 0;
    for scenario in facts::scenarios("table") {
        for step in scenario["steps"].as_array().unwrap() {
            let body = &step["response"]["body"];
            if body["kind"] != "Table" {
                continue;
            }
            let recorded = body["rows"].as_array().unwrap().iter();
            let objects: Vec<Value> = recorded
                .map(|row| json!({"metadata": row["object"]["metadata"], "data": {"k": "v"}}))
                .collect();
            let meta = &body["metadata"];
            let table = table(kind("configmaps"), &objects, METADATA, meta, now());
            assert_eq!(&masked(table), body, "{}", scenario["id"]);
            compared += 1;
        }
    }
    assert!(compared >= 5, "only {compared} tables were compared");
}

#[test]
fn a_row_includes_the_requested_part_of_its_object() {
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    for (include_object, expected) in [
        (IncludeObject::None, json!(null)),
        (
            IncludeObject::Metadata,
            json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1beta1",
                "metadata": {"name": "a"},
            }),
        ),
        (
            IncludeObject::Object,
            json!({
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"name": "a"},
                "data": {"k": "v"},
            }),
        ),
    ] {
        let options = TableOptions { include_object, no_headers: true, version: "v1beta1" };
        let objects = [object.clone()];
        let table = table(kind("configmaps"), &objects, options, &json!({}), now());
        assert_eq!(table["rows"][0]["object"], expected);
        assert_eq!(table["columnDefinitions"], Value::Null);
        assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    }
}

#[test]
fn include_object_is_one_of_three() {
    assert_eq!(IncludeObject::parse(""), Ok(IncludeObject::Metadata));
    assert_eq!(IncludeObject::parse("None"), Ok(IncludeObject::None));
    assert_eq!(
        IncludeObject::parse("x"),
        Err("Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', 'None', or empty".to_owned())
    );
}
