//! Updates of a pod's status by its node. Source: `ValidatePodStatusUpdate` and the status strategy
//! of `pkg/registry/core/pod`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::{update, validate};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    kinds::{
        names,
        read::{carry_over, list, number, text},
    },
};

/// Restores what a status update may not change, and what an older kubelet omits.
pub(crate) fn prepare(new: &mut Value, old: &Value) {
    for path in [&["spec"][..], &["metadata", "ownerReferences"], &["metadata", "generation"]] {
        carry_over(new, old, path);
    }
    for name in ["qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus"] {
        if [Value::Null, json!("")].contains(&new["status"][name]) {
            carry_over(new, old, &["status", name]);
        }
    }
    if number(new, &["status", "observedGeneration"]).unwrap_or_default() == 0 {
        carry_over(new, old, &["status", "observedGeneration"]);
    }
    observed_conditions(new, old);
}

/// A condition keeps its observed generation, unless a new one is given.
fn observed_conditions(new: &mut Value, old: &Value) {
    let mut before: BTreeMap<&str, VecDeque<i64>> = BTreeMap::new();
    for condition in list(old, &["status", "conditions"]) {
        let generation = number(condition, &["observedGeneration"]).unwrap_or_default();
        before.entry(text(condition, &["type"])).or_default().push_back(generation);
    }
    let conditions = new.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter(|condition| condition.is_object()) {
        let of_type = before.get_mut(text(condition, &["type"]));
        let Some(generation) = of_type.and_then(VecDeque::pop_front) else { continue };
        if number(condition, &["observedGeneration"]).unwrap_or_default() == 0 && generation != 0 {
            condition["observedGeneration"] = json!(generation);
        }
    }
}

pub(crate) fn validate(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::root("status");
    update::annotations(&mut errors, new, old);
    conditions(&mut errors, new, &path.child("conditions"));
    nominated(&mut errors, new, old, &path.child("nominatedNodeName"));
    let observed = number(new, &["status", "observedGeneration"]).unwrap_or_default();
    not_negative(&mut errors, observed, &path);
    if text(new, &["status", "qosClass"]) != text(old, &["status", "qosClass"]) {
        let class = json!(text(new, &["status", "qosClass"]));
        errors.push(FieldError::immutable(path.child("qosClass"), &class));
    }
    for (statuses, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ] {
        transitions(&mut errors, new, old, statuses, containers);
    }
    pod_addresses(&mut errors, new, old, &path.child("podIPs"));
    host_addresses(&mut errors, new, old, &path.child("hostIPs"));
    errors
}

fn conditions(errors: &mut Errors, new: &Value, path: &Path) {
    for (i, condition) in list(new, &["status", "conditions"]).iter().enumerate() {
        let observed = number(condition, &["observedGeneration"]).unwrap_or_default();
        not_negative(errors, observed, &path.index(i));
        let kind = text(condition, &["type"]);
        if !["PodScheduled", "Ready", "Initialized"].contains(&kind) {
            validate::invalid(
                errors,
                kind,
                &path.index(i).child("Type"),
                names::qualified_name(kind),
            );
        }
    }
}

fn not_negative(errors: &mut Errors, observed: i64, path: &Path) {
    if observed < 0 {
        let message = "must be a non-negative integer";
        errors.push(FieldError::invalid(
            path.child("observedGeneration"),
            &json!(observed),
            message,
        ));
    }
}

fn nominated(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    let name = text(new, &["status", "nominatedNodeName"]);
    if name.is_empty() || name == text(old, &["status", "nominatedNodeName"]) {
        return;
    }
    validate::invalid(errors, name, path, names::dns1123_subdomain(name));
    if !text(old, &["spec", "nodeName"]).is_empty() {
        let message = "may not be set on pods that are already bound to a node";
        errors.push(FieldError::forbidden(path.clone(), message));
    }
}

/// A terminated container stays terminated, unless it may be restarted.
fn transitions(errors: &mut Errors, new: &Value, old: &Value, statuses: &str, containers: &str) {
    let spec = &old["spec"];
    let restarts_all = |container: &Value| {
        list(container, &["restartPolicyRules"])
            .iter()
            .any(|rule| text(rule, &["action"]) == "RestartAllContainers")
    };
    let mut all = list(spec, &["initContainers"]).iter().chain(list(spec, &["containers"]));
    if !containers.is_empty() && all.any(restarts_all) {
        return;
    }
    let (statuses_now, containers) =
        (by_name(list(new, &["status", statuses])), by_name(list(spec, &[containers])));
    for (i, before) in list(old, &["status", statuses]).iter().enumerate() {
        let ended = &before["state"]["terminated"];
        let name = text(before, &["name"]);
        let after = statuses_now.get(name);
        if !ended.is_object() || after.is_none_or(|after| after["state"]["terminated"].is_object())
        {
            continue;
        }
        let container = containers.get(name);
        let exit_code = number(ended, &["exitCode"]).unwrap_or_default();
        if !container.is_some_and(|container| restarts(spec, container, exit_code)) {
            let path = Path::root("status").child(statuses).index(i).child("state");
            let message = "may not be transitioned to non-terminated state";
            errors.push(FieldError::forbidden(path, message));
        }
    }
}

/// The first of each name.
fn by_name(items: &[Value]) -> BTreeMap<&str, &Value> {
    items.iter().rev().map(|item| (text(item, &["name"]), item)).collect()
}

