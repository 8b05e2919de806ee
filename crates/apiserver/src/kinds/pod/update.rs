//! Validation of pod updates. Source: `ValidatePodUpdate` in
//! `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{equal::same, validate};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    kinds::read::{at, entries, list, number, text},
};

const CHANGEABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Everything but the metadata common to all kinds.
pub(crate) fn validate(new: &Value, old: &Value) -> Errors {
    let mut errors = validate::pod(new);
    annotations(&mut errors, new, old);
    if spec(&mut errors, &new["spec"], &old["spec"]).is_none() || same(&new["spec"], &old["spec"]) {
        return errors;
    }
    immutable(&mut errors, &new["spec"], &old["spec"]);
    errors
}

/// Annotations for settings that can't change on a running pod.
pub(crate) fn annotations(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::root("metadata").child("annotations");
    let annotation = |object: &Value, key: &str| object["metadata"]["annotations"][key].clone();
    let fixed = |key: &str| match key {
        "kubernetes.io/config.mirror" => Some("mirror pod annotation"),
        _ if key.starts_with("container.apparmor.security.beta.kubernetes.io/") => {
            Some("AppArmor annotations")
        }
        _ => None,
    };
    for (key, value) in entries(old, &["metadata", "annotations"]) {
        if let Some(words) = fixed(key).filter(|_| annotation(new, key) != *value) {
            let message = format!("may not remove or update {words}");
            errors.push(FieldError::forbidden(path.key(key), message));
        }
    }
    for (key, _) in entries(new, &["metadata", "annotations"]) {
        if let Some(words) = fixed(key).filter(|_| annotation(old, key).is_null()) {
            errors.push(FieldError::forbidden(path.key(key), format!("may not add {words}")));
        }
    }
    validate::annotations(errors, new, &path);
}

/// The mutable fields, each with its own rule. `None` if the rest need not be checked.
fn spec(errors: &mut Errors, new: &Value, old: &Value) -> Option<()> {
    let path = Path::root("spec");
    for name in ["containers", "initContainers"] {
        containers(errors, list(new, &[name]), list(old, &[name]), &path.child(name))?;
    }
    deadline(errors, new, old, &path.child("activeDeadlineSeconds"))?;
    tolerations(errors, new, old, &path.child("tolerations"));
    gates(errors, new, old, &path.child("schedulingGates"));
    Some(())
}

fn containers(errors: &mut Errors, new: &[Value], old: &[Value], path: &Path) -> Option<()> {
    if new.len() != old.len() {
        let message = "pod updates may not add or remove containers";
        errors.push(FieldError::forbidden(path.clone(), message));
        return None;
    }
    for (i, container) in new.iter().enumerate() {
        let (image, path) = (text(container, &["image"]), path.index(i).child("image"));
        if image.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
        }
        if image.trim() != image {
            let message = "must not have leading or trailing whitespace";
            errors.push(FieldError::invalid(path, &json!(image), message));
        }
    }
    Some(())
}

/// A deadline may be added, and may be shortened.
fn deadline(errors: &mut Errors, new: &Value, old: &Value, path: &Path) -> Option<()> {
    let before = number(old, &["activeDeadlineSeconds"]);
    let Some(after) = number(new, &["activeDeadlineSeconds"]) else {
        if before.is_some() {
            let message = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(path.clone(), &Value::Null, message));
        }
        return Some(());
    };
    let message = if after < 0 || after > i64::from(i32::MAX) {
        "must be between 0 and 2147483647, inclusive"
    } else if before.is_some_and(|before| before < after) {
        "must be less than or equal to previous value"
    } else {
        return Some(());
    };
    errors.push(FieldError::invalid(path.clone(), &json!(after), message));
    None
}

fn tolerations(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    let (new, old) = (list(new, &["tolerations"]), list(old, &["tolerations"]));
    let key = |one| ["key", "operator", "value", "effect"].map(|name| text(one, &[name]));
    let present: BTreeSet<[&str; 4]> = new.iter().map(key).collect();
    if !old.iter().all(|old| present.contains(&key(old))) {
        let message = "existing toleration can not be modified except its tolerationSeconds";
        return errors.push(FieldError::forbidden(path.clone(), message));
    }
    validate::tolerations(errors, new, path);
}

