//! Validation of events, in the form of core. Source: `pkg/apis/core/validation/events.go`.

use serde_json::{Value, json};

use super::super::{
    names,
    read::{at, number, text},
};
use crate::invalid::{Errors, FieldError, FieldErrorType, Path, quoted};

pub(super) fn create(event: &Value, strict: bool) -> Errors {
    let mut errors = always(event, strict);
    if strict {
        errors.extend(series(event));
        errors.extend(new_style(event));
    }
    errors
}

pub(super) fn update(new: &Value, old: &Value, strict: bool) -> Errors {
    let mut errors = always(new, strict);
    if !strict {
        return errors;
    }
    if at(new, &["series"]) != at(old, &["series"]) {
        errors.extend(series(new));
    }
    errors.extend(changes(new, old));
    errors
}

/// Validation common to both APIs. An event with its own eventTime is of the new style.
fn always(event: &Value, strict: bool) -> Errors {
    if at(event, &["eventTime"]).is_null() {
        return wrong_namespace(event).into_iter().collect();
    }
    let mut errors: Errors = wrong_namespace(event).into_iter().collect();
    errors.extend(reporter(event, strict));
    for (field, least, most) in [
        ("reportingInstance", 1, 128),
        ("action", 1, 128),
        ("reason", 1, 128),
        ("message", 0, 1024),
    ] {
        let length = text(event, &[field]).len();
        if length < least {
            errors.push(FieldError::required(Path::root(field), ""));
        }
        if length > most {
            let words = format!("can have at most {most} characters");
            errors.push(FieldError::invalid(Path::root(field), &json!(""), words));
        }
    }
    errors
}

/// Events of cluster-scoped objects are in `default`, or in `kube-system` if of the new style.
fn wrong_namespace(event: &Value) -> Option<FieldError> {
    let own = text(event, &["metadata", "namespace"]);
    let involved = text(event, &["involvedObject", "namespace"]);
    let is_new = !at(event, &["eventTime"]).is_null();
    let fits = match (is_new, involved) {
        (false, "") => own.is_empty() || own == "default",
        (false, involved) => own == involved,
        (true, "") => own == "default" || own == "kube-system",
        (true, _) => true,
    };
    let path = Path::root("involvedObject").child("namespace");
    let words = "does not match event.namespace";
    (!fits).then(|| FieldError::invalid(path, &json!(involved), words))
}

fn reporter(event: &Value, strict: bool) -> Errors {
    let name = text(event, &["reportingComponent"]);
    let field = if strict { "reportingController" } else { "reportingComponent" };
    let path = Path::root(field);
    let required = name.is_empty().then(|| FieldError::required(path.clone(), ""));
    let wrong = names::qualified_name(name).into_iter();
    let invalid = wrong.map(|words| FieldError::invalid(path.clone(), &json!(name), words));
    required.into_iter().chain(invalid).collect()
}

fn series(event: &Value) -> Errors {
    let mut errors = Errors::new();
    if at(event, &["series"]).is_null() {
        return errors;
    }
    let series = Path::root("series");
    if number(event, &["series", "count"]).unwrap_or_default() < 2 {
        let words = "should be at least 2";
        errors.push(FieldError::invalid(series.child("count"), &json!(""), words));
    }
    if at(event, &["series", "lastObservedTime"]).is_null() {
        errors.push(FieldError::required(series.child("lastObservedTime"), ""));
    }
    errors
}

fn new_style(event: &Value) -> Errors {
    let mut errors = Errors::new();
    if at(event, &["eventTime"]).is_null() {
        errors.push(FieldError::required(Path::root("eventTime"), ""));
    }
    let type_ = text(event, &["type"]);
    let invalid =
        |field: &str, words: &str| FieldError::invalid(Path::root(field), &json!(""), words);
    if !["Normal", "Warning"].contains(&type_) {
        errors.push(invalid("type", &format!("has invalid value: {type_}")));
    }
    let source = ["component", "host"].map(|field| text(event, &["source", field]));
    for (field, is_set) in [
        ("firstTimestamp", !at(event, &["firstTimestamp"]).is_null()),
        ("lastTimestamp", !at(event, &["lastTimestamp"]).is_null()),
        ("count", number(event, &["count"]).unwrap_or_default() != 0),
        ("source", source != ["", ""]),
    ] {
        if is_set {
            errors.push(invalid(field, "needs to be unset"));
        }
    }
    errors
}

/// How Kubernetes prints a value of its internal types.
type Printed = fn(&Value) -> String;

