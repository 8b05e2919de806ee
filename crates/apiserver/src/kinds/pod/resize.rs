//! The `resize` subresource: changes requests and limits of cpu and memory of a running pod.
//! Source: `ValidatePodResize` and the resize strategy of `pkg/registry/core/pod`. Pod-level
//! resources may not change here.

use serde_json::{Value, json};

use super::{equal::same, qos, validate};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::read::{carry_over, entries, list, text},
};

const LISTS: [&str; 2] = ["containers", "initContainers"];
const MUTABLE: [&str; 2] = ["resources", "resizePolicy"];

/// Takes only the resources of containers. If containers were added, removed or renamed, everything
/// is left unchanged for the validation to report.
pub(crate) fn prepare(new: &mut Value, old: &Value) {
    if LISTS.iter().any(|name| list(new, &["spec", name]).len() != list(old, &["spec", name]).len())
    {
        return;
    }
    let mut spec = old["spec"].clone();
    for name in LISTS {
        if !names(new, name).eq(names(old, name)) {
            spec[name] = new["spec"][name].clone();
            continue;
        }
        for (i, container) in spec[name].as_array_mut().into_iter().flatten().enumerate() {
            for field in MUTABLE {
                carry_over(container, &new["spec"][name][i], &[field]);
            }
        }
    }
    new["spec"] = spec;
    super::keep_metadata(new, old);
    super::count_generation(new, old);
}

pub(crate) fn validate(new: &Value, old: &Value) -> Errors {
    let mut errors = validate::pod(new);
    let path = Path::root("spec");
    if !old["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null() {
        return vec![FieldError::forbidden(Path::none(), "static pods cannot be resized")];
    }
    if text(old, &["spec", "os", "name"]) == "windows" {
        return vec![FieldError::forbidden(Path::none(), "windows pods cannot be resized")];
    }
    let class = text(old, &["status", "qosClass"]);
    if class != qos::class(&new["spec"]) {
        let message = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid(path.clone(), &json!(class), message));
    }
    let running = |status: &&Value| status["state"]["running"].is_object();
    let reporting = list(old, &["status", "containerStatuses"]).iter().find(running);
    if reporting.is_some_and(|status| !status["resources"].is_object()) {
        let message = "Pod running on node without support for resize";
        errors.push(FieldError::forbidden(path.clone(), message));
    }
    if same_containers(&mut errors, new, old, &path) {
        resources(&mut errors, new, old, &path);
    }
    errors
}

fn same_containers(errors: &mut Errors, new: &Value, old: &Value, path: &Path) -> bool {
    let before = errors.len();
    for name in LISTS {
        if list(new, &["spec", name]).len() != list(old, &["spec", name]).len() {
            let message = format!("{name} may not be added or removed on resize");
            errors.push(FieldError::forbidden(path.child(name), message));
            continue;
        }
        for (i, _) in
            names(new, name).zip(names(old, name)).enumerate().filter(|(_, (a, b))| a != b)
        {
            let path = path.child(name).index(i).child("name");
            let message = format!("{name} may not be renamed or reordered on resize");
            errors.push(FieldError::forbidden(path, message));
        }
    }
    errors.len() == before
}

fn resources(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    for name in ["initContainers", "containers"] {
        let pairs = list(new, &["spec", name]).iter().zip(list(old, &["spec", name]));
        for (i, (new, old)) in pairs.enumerate() {
            let path = path.child(name).index(i).child("resources");
            for list in ["requests", "limits"] {
                let kept =
                    |(resource, _): (&str, &Value)| !new["resources"][list][resource].is_null();
                if !entries(old, &["resources", list]).all(kept) {
                    let message = format!("resource {list} cannot be removed");
                    errors.push(FieldError::forbidden(path.child(list), message));
                }
            }
        }
    }
    let before = errors.len();
    for name in LISTS {
        let pairs = list(new, &["spec", name]).iter().zip(list(old, &["spec", name]));
        let changed =
            |(_, (new, old)): &(usize, (&Value, &Value))| !same(&without(new), &without(old));
        for (i, _) in pairs.enumerate().filter(changed) {
            let error = match name {
                "containers" => {
                    FieldError::forbidden(path.clone(), "only cpu and memory resources are mutable")
                }
                _ => FieldError::forbidden(
                    path.child(name).index(i),
                    "only cpu and memory resources for init or sidecar containers are mutable",
                ),
            };
            errors.push(error);
        }
    }
    if errors.len() == before
        && before == 0
        && !same(&without_containers(new), &without_containers(old))
    {
        errors
            .push(FieldError::forbidden(path.clone(), "only cpu and memory resources are mutable"));
    }
}

/// A container without its cpu and memory.
fn without(container: &Value) -> Value {
    let mut rest = container.clone();
    for pointer in ["/resources/requests", "/resources/limits"] {
        if let Some(amounts) = rest.pointer_mut(pointer).and_then(Value::as_object_mut) {
            amounts.retain(|name, _| !["cpu", "memory"].contains(&name.as_str()));
        }
    }
    rest
}

fn without_containers(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, _| !LISTS.contains(&name.as_str()));
    }
    spec
}

fn names<'a>(pod: &'a Value, list_name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(pod, &["spec", list_name]).iter().map(|container| text(container, &["name"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(container: &Value) -> Value {
        let mut pod = json!({"metadata": {"name": "a", "generation": 1}, "spec": {"containers": [container]}});
        super::super::defaults::pod(&mut pod);
        pod["status"] = json!({"qosClass": qos::class(&pod["spec"])});
        pod
    }

    #[test]
    fn only_cpu_and_memory_are_resized() {
        let old =
            pod(&json!({"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}));
        for (container, expected) in [
            (json!({"name": "c", "image": "y:1", "resources": {"requests": {"cpu": "2"}}}), vec![]),
            (
                json!({"name": "c", "image": "x:1"}),
                vec![
                    "spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing",
                    "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
                ],
            ),
            (
                json!({"name": "d", "image": "x:1", "resources": {"requests": {"cpu": "1"}}}),
                vec![
                    "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
                ],
            ),
            (
                json!({"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}}),
                vec!["spec: Forbidden: only cpu and memory resources are mutable"],
            ),
        ] {
            let mut new = pod(&container);
            prepare(&mut new, &old);
            let errors: Vec<String> =
                validate(&new, &old).iter().map(ToString::to_string).collect();
            assert_eq!(errors, expected);
            assert_eq!(new["metadata"]["generation"], 2);
        }
    }
}
