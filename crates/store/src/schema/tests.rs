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
fn bad_json_comes_before_wrong_types() {
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