fn gates(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    let old: BTreeSet<&str> =
        list(old, &["schedulingGates"]).iter().map(|gate| text(gate, &["name"])).collect();
    for (i, gate) in list(new, &["schedulingGates"]).iter().enumerate() {
        let gate = text(gate, &["name"]);
        if !old.contains(gate) {
            let message =
                format!("only deletion is allowed, but found new scheduling gate '{gate}'");
            errors.push(FieldError::forbidden(path.index(i).child("name"), message));
        }
    }
}

/// After the mutable fields are restored, everything else must be unchanged.
fn immutable(errors: &mut Errors, new: &Value, old: &Value) {
    let mut rest = new.clone();
    for name in ["containers", "initContainers"] {
        for (i, container) in rest[name].as_array_mut().into_iter().flatten().enumerate() {
            container["image"] = old[name][i]["image"].clone();
        }
    }
    let mut put_back = vec!["activeDeadlineSeconds", "schedulingGates", "tolerations"];
    let grace = "terminationGracePeriodSeconds";
    if number(old, &[grace]).is_some_and(|seconds| seconds < 0) && number(new, &[grace]) == Some(1)
    {
        put_back.push(grace);
    }
    if !list(old, &["schedulingGates"]).is_empty() {
        gated(errors, &mut rest, old, &mut put_back);
    }
    for name in put_back {
        rest[name] = old[name].clone();
    }
    if !same(&rest, old) {
        let message = format!(
            "pod updates may not change fields other than {CHANGEABLE}\n{}",
            diff(&rest, old)
        );
        errors.push(FieldError::forbidden(Path::root("spec"), message));
    }
}

/// A pod with scheduling gates may still be restricted to fewer nodes.
fn gated(errors: &mut Errors, rest: &mut Value, old: &Value, put_back: &mut Vec<&'static str>) {
    let path = Path::root("spec");
    let kept =
        entries(old, &["nodeSelector"]).all(|(key, value)| rest["nodeSelector"][key] == *value);
    if !kept {
        let message = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(FieldError::invalid(
            path.child("nodeSelector"),
            &rest["nodeSelector"],
            message,
        ));
    }
    put_back.push("nodeSelector");
    let before = at(old, &["affinity", "nodeAffinity"]).clone();
    let after = at(rest, &["affinity", "nodeAffinity"]).clone();
    if same(&before, &after) {
        return;
    }
    let path =
        path.child("affinity").child("nodeAffinity").child(REQUIRED).child("nodeSelectorTerms");
    node_terms(errors, &after, &before, &path);
    let others = ["podAffinity", "podAntiAffinity"];
    if others.iter().all(|name| same(&rest["affinity"][name], &old["affinity"][name])) {
        put_back.push("affinity");
    }
}

fn node_terms(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    let (new, old) =
        (list(new, &[REQUIRED, "nodeSelectorTerms"]), list(old, &[REQUIRED, "nodeSelectorTerms"]));
    if old.is_empty() {
        return;
    }
    let mut refuse = |path: Path, shown: String, detail: &str| {
        errors.push(FieldError {
            path,
            type_: FieldErrorType::Invalid(shown),
            detail: detail.to_owned(),
        });
    };
    if new.len() != old.len() {
        let shown: Vec<String> = new.iter().map(declared_term).collect();
        let shown =
            if new.is_empty() { "null".to_owned() } else { format!("[{}]", shown.join(",")) };
        let message = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return refuse(path.clone(), shown, message);
    }
    for (i, (new, old)) in new.iter().zip(old).enumerate() {
        let parts = ["matchExpressions", "matchFields"]
            .map(|name| (list(new, &[name]), list(old, &[name])));
        let was_empty = parts.iter().all(|(_, old)| old.is_empty());
        let filled = was_empty && parts.iter().any(|(new, _)| !new.is_empty());
        if filled || !parts.iter().all(|(new, old)| new.starts_with(old)) {
            let message = "only additions are allowed (no mutations or deletions)";
            refuse(path.index(i), declared_term(new), message);
        }
    }
}

