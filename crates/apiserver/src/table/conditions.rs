//! Conditions of a row: some clients omit completed pods.

use serde_json::{Value, json};

pub(super) fn of(group: &str, kind: &str, object: &Value) -> Option<Value> {
    if (group, kind) != ("", "Pod") {
        return None;
    }
    let (reason, message) = match object["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([
        {"type": "Completed", "status": "True", "reason": reason, "message": message}
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completed_pod_has_a_row_condition() {
        let reason = |kind: &str, phase: &str| {
            let of = of("", kind, &json!({"status": {"phase": phase}}));
            of.map(|conditions| conditions[0]["reason"].clone())
        };
        assert_eq!(reason("Pod", "Succeeded"), Some(json!("Succeeded")));
        assert_eq!(reason("Pod", "Failed"), Some(json!("Failed")));
        assert_eq!(reason("Pod", "Running"), None);
        assert_eq!(reason("Namespace", "Failed"), None);
    }
}
