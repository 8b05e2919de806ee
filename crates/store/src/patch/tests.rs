use serde_json::{Value, json};

use super::*;
use crate::schema::{self, Finding, Schema, Type};

const TABLE: &str = "package t v1 t
type Thing
  name string omitempty
  count int32
  data map[string]string omitempty
  tags []string omitempty patch=merge
  plain []string omitempty
  ports []Port omitempty patch=merge merge=port
  source *Source omitempty patch=retainKeys
  frozen *Source omitempty patch=replace
type Port
  port int32
  name string omitempty
  hosts []string omitempty patch=merge
  size resource.Quantity omitempty
  at meta.Time omitempty
type Source
  file *string omitempty
  host *string omitempty
";

fn table() -> Schema {
    Schema::parse(&[TABLE]).expect("a good table")
}

fn thing(schema: &Schema) -> &Type {
    schema.named("t.Thing").expect("in the table")
}

fn merged(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let schema = table();
    let mut document = document.clone();
    strategic(&schema, thing(&schema), &mut document, patch.to_string().as_bytes())?;
    Ok(document)
}

#[test]
fn strategic_merges_follow_the_strategies_of_the_fields() {
    for (document, patch, expected) in [
        (json!({"name": "a"}), json!({"count": 1}), json!({"name": "a", "count": 1})),
        (json!({"name": "a"}), json!({"name": null, "count": null}), json!({})),
        (
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": null, "b": "2"}}),
            json!({"data": {"b": "2"}}),
        ),
        (json!({"plain": ["a", "b"]}), json!({"plain": ["c"]}), json!({"plain": ["c"]})),
        (
            json!({"tags": ["a", "b"]}),
            json!({"tags": ["c", "a"]}),
            json!({"tags": ["c", "a", "b"]}),
        ),
        (
            json!({"tags": ["a", "b"]}),
            json!({"$deleteFromPrimitiveList/tags": ["a"]}),
            json!({"tags": ["b"]}),
        ),
        (
            json!({"tags": ["a", "b"]}),
            json!({"tags": ["c"], "$setElementOrder/tags": ["b", "c", "a"]}),
            json!({"tags": ["b", "c", "a"]}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            json!({"ports": [{"port": 3}]}),
            json!({"ports": [{"port": 3}, {"port": 1}, {"port": 2}]}),
        ),
        (
            json!({"ports": [{"port": 1, "name": "a"}, {"port": 2, "hosts": ["x"]}]}),
            json!({"ports": [{"port": 2, "name": "b", "hosts": ["y"]}]}),
            json!({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b", "hosts": ["y", "x"]}]}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            json!({"ports": [{"port": 1, "$patch": "delete"}]}),
            json!({"ports": [{"port": 2}]}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            json!({"ports": [{"$patch": "replace"}, {"port": 5}]}),
            json!({"ports": [{"port": 5}]}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            json!({"ports": [{"port": 3}], "$setElementOrder/ports": [{"port": 1}, {"port": 3}]}),
            json!({"ports": [{"port": 1}, {"port": 3}, {"port": 2}]}),
        ),
        (json!({"ports": [{"port": 1}]}), json!({"ports": null}), json!({})),
        (
            json!({}),
            json!({"ports": [{"port": 1, "$patch": "delete"}, {"port": 2, "name": null}]}),
            json!({"ports": [{"port": 2}]}),
        ),
        (
            json!({"source": {"file": "a"}}),
            json!({"source": {"$retainKeys": ["host"], "host": "b"}}),
            json!({"source": {"host": "b"}}),
        ),
        (
            json!({"source": {"file": "a"}}),
            json!({"source": {"host": "b"}}),
            json!({"source": {"file": "a", "host": "b"}}),
        ),
        (
            json!({"source": {"file": "a"}}),
            json!({"source": {"$patch": "replace", "host": "b"}}),
            json!({"source": {"host": "b"}}),
        ),
        (
            json!({"source": {"file": "a"}}),
            json!({"source": {"$patch": "delete"}}),
            json!({"source": {}}),
        ),
        (
            json!({"frozen": {"file": "a"}}),
            json!({"frozen": {"host": "b"}}),
            json!({"frozen": {"host": "b"}}),
        ),
        (json!({"name": "a"}), json!({"nope": 1}), json!({"name": "a", "nope": 1})),
        (json!({"name": "a"}), json!(null), json!({"name": "a"})),
    ] {
        assert_eq!(merged(&document, &patch), Ok(expected), "{document} and {patch}");
    }
}

#[test]
fn strategic_merges_fail_in_the_words_of_kubernetes() {
    let document = json!({"ports": [{"port": 1}], "tags": ["a"], "source": {"file": "a"}});
    for (patch, expected) in [
        (
            json!({"ports": [{"name": "x"}]}),
            PatchError::Internal(
                "map: map[name:x] does not contain declared merge key: port".to_owned(),
            ),
        ),
        (
            json!({"source": {"$patch": "frob"}}),
            PatchError::Internal("unknown patch type: frob in map: map[$patch:frob]".to_owned()),
        ),
        (
            json!({"source": {"$retainKeys": ["file"], "host": "x"}}),
            PatchError::BadRequest("invalid patch format of retainKeys".to_owned()),
        ),
        (
            json!({"$deleteFromPrimitiveList": ["a"]}),
            PatchError::BadRequest("invalid patch format of primitive list".to_owned()),
        ),
        (
            json!({"tags": ["b", 1]}),
            PatchError::Internal("list element types are not identical: [[a] [b 1]]".to_owned()),
        ),
        (
            json!([1]),
            PatchError::BadRequest(
                "json: cannot unmarshal array into Go value of type map[string]interface {}"
                    .to_owned(),
            ),
        ),
    ] {
        assert_eq!(merged(&document, &patch), Err(expected), "{patch}");
    }
}

#[test]
fn the_result_of_a_strategic_merge_is_converted() {
    let schema = table();
    let convert = |value: Value| converted(&schema, thing(&schema), value);
    let good = convert(
        json!({"z": 1, "count": 4_294_967_297_i64, "b": 1, "ports": [{"port": 2.0, "size": "1024Ki"}]}),
    );
    let good = good.expect("it converts");
    let found: Vec<&str> = good.unknown.iter().map(Finding::path).collect();
    assert_eq!(found, ["b", "z"]);
    assert_eq!(good.value, json!({"count": 1, "ports": [{"port": 2, "size": "1Mi"}]}));
    for (value, words) in [
        (json!({"name": 1}), "cannot convert int64 to string"),
        (json!({"name": true}), "unrecognized type: string"),
        (json!({"count": "1"}), "unrecognized type: int32"),
        (json!({"count": 1.5}), "cannot convert float64 to int32"),
        (json!({"tags": {}}), "cannot restore slice from map"),
        (json!({"data": []}), "cannot restore map from slice"),
        (json!({"source": "x"}), "cannot restore struct from: string"),
        (
            json!({"ports": [{"at": 1}]}),
            "json: cannot unmarshal number into Go value of type string",
        ),
    ] {
        assert_eq!(convert(value).expect_err(words).to_string(), words);
    }
}

#[test]
fn merge_patches_replace_lists_and_delete_nulls() {
    for (document, patch, expected) in [
        (
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": null, "d": 3}}),
            json!({"a": {"c": 2, "d": 3}}),
        ),
        (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
        (json!({"a": 1}), json!({"a": {"b": null, "c": [{"d": null}]}}), json!({"a": {"c": [{}]}})),
        (json!({"a": {"b": 1}}), json!({"a": "x"}), json!({"a": "x"})),
        (json!({}), json!({"a": {"b": null}}), json!({"a": {}})),
    ] {
        let mut merged = document.clone();
        assert_eq!(merge(&mut merged, patch.to_string().as_bytes()), Ok(Vec::new()));
        assert_eq!(merged, expected, "{document} and {patch}");
    }
}

#[test]
fn merge_patches_must_be_objects() {
    for (patch, words) in [
        (
            "[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            "\"x\"",
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
        (
            "5",
            "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}",
        ),
        ("null", "Invalid JSON Patch"),
        ("{", "invalid JSON patch"),
    ] {
        let error = merge(&mut json!({}), patch.as_bytes());
        assert_eq!(error, Err(PatchError::BadRequest(words.to_owned())), "{patch}");
    }
    let twice = merge(&mut json!({}), br#"{"a":{"b":1,"b":2}}"#).expect("a good patch");
    assert_eq!(twice[0].to_string(), "duplicate field \"a.b\"");
}

#[test]
fn json_patches_do_what_the_library_of_kubernetes_does() {
    let document = json!({"data": {"a": "1"}, "list": [1, 2]});
    for (patch, expected) in [
        (json!([]), Some(json!({"data": {"a": "1"}, "list": [1, 2]}))),
        (
            json!([{"op": "replace", "path": "/data/z", "value": "1"}]),
            Some(json!({"data": {"a": "1", "z": "1"}, "list": [1, 2]})),
        ),
        (json!([{"op": "remove", "path": "/data/z"}]), None),
        (json!([{"op": "add", "path": "/nope/z", "value": "1"}]), None),
        (
            json!([{"op": "add", "path": "data/x", "value": "1"}]),
            Some(json!({"data": {"a": "1"}, "list": [1, 2], "x": "1"})),
        ),
        (
            json!([{"op": "add", "path": "/data/x"}]),
            Some(json!({"data": {"a": "1", "x": null}, "list": [1, 2]})),
        ),
        (
            json!([{"op": "add", "path": "/list/-", "value": 3}]),
            Some(json!({"data": {"a": "1"}, "list": [1, 2, 3]})),
        ),
        (
            json!([{"op": "add", "path": "/list/2", "value": 3}]),
            Some(json!({"data": {"a": "1"}, "list": [1, 2, 3]})),
        ),
        (json!([{"op": "add", "path": "/list/3", "value": 3}]), None),
        (
            json!([{"op": "add", "path": "/list/-1", "value": 3}]),
            Some(json!({"data": {"a": "1"}, "list": [1, 2, 3]})),
        ),
        (
            json!([{"op": "remove", "path": "/list/-1"}]),
            Some(json!({"data": {"a": "1"}, "list": [1]})),
        ),
        (json!([{"op": "replace", "path": "/list/2", "value": 3}]), None),
        (
            json!([{"op": "move", "from": "/data/a", "path": "/data/b~1c~0"}]),
            Some(json!({"data": {"b/c~": "1"}, "list": [1, 2]})),
        ),
        (
            json!([{"op": "copy", "from": "/data", "path": "/list/0"}]),
            Some(json!({"data": {"a": "1"}, "list": [{"a": "1"}, 1, 2]})),
        ),
        (json!([{"op": "test", "path": "/data/a", "value": "1"}]), Some(document.clone())),
        (json!([{"op": "test", "path": "/data/a", "value": "2"}]), None),
        (json!([{"op": "test", "path": "/data/z", "value": null}]), Some(document.clone())),
        (json!([{"op": "replace", "path": "", "value": {}}]), Some(json!({}))),
        (json!([{"op": "frob", "path": "/data/a"}]), None),
        (json!([{"path": "/data/a"}]), None),
        (json!([{"op": "add"}]), None),
        (json!([{"op": "add", "path": "", "value": {}}]), None),
        (json!([null]), None),
    ] {
        let mut patched = document.clone();
        match (json(&mut patched, patch.to_string().as_bytes()), expected) {
            (Ok(_), Some(expected)) => assert_eq!(patched, expected, "{patch}"),
            (Err(PatchError::Rejected(_)), None) => {}
            (other, _) => panic!("{patch}: {other:?}"),
        }
    }
}

#[test]
fn json_patches_are_bounded() {
    let operation = r#"{"op":"add","path":"/k","value":"v"}"#;
    let patch = format!("[{}]", [operation; 10_001].join(","));
    let error = json(&mut json!({}), patch.as_bytes()).expect_err("too many");
    assert_eq!(error, PatchError::TooManyOperations { got: 10_001 });
    assert_eq!(
        error.to_string(),
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );

    let deeper = r#"{"op":"copy","from":"/a","path":"/a/x"}"#;
    let patch = format!("[{}]", [deeper; 5_000].join(","));
    let refused = json(&mut json!({"a": {}}), patch.as_bytes());
    let words = "/a/x: nested more than 100 levels deep; reduce the nesting, or keep the inner part \
                 as a string";
    assert_eq!(refused, Err(PatchError::BadRequest(words.to_owned())));

    let wider = r#"{"op":"copy","from":"/a","path":"/a/-"}"#;
    let patch = format!("[{}]", [wider; 100].join(","));
    let refused = json(&mut json!({"a": []}), patch.as_bytes());
    assert!(matches!(refused, Err(PatchError::Rejected(_))));
}

/// A list of this length, in the shape most expensive for an operation.
fn long_list(length: usize) -> Value {
    json!({"a": vec![0; length], "b": {}})
}

#[test]
fn json_patches_that_shift_a_long_list_again_and_again_are_refused() {
    for operation in [
        r#"{"op":"add","path":"/a/0","value":0}"#,
        r#"{"op":"remove","path":"/a/0"}"#,
        r#"{"op":"move","from":"/a","path":"/a"}"#,
    ] {
        let patch = format!("[{}]", [operation; 10_000].join(","));
        let refused = json(&mut long_list(100_000), patch.as_bytes());
        let Err(PatchError::BadRequest(words)) = refused else { panic!("{operation}: taken") };
        assert!(words.contains("send several patches"), "{words}");
    }
    // Real objects can take the maximum number of operations.
    let again = r#"{"op":"add","path":"/a/0","value":0},{"op":"remove","path":"/a/0"}"#;
    let patch = format!("[{}]", [again; 5_000].join(","));
    assert_eq!(json(&mut long_list(1_000), patch.as_bytes()), Ok(Vec::new()));
}

#[test]
fn strategic_merges_that_merge_a_long_list_again_and_again_are_refused() {
    let hosts: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    let document = json!({"ports": [{"port": 1, "hosts": hosts}]});
    let again = vec![json!({"port": 1, "hosts": ["x"]}); 100];
    let refused = merged(&document, &json!({"ports": again}));
    let Err(PatchError::BadRequest(words)) = refused else { panic!("taken") };
    assert!(words.contains("name each element of a list once"), "{words}");
}

#[test]
fn results_of_patches_nest_no_deeper_than_what_was_there() {
    let nested = |levels: usize| {
        let (open, close) = (r#"{"a":"#.repeat(levels - 1), "}".repeat(levels - 1));
        format!("{open}{{}}{close}")
    };
    let read = |levels: usize| schema::any_json(nested(levels).as_bytes(), 1_000).expect("JSON");
    let deepest = "/a".repeat(99);
    let add = format!(r#"[{{"op":"add","path":"{deepest}/b","value":{{}}}}]"#);
    assert!(matches!(json(&mut read(100), add.as_bytes()), Err(PatchError::BadRequest(_))));
    assert_eq!(json(&mut read(101), add.as_bytes()), Ok(Vec::new()));
    let deeper = format!(r#"[{{"op":"add","path":"{deepest}/b","value":[[]]}}]"#);
    assert!(matches!(json(&mut read(101), deeper.as_bytes()), Err(PatchError::BadRequest(_))));
    for patch in [nested(101), format!(r#"{{"b":{}}}"#, nested(100))] {
        let refused = merge(&mut json!({}), patch.as_bytes());
        assert!(matches!(refused, Err(PatchError::BadRequest(_))));
        let schema = table();
        let refused = strategic(&schema, thing(&schema), &mut json!({}), patch.as_bytes());
        assert!(matches!(refused, Err(PatchError::BadRequest(_))));
    }
    assert!(merge(&mut json!({}), nested(100).as_bytes()).is_ok());
}

#[test]
fn operations_are_read_strictly() {
    let found = json(&mut json!({}), br#"[{"op":"add","path":"/a","value":1,"foo":1,"op":"add"}]"#);
    let words: Vec<String> = found.expect("good").iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        ["json patch unknown field \"[0].foo\"", "json patch duplicate field \"[0].op\""]
    );
    for (patch, words) in [
        (
            "{}",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            "[1]",
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            r#"[{"op":1}]"#,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        ("[", "invalid JSON patch"),
    ] {
        let error = json(&mut json!({}), patch.as_bytes());
        assert_eq!(error, Err(PatchError::BadRequest(words.to_owned())), "{patch}");
    }
}
