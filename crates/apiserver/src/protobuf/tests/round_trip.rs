//! Objects of every type of the table, encoded and decoded again.

use evenkeel_store::schema::{self, Shape, Type};
use proptest::{prelude::*, test_runner::TestRng};
use serde_json::{Map, Value, json};

use crate::{
    protobuf::{encode, message, wire},
    types,
};

/// Objects nest no deeper; what is left out there is optional in protobuf.
const MOST_LEVELS: usize = 5;

/// Draws an object of a type: each field with a probability of two thirds.
fn object(of: &Type, rng: &mut TestRng, levels: usize) -> Value {
    // Schemas contain schemas in a dozen ways.
    let levels = if &*of.go == "JSONSchemaProps" { levels.min(1) } else { levels };
    let fields = of.fields.iter().filter(|field| field.number.is_some());
    let mut object = Map::new();
    for field in fields {
        if rng.random_ratio(2, 3)
            && let Some(value) = value(&field.shape, rng, levels)
        {
            object.insert(field.name.to_string(), value);
        }
    }
    Value::Object(object)
}

fn value(shape: &Shape, rng: &mut TestRng, levels: usize) -> Option<Value> {
    let times = ["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2026-02-28T12:34:56Z"];
    let micro_times = ["1969-12-31T23:59:59.999999Z", "2026-02-28T12:34:56.000001Z"];
    Some(match shape {
        Shape::Text(_) | Shape::Duration => text(rng).into(),
        Shape::Int32 => rng.random::<i32>().into(),
        Shape::Int64 => rng.random::<i64>().into(),
        Shape::Float => f64::from(rng.random::<i32>()).into(),
        Shape::Bool => rng.random::<bool>().into(),
        Shape::Bytes => pick(&["", "AA==", "/////w=="], rng).into(),
        Shape::Quantity => pick(&["0", "100m", "1Gi", "-1", "1e3"], rng).into(),
        Shape::IntOrString => match rng.random::<bool>() {
            true => text(rng).into(),
            false => rng.random::<i32>().into(),
        },
        Shape::Time => pick(&times, rng).into(),
        Shape::MicroTime => pick(&micro_times, rng).into(),
        Shape::Any => json!({"f:a": {".": {}, "é\"": [1, null, "x"]}}),
        Shape::List(element) => {
            let n = rng.random_range(1..4);
            (0..n).map(|_| value(element, rng, levels)).collect::<Option<_>>()?
        }
        Shape::Map(element) => {
            let n = rng.random_range(1..4);
            let entry =
                |at: usize| Some((format!("{}{at}", text(rng)), value(element, rng, levels)?));
            Value::Object((0..n).map(entry).collect::<Option<_>>()?)
        }
        Shape::Struct(_) | Shape::Either(_) if levels == 0 => return None,
        Shape::Either(id) => {
            let of = types::schema().of(*id);
            value(&of.fields[rng.random_range(0..of.fields.len())].shape, rng, levels)?
        }
        Shape::Struct(id) => object(types::schema().of(*id), rng, levels - 1),
    })
}

fn text(rng: &mut TestRng) -> String {
    // The length of the longest takes two bytes.
    let long = "x".repeat(rng.random_range(126..130));
    pick(&["", "a", "äöü €", "\"\\\n\u{1}", "\u{1f600}", &long], rng).to_owned()
}

fn pick<'a>(choices: &[&'a str], rng: &mut TestRng) -> &'a str {
    choices[rng.random_range(0..choices.len())]
}

fn canonical(of: &Type, value: &Value) -> Value {
    let mut value = value.clone();
    schema::canonical(types::schema(), of, &mut value);
    value
}

/// Fields must come in the order of their numbers, as Go writes them.
fn in_order(bytes: &[u8]) -> bool {
    let numbers: Vec<u32> = wire::parts(bytes).map(|part| part.unwrap().number).collect();
    numbers.is_sorted()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn objects_of_every_type_survive(mut rng in any::<prop::sample::Index>().prop_perturb(|_, rng| rng)) {
        for of in types::schema().types() {
            let object = canonical(of, &object(of, &mut rng, MOST_LEVELS));
            let mut bytes = Vec::new();
            encode::message(of, object.to_string().as_bytes(), &mut bytes).unwrap();
            prop_assert!(in_order(&bytes));
            let decoded = Value::Object(message::object(of, &bytes).unwrap());
            prop_assert_eq!(canonical(of, &decoded), object, "{}", of.name);
        }
    }

    #[test]
    fn no_text_panics(text in r#"[\[\]{},:"a1.e\- tn\\]{0,24}"#) {
        for name in ["io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.ConfigMap"] {
            let of = types::schema().named(name).unwrap();
            let is_json = serde_json::from_str::<Value>(&text).is_ok();
            let encoded = encode::message(of, text.as_bytes(), &mut Vec::new());
            prop_assert_eq!(encoded.is_ok(), is_json);
        }
    }
}

