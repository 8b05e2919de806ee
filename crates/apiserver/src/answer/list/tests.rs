use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::{
    answer,
    kinds::{self, KindRef, SERVICE},
    negotiate::Shape,
    protobuf,
    settings::Features,
    table::IncludeObject,
};

fn objects(n: usize, size: usize) -> Vec<Arc<Object>> {
    let object = |n: usize| {
        let encoded = format!(
            r#""name":"{n}","namespace":"default"}},"data":{{"k":"{}","s":"a: [b]"}},"list":[]}}"#,
            "x".repeat(size)
        );
        let key = format!("default/{n}").into();
        let (labels, fields) = (Box::default(), Box::default());
        Arc::new(Object { key, revision: 9 + n as u64, labels, fields, encoded: encoded.into() })
    };
    (0..n).map(object).collect()
}

fn view(media: Media, shape: Shape, pretty: bool) -> View {
    let format = ResponseFormat { media, shape, pretty };
    let (include, now) = (IncludeObject::Metadata, Timestamp::UNIX_EPOCH);
    View { format, include, now, features: Features::default() }
}

async fn text(kind: &'static KindRef, items: Vec<Arc<Object>>, view: View) -> (Option<u64>, Bytes) {
    let revision = 7;
    let page = evenkeel_store::Page { items, revision, next: None, remaining: Some(3) };
    let body = answer::list(kind, page, "next", view).body;
    let told = http_body::Body::size_hint(&body).exact();
    (told, body.collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn lists_have_the_announced_length_and_are_complete() {
    let plain = view(Media::Json, Shape::Object, false);
    for (n, size) in [(0, 0), (1, 10), (2, 10), (1, 3 << 20), (3, PIECE), (5_000, 100)] {
        let (told, text) = text(&SERVICE, objects(n, size), plain).await;
        assert_eq!(told, Some(text.len() as u64), "{n} of {size}");
        let list: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(list["metadata"]["remainingItemCount"], 3);
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), n);
        for (at, item) in items.iter().enumerate() {
            assert_eq!(item["metadata"]["name"], at.to_string());
            assert_eq!(item["metadata"]["resourceVersion"], (9 + at).to_string());
        }
    }
}

#[tokio::test]
async fn a_list_for_people_is_the_plain_one_with_lines() {
    let config_maps = kinds::named("", "configmaps").unwrap();
    let events = kinds::named("events.k8s.io", "events").unwrap();
    for shape in [Shape::Object, Shape::Table("v1"), Shape::PartialList("v1")] {
        for kind in [&SERVICE, config_maps, events] {
            for n in [0, 1, 3, 3_000] {
                let (_, plain) = text(kind, objects(n, 50), view(Media::Json, shape, false)).await;
                let (_, pretty) = text(kind, objects(n, 50), view(Media::Json, shape, true)).await;
                let mut expected = BytesMut::new();
                indent(&mut expected, &plain, 0);
                expected.put_u8(b'\n');
                assert_eq!(pretty, expected.freeze(), "{n} {shape:?}");
            }
        }
    }
}

#[tokio::test]
async fn rows_of_flow_schemas_are_in_the_order_of_their_precedence() {
    let kind = kinds::named("flowcontrol.apiserver.k8s.io", "flowschemas").unwrap();
    let object = |(name, precedence): (&str, u32)| {
        let encoded = format!(
            r#""name":"{name}"}},"spec":{{"matchingPrecedence":{precedence}}},"status":{{}}}}"#
        );
        let (labels, fields) = (Box::default(), Box::default());
        Arc::new(Object { key: name.into(), revision: 9, labels, fields, encoded: encoded.into() })
    };
    let objects = || [("a", 9000), ("b", 50), ("c", 9000), ("d", 7)].map(object).to_vec();
    let (_, rows) = text(kind, objects(), view(Media::Json, Shape::Table("v1"), false)).await;
    let rows: Value = serde_json::from_slice(&rows).unwrap();
    let names: Vec<_> =
        rows["rows"].as_array().unwrap().iter().map(|row| &row["cells"][0]).collect();
    assert_eq!(names, ["d", "b", "a", "c"]);
    let (_, list) = text(kind, objects(), view(Media::Json, Shape::Object, false)).await;
    let list: Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
}

