use serde_json::json;

use super::*;

fn table() -> Schema {
    let text = "package t v1 t\ntype T\n  a string\n  n int64\n  raw *meta.FieldsV1\n  m map[string]T\n  i intstr.IntOrString omitempty";
    Schema::parse(&[text]).expect("a good table")
}

fn read(json: &[u8]) -> Result<Decoded, DecodeError> {
    let schema = table();
    decode(&schema, schema.named("t.T").expect("in the table"), json)
}

#[test]
fn bad_json_is_refused_in_gos_words() {
    for (json, words) in [
        ("", "unexpected end of JSON input"),
        ("  ", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{\"a", "unexpected end of JSON input"),
        ("{\"a\":", "unexpected end of JSON input"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{\"a\":x}", "invalid character 'x' looking for beginning of value"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":\"1\" 1}", "invalid character '1' after object key:value pair"),
        ("{\"a\":\"1\",}", "invalid character '}' looking for beginning of object key string"),
        ("{\"b\":[1 2]}", "invalid character '2' after array element"),
        ("{\"b\":[1,]}", "invalid character ']' looking for beginning of value"),
        ("{\"b\":tru}", "invalid character '}' in literal true (expecting 'e')"),
        ("{\"b\":nul", "unexpected end of JSON input"),
        ("{\"b\":01}", "invalid character '1' after object key:value pair"),
        ("{\"b\":-}", "invalid character '}' in numeric literal"),
        ("{\"b\":1.}", "invalid character '}' after decimal point in numeric literal"),
        ("{\"b\":1e}", "invalid character '}' in exponent of numeric literal"),
        ("{\"b\":\"\n\"}", "invalid character '\\n' in string literal"),
        ("{\"b\":\"\\x\"}", "invalid character 'x' in string escape code"),
        ("{\"b\":\"\\u12x4\"}", "invalid character 'x' in \\u hexadecimal character escape"),
        ("{} {}", "invalid character '{' after top-level value"),
        ("{\"a\":'1'}", "invalid character '\\'' looking for beginning of value"),
        ("\u{e9}", "invalid character 'Ã' looking for beginning of value"),
    ] {
        assert_eq!(read(json.as_bytes()), Err(DecodeError::Syntax(words.to_owned())), "{json:?}");
    }
}

#[test]
fn invalid_json_takes_precedence_over_wrong_types() {
    let error = read(b"{\"a\":1,\"n\":x}").expect_err("both are wrong");
    assert_eq!(error.to_string(), "invalid character 'x' looking for beginning of value");
    let error = read(b"{\"a\":1,\"n\":true}").expect_err("both are wrong");
    let first = "json: cannot unmarshal number into Go struct field T.a of type string";
    assert_eq!(error, DecodeError::Type(first.to_owned()));
}

#[test]
fn texts_are_unescaped() {
    for (json, text) in [
        (br#""\"\\\/\b\f\n\r\t""#.as_slice(), "\"\\/\u{8}\u{c}\n\r\t"),
        (br#""a\u00e9\ud83d\ude00b""#, "aé😀b"),
        (br#""\ud83dx\ude00\ud83d\u0041""#, "\u{fffd}x\u{fffd}\u{fffd}A"),
        (b"\"a\xff\xfe\xc3\xa9\"", "a\u{fffd}\u{fffd}é"),
        (
            b"\"long enough for more than one word \\n and on\"",
            "long enough for more than one word \n and on",
        ),
    ] {
        let json = [b"{\"a\":", json, b"}"].concat();
        assert_eq!(read(&json).expect("a text").value, json!({"a": text}));
    }
}

#[test]
fn ten_thousand_levels_are_passed_over_and_no_more() {
    let nested = |levels: usize| {
        format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels)).into_bytes()
    };
    assert_eq!(read(&nested(9_999)).expect("deep enough").value, json!({}));
    let error = read(&nested(10_000)).expect_err("too deep");
    assert_eq!(error, DecodeError::Syntax("exceeded max depth".to_owned()));
}

#[test]
fn what_is_kept_nests_up_to_one_limit() {
    let object = |levels: usize| format!("{}{}", "{\"a\":".repeat(levels), "1");
    let closed = |levels: usize| object(levels) + &"}".repeat(levels);
    let raw = |levels: usize| format!("{{\"raw\":{}}}", closed(levels - 1));
    let kept = read(raw(MOST_LEVELS).as_bytes()).expect("not too deep");
    assert_eq!(levels(&kept.value), MOST_LEVELS);
    let error = read(raw(MOST_LEVELS + 1).as_bytes()).expect_err("too deep");
    let words = "raw.a.a.a.a.a.a.a.a.a.a.a...: nested more than 100 levels deep; reduce the \
                 nesting, or keep the inner part as a string";
    assert_eq!(error.to_string(), words);
    let typed = |levels: usize| {
        format!("{}{{}}{}", "{\"m\":{\"k\":".repeat(levels / 2), "}}".repeat(levels / 2))
    };
    assert!(read(typed(MOST_LEVELS - 2).as_bytes()).is_ok());
    assert!(matches!(read(typed(MOST_LEVELS).as_bytes()), Err(DecodeError::TooDeep(_))));
    assert!(untyped(closed(MOST_LEVELS).as_bytes()).is_ok());
    assert!(matches!(untyped(closed(MOST_LEVELS + 1).as_bytes()), Err(DecodeError::TooDeep(_))));
    assert_eq!(any_json(closed(400).as_bytes(), 400).map(|value| levels(&value)), Ok(400));
    assert!(matches!(any_json(closed(401).as_bytes(), 400), Err(DecodeError::TooDeep(_))));
    for key in ["k".repeat(1 << 20), "é".repeat(1 << 20)] {
        let long = format!("{{\"{key}\":{}}}", closed(MOST_LEVELS));
        let error = untyped(long.as_bytes()).expect_err("too deep").to_string();
        assert!(error.len() < 300, "{}", error.len());
    }
}

#[test]
fn everything_serde_json_accepts_is_decoded_the_same() {
    for text in
        ["null", " [1, -2.5, \"x\", {\"a\": [true, {}]}] ", "\"\\u00e9\"", "1e400", "[", "{} 1"]
    {
        let theirs = serde_json::from_str::<Value>(text).ok();
        assert_eq!(any_json(text.as_bytes(), MOST_LEVELS).ok(), theirs, "{text}");
    }
}

#[test]
fn what_comes_twice_costs_no_more_than_its_length() {
    let long = "k".repeat(1 << 20);
    let twice = "\"a\":1,".repeat(100_000);
    let patch = format!("{{\"{long}\":{{{twice}\"a\":2}}}}");
    let found = untyped(patch.as_bytes()).expect("good");
    assert_eq!(found.unknown.len(), 1);
    let map: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":{{}}")).collect();
    let again = ",\"m\":{\"k1\":{}}".repeat(50_000);
    let text = format!("{{\"m\":{{{}}}{again}}}", map.join(","));
    let kept = read(text.as_bytes()).expect("good");
    assert_eq!(kept.value["m"].as_object().map(serde_json::Map::len), Some(50_000));
}

#[test]
fn raw_json_is_not_searched_for_duplicates_but_maps_are() {
    let read = read(br#"{"raw":{"f:a":1,"f:a":2},"m":{"k":{"x":1},"k":{"a":"1"}}}"#).expect("good");
    let found: Vec<String> = read.unknown.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["unknown field \"m.k.x\"", "duplicate field \"m.k\""]);
    assert_eq!(read.value, json!({"raw": {"f:a": 2}, "m": {"k": {"a": "1"}}}));
}

#[test]
fn at_most_a_hundred_findings_are_kept() {
    let fields: Vec<String> = (0..200).map(|n| format!("\"x{n}\":1")).collect();
    let read = read(format!("{{{}}}", fields.join(",")).as_bytes()).expect("good");
    assert_eq!(read.unknown.len(), 100);
}

#[test]
fn the_kind_is_found_without_a_type() {
    let meta = type_meta(br#"{"kind":"A","metadata":{"kind":"B"},"apiVersion":"v1","kind":"C"}"#);
    let expected = TypeMeta { api_version: "v1".to_owned(), kind: "C".to_owned() };
    assert_eq!(meta, Ok(expected));
    assert_eq!(type_meta(b"{}"), Ok(TypeMeta::default()));
    for (json, words) in [
        ("{\"kind\":1}", "json: cannot unmarshal number into Go struct field .kind of type string"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
    ] {
        assert_eq!(type_meta(json.as_bytes()).expect_err(json).to_string(), words);
    }
}

/// A type of JSON schemas: recursive, with fields of several forms.
fn schemas() -> Schema {
    let text = "package apiextensions v1 s\ntype S\n  type string omitempty\n  default *JSON omitempty\n  \
        enum []JSON omitempty\n  items *OrList omitempty\n  more *OrBool omitempty\n  \
        needs map[string]OrTexts omitempty\ntype OrList either\n  schema *S #1\n  schemas []S #2\n\
        type OrBool either\n  allows bool #1\n  schema *S #2\n\
        type OrTexts either\n  schema *S #1\n  texts []string #2";
    Schema::parse(&[text]).expect("a good table")
}

fn read_schema(json: &Value) -> Result<Decoded, DecodeError> {
    let schema = schemas();
    decode(&schema, schema.named("s.S").expect("in the table"), json.to_string().as_bytes())
}

#[test]
fn one_of_several_forms_is_read_and_printed() {
    let schema = schemas();
    for (json, printed) in [
        (json!({"items": {"type": "a"}}), json!({"items": {"type": "a"}})),
        (json!({"items": [{"type": "a"}, {}]}), json!({"items": [{"type": "a"}, {}]})),
        (json!({"more": {}}), json!({"more": {}})),
        (json!({"more": false}), json!({"more": false})),
        (json!({"more": true}), json!({"more": true})),
        // What Go's decoders of these types skip.
        (json!({"items": {"type": "", "x": 1}}), json!({"items": {}})),
        (json!({"items": [], "more": null}), json!({})),
        (json!({"items": 5}), json!({})),
        (
            json!({"needs": {"a": ["b"], "c": {"type": "d"}, "e": null, "f": 1}}),
            json!({"needs": {"a": ["b"], "c": {"type": "d"}, "e": null, "f": null}}),
        ),
        (json!({"default": null, "enum": [null, 1, ""]}), json!({"enum": [null, 1, ""]})),
        (json!({"default": {"a": [null]}}), json!({"default": {"a": [null]}})),
        (json!({"default": false}), json!({"default": false})),
    ] {
        let Decoded { mut value, unknown } = read_schema(&json).expect("a schema");
        canonical(&schema, schema.named("s.S").expect("in the table"), &mut value);
        assert_eq!((value, unknown), (printed, vec![]), "{json}");
    }
}

#[test]
fn a_value_of_none_of_the_forms_is_refused_only_where_a_boolean_may_be() {
    for (json, words) in [
        (json!({"more": 1}), "boolean or JSON schema expected"),
        (json!({"type": 1, "more": []}), "boolean or JSON schema expected"),
        (
            json!({"items": {"type": 1}}),
            "json: cannot unmarshal number into Go struct field S.items.type of type string",
        ),
        (
            json!({"needs": {"a": [1]}}),
            "json: cannot unmarshal number into Go struct field S.needs of type string",
        ),
    ] {
        assert_eq!(read_schema(&json), Err(DecodeError::Type(words.to_owned())), "{json}");
    }
}

#[test]
fn deep_schemas_are_refused_and_wide_ones_are_not() {
    let nested = |levels| (1..levels).fold(json!({}), |inner, _| json!({"items": inner}));
    assert!(read_schema(&nested(MOST_LEVELS)).is_ok());
    assert!(matches!(read_schema(&nested(MOST_LEVELS + 1)), Err(DecodeError::TooDeep(_))));
    let wide = json!({"items": vec![json!({"more": {"items": {"default": {}}}}); 20_000]});
    assert_eq!(read_schema(&wide).expect("a schema").value, wide);
}
