//! Words and results of client-go's tests, and hostile paths.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Cell, JsonPath, check_simple, names};
use crate::path::Path;

fn find(path: &str, object: &Value) -> Result<Vec<Value>, String> {
    let found = JsonPath::parse(path)?.find(object)?;
    Ok(found.into_iter().map(std::borrow::Cow::into_owned).collect())
}

fn store() -> Value {
    json!({"store": {
        "book": [
            {"category": "reference", "author": "Nigel Rees", "title": "Sayings of the Centurey", "price": 8.95},
            {"category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99},
            {"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "price": 8.99}],
        "bicycle": [{"color": "red", "price": 19.95, "isnew": true}, {"color": "green", "price": 20.01, "isnew": false}],
        "labels": {"web/html": 15, "k8s-app": 20, "kubernetes.io/name": "a", "dot.ted": 1}},
        "conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Live", "status": "False", "n": 2}],
        "nothing": null, "empty": []})
}

#[test]
fn paths_find_what_client_go_finds() {
    for (path, expected) in [
        (".store.book[0].title", json!(["Sayings of the Centurey"])),
        (".store.book[*].author", json!(["Nigel Rees", "Evelyn Waugh", "Herman Melville"])),
        (
            ".store.bicycle.*",
            json!([{"color": "red", "price": 19.95, "isnew": true}, {"color": "green", "price": 20.01, "isnew": false}]),
        ),
        ("..price", json!([19.95, 20.01, 8.95, 12.99, 8.99])),
        ("..book[2].title", json!(["Moby Dick"])),
        (".store.book[0:2].title", json!(["Sayings of the Centurey", "Sword of Honour"])),
        (".store.book[-1].title", json!(["Moby Dick"])),
        (".store.book[-1:].title", json!(["Moby Dick"])),
        (".store.book[0:3:2].price", json!([8.95, 8.99])),
        (".store.book[:].price", json!([8.95, 12.99, 8.99])),
        (".store.book[0,2].price", json!([8.95, 8.99])),
        (".store.book[0]['author','title']", json!(["Nigel Rees", "Sayings of the Centurey"])),
        (".store['bicycle'][0]['color']", json!(["red"])),
        (".store.labels['web/html']", json!([15])),
        (".store.labels.k8s-app", json!([20])),
        (".store.labels.kubernetes\\.io/name", json!(["a"])),
        (".store.labels['dot\\.ted']", json!([1])),
        (".conditions[?(@.type==\"Ready\")].status", json!(["True"])),
        (".conditions[?(@.type=='Ready')].status", json!(["True"])),
        (".conditions[?(@.type == \"Ready\")].status", json!(["True"])),
        (".conditions[?(@.type!='Ready')].status", json!(["False"])),
        (".conditions[?(@.n>1)].type", json!(["Live"])),
        (".conditions[?(@.n>=1)].type", json!(["Ready", "Live"])),
        (".conditions[?(@.n<2)].type", json!(["Ready"])),
        (".store.bicycle[?(@.isnew==true)].color", json!(["red"])),
        (".store.book[?(@.price<9.0)].title", json!(["Sayings of the Centurey", "Moby Dick"])),
        (".store.book[?(@.isbn)].title", json!([])),
        (".store.book[?(@.title)].price", json!([8.95, 12.99, 8.99])),
        (".conditions[?(@.type==\"a)b\")].status", json!([])),
        (".conditions[?('a'=='a')].type", json!(["Ready", "Live"])),
        ("$.store.labels.k8s-app", json!([20])),
        (".nope", json!([])),
        (".store.nope.more[0]", json!([])),
        (".nothing", json!([null])),
        (".nothing.a", json!([])),
        (".nothing[0]", json!([])),
        (".store.book[1:1].title", json!([])),
        (".empty[*]", json!([])),
        (".", json!([])),
        ("'text'", json!(["text"])),
        ("\"a\\tb\"", json!(["a\tb"])),
        ("5", json!([5])),
        (".store.labels.k8s-app} text {.nope", json!([20])),
    ] {
        assert_eq!(find(path, &store()).map(Value::from), Ok(expected), "{path}");
    }
}

#[test]
fn errors_read_as_client_go_writes_them() {
    for (path, expected) in [
        (".store[", "unterminated array"),
        (".store['a", "unterminated array"),
        (".store[a]", "invalid array index a"),
        (".store[1:2:3:4]", "invalid array index 1:2:3:4"),
        (".store[1-2]", "invalid array index 1-2"),
        (".store[99999999999999999999]", "array index 99999999999999999999 is not a number"),
        (".store[?(@.a==1]", "unterminated filter"),
        (".store[?(@.a==1)", "unclosed array expect ]"),
        ("....", "invalid multiple recursive descent"),
        (".a\n", "unclosed action"),
        ("'a", "unterminated quoted string"),
        ("'\\q'", "unquote string '\\q' error invalid syntax"),
        ("*", "unrecognized character in action: U+002A '*'"),
        ("1.2.3", "cannot parse number 1.2.3"),
        (".store.book[5]", "array index out of bounds: index 5, length 3"),
        (".store.book[-4]", "array index out of bounds: index -1, length 3"),
        (".store.book[0:9]", "array index out of bounds: index 8, length 3"),
        (".store.book[2:1]", "starting index 2 is greater than ending index 1"),
        (".store.book[0:2:0]", "step must be > 0"),
        (".store.labels[0]", "map[string]interface {} is not array or slice"),
        (
            ".store[?(@.a==1)]",
            "map[string]interface {} is not array or slice and cannot be filtered",
        ),
        (".conditions[?(@.n=='a')]", "incompatible types for comparison"),
        (".conditions[?(@.n==1.5)]", "incompatible types for comparison"),
        (".conditions[?(@.n=1)]", "unrecognized filter operator ="),
        (".conditions[?(@.*=='a')]", "can only compare one element at a time"),
        ("range", "unrecognized identifier range"),
    ] {
        assert_eq!(find(path, &store()).unwrap_err(), expected, "{path}");
    }
}

#[test]
fn simple_paths_start_with_a_dot() {
    let path = Path::root("p");
    for (text, expected) in [
        (".spec.replicas", None),
        (".", None),
        ("", Some("p: Invalid value: \"\": must not be empty")),
        ("spec", Some("p: Invalid value: \"spec\": must be a simple json path starting with .")),
    ] {
        let errors = check_simple(text, &path);
        assert_eq!(errors.first().map(ToString::to_string).as_deref(), expected, "{text}");
    }
    assert_eq!(names(".spec.replicas").collect::<Vec<_>>(), ["spec", "replicas"]);
}

#[test]
fn cells_are_of_the_type_of_their_column() {
    let object = json!({"i": 2, "f": 2.75, "big": 1e7, "s": "<a>", "b": true, "n": null, "l": [1, "<"], "o": {"a": "b"},
        "t": "2024-02-29T10:00:00Z", "e": "", "bad": "yesterday"});
    let value = |value: Value| Cell::Value(value);
    for (path, type_, expected) in [
        (".i", "integer", value(json!(2))),
        (".f", "integer", value(json!(2))),
        (".s", "integer", value(Value::Null)),
        (".i", "number", value(json!(2.0))),
        (".f", "number", value(json!(2.75))),
        (".b", "number", value(Value::Null)),
        (".b", "boolean", value(json!(true))),
        (".i", "boolean", value(Value::Null)),
        (".s", "string", value(json!("<a>"))),
        (".i", "string", value(json!("2"))),
        (".f", "string", value(json!("2.75"))),
        (".big", "string", value(json!("1e+07"))),
        (".b", "string", value(json!("true"))),
        (".l", "string", value(json!("[1,\"\\u003c\"]"))),
        (".o", "string", value(json!("{\"a\":\"b\"}"))),
        (".n", "string", value(json!("<no value>"))),
        (".n", "integer", value(Value::Null)),
        (".l[*]", "integer", value(json!(1))),
        (".x", "string", value(Value::Null)),
        (".l[9]", "string", value(Value::Null)),
        (".t", "date", Cell::Age("2024-02-29T10:00:00Z".to_owned())),
        (".e", "date", value(json!("<unknown>"))),
        (".bad", "date", value(json!("<invalid>"))),
        (".i", "date", value(Value::Null)),
        (".x", "date", value(Value::Null)),
    ] {
        let path = JsonPath::parse(path).unwrap();
        assert_eq!(path.cell(type_, &object), expected, "{path:?} {type_}");
    }
}

#[test]
fn hostile_paths_take_little_time() {
    let start = Instant::now();
    let n = 200_000;
    for text in [
        "[".repeat(n),
        ".a".repeat(n),
        "..a".repeat(n),
        "[0]".repeat(n),
        "[?(@.a".repeat(n),
        format!("{}{}", "[?(@.a".repeat(n), ")]".repeat(n)),
        format!("[{}]", "0,".repeat(n)),
        "'".repeat(n),
        "\\".repeat(n),
        "}{".repeat(n),
        format!(".a[?(@.b=='{}')]", "x".repeat(n)),
    ] {
        let _ = JsonPath::parse(&text);
    }
    let deep = (0..100).fold(json!(1), |value, _| json!({"a": [value, {"b": 1}]}));
    let wide = json!({"a": vec![json!({"b": [1, 2, 3], "c": {"d": 1}}); 20_000]});
    for path in [
        "..[*]..[*]..[*]..[*]",
        "..a..a..a..a",
        "..",
        "..b",
        "..[0]..[0]..[0]",
        ".a[?(@..b)]",
        ".a[*,*,*,*,*]..b",
    ] {
        let path = JsonPath::parse(path).unwrap();
        let _ = path.find(&deep);
        let _ = path.find(&wide);
    }
    assert_eq!(find("..d", &wide).unwrap().len(), 20_000);
    let unions = JsonPath::parse(&"[0,0]".repeat(40)).unwrap();
    let nested = (0..50).fold(json!(1), |value, _| json!([value]));
    assert!(unions.find(&nested).unwrap_err().contains("visits more than"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
