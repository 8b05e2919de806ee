//! Events as objects of core/v1.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::correlator::Record;
use crate::engine::ServiceEvent;

/// The name under which Kubernetes' own controller reports, so that people and tools find the same
/// Events whoever runs.
const COMPONENT: &str = "endpoint-slice-controller";

/// Where the Event's object is.
pub(super) fn namespace(event: &ServiceEvent) -> &str {
    match &*event.service.namespace {
        "" => "default",
        namespace => namespace,
    }
}

pub(super) fn object(event: &ServiceEvent, record: &Record) -> Value {
    let ServiceEvent { service, uid, warning, reason, message } = event;
    let namespace = namespace(event);
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": record.name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Service",
            "namespace": namespace,
            "name": &*service.name,
            "uid": &**uid,
        },
        "reason": reason,
        "message": message,
        "type": if *warning { "Warning" } else { "Normal" },
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": seconds(record.first),
        "lastTimestamp": seconds(record.last),
        "count": record.count,
    })
}

/// The merge patch for one that came again.
pub(super) fn again(record: &Record) -> Value {
    json!({"count": record.count, "lastTimestamp": seconds(record.last)})
}

/// Those that have passed: Kubernetes' times have no fractions.
fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}
