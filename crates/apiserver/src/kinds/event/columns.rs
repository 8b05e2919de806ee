//! Columns of `kubectl get events`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    super::{
        Column,
        read::{at, number, text},
    },
    controller, either, involved,
};
use crate::table::{self, age::since};

pub(super) const COLUMNS: &[Column] = &[
    Column {
        name: "Last Seen",
        description: "io.k8s.api.core.v1.Event#lastTimestamp",
        cell: last_seen,
        ..PLAIN
    },
    Column {
        name: "Type",
        description: "io.k8s.api.core.v1.Event#type",
        cell: |object, _| json!(text(object, &["type"])),
        ..PLAIN
    },
    Column {
        name: "Reason",
        description: "io.k8s.api.core.v1.Event#reason",
        cell: |object, _| json!(text(object, &["reason"])),
        ..PLAIN
    },
    Column {
        name: "Object",
        description: "io.k8s.api.core.v1.Event#involvedObject",
        cell: |object, _| target(object),
        ..PLAIN
    },
    Column {
        name: "Subobject",
        description: "io.k8s.api.core.v1.ObjectReference#fieldPath",
        cell: |object, _| json!(involved(object, "fieldPath")),
        ..WIDE
    },
    Column {
        name: "Source",
        description: "io.k8s.api.core.v1.Event#source",
        cell: |object, _| source(object),
        ..WIDE
    },
    Column {
        name: "Message",
        description: "io.k8s.api.core.v1.Event#message",
        cell: |object, _| json!(either(object, "message", "note").as_str().unwrap_or("").trim()),
        ..PLAIN
    },
    Column {
        name: "First Seen",
        description: "io.k8s.api.core.v1.Event#firstTimestamp",
        cell: |object, now| json!(first_seen(object, now)),
        ..WIDE
    },
    Column {
        name: "Count",
        description: "io.k8s.api.core.v1.Event#count",
        cell: |object, _| count(object),
        ..WIDE
    },
    Column { priority: 1, ..table::NAME },
];

const PLAIN: Column = Column {
    name: "",
    type_: "string",
    format: "",
    priority: 0,
    description: "",
    cell: |_, _| Value::Null,
};

const WIDE: Column = Column { priority: 1, ..PLAIN };

fn first_seen(object: &Value, now: Timestamp) -> String {
    match either(object, "firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => since(at(object, &["eventTime"]), now),
        time => since(time, now),
    }
}

fn last_seen(object: &Value, now: Timestamp) -> Value {
    let series = at(object, &["series"]);
    if !series.is_null() {
        return json!(since(at(series, &["lastObservedTime"]), now));
    }
    json!(match either(object, "lastTimestamp", "deprecatedLastTimestamp") {
        Value::Null => first_seen(object, now),
        time => since(time, now),
    })
}

/// Single events in the new form have no count.
fn count(object: &Value) -> Value {
    if !at(object, &["series"]).is_null() {
        return json!(number(object, &["series", "count"]).unwrap_or_default());
    }
    let count = either(object, "count", "deprecatedCount").as_i64().unwrap_or_default();
    json!(if count == 0 { 1 } else { count })
}

fn target(object: &Value) -> Value {
    let kind = involved(object, "kind").to_lowercase();
    match involved(object, "name").as_str() {
        "" => json!(kind),
        name => json!(format!("{kind}/{name}")),
    }
}

fn source(object: &Value) -> Value {
    let source = either(object, "source", "deprecatedSource");
    let first = |one: &'_ str, other: &'_ str| match one {
        "" => other.to_owned(),
        one => one.to_owned(),
    };
    let component = first(text(source, &["component"]), controller(object));
    match first(text(source, &["host"]), text(object, &["reportingInstance"])).as_str() {
        "" => json!(component),
        instance => json!(format!("{component}, {instance}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::to_v1, *};

    #[test]
    fn cells_are_the_same_for_both_forms() {
        let now = "2020-01-01T00:05:00Z".parse().unwrap();
        for (event, expected) in [
            (
                json!({
                    "metadata": {"name": "e"},
                    "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
                    "reason": "R", "message": " hello\n", "type": "Normal", "count": 3,
                    "source": {"component": "kubelet", "host": "n1"},
                    "firstTimestamp": "2020-01-01T00:00:00Z",
                    "lastTimestamp": "2020-01-01T00:04:00Z",
                }),
                json!([
                    "60s",
                    "Normal",
                    "R",
                    "pod/p",
                    "spec",
                    "kubelet, n1",
                    "hello",
                    "5m",
                    3,
                    "e"
                ]),
            ),
            (
                json!({
                    "metadata": {"name": "e"},
                    "involvedObject": {"kind": "Node"},
                    "eventTime": "2020-01-01T00:00:00.000000Z",
                    "reportingComponent": "c", "reportingInstance": "c-1",
                }),
                json!(["5m", "", "", "node", "", "c, c-1", "", "5m", 1, "e"]),
            ),
            (
                json!({
                    "metadata": {"name": "e"},
                    "series": {"count": 7, "lastObservedTime": "2020-01-01T00:04:59.000000Z"},
                }),
                json!(["1s", "", "", "", "", "", "", "<unknown>", 7, "e"]),
            ),
        ] {
            for form in [event.clone(), to_v1(&event)] {
                let cells: Vec<Value> =
                    COLUMNS.iter().map(|column| (column.cell)(&form, now)).collect();
                assert_eq!(json!(cells), expected);
            }
        }
    }
}