fn restarts(spec: &Value, container: &Value, exit_code: i64) -> bool {
    let own = text(container, &["restartPolicy"]);
    let matches = |rule: &Value| {
        let listed = list(rule, &["exitCodes", "values"])
            .iter()
            .any(|value| value.as_i64() == Some(exit_code));
        match text(rule, &["exitCodes", "operator"]) {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        }
    };
    let rule = list(container, &["restartPolicyRules"]).iter().find(|rule| matches(rule));
    if !own.is_empty() && rule.is_some_and(|rule| text(rule, &["action"]) == "Restart") {
        return true;
    }
    match if own.is_empty() { text(spec, &["restartPolicy"]) } else { own } {
        "Never" => false,
        "OnFailure" => exit_code != 0,
        _ => true,
    }
}

fn pod_addresses(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    addresses(errors, new, old, "podIPs", path);
    let one = text(new, &["status", "podIP"]);
    let many = list(new, &["status", "podIPs"]);
    let first = many.first().map(|ip| text(ip, &["ip"]));
    if one.is_empty() == first.is_some() {
        let message = "podIP and podIPs must either both be set or both be unset";
        errors.push(shown(path.clone(), many, message));
    } else if let Some(first) = first.filter(|first| *first != one) {
        let path = path.index(0).child("ip");
        errors.push(FieldError::invalid(path, &json!(first), "must be equal to `podIP`"));
    }
}

fn host_addresses(errors: &mut Errors, new: &Value, old: &Value, path: &Path) {
    let Some(first) = list(new, &["status", "hostIPs"]).first().map(|ip| text(ip, &["ip"])) else {
        return;
    };
    if first != text(new, &["status", "hostIP"]) {
        let path = path.index(0).child("ip");
        errors.push(FieldError::invalid(path, &json!(first), "must be equal to `hostIP`"));
    }
    addresses(errors, new, old, "hostIPs", path);
}

/// At most one address per family; addresses already stored are not checked.
fn addresses(errors: &mut Errors, new: &Value, old: &Value, name: &str, path: &Path) {
    let given = list(new, &["status", name]);
    let known: BTreeSet<&str> =
        list(old, &["status", name]).iter().map(|old| text(old, &["ip"])).collect();
    for (i, ip) in given.iter().map(|ip| text(ip, &["ip"])).enumerate() {
        if !known.contains(ip) {
            validate::invalid(errors, ip, &path.index(i), names::legacy_ip(ip));
        }
    }
    if given.len() < 2 {
        return;
    }
    let parsed: Vec<_> = given.iter().map(|ip| names::sloppy_ip(text(ip, &["ip"]))).collect();
    if let Some(i) = parsed.iter().position(Option::is_none) {
        let detail = format!(
            "failed to check for dual stack with error:invalid IP[{i}]: {}",
            text(&given[i], &["ip"])
        );
        errors.push(FieldError { path: path.clone(), type_: FieldErrorType::Internal, detail });
    }
    let families = |six: bool| parsed.iter().flatten().any(|ip| ip.is_ipv6() == six);
    if !(families(true) && families(false)) || given.len() > 2 || parsed.contains(&None) {
        errors.push(shown(
            path.clone(),
            given,
            "may specify no more than one IP for each IP family",
        ));
    }
}

/// Addresses as JSON of Kubernetes' internal type.
fn shown(path: Path, addresses: &[Value], detail: &str) -> FieldError {
    let address = |ip: &Value| format!("{{\"IP\":{}}}", json!(text(ip, &["ip"])));
    let printed = match addresses {
        [] => "null".to_owned(),
        addresses => format!("[{}]", addresses.iter().map(address).collect::<Vec<_>>().join(",")),
    };
    FieldError { path, type_: FieldErrorType::Invalid(printed), detail: detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminated_container_stays_terminated_unless_it_restarts() {
        let old = |policy: &str, code: i64| {
            json!({"spec": {"restartPolicy": policy, "containers": [{"name": "c"}]},
                "status": {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}})
        };
        let running = json!([{"name": "c", "state": {"running": {}}}]);
        for (policy, code, allowed) in [
            ("Always", 0, true),
            ("Never", 1, false),
            ("OnFailure", 1, true),
            ("OnFailure", 0, false),
        ] {
            let old = old(policy, code);
            let mut new = old.clone();
            new["status"]["containerStatuses"] = running.clone();
            let errors: Vec<String> =
                validate(&new, &old).iter().map(ToString::to_string).collect();
            let expected = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state";
            assert_eq!(errors, if allowed { vec![] } else { vec![expected] }, "{policy} {code}");
        }
    }

    #[test]
    fn addresses_agree_and_are_of_two_families() {
        for (status, expected) in [
            (
                json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}),
                vec![],
            ),
            (
                json!({"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]}),
                vec![
                    "status.hostIPs[0].ip: Invalid value: \"10.0.0.2\": must be equal to `hostIP`",
                ],
            ),
            (
                json!({"podIP": "10.0.0.1"}),
                vec![
                    "status.podIPs: Invalid value: null: podIP and podIPs must either both be set or both be unset",
                ],
            ),
        ] {
            let errors: Vec<String> = validate(&json!({"status": status}), &json!({}))
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(errors, expected);
        }
    }

    #[test]
    fn a_condition_keeps_the_generation_it_was_seen_at() {
        let old = json!({"status": {"qosClass": "BestEffort", "observedGeneration": 3,
            "conditions": [{"type": "Ready", "observedGeneration": 2}]}});
        let mut new = json!({"status": {"conditions": [{"type": "Ready"}, {"type": "Other"}]}});
        prepare(&mut new, &old);
        assert_eq!(
            new["status"],
            json!({"qosClass": "BestEffort", "observedGeneration": 3,
                "conditions": [{"type": "Ready", "observedGeneration": 2}, {"type": "Other"}]})
        );
    }
}
