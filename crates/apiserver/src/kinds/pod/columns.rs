//! Columns of `kubectl get pods`. Source: `printPod` in `pkg/printers/internalversion/printers.go`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    kinds::{
        Column,
        read::{flag, list, number, text},
    },
    table::{AGE, NAME, age},
};

pub(crate) const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "Ready",
        type_: "string",
        format: "",
        priority: 0,
        description: "The aggregate readiness state of this pod for accepting traffic.",
        cell: |pod, _| {
            let Summary { ready, total, .. } = summary(pod);
            json!(format!("{ready}/{total}"))
        },
    },
    Column {
        name: "Status",
        type_: "string",
        format: "",
        priority: 0,
        description: "The aggregate status of the containers in this pod.",
        cell: |pod, _| json!(summary(pod).reason),
    },
    Column {
        name: "Restarts",
        type_: "string",
        format: "",
        priority: 0,
        description: "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        cell: |pod, now| json!(restarts(&summary(pod), now)),
    },
    AGE,
    wide("IP", "io.k8s.api.core.v1.PodStatus#podIP", |pod, _| {
        json!(or_none(pod["status"]["podIPs"][0]["ip"].as_str().unwrap_or_default()))
    }),
    wide("Node", "io.k8s.api.core.v1.PodSpec#nodeName", |pod, _| {
        json!(or_none(text(pod, &["spec", "nodeName"])))
    }),
    wide("Nominated Node", "io.k8s.api.core.v1.PodStatus#nominatedNodeName", |pod, _| {
        json!(or_none(text(pod, &["status", "nominatedNodeName"])))
    }),
    wide("Readiness Gates", "io.k8s.api.core.v1.PodSpec#readinessGates", |pod, _| {
        json!(readiness_gates(pod))
    }),
];

const fn wide(
    name: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { name, type_: "string", format: "", priority: 1, description, cell }
}

/// A summary of a pod.
#[derive(Debug)]
struct Summary<'a> {
    ready: usize,
    total: usize,
    restarts: i64,
    /// When a container last terminated and was restarted; `""` if never.
    last_restart: &'a str,
    reason: String,
}

fn summary(pod: &Value) -> Summary<'_> {
    let init = list(pod, &["spec", "initContainers"]);
    let mut summary = Summary {
        ready: 0,
        total: list(pod, &["spec", "containers"]).len() + init.iter().filter(|c| stays(c)).count(),
        restarts: 0,
        last_restart: "",
        reason: first_reason(pod),
    };
    let mut of_staying = (0, "");
    let initializing = initializing(pod, &mut summary, &mut of_staying);
    let initialized = has_condition(pod, "Initialized");
    if !initializing || initialized {
        (summary.restarts, summary.last_restart) = of_staying;
        running(pod, &mut summary);
    }
    if let Some(reason) = ending(pod) {
        summary.reason = reason.to_owned();
    }
    summary
}

fn first_reason(pod: &Value) -> String {
    let gated = |condition: &Value| {
        text(condition, &["type"]) == "PodScheduled"
            && text(condition, &["reason"]) == "SchedulingGated"
    };
    let reason = text(pod, &["status", "reason"]);
    if list(pod, &["status", "conditions"]).iter().any(gated) {
        "SchedulingGated".to_owned()
    } else if !reason.is_empty() {
        reason.to_owned()
    } else {
        text(pod, &["status", "phase"]).to_owned()
    }
}

fn ending(pod: &Value) -> Option<&'static str> {
    if text(pod, &["metadata", "deletionTimestamp"]).is_empty() {
        return None;
    }
    if text(pod, &["status", "reason"]) == "NodeLost" {
        return Some("Unknown");
    }
    let over = ["Failed", "Succeeded"].contains(&text(pod, &["status", "phase"]));
    (!over).then_some("Terminating")
}