#[test]
fn a_value_of_another_type_counts_as_absent() {
    let of = types::schema().named("io.k8s.api.core.v1.Service").unwrap();
    let encoded = |object: &Value| {
        let mut bytes = Vec::new();
        encode::message(of, object.to_string().as_bytes(), &mut bytes).unwrap();
        bytes
    };
    let nothing = encoded(&json!({}));
    for other in [
        json!([]),
        json!({"spec": 1}),
        json!({"spec": {"ports": {}, "selector": [], "clusterIP": 1, "sessionAffinity": {}}}),
        json!({"metadata": {"creationTimestamp": "yesterday", "generation": 1.5, "labels": null}}),
        json!({"unknown": {"deep": [[{}]]}}),
    ] {
        assert_eq!(encoded(&other), nothing, "{other}");
    }
    let port = json!({"spec": {"ports": [{"targetPort": true, "port": null}]}});
    assert_eq!(encoded(&port), encoded(&json!({"spec": {"ports": [{}]}})));
}

#[test]
fn time_is_linear_in_the_text() {
    let of = types::schema().named("io.k8s.api.discovery.v1.EndpointSlice").unwrap();
    let time = |n: usize| {
        let endpoint =
            json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "zone": "a"});
        let text = json!({"endpoints": vec![endpoint; n]}).to_string();
        let runs = (0..5).map(|_| {
            let start = std::time::Instant::now();
            encode::message(of, text.as_bytes(), &mut Vec::new()).unwrap();
            start.elapsed()
        });
        runs.min().unwrap()
    };
    let (some, many) = (time(2_000), time(20_000));
    assert!(many < some * 40, "{some:?} {many:?}");
}

/// The numbers are those of `generated.proto`: `allows` = 1 and `schema` = 2 beside each other, else
/// `schema` = 1 and the list = 2.
#[test]
fn a_schema_of_several_forms_is_a_message_of_its_own() {
    let of = json_schema();
    let encoded = |object: &Value| {
        let mut bytes = Vec::new();
        encode::message(of, object.to_string().as_bytes(), &mut bytes).unwrap();
        bytes
    };
    let empty = encoded(&json!({}));
    let field = |number: u32, inside: &[u8]| {
        let mut out = Vec::new();
        wire::put_counted(&mut out, number, inside);
        out
    };
    let entry = |inside: &[u8]| [field(1, b"a"), field(2, inside)].concat();
    for (object, number, expected) in [
        (json!({"items": {}}), 24, field(1, &empty)),
        (json!({"items": [{}, {}]}), 24, [field(2, &empty), field(2, &empty)].concat()),
        (json!({"additionalProperties": true}), 30, vec![8, 1]),
        (json!({"additionalProperties": false}), 30, vec![8, 0]),
        (json!({"additionalItems": {}}), 33, [vec![8, 1], field(2, &empty)].concat()),
        (json!({"dependencies": {"a": {}}}), 32, entry(&field(1, &empty))),
        (
            json!({"dependencies": {"a": ["b", "c"]}}),
            32,
            entry(&[field(2, b"b"), field(2, b"c")].concat()),
        ),
        (json!({"dependencies": {"a": null}}), 32, entry(b"")),
        (json!({"default": {"b": null}}), 8, field(1, b"{\"b\":null}")),
        (json!({"enum": [null]}), 20, vec![]),
    ] {
        let bytes = encoded(&object);
        let found: Vec<&[u8]> = wire::parts(&bytes)
            .map(|part| part.unwrap())
            .filter(|part| part.number == number)
            .map(|part| part.bytes("").unwrap())
            .collect();
        assert_eq!(found, [expected], "{object}");
        assert_eq!(Value::Object(message::object(of, &bytes).unwrap()), object);
    }
}

#[test]
fn whatever_can_be_stored_can_be_sent() {
    let of = json_schema();
    for name in ["not", "items", "additionalProperties"] {
        let nested = (1..schema::MOST_LEVELS).fold(json!({}), |inner, _| json!({name: inner}));
        let mut bytes = Vec::new();
        encode::message(of, nested.to_string().as_bytes(), &mut bytes).unwrap();
        assert_eq!(Value::Object(message::object(of, &bytes).unwrap()), nested, "{name}");
    }
}

fn json_schema() -> &'static Type {
    let extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
    types::schema().named(&format!("{extensions}.JSONSchemaProps")).unwrap()
}
