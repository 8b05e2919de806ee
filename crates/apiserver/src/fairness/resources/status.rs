//! The conditions of an object, brought up to date. Those that others write stay.

use evenkeel_fairness::dialect::stored::{StatusCondition, TYPES, Verdict};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::read::entry;

/// Whether the object says so already. It may have changed since the verdict, of which we will hear.
pub(super) fn is_current(object: &Value, verdict: &Verdict) -> bool {
    let current = current(object);
    // The time matters for what is written only.
    conditions(current, verdict, Timestamp::UNIX_EPOCH) == current
}

pub(super) fn put(object: &mut Value, verdict: &Verdict, now: Timestamp) {
    let conditions = conditions(current(object), verdict, now);
    *entry(object, &["status", "conditions"]) = conditions.into();
}

fn current(object: &Value) -> &[Value] {
    object["status"]["conditions"].as_array().map_or(&[], Vec::as_slice)
}

fn conditions(current: &[Value], verdict: &Verdict, now: Timestamp) -> Vec<Value> {
    let mut conditions = Vec::with_capacity(current.len());
    for before in current {
        let desired = verdict.conditions.iter().find(|desired| before["type"] == desired.r#type);
        let is_ours = TYPES.iter().any(|r#type| before["type"] == *r#type);
        match desired {
            Some(desired) => conditions.push(condition(desired, before, verdict.generation, now)),
            None if is_ours && verdict.is_complete => {}
            None => conditions.push(before.clone()),
        }
    }
    for desired in &verdict.conditions {
        if !current.iter().any(|before| before["type"] == desired.r#type) {
            conditions.push(condition(desired, &Value::Null, verdict.generation, now));
        }
    }
    conditions
}

/// The time of the last transition changes with the status only.
fn condition(desired: &StatusCondition, before: &Value, generation: i64, now: Timestamp) -> Value {
    let StatusCondition { r#type, is_true, reason, message } = desired;
    let status = if *is_true { "True" } else { "False" };
    let time = match before["status"] == status && before["lastTransitionTime"].is_string() {
        true => before["lastTransitionTime"].clone(),
        false => now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
    };
    json!({
        "type": r#type,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(generation: i64, conditions: &[(&'static str, bool)], is_complete: bool) -> Verdict {
        let condition = |(r#type, is_true): &(&'static str, bool)| StatusCondition {
            r#type,
            is_true: *is_true,
            reason: "Reason",
            message: "message".to_owned(),
        };
        let conditions = conditions.iter().map(condition).collect();
        Verdict { generation, conditions, is_complete }
    }

    /// `Type=Status@generation` of each, with a `*` if the time is that of the second write.
    fn written(object: &Value) -> Vec<String> {
        let line = |condition: &Value| {
            let text = |field: &str| condition[field].as_str().unwrap_or("?").to_owned();
            let is_new = text("lastTransitionTime") != "1970-01-01T00:00:00Z";
            let star = if is_new { "*" } else { "" };
            format!("{}={}@{}{star}", text("type"), text("status"), condition["observedGeneration"])
        };
        current(object).iter().map(line).collect()
    }

    #[test]
    fn conditions_are_replaced_by_type_and_those_of_others_stay() {
        type Case<'a> = (Verdict, &'a [&'a str]);
        let cases: [Case<'_>; 4] = [
            // As before: nothing to write.
            (
                verdict(1, &[("InForce", true), ("Dangling", false)], true),
                &["Theirs=?@null*", "InForce=True@1", "Dangling=False@1"],
            ),
            // The time stays while the status does.
            (
                verdict(2, &[("InForce", true), ("Dangling", true)], true),
                &["Theirs=?@null*", "InForce=True@2", "Dangling=True@2*"],
            ),
            // A type that no longer concerns the object.
            (
                verdict(2, &[("InForce", false), ("Backstop", true)], true),
                &["Theirs=?@null*", "InForce=False@2*", "Backstop=True@2*"],
            ),
            // The configuration in force is the one before: what it says stays.
            (
                verdict(2, &[("InForce", false)], false),
                &["Theirs=?@null*", "InForce=False@2*", "Dangling=False@1"],
            ),
        ];
        for (next, expected) in cases {
            let mut object = json!({"status": {"conditions": [{"type": "Theirs"}]}});
            let first = verdict(1, &[("InForce", true), ("Dangling", false)], true);
            put(&mut object, &first, Timestamp::UNIX_EPOCH);
            let before = object.clone();
            let is_new = !is_current(&object, &next);
            put(&mut object, &next, Timestamp::MAX);
            assert_eq!(written(&object), expected, "{next:?}");
            assert_eq!(object != before, is_new, "{next:?}");
            assert!(is_current(&object, &next));
        }
    }

    #[test]
    fn an_object_with_an_odd_status_gets_a_usual_one() {
        for odd in [json!(null), json!(5), json!({"conditions": 5}), json!({"conditions": [null]})]
        {
            let mut object = json!({"status": odd});
            put(&mut object, &verdict(1, &[("InForce", true)], true), Timestamp::UNIX_EPOCH);
            assert!(written(&object).contains(&"InForce=True@1".to_owned()), "{object}");
        }
    }
}