/// A node selector term as JSON of Kubernetes' internal type.
fn declared_term(term: &Value) -> String {
    let requirement = |requirement: &Value| {
        let [key, operator, values] = ["key", "operator", "values"].map(|name| &requirement[name]);
        format!("{{\"Key\":{key},\"Operator\":{operator},\"Values\":{values}}}")
    };
    let part = |name: &str| match list(term, &[name]) {
        [] => "null".to_owned(),
        items => format!("[{}]", items.iter().map(requirement).collect::<Vec<_>>().join(",")),
    };
    format!(
        "{{\"MatchExpressions\":{},\"MatchFields\":{}}}",
        part("matchExpressions"),
        part("matchFields")
    )
}

/// The fields that differ, with old and new values.
fn diff(new: &Value, old: &Value) -> String {
    let mut names: Vec<&str> =
        entries(new, &[]).chain(entries(old, &[])).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let mut lines = String::new();
    for name in names.into_iter().filter(|name| !same(&new[*name], &old[*name])) {
        lines.push_str(&format!("- {name}: {}\n+ {name}: {}\n", old[name], new[name]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(change: impl Fn(&mut Value)) -> Value {
        let mut pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}});
        change(&mut pod["spec"]);
        super::super::defaults::pod(&mut pod);
        pod
    }

    fn check(old: &Value, new: &Value, expected: &[&str]) {
        let errors: Vec<String> = validate(new, old)
            .iter()
            .map(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(errors, expected);
    }

    #[test]
    fn images_deadlines_and_new_tolerations_may_change() {
        let old = pod(|_| {});
        check(&old, &pod(|spec| spec["containers"][0]["image"] = json!("y:2")), &[]);
        check(&old, &pod(|spec| spec["activeDeadlineSeconds"] = json!(3)), &[]);
        check(&old, &pod(|spec| spec["tolerations"] = json!([{"operator": "Exists"}])), &[]);
        check(&old, &pod(|spec| spec["tolerations"] = json!([])), &[]);
        check(&old, &pod(|spec| spec["hostNetwork"] = json!(false)), &[]);
    }

    #[test]
    fn other_fields_may_not_change() {
        let old = pod(|spec| spec["tolerations"] = json!([{"operator": "Exists"}]));
        let forbidden =
            format!("spec: Forbidden: pod updates may not change fields other than {CHANGEABLE}");
        let keep = |spec: &mut Value| spec["tolerations"] = json!([{"operator": "Exists"}]);
        let changed = pod(|spec| {
            keep(spec);
            spec["hostNetwork"] = json!(true);
        });
        check(&old, &changed, &[&forbidden]);
        check(
            &old,
            &pod(|_| {}),
            &[
                "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
            ],
        );
        let more = pod(|spec| {
            keep(spec);
            spec["containers"] =
                json!([{"name": "c", "image": "x:1"}, {"name": "d", "image": "x:1"}]);
        });
        check(
            &old,
            &more,
            &["spec.containers: Forbidden: pod updates may not add or remove containers"],
        );
    }

    #[test]
    fn gates_can_only_be_removed_and_gated_pods_only_restricted() {
        let gate = |names: &[&str]| {
            json!(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>())
        };
        let old = pod(|spec| {
            spec["schedulingGates"] = gate(&["a", "b"]);
            spec["nodeSelector"] = json!({"k": "v"});
        });
        let changed = |gates: Value, selector: Value| {
            pod(|spec| {
                spec["schedulingGates"] = gates.clone();
                spec["nodeSelector"] = selector.clone();
            })
        };
        check(&old, &changed(gate(&["b"]), json!({"k": "v"})), &[]);
        check(&old, &changed(gate(&["b"]), json!({"k": "v", "l": "w"})), &[]);
        check(
            &old,
            &changed(gate(&["a", "b", "c"]), json!({"k": "v"})),
            &[
                "spec.schedulingGates[2].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
            ],
        );
        check(
            &old,
            &changed(gate(&["a"]), json!({"k": "w"})),
            &[
                "spec.nodeSelector: Invalid value: {\"k\":\"w\"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            ],
        );
    }
}