/// Goes through the init containers in order, up to the first that is not done.
fn initializing<'a>(
    pod: &'a Value,
    summary: &mut Summary<'a>,
    of_staying: &mut (i64, &'a str),
) -> bool {
    let init = list(pod, &["spec", "initContainers"]);
    let staying: BTreeSet<&str> =
        init.iter().filter(|c| stays(c)).map(|c| text(c, &["name"])).collect();
    for (i, status) in list(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        let count = number(status, &["restartCount"]).unwrap_or_default();
        let ended = last_ended(status);
        summary.restarts += count;
        summary.last_restart = summary.last_restart.max(ended);
        let name = text(status, &["name"]);
        let stays = staying.contains(name);
        if stays {
            of_staying.0 += count;
            of_staying.1 = of_staying.1.max(ended);
        }
        let terminated = &status["state"]["terminated"];
        let code = number(terminated, &["exitCode"]).unwrap_or_default();
        if terminated.is_object() && code == 0 {
            continue;
        }
        if stays && flag(status, &["started"]) {
            summary.ready += usize::from(flag(status, &["ready"]));
            continue;
        }
        let waiting = text(status, &["state", "waiting", "reason"]);
        summary.reason = if terminated.is_object() {
            format!("Init:{}", terminated_reason(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{i}/{}", init.len())
        };
        return true;
    }
    false
}

fn running<'a>(pod: &'a Value, summary: &mut Summary<'a>) {
    let (mut has_running, mut error) = (false, None);
    for status in list(pod, &["status", "containerStatuses"]).iter().rev() {
        summary.restarts += number(status, &["restartCount"]).unwrap_or_default();
        summary.last_restart = summary.last_restart.max(last_ended(status));
        let waiting = text(status, &["state", "waiting", "reason"]);
        let terminated = &status["state"]["terminated"];
        if !waiting.is_empty() {
            summary.reason = waiting.to_owned();
        } else if terminated.is_object() {
            summary.reason = terminated_reason(terminated);
            if number(terminated, &["exitCode"]).unwrap_or_default() != 0 {
                error = Some(summary.reason.clone());
            }
        } else if flag(status, &["ready"]) && status["state"]["running"].is_object() {
            has_running = true;
            summary.ready += 1;
        }
    }
    if summary.reason != "Completed" {
        return;
    }
    if has_running && has_condition(pod, "Ready") {
        summary.reason = "Running".to_owned();
    } else if let Some(error) = error {
        summary.reason = error;
    } else if has_running {
        summary.reason = "NotReady".to_owned();
    }
}

fn terminated_reason(terminated: &Value) -> String {
    let reason = text(terminated, &["reason"]);
    let signal = number(terminated, &["signal"]).unwrap_or_default();
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", number(terminated, &["exitCode"]).unwrap_or_default())
    }
}

/// When the previous run ended. Times compare as strings: all are UTC in whole seconds.
fn last_ended(status: &Value) -> &str {
    text(status, &["lastState", "terminated", "finishedAt"])
}

/// Whether it is an init container that runs beside the others (a sidecar).
fn stays(container: &Value) -> bool {
    text(container, &["restartPolicy"]) == "Always"
}

fn has_condition(pod: &Value, kind: &str) -> bool {
    let is_true = |c: &Value| text(c, &["type"]) == kind && text(c, &["status"]) == "True";
    list(pod, &["status", "conditions"]).iter().any(is_true)
}

fn restarts(summary: &Summary<'_>, now: Timestamp) -> String {
    let Summary { restarts, last_restart, .. } = summary;
    if *restarts == 0 || last_restart.is_empty() {
        return restarts.to_string();
    }
    format!("{restarts} ({} ago)", age::age(last_restart, now))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    // Of several with the same type, the first counts.
    let conditions = list(pod, &["status", "conditions"]).iter().rev();
    let conditions: BTreeMap<&str, &str> =
        conditions.map(|one| (text(one, &["type"]), text(one, &["status"]))).collect();
    let open = |gate: &&Value| conditions.get(text(gate, &["conditionType"])) == Some(&"True");
    format!("{}/{}", gates.iter().filter(open).count(), gates.len())
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "<none>" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_summarized() {
        let containers = json!([{"name": "c"}, {"name": "d"}]);
        let sidecar = json!([{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]);
        for (pod, ready, reason, restarted) in [
            (
                json!({"spec": {"containers": containers}, "status": {"phase": "Pending"}}),
                "0/2",
                "Pending",
                "0",
            ),
            (
                json!({"spec": {"containers": containers}, "status": {"phase": "Running", "containerStatuses": [
                    {"name": "c", "ready": true, "restartCount": 2, "state": {"running": {}},
                     "lastState": {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}},
                    {"name": "d", "state": {"terminated": {"exitCode": 1}}}]}}),
                "1/2",
                "ExitCode:1",
                "2 (60s ago)",
            ),
            (
                json!({"spec": {"containers": containers}, "status": {"phase": "Running",
                    "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
                    {"name": "c", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                    {"name": "d", "ready": true, "state": {"running": {}}}]}}),
                "1/2",
                "Running",
                "0",
            ),
            (
                json!({"spec": {"containers": containers, "initContainers": sidecar}, "status": {"phase": "Pending",
                    "initContainerStatuses": [
                        {"name": "s", "started": true, "ready": true, "restartCount": 1, "state": {"running": {}}},
                        {"name": "i", "restartCount": 4, "state": {"waiting": {"reason": "PodInitializing"}}}]}}),
                "1/3",
                "Init:1/2",
                "5",
            ),
            (
                json!({"spec": {"containers": containers}, "status": {"phase": "Pending",
                    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}}),
                "0/2",
                "SchedulingGated",
                "0",
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}, "spec": {},
                    "status": {"phase": "Succeeded", "reason": "x"}}),
                "0/0",
                "x",
                "0",
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}, "status": {"reason": "NodeLost"}}),
                "0/0",
                "Unknown",
                "0",
            ),
        ] {
            let now = "2020-01-01T00:01:00Z".parse().unwrap();
            let cells: Vec<Value> =
                COLUMNS[1..4].iter().map(|column| (column.cell)(&pod, now)).collect();
            assert_eq!(cells, [ready, reason, restarted], "{pod}");
        }
    }
}
