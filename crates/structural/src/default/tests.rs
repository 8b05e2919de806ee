use serde_json::{Value, json};

use crate::schema::Schema;

#[test]
fn absent_fields_get_their_defaults() {
    let schema = json!({"properties": {
        "a": {"type": "string", "default": "x"},
        "n": {"default": {"q": 1}, "properties": {"q": {"default": 9}, "r": {"type": "integer", "default": 2}}},
        "nullable": {"nullable": true, "default": 5},
        "plain": {"properties": {"d": {"default": true}}},
        "list": {"items": {"properties": {"d": {"default": 1}}, "default": {"new": 1}}},
        "bare": {"items": {"type": "string"}},
        "map": {"additionalProperties": {"properties": {"d": {"default": 1}}}},
        "filled": {"additionalProperties": {"default": 7}},
    }});
    let schema = Schema::parse(&schema).unwrap();
    let defaulted = |value: Value| {
        let mut object = value;
        schema.fill_defaults(&mut object);
        object
    };
    let base = json!({"a": "x", "n": {"q": 1, "r": 2}, "nullable": 5});
    let with = |more: Value| {
        let mut object = base.clone();
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    for (object, more) in [
        (json!({}), json!({})),
        (json!({"a": "y"}), json!({"a": "y"})),
        (json!({"a": null, "n": null}), json!({})),
        (json!({"n": {}}), json!({"n": {"q": 9, "r": 2}})),
        (json!({"nullable": null}), json!({"nullable": null})),
        (json!({"plain": null}), json!({})),
        (json!({"plain": {}}), json!({"plain": {"d": true}})),
        (json!({"unknown": null}), json!({"unknown": null})),
        (json!({"list": [{}, null, 5]}), json!({"list": [{"d": 1}, {"new": 1, "d": 1}, 5]})),
        (json!({"bare": ["a", null]}), json!({"bare": ["a", null]})),
        (json!({"map": {"x": {}, "y": null}}), json!({"map": {"x": {"d": 1}}})),
        (json!({"filled": {"x": null, "y": 1}}), json!({"filled": {"x": 7, "y": 1}})),
    ] {
        assert_eq!(defaulted(object.clone()), with(more), "{object}");
    }
}
