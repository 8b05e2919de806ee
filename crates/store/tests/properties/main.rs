//! Properties for all inputs: decoding and patching never panic, and the printed form is stable.

use evenkeel_store::{
    patch,
    schema::{Schema, Type, canonical, check, decode, type_meta, untyped},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const TABLE: &str = "package t v1 t
text Kind
type Thing
  kind Kind omitempty
  count int32
  big *int64 omitempty
  on bool omitempty
  secret map[string][]byte omitempty
  data map[string]string omitempty
  tags []string omitempty patch=merge
  ports []Port patch=merge merge=port
  inner *Thing omitempty patch=retainKeys
  size resource.Quantity omitempty
  limits map[Kind]resource.Quantity omitempty
  target intstr.IntOrString omitempty
  at meta.Time omitempty
  since *meta.MicroTime omitempty
  raw *meta.FieldsV1 omitempty
type Port
  port int32
  name string omitempty
  hosts []string omitempty patch=merge
";

fn table() -> Schema {
    Schema::parse(&[TABLE]).expect("a good table")
}

fn thing(schema: &Schema) -> &Type {
    schema.named("t.Thing").expect("in the table")
}

/// Often names with a meaning.
fn name() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "kind",
        "count",
        "big",
        "on",
        "secret",
        "data",
        "tags",
        "ports",
        "inner",
        "size",
        "limits",
        "target",
        "at",
        "since",
        "raw",
        "port",
        "name",
        "hosts",
        "$patch",
        "$retainKeys",
        "$setElementOrder/ports",
        "$setElementOrder/tags",
        "$deleteFromPrimitiveList/tags",
        "op",
        "path",
        "from",
        "value",
    ];
    prop_oneof![9 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => ".{0,3}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    const TEXTS: &[&str] = &[
        "",
        "a",
        "replace",
        "delete",
        "merge",
        "add",
        "move",
        "copy",
        "test",
        "/ports/0",
        "/inner",
        "/inner/x",
        "/-",
        "1Gi",
        "0.5",
        "1.5Ki",
        "x",
        "2020-01-01T00:00:00Z",
        "aGk=",
        "2020-01-01T00:00:00.000001+01:00",
        "~0~1",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A value that decodes without error.
fn good() -> impl Strategy<Value = Value> {
    let ports = prop::collection::btree_map(0_i32..6, "[a-c]?", 0..5);
    let tags = prop::collection::vec("[a-e]", 0..4);
    let sizes = prop::sample::select(&["1", "0.5", "1.5Gi", "1e3", "1024Ki", "5.000", "-1"][..]);
    (ports, tags, sizes, any::<i32>(), "[a-c]{0,2}").prop_map(|(ports, tags, size, count, kind)| {
        let ports: Vec<Value> =
            ports.iter().map(|(port, name)| json!({"port": port, "name": name})).collect();
        json!({
            "ports": ports, "tags": tags, "size": size, "count": count, "kind": kind,
            "target": count, "at": "2020-02-29T23:59:59.5-11:30",
        })
    })
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let schema = table();
        let _ = decode(&schema, thing(&schema), &bytes);
        let _ = (untyped(&bytes), type_meta(&bytes));
        let mut document = json!({"ports": [{"port": 1}], "tags": ["a"]});
        let _ = patch::json(&mut document, &bytes);
        let _ = patch::merge(&mut document, &bytes);
        let _ = patch::strategic(&schema, thing(&schema), &mut document, &bytes);
    }

    #[test]
    fn no_depth_makes_a_reader_overflow(
        open in prop::sample::select(&["[", "{\"inner\":", "{\"raw\":", "{\"x\":"][..]),
        levels in 400_usize..12_000,
    ) {
        let schema = table();
        let text = open.repeat(levels);
        prop_assert!(decode(&schema, thing(&schema), text.as_bytes()).is_err());
        prop_assert!(untyped(text.as_bytes()).is_err());
        let whole = format!("{text}1{}", if open == "[" { "]" } else { "}" }.repeat(levels));
        let _ = decode(&schema, thing(&schema), whole.as_bytes());
        let merged = patch::merge(&mut json!({}), whole.as_bytes());
        prop_assert!(merged.is_err());
    }

    #[test]
    fn no_text_near_to_json_makes_a_reader_panic(value in value(), at in 0_usize..400, byte in any::<u8>()) {
        let schema = table();
        let mut bytes = value.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = decode(&schema, thing(&schema), &bytes);
        let _ = (untyped(&bytes), type_meta(&bytes));
    }

    #[test]
    fn a_text_is_json_exactly_if_serde_accepts_it(value in value(), at in 0_usize..400, byte in 32_u8..127) {
        let mut bytes = value.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let ours = untyped(&bytes);
        let syntax = matches!(ours, Err(evenkeel_store::schema::DecodeError::Syntax(_)));
        // The other parser rejects lone surrogates, numbers too large for it, and invalid UTF-8.
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(theirs) = serde_json::from_str::<Value>(&text) {
            prop_assert!(!syntax, "{theirs} was refused: {ours:?}");
        } else if !bytes.windows(2).any(|pair| pair == b"\\u") && !bytes.contains(&b'e') && !bytes.contains(&b'E') {
            prop_assert!(syntax, "{:?} was taken", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn no_patch_makes_patching_panic(document in value(), patch in value()) {
        let schema = table();
        let json = patch.to_string();
        for base in [document, json!({"ports": [{"port": 1}], "tags": ["a"], "inner": {"count": 1}})] {
            let mut patched = base.clone();
            let _ = patch::json(&mut patched, json.as_bytes());
            let _ = patch::json(&mut patched, format!("[{json},{json}]").as_bytes());
            let mut patched = base.clone();
            let _ = patch::merge(&mut patched, json.as_bytes());
            let mut patched = base;
            if patch::strategic(&schema, thing(&schema), &mut patched, json.as_bytes()).is_ok() {
                let _ = patch::converted(&schema, thing(&schema), patched);
            }
        }
    }

    #[test]
    fn the_printed_form_is_stable(value in value()) {
        let schema = table();
        let Ok(mut read) = check(&schema, thing(&schema), value) else { return Ok(()) };
        canonical(&schema, thing(&schema), &mut read.value);
        let printed = read.value;
        let again = check(&schema, thing(&schema), printed.clone());
        let mut again = again.expect("what is printed can be read");
        prop_assert_eq!(&again.unknown, &[]);
        canonical(&schema, thing(&schema), &mut again.value);
        prop_assert_eq!(again.value, printed);
    }

    #[test]
    fn a_patch_that_is_the_object_changes_nothing(value in good()) {
        let schema = table();
        let mut read = check(&schema, thing(&schema), value).expect("a good thing").value;
        canonical(&schema, thing(&schema), &mut read);
        let mut patched = read.clone();
        // Deleting a null value changes nothing.
        patch::strategic(&schema, thing(&schema), &mut patched, read.to_string().as_bytes())
            .expect("it applies");
        let mut patched = patch::converted(&schema, thing(&schema), patched).expect("good").value;
        canonical(&schema, thing(&schema), &mut patched);
        prop_assert_eq!(without_duplicates(patched), without_duplicates(read));
    }

    #[test]
    fn a_merged_list_has_each_key_once_with_the_patchs_values(old in good(), new in good()) {
        let schema = table();
        let mut merged = old.clone();
        let patch = json!({"ports": new["ports"]}).to_string();
        patch::strategic(&schema, thing(&schema), &mut merged, patch.as_bytes()).expect("good");
        let port = |element: &Value| element["port"].as_i64().expect("a number");
        let list = |thing: &Value| thing["ports"].as_array().cloned().unwrap_or_default();
        let (old, new, merged) = (list(&old), list(&new), list(&merged));
        let mut expected: Vec<i64> = old.iter().chain(&new).map(port).collect();
        expected.sort_unstable();
        expected.dedup();
        let mut found: Vec<i64> = merged.iter().map(port).collect();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
        for element in merged {
            let from = new.iter().chain(&old).find(|other| port(other) == port(&element));
            prop_assert_eq!(Some(&element), from);
        }
    }
}

/// Scalars of a merged list are united.
fn without_duplicates(mut thing: Value) -> Value {
    if let Some(tags) = thing["tags"].as_array_mut() {
        let mut seen = Vec::new();
        tags.retain(|tag| {
            !seen.contains(tag) && {
                seen.push(tag.clone());
                true
            }
        });
    }
    thing
}
