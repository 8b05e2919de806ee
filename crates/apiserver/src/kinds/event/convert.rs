//! Conversion between the two sets of field names. Source: `pkg/apis/events/v1/conversion.go`.

use serde_json::{Map, Value, json};

/// Fields by their names in core and in `events.k8s.io/v1`; all others are the same.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// A core Event as `events.k8s.io/v1` shows it.
pub(crate) fn to_v1(core: &Value) -> Value {
    let mut v1 = renamed(core, |name| {
        NAMES.iter().find(|(core, _)| *core == name).map_or(name, |(_, v1)| v1)
    });
    for (field, zero) in [
        ("deprecatedFirstTimestamp", Value::Null),
        ("deprecatedLastTimestamp", Value::Null),
        ("deprecatedSource", json!({})),
        ("eventTime", Value::Null),
        ("regarding", json!({})),
    ] {
        v1.entry(field).or_insert(zero);
    }
    // Core always shows these, the other omits them.
    v1.retain(|field, value| {
        !(["reportingController", "reportingInstance"].contains(&field.as_str()) && value == "")
    });
    in_version(v1, "events.k8s.io/v1")
}

/// An `events.k8s.io/v1` Event as core shows it.
pub(crate) fn from_v1(v1: &Value) -> Value {
    let mut core =
        renamed(v1, |name| NAMES.iter().find(|(_, v1)| *v1 == name).map_or(name, |(core, _)| core));
    for (field, zero) in [
        ("eventTime", Value::Null),
        ("firstTimestamp", Value::Null),
        ("involvedObject", json!({})),
        ("lastTimestamp", Value::Null),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
        ("source", json!({})),
    ] {
        core.entry(field).or_insert(zero);
    }
    in_version(core, "v1")
}

fn renamed<'a>(object: &'a Value, name: impl Fn(&'a str) -> &'a str) -> Map<String, Value> {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(field, value)| (name(field).to_owned(), value.clone())).collect()
}

/// List items have no version, and get none.
fn in_version(mut object: Map<String, Value>, version: &str) -> Value {
    if let Some(found) = object.get_mut("apiVersion") {
        *found = json!(version);
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::facts;

    #[test]
    fn recorded_events_are_the_same_object_under_both_names() {
        let scenario = facts::scenario("kinds", "kinds.event-v1");
        let bodies: Vec<&Value> = scenario["steps"].as_array().unwrap()[1..3]
            .iter()
            .map(|step| &step["response"]["body"])
            .collect();
        assert_eq!(&to_v1(bodies[1]), bodies[0]);
        assert_eq!(&from_v1(bodies[0]), bodies[1]);
    }

    #[test]
    fn a_name_of_one_form_is_no_name_of_the_other() {
        for (core, v1) in NAMES {
            assert_eq!(to_v1(&json!({core: 1}))[v1], 1);
            assert_eq!(from_v1(&json!({v1: 1}))[core], 1);
        }
    }
}