/// Only the series and the metadata may change. Fields are named and printed as in Kubernetes'
/// internal types.
fn changes(new: &Value, old: &Value) -> Errors {
    let fields: [(&str, &str, Printed); 14] = [
        ("involvedObject", "involvedObject", printed_reference),
        ("reason", "reason", printed_text),
        ("message", "message", printed_text),
        ("source", "source", printed_source),
        ("firstTimestamp", "firstTimestamp", Value::to_string),
        ("lastTimestamp", "lastTimestamp", Value::to_string),
        ("count", "count", |value| value.as_i64().unwrap_or_default().to_string()),
        ("reason", "reason", printed_text),
        ("type", "type", printed_text),
        ("eventTime", "eventTime", Value::to_string),
        ("action", "action", printed_text),
        ("related", "related", printed_related),
        ("reportingComponent", "reportingController", printed_text),
        ("reportingInstance", "reportingInstance", printed_text),
    ];
    let changed = fields
        .into_iter()
        .filter(|(field, _, printed)| printed(at(new, &[field])) != printed(at(old, &[field])));
    let error = |(field, shown, printed): (&str, &str, Printed)| FieldError {
        path: Path::root(shown),
        type_: FieldErrorType::Invalid(printed(at(new, &[field]))),
        detail: "field is immutable".to_owned(),
    };
    changed.map(error).collect()
}

fn printed_text(value: &Value) -> String {
    quoted(value.as_str().unwrap_or_default())
}

fn printed_related(value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { printed_reference(value) }
}

fn printed_reference(value: &Value) -> String {
    printed_fields(
        value,
        &[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ],
    )
}

fn printed_source(value: &Value) -> String {
    printed_fields(value, &[("Component", "component"), ("Host", "host")])
}

fn printed_fields(value: &Value, fields: &[(&str, &str)]) -> String {
    let shown =
        |(name, field): &(&str, &str)| format!("\"{name}\":{}", quoted(text(value, &[field])));
    format!("{{{}}}", fields.iter().map(shown).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::facts;

    fn new_event() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "n"},
            "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p"},
            "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingComponent": "c.io/x", "reportingInstance": "x-1",
            "action": "Do", "reason": "R", "type": "Normal",
        })
    }

    fn with(field: &str, value: Value) -> Value {
        let mut event = new_event();
        event[field] = value;
        event
    }

    #[test]
    fn the_namespace_of_the_object_counts() {
        const WRONG: &str = "does not match event.namespace";
        for (own, involved, time, fits) in [
            ("n", "n", json!(null), true),
            ("n", "m", json!(null), false),
            ("default", "", json!(null), true),
            ("kube-system", "", json!(null), false),
            ("kube-system", "", json!("t"), true),
            ("n", "", json!("t"), false),
            ("n", "m", json!("t"), true),
        ] {
            let mut event = new_event();
            event["metadata"]["namespace"] = json!(own);
            event["involvedObject"]["namespace"] = json!(involved);
            event["eventTime"] = time;
            let texts = facts::texts(&create(&event, false));
            let expected =
                format!("involvedObject.namespace: Invalid value: {involved:?}: {WRONG}");
            assert_eq!(texts, if fits { vec![] } else { vec![expected] }, "{event}");
        }
    }

    #[test]
    fn new_events_are_checked_strictly_only_under_their_own_group() {
        for (event, core, v1) in [
            (new_event(), vec![], vec![]),
            (
                with("action", json!("")),
                vec!["action: Required value"],
                vec!["action: Required value"],
            ),
            (
                with("reason", json!("x".repeat(129))),
                vec!["reason: Invalid value: \"\": can have at most 128 characters"],
                vec!["reason: Invalid value: \"\": can have at most 128 characters"],
            ),
            (
                with("type", json!("Odd")),
                vec![],
                vec!["type: Invalid value: \"\": has invalid value: Odd"],
            ),
            (
                with("count", json!(1)),
                vec![],
                vec!["count: Invalid value: \"\": needs to be unset"],
            ),
            (
                with("source", json!({"host": "h"})),
                vec![],
                vec!["source: Invalid value: \"\": needs to be unset"],
            ),
            (
                with("series", json!({"count": 1})),
                vec![],
                vec![
                    "series.count: Invalid value: \"\": should be at least 2",
                    "series.lastObservedTime: Required value",
                ],
            ),
        ] {
            assert_eq!(facts::texts(&create(&event, false)), core);
            assert_eq!(facts::texts(&create(&event, true)), v1);
        }
    }

    #[test]
    fn only_the_series_of_a_new_event_may_change() {
        let old = new_event();
        let series = json!({"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"});
        assert!(update(&with("series", series), &old, true).is_empty());
        assert!(update(&with("message", json!("m")), &old, false).is_empty());
        for (new, wrong) in [
            (
                with("message", json!("m")),
                vec!["message: Invalid value: \"m\": field is immutable"],
            ),
            (
                with("reason", json!("S")),
                vec![
                    "reason: Invalid value: \"S\": field is immutable",
                    "reason: Invalid value: \"S\": field is immutable",
                ],
            ),
            (
                with("involvedObject", json!({"kind": "Pod", "namespace": "n", "name": "q"})),
                vec![
                    "involvedObject: Invalid value: {\"Kind\":\"Pod\",\"Namespace\":\"n\",\"Name\":\"q\",\"UID\":\"\",\"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field is immutable",
                ],
            ),
            (
                with("reportingComponent", json!("d")),
                vec!["reportingController: Invalid value: \"d\": field is immutable"],
            ),
        ] {
            assert_eq!(facts::texts(&update(&new, &old, true)), wrong);
        }
    }
}
