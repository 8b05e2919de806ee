//! Two annotations from before their fields existed: taints, and pods to avoid. Both are still
//! validated.

use evenkeel_store::schema;
use serde_json::{Value, json};

use super::{
    super::{
        json_text,
        read::{at, list, text},
    },
    taints,
};
use crate::invalid::{Errors, FieldError, Path};

const TAINTS: &str = "scheduler.alpha.kubernetes.io/taints";
const AVOID: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";

pub(super) fn validate(node: &Value, path: &Path) -> Errors {
    let [taints, avoid] = [TAINTS, AVOID].map(|key| text(node, &["metadata", "annotations", key]));
    let mut errors = Errors::new();
    if !taints.is_empty() {
        errors.extend(match parsed(taints, b'[', "[]core.Taint") {
            Ok(taints) => taints::validate(list(&taints, &[]), &path.child(TAINTS)),
            Err(words) => vec![FieldError::invalid(path.clone(), &json!(TAINTS), words)],
        });
    }
    if !avoid.is_empty() {
        errors.extend(match parsed(avoid, b'{', "v1.AvoidPods") {
            Ok(avoid) => wrong_entries(&avoid, &path.child(AVOID)),
            Err(words) => {
                vec![FieldError::invalid(path.child("AvoidPods"), &json!(AVOID), words)]
            }
        });
    }
    errors
}

fn parsed(text: &str, bracket: u8, type_: &str) -> Result<Value, String> {
    if let Some(words) = json_text::wrong(text.as_bytes(), bracket, type_) {
        return Err(words);
    }
    schema::any_json(text.as_bytes(), schema::MOST_LEVELS).map_err(|error| error.to_string())
}

/// Each entry names a controller by an owner reference with `controller: true`.
fn wrong_entries(avoid: &Value, path: &Path) -> Errors {
    let entries = list(avoid, &["preferAvoidPods"]).iter().enumerate();
    let wrong = |(index, entry): (usize, &Value)| {
        let path = path.index(index).child("PodSignature");
        let controller = at(entry, &["podSignature", "podController"]);
        if controller.is_null() {
            return Some(FieldError::required(path, ""));
        }
        let path = path.child("PodController").child("Controller");
        let is_one = controller["controller"] == true;
        (!is_one).then(|| FieldError::invalid(path, &json!(false), "must point to a controller"))
    };
    entries.filter_map(wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::facts;

    #[test]
    fn deprecated_annotations_are_validated() {
        for (key, value, wrong) in [
            (TAINTS, r#"[{"key":"k","effect":"NoSchedule"}]"#, vec![]),
            (
                TAINTS,
                "{}",
                vec![
                    "metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/taints\": json: cannot unmarshal object into Go value of type []core.Taint",
                ],
            ),
            (
                TAINTS,
                r#"[{"key":"k"}]"#,
                vec![
                    "metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Required value",
                ],
            ),
            (
                AVOID,
                r#"{"preferAvoidPods":[{},{"podSignature":{"podController":{"controller":true}}}]}"#,
                vec![
                    "metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value",
                ],
            ),
            (
                AVOID,
                "x",
                vec![
                    "metadata.annotations.AvoidPods: Invalid value: \"scheduler.alpha.kubernetes.io/preferAvoidPods\": invalid character 'x' looking for beginning of value",
                ],
            ),
        ] {
            let node = json!({"metadata": {"annotations": {key: value}}});
            let errors = validate(&node, &Path::root("metadata").child("annotations"));
            assert_eq!(facts::texts(&errors), wrong);
        }
    }
}
