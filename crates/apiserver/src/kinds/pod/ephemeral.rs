//! The `ephemeralcontainers` subresource: adds debugging containers to a running pod, which can't
//! be changed afterwards. Source: `ValidatePodEphemeralContainersUpdate`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{equal::same, update, validate};
use crate::{
    invalid::{Errors, FieldError, Path, quoted},
    kinds::read::{carry_over, entry, list, text},
};

/// Takes only the ephemeral containers.
pub(crate) fn prepare(new: &mut Value, old: &Value) {
    let containers = new["spec"]["ephemeralContainers"].clone();
    carry_over(new, old, &["spec"]);
    *entry(new, &["spec", "ephemeralContainers"]) = containers;
    super::keep_metadata(new, old);
    super::count_generation(new, old);
}

pub(crate) fn validate(new: &Value, old: &Value) -> Errors {
    let mut errors = validate::pod(new);
    update::annotations(&mut errors, new, old);
    if !old["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null() {
        let message = "static pods do not support ephemeral containers";
        return vec![FieldError::forbidden(Path::none(), message)];
    }
    let path = Path::root("spec").child("ephemeralContainers");
    // Of several with the same name, the last counts.
    let present: BTreeMap<&str, &Value> = list(new, &["spec", "ephemeralContainers"])
        .iter()
        .map(|container| (text(container, &["name"]), container))
        .collect();
    for before in list(old, &["spec", "ephemeralContainers"]) {
        let name = text(before, &["name"]);
        let words = match present.get(name) {
            None => "may not be removed",
            Some(after) if !same(before, after) => "may not be changed",
            Some(_) => continue,
        };
        let message = format!("existing ephemeral containers {} {words}\n", quoted(name));
        errors.push(FieldError::forbidden(path.clone(), message));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(ephemeral: &Value) -> Value {
        let mut pod = json!({"metadata": {"name": "a", "generation": 1},
            "spec": {"containers": [{"name": "c", "image": "x"}], "ephemeralContainers": ephemeral}});
        super::super::defaults::pod(&mut pod);
        pod
    }

    #[test]
    fn containers_for_debugging_are_only_added() {
        let one = json!({"name": "d", "image": "x", "targetContainerName": "c"});
        let old = pod(&json!([one]));
        for (containers, expected) in [
            (json!([one, {"name": "e", "image": "x"}]), vec![]),
            (
                json!([]),
                vec![
                    "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be removed\n",
                ],
            ),
            (
                json!([{"name": "d", "image": "y", "targetContainerName": "c"}]),
                vec![
                    "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be changed\n",
                ],
            ),
            (
                json!([one, {"name": "c", "image": "x", "targetContainerName": "z", "ports": [{"containerPort": 1}]}]),
                vec![
                    "spec.ephemeralContainers[1].name: Duplicate value: \"c\"",
                    "spec.ephemeralContainers[1].targetContainerName: Not found: \"z\"",
                    "spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container",
                ],
            ),
        ] {
            let mut new = pod(&containers);
            prepare(&mut new, &old);
            assert_eq!(new["metadata"]["generation"], 2);
            let errors: Vec<String> =
                validate(&new, &old).iter().map(ToString::to_string).collect();
            assert_eq!(errors, expected);
        }
    }
}
