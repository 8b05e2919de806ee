//! Pod.

pub(crate) mod binding;
mod columns;
pub(crate) mod conditions;
pub(crate) mod defaults;
pub(crate) mod ephemeral;
pub(crate) mod equal;
mod label_keys;
mod qos;
pub(crate) mod resize;
mod status;
pub(crate) mod topology;
mod update;
pub(crate) mod validate;
pub(crate) mod warnings;

use serde_json::{Value, json};

use super::{
    Admission, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, PartStrategy, Strategy,
    Subresource, fixed, names,
    read::{carry_over, entry, flag, list, number, text},
};
use crate::invalid::{Errors, FieldError, Path, quoted};

const STREAM: &[&str] = &["create", "get"];

const EPHEMERAL: PartStrategy =
    PartStrategy { prepare: ephemeral::prepare, validate: ephemeral::validate };
const RESIZE: PartStrategy = PartStrategy { prepare: resize::prepare, validate: resize::validate };

pub(crate) static POD: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("Pod"),
    plural: fixed("pods"),
    singular: fixed("pod"),
    short_names: Held::Static(&[fixed("po")]),
    categories: Held::Static(&[fixed("all")]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.Pod"),
    verbs: EVERY_VERB,
    subresources: &[
        Subresource::NotSupported("attach", "PodAttachOptions", STREAM),
        Subresource::Binding,
        Subresource::Part("ephemeralcontainers", EPHEMERAL),
        Subresource::Eviction,
        Subresource::NotSupported("exec", "PodExecOptions", STREAM),
        Subresource::NotSupported("log", "Pod", &["get"]),
        Subresource::NotSupported("portforward", "PodPortForwardOptions", STREAM),
        Subresource::NotSupported(
            "proxy",
            "PodProxyOptions",
            &["create", "delete", "get", "patch", "update"],
        ),
        Subresource::Part("resize", RESIZE),
        Subresource::Status,
    ],
    fields: &[
        ("spec.host", |pod| text(pod, &["spec", "nodeName"]).to_owned()),
        ("spec.hostNetwork", |pod| flag(pod, &["spec", "hostNetwork"]).to_string()),
        ("spec.nodeName", |pod| text(pod, &["spec", "nodeName"]).to_owned()),
        ("spec.restartPolicy", |pod| text(pod, &["spec", "restartPolicy"]).to_owned()),
        ("spec.schedulerName", |pod| text(pod, &["spec", "schedulerName"]).to_owned()),
        ("spec.serviceAccountName", |pod| text(pod, &["spec", "serviceAccountName"]).to_owned()),
        ("status.nominatedNodeName", |pod| text(pod, &["status", "nominatedNodeName"]).to_owned()),
        ("status.phase", |pod| text(pod, &["status", "phase"]).to_owned()),
        ("status.podIP", |pod| {
            pod["status"]["podIPs"][0]["ip"].as_str().unwrap_or_default().to_owned()
        }),
        // Accepted, though pods have no value for it.
        ("status.podIPs", |_| String::new()),
    ],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Object,
    alias: None,
    columns: columns::COLUMNS,
    strategy: Held::Static(&PodStrategy),
    custom: None,
});

#[derive(Debug)]
struct PodStrategy;

impl Strategy for PodStrategy {
    fn refused(&self, object: &Value) -> Option<String> {
        refused(object)
    }

    fn default(&self, object: &mut Value, _: &Admission) {
        defaults::pod(object);
    }

