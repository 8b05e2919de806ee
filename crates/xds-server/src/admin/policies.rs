//! The policies in force: for whom, to where, and which fields they set.

use evenkeel_locality::{
    TargetRef,
    resource::{Key, Policy},
};
use serde::Serialize;
use serde_json::Value;

use crate::control::Control;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InForce {
    #[serde(flatten)]
    key: Key,
    /// Whose traffic.
    target_ref: TargetRef,
    to: Vec<To>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct To {
    target_ref: TargetRef,
    /// Each field that holds no others, with its value.
    sets: Vec<String>,
}

/// In the order of their keys.
pub(super) fn in_force(control: &Control) -> Vec<InForce> {
    // Copied under the lock, which is cheap because what holds is shared; made into text after it.
    let policies: Vec<(Key, Policy)> = {
        let mut engine = control.engine();
        engine.view().policies().map(|(key, policy)| (key, policy.clone())).collect()
    };
    policies.into_iter().map(one).collect()
}

fn one((key, policy): (Key, Policy)) -> InForce {
    let to = policy.to.into_iter().map(|item| {
        let mut sets = Vec::new();
        leaves(&mut String::new(), &item.conf, &mut sets);
        To { target_ref: item.target, sets }
    });
    InForce { key, target_ref: policy.target, to: to.collect() }
}

/// The depth is that of a policy, which its parser has bounded.
fn leaves(path: &mut String, value: &Value, sets: &mut Vec<String>) {
    let Value::Object(fields) = value else {
        return sets.push(format!("{path}: {value}"));
    };
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let end = path.len();
        if end > 0 {
            path.push('.');
        }
        path.push_str(name);
        leaves(path, value, sets);
        path.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_that_hold_no_others_are_named() {
        let conf = json!({"a": {"b": [{"c": 1}], "d": {"e": "x", "f": null}}, "g": true});
        let mut sets = Vec::new();
        leaves(&mut String::new(), &conf, &mut sets);
        assert_eq!(sets, [r#"a.b: [{"c":1}]"#, r#"a.d.e: "x""#, "g: true"]);
    }
}