#[tokio::test]
async fn a_list_is_the_same_in_all_forms() {
    let kind = kinds::named("", "configmaps").unwrap();
    for (shape, name) in [
        (Shape::Object, "items"),
        (Shape::Table("v1"), "rows"),
        (Shape::PartialList("v1beta1"), "items"),
    ] {
        for n in [0, 1, 3, 3_000] {
            let (_, json) = text(kind, objects(n, 50), view(Media::Json, shape, false)).await;
            let value: Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(value[name].as_array().unwrap().len(), n, "{shape:?}");
            let (_, lines) = text(kind, objects(n, 50), view(Media::Yaml, shape, false)).await;
            assert_eq!(lines, yaml(&value).as_bytes(), "{n} {shape:?}");
        }
    }
}

#[tokio::test]
async fn what_a_list_makes_at_once_does_not_grow_with_it() {
    let kind = kinds::named("", "configmaps").unwrap();
    for (media, shape, pretty) in [
        (Media::Json, Shape::Object, false),
        (Media::Json, Shape::Object, true),
        (Media::Json, Shape::Table("v1"), false),
        (Media::Yaml, Shape::Object, false),
        (Media::Protobuf, Shape::Object, false),
    ] {
        let page = evenkeel_store::Page {
            items: objects(20_000, 0),
            revision: 7,
            next: None,
            remaining: None,
        };
        let mut body = answer::list(kind, page, "", view(media, shape, pretty)).body;
        let mut pieces = 0;
        while let Some(frame) = body.frame().await {
            let length = frame.unwrap().into_data().unwrap().len();
            assert!(length < PIECE + (4 << 10), "{length} bytes at once");
            pieces += 1;
        }
        assert!(pieces > 10, "{pieces}");
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_read_spoils_no_list() {
    let kind = kinds::named("", "configmaps").unwrap();
    let mut items = objects(3, 10);
    let deep = format!("\"name\":\"1\"}},\"data\":{}{}}}", "[".repeat(500), "]".repeat(500));
    items[1] = Arc::new(Object { encoded: deep.into(), ..(*items[1]).clone() });
    let table = view(Media::Json, Shape::Table("v1"), false);
    let (_, table) = text(kind, items.clone(), table).await;
    let table: Value = serde_json::from_slice(&table).unwrap();
    let names: Vec<_> = (0..3).map(|at| table["rows"][at]["cells"][0].clone()).collect();
    assert_eq!(names, [json!("0"), json!("1"), json!("2")]);
    for media in [Media::Json, Media::Yaml] {
        let (_, text) = text(kind, items.clone(), view(media, Shape::Object, true)).await;
        assert!(!text.is_empty());
    }
    for encoded in ["[", "\"name\":1}}"] {
        items[1] = Arc::new(Object { encoded: encoded.into(), ..(*items[1]).clone() });
        let (_, body) =
            text(kind, items.clone(), view(Media::Protobuf, Shape::Object, false)).await;
        let (_, _, list) = protobuf::decode(&body).unwrap();
        assert_eq!(list["items"].as_array().map(Vec::len), Some(3), "{encoded}");
        assert_eq!(list["items"][2]["metadata"]["name"], "2");
    }
}

#[tokio::test]
async fn a_list_in_protobuf_is_the_one_in_json() {
    let config_maps = kinds::named("", "configmaps").unwrap();
    let events = kinds::named("events.k8s.io", "events").unwrap();
    for (kind, shape, n, size) in [
        (config_maps, Shape::Object, 0, 0),
        (config_maps, Shape::Object, 3, 10),
        (config_maps, Shape::PartialList("v1"), 3, 10),
        (events, Shape::Object, 3, 10),
        (events, Shape::PartialList("v1"), 1_000, 10),
        // More than is kept, so that some are encoded again.
        (config_maps, Shape::Object, 10_000, 500),
        (config_maps, Shape::Object, 3, 5 << 20),
    ] {
        let (_, json) = text(kind, objects(n, size), view(Media::Json, shape, false)).await;
        let value: Value = serde_json::from_slice(&json).unwrap();
        let version = value["apiVersion"].as_str().unwrap();
        let expected = protobuf::object(version, value["kind"].as_str().unwrap(), &json).unwrap();
        let (_, body) = text(kind, objects(n, size), view(Media::Protobuf, shape, false)).await;
        assert!(body == expected, "{n} of {size}, {shape:?}");
    }
}
