//! What kube-apiserver 1.37 sends, recorded in both formats: objects of every kind, lists, statuses,
//! reviews and discovery documents.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::BytesMut;
use evenkeel_store::schema;
use serde_json::Value;

use crate::{
    kinds::{
        KINDS,
        read::{remove, text},
    },
    protobuf::{self, ListEncoder},
    types,
};

struct Record {
    path: String,
    object: Value,
    body: Vec<u8>,
}

fn records() -> Vec<Record> {
    let lines = include_str!("recorded.jsonl").lines();
    let record = |line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        Record {
            path: text(&record, &["path"]).to_owned(),
            body: STANDARD.decode(text(&record, &["body"])).unwrap(),
            object: record["object"].take(),
        }
    };
    lines.map(record).collect()
}

fn type_of(object: &Value) -> (&str, &str) {
    (text(object, &["apiVersion"]), text(object, &["kind"]))
}

#[test]
fn objects_are_encoded_as_kube_apiserver_encodes_them() {
    for Record { path, object, body } in records() {
        let (version, kind) = type_of(&object);
        let ours = protobuf::object(version, kind, object.to_string().as_bytes()).unwrap();
        assert!(ours == body, "{path}: {:?}", super::decode(&ours));
    }
}

#[test]
fn lists_are_encoded_item_by_item_as_kube_apiserver_encodes_them() {
    let mut compared = 0;
    for Record { path, object, body } in records() {
        let (version, kind) = type_of(&object);
        let Some(items) = object["items"].as_array() else { continue };
        let Some(item) = kind.strip_suffix("List").filter(|kind| !kind.contains("Discovery"))
        else {
            continue;
        };
        let mut encoder = ListEncoder::new(version, item).unwrap();
        let mut encoded = BytesMut::new();
        for item in items {
            encoder.item(item.to_string().as_bytes(), &mut encoded).unwrap();
        }
        let metadata = object["metadata"].to_string();
        let head = protobuf::list_head(version, kind, metadata.as_bytes(), encoded.len()).unwrap();
        assert!([&head, &encoded[..], protobuf::END].concat() == body, "{path}");
        compared += 1;
    }
    assert!(compared > 3);
}

#[test]
fn every_kind_is_recorded() {
    let records = records();
    // Definitions were not recorded; see `a_schema_of_several_forms_is_a_message_of_its_own`.
    for kind in KINDS.iter().filter(|kind| kind.kind != "CustomResourceDefinition") {
        let version = kind.api_version();
        let is_recorded =
            records.iter().any(|record| type_of(&record.object) == (&version, &kind.kind));
        assert!(is_recorded, "{version} {}", kind.kind);
    }
}

#[test]
fn what_kube_apiserver_sends_is_decoded_to_what_it_sends_as_json() {
    for Record { path, mut object, body } in records() {
        let (version, kind, mut decoded) = super::decode(&body).unwrap();
        let of = protobuf::kind(&version, &kind).unwrap();
        for value in [&mut object, &mut decoded] {
            // The one document without a version.
            value["apiVersion"] = version.clone().into();
            schema::canonical(types::schema(), of, value);
        }
        // Protobuf has the kind of items nowhere, JSON sometimes.
        for item in object.pointer_mut("/items").and_then(Value::as_array_mut).into_iter().flatten()
        {
            remove(item, &["kind"]);
            remove(item, &["apiVersion"]);
        }
        assert_eq!(decoded, object, "{path}");
    }
}