    fn prepare_create(&self, object: &mut Value, at: &Admission) {
        *entry(object, &["metadata", "generation"]) = json!(1);
        label_keys::merge(object);
        prioritize(entry(object, &["spec"]));
        let mut status = json!({"phase": "Pending", "qosClass": qos::class(&object["spec"])});
        if !list(object, &["spec", "schedulingGates"]).is_empty() {
            let gated = json!({
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            });
            conditions::set(&mut status, &gated, at.now);
        }
        *entry(object, &["status"]) = status;
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        let mut errors = validate::pod(object);
        let path = Path::root("spec");
        if !list(object, &["spec", "ephemeralContainers"]).is_empty() {
            let path = path.child("ephemeralContainers");
            errors.push(FieldError::forbidden(path, "cannot be set on create"));
        }
        let gated = !list(object, &["spec", "schedulingGates"]).is_empty();
        if gated && !text(object, &["spec", "nodeName"]).is_empty() {
            let message = "cannot be set until all schedulingGates have been cleared";
            errors.push(FieldError::forbidden(path.child("nodeName"), message));
        }
        errors
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        if part == Part::Status {
            return status::prepare(new, old);
        }
        carry_over(new, old, &["status"]);
        for name in ["priority", "preemptionPolicy", "resources"] {
            if new["spec"][name].is_null() {
                carry_over(new, old, &["spec", name]);
            }
        }
        count_generation(new, old);
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        match part {
            Part::Main => update::validate(new, old),
            Part::Status => status::validate(new, old),
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        let mut warnings = Vec::new();
        let wrong = names::dns1123_label(text(new, &["metadata", "name"]));
        if !wrong.is_empty() {
            warnings.push(format!("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]", wrong.join(" ")));
        }
        warnings.extend(warnings::of(new, &Path::none()));
        warnings
    }

    /// A pod is always marked before it is removed, even with a grace period of zero.
    fn grace(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let own = number(object, &["spec", "terminationGracePeriodSeconds"]);
        let runs_nowhere = text(object, &["spec", "nodeName"]).is_empty();
        let is_over = ["Failed", "Succeeded"].contains(&text(object, &["status", "phase"]));
        match asked.or(own).unwrap_or_default() {
            _ if runs_nowhere || is_over => Some(0),
            ..0 => Some(1),
            seconds => Some(seconds),
        }
    }
}

/// A changed spec increments the generation.
fn count_generation(new: &mut Value, old: &Value) {
    let changed = i64::from(!equal::same(&new["spec"], &old["spec"]));
    let generation = number(old, &["metadata", "generation"]).unwrap_or_default() + changed;
    *entry(new, &["metadata", "generation"]) = json!(generation);
}

/// What a subresource that changes part of the spec may not touch.
fn keep_metadata(new: &mut Value, old: &Value) {
    carry_over(new, old, &["status"]);
    for name in ["annotations", "deletionTimestamp", "finalizers", "labels", "ownerReferences"] {
        carry_over(new, old, &["metadata", name]);
    }
}

/// Why admission rejects a new pod: the text after `forbidden: ` in the message of the 403.
pub(crate) fn refused(pod: &Value) -> Option<String> {
    let class = text(pod, &["spec", "priorityClassName"]);
    let Some(priority) = priority_of(class) else {
        return Some(format!("no PriorityClass with name {class} was found"));
    };
    let spec = &pod["spec"];
    if let Some(given) = number(spec, &["priority"]).filter(|given| *given != priority) {
        return Some(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
        ));
    }
    let policy = text(spec, &["preemptionPolicy"]);
    if !["", "PreemptLowerPriority"].contains(&policy) {
        return Some(format!(
            "the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
        ));
    }
    if let Some(name) = spec["runtimeClassName"].as_str() {
        return Some(format!("pod rejected: RuntimeClass {} not found", quoted(name)));
    }
    let overhead = spec["overhead"].as_object().is_some_and(|overhead| !overhead.is_empty());
    overhead.then(|| {
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            .to_owned()
    })
}

/// The two built-in priority classes, and no class at all.
fn priority_of(class: &str) -> Option<i64> {
    match class {
        "" => Some(0),
        "system-cluster-critical" => Some(2_000_000_000),
        "system-node-critical" => Some(2_000_001_000),
        _ => None,
    }
}

fn prioritize(spec: &mut Value) {
    let Some(priority) = priority_of(text(spec, &["priorityClassName"])) else { return };
    for (name, value) in
        [("priority", json!(priority)), ("preemptionPolicy", json!("PreemptLowerPriority"))]
    {
        let field = entry(spec, &[name]);
        if field.is_null() {
            *field = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grace_is_the_requested_one_or_the_pods_own_and_zero_without_a_node() {
        let pod = |node: &str, phase: &str| json!({"spec": {"nodeName": node, "terminationGracePeriodSeconds": 30}, "status": {"phase": phase}});
        for (pod, asked, grace) in [
            (pod("", "Pending"), None, 0),
            (pod("", "Pending"), Some(10), 0),
            (pod("n1", "Running"), None, 30),
            (pod("n1", "Running"), Some(5), 5),
            (pod("n1", "Running"), Some(0), 0),
            (pod("n1", "Running"), Some(-1), 1),
            (pod("n1", "Succeeded"), None, 0),
        ] {
            assert_eq!(PodStrategy.grace(&pod, asked), Some(grace), "{pod} {asked:?}");
        }
    }

    #[test]
    fn only_built_in_priority_classes_are_known() {
        for (spec, words) in [
            (json!({}), None),
            (json!({"priorityClassName": "system-node-critical"}), None),
            (json!({"priorityClassName": "x"}), Some("no PriorityClass with name x was found")),
        ] {
            assert_eq!(refused(&json!({"spec": spec})).as_deref(), words);
        }
        assert!(refused(&json!({"spec": {"priority": 3}})).is_some());
    }

    #[test]
    fn selectors_read_pods() {
        let pod =
            json!({"spec": {"hostNetwork": true}, "status": {"podIPs": [{"ip": "10.0.0.1"}]}});
        let value = |name: &str| {
            POD.fields.iter().find(|(field, _)| *field == name).map(|(_, read)| read(&pod))
        };
        assert_eq!(value("spec.hostNetwork").as_deref(), Some("true"));
        assert_eq!(value("status.podIP").as_deref(), Some("10.0.0.1"));
        assert_eq!(value("spec.nodeName").as_deref(), Some(""));
        assert_eq!(value("spec.volumes"), None);
    }
}
