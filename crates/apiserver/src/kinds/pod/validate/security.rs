//! Security contexts: users and groups, profiles, privileges.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::checks::{descending_path, number_invalid};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    kinds::{
        names,
        read::{flag, list, number, text},
    },
};

/// The fields of a container's security context as declared in Kubernetes' internal type: errors
/// that show the whole context use this order.
const CONTEXT_FIELDS: &[(&str, &str)] = &[
    ("Capabilities", "capabilities"),
    ("Privileged", "privileged"),
    ("SELinuxOptions", "seLinuxOptions"),
    ("WindowsOptions", "windowsOptions"),
    ("RunAsUser", "runAsUser"),
    ("RunAsGroup", "runAsGroup"),
    ("RunAsNonRoot", "runAsNonRoot"),
    ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
    ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
    ("ProcMount", "procMount"),
    ("SeccompProfile", "seccompProfile"),
    ("AppArmorProfile", "appArmorProfile"),
];

pub(super) fn of_pod(errors: &mut Errors, spec: &Value, path: &Path) {
    let context = &spec["securityContext"];
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(errors, number(context, &[name]), &path.child(name));
    }
    for (i, group) in list(context, &["supplementalGroups"]).iter().enumerate() {
        id(errors, group.as_i64(), &path.child("supplementalGroups").index(i));
    }
    sysctls(errors, spec, &path.child("sysctls"));
    enumeration(errors, context, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], path);
    seccomp(errors, &context["seccompProfile"], &path.child("seccompProfile"));
    app_armor(errors, &context["appArmorProfile"], &path.child("appArmorProfile"));
    enumeration(errors, context, "supplementalGroupsPolicy", &["Merge", "Strict"], path);
    enumeration(errors, context, "seLinuxChangePolicy", &["MountOption", "Recursive"], path);
}

pub(super) fn of_container(errors: &mut Errors, spec: &Value, container: &Value, path: &Path) {
    let context = &container["securityContext"];
    if !context.is_object() {
        return;
    }
    for name in ["runAsUser", "runAsGroup"] {
        id(errors, number(context, &[name]), &path.child(name));
    }
    enumeration(errors, context, "procMount", &["Default", "Unmasked"], path);
    if text(context, &["procMount"]) == "Unmasked" && spec["hostUsers"] != json!(false) {
        let message = "`hostUsers` must be false to use `Unmasked`";
        errors.push(FieldError::invalid(path.child("procMount"), &context["procMount"], message));
    }
    seccomp(errors, &context["seccompProfile"], &path.child("seccompProfile"));
    escalation(errors, context, path);
    app_armor(errors, &context["appArmorProfile"], &path.child("appArmorProfile"));
}

fn escalation(errors: &mut Errors, context: &Value, path: &Path) {
    if context["allowPrivilegeEscalation"] != json!(false) {
        return;
    }
    let mut refuse = |detail: &str| {
        let type_ = FieldErrorType::Invalid(declared(context));
        errors.push(FieldError { path: path.clone(), type_, detail: detail.to_owned() });
    };
    if flag(context, &["privileged"]) {
        refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    let added = list(context, &["capabilities", "add"]);
    // Kubernetes reports it each time it is added; the texts are equal, and listed once.
    if added.iter().any(|capability| capability == "CAP_SYS_ADMIN") {
        refuse(
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        );
    }
}

/// A security context as JSON of Kubernetes' internal type.
fn declared(context: &Value) -> String {
    let field =
        |(shown, name): &(&str, &str)| format!("{shown:?}:{}", capitalized(&context[*name]));
    let fields: Vec<String> = CONTEXT_FIELDS.iter().map(field).collect();
    format!("{{{}}}", fields.join(","))
}

fn capitalized(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let mut shown = Map::new();
    for (name, value) in fields {
        let mut letters = name.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        shown.insert(first.into_iter().chain(letters).collect(), value.clone());
    }
    if let Some(other) = match (shown.contains_key("Add"), shown.contains_key("Drop")) {
        (true, false) => Some("Drop"),
        (false, true) => Some("Add"),
        _ => None,
    } {
        shown.insert(other.to_owned(), Value::Null);
    }
    Value::Object(shown)
}

fn id(errors: &mut Errors, id: Option<i64>, path: &Path) {
    if let Some(id) = id {
        number_invalid(errors, id, path, names::in_range(id, 0, i64::from(i32::MAX)));
    }
}

/// A field that, if present, has one of a few values.
fn enumeration(errors: &mut Errors, context: &Value, name: &str, supported: &[&str], path: &Path) {
    if let Some(word) = context[name].as_str().filter(|word| !supported.contains(word)) {
        errors.push(FieldError::not_supported(path.child(name), &json!(word), supported));
    }
}

fn sysctls(errors: &mut Errors, spec: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, sysctl) in list(spec, &["securityContext", "sysctls"]).iter().enumerate() {
        let path = path.index(i).child("name");
        let name = text(sysctl, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
        } else if !is_sysctl(name) {
            let message = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.push(FieldError::invalid(path.clone(), &json!(name), message));
        } else if seen.contains(name) {
            errors.push(FieldError::duplicate(path.clone(), &json!(name)));
        }
        for (on, space) in [
            ("hostNetwork", &["net."][..]),
            ("hostIPC", &["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."]),
        ] {
            if flag(spec, &[on])
                && space.iter().any(|prefix| name.replace('/', ".").starts_with(prefix))
            {
                let message = format!("may not be specified when '{on}' is true");
                errors.push(FieldError::invalid(path.clone(), &json!(name), message));
            }
        }
        seen.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let segment = |part: &str| {
        part.starts_with(word)
            && part.ends_with(word)
            && part.chars().all(|c| word(c) || c == '-' || c == '_')
    };
    name.len() <= 253 && name.split(['.', '/']).all(segment)
}

fn seccomp(errors: &mut Errors, profile: &Value, path: &Path) {
    if !profile.is_object() {
        return;
    }
    let kind = text(profile, &["type"]);
    let local = profile["localhostProfile"].as_str();
    let supported = ["Localhost", "RuntimeDefault", "Unconfined"];
    if kind.is_empty() {
        let message = "type is required when seccompProfile is set";
        errors.push(FieldError::required(path.child("type"), message));
    } else if !supported.contains(&kind) {
        errors.push(FieldError::not_supported(path.child("type"), &json!(kind), &supported));
    }
    let path = path.child("localhostProfile");
    match (kind, local) {
        ("Localhost", None) => {
            errors.push(FieldError::required(path, "must be set when seccomp type is Localhost"));
        }
        ("Localhost", Some(local)) => descending_path(errors, local, &path),
        (_, Some(local)) => {
            let shown =
                format!("{{\"Type\":{},\"LocalhostProfile\":{}}}", json!(kind), json!(local));
            let detail = "can only be set when seccomp type is Localhost".to_owned();
            errors.push(FieldError { path, type_: FieldErrorType::Invalid(shown), detail });
        }
        (_, None) => {}
    }
}

fn app_armor(errors: &mut Errors, profile: &Value, path: &Path) {
    if !profile.is_object() {
        return;
    }
    let local = profile["localhostProfile"].as_str();
    let local_path = path.child("localhostProfile");
    match (text(profile, &["type"]), local) {
        ("Localhost", None | Some("")) => {
            let message = "must be set when AppArmor type is Localhost";
            errors.push(FieldError::required(local_path, message));
        }
        ("Localhost", Some(local)) => {
            if local.trim() != local {
                let message = "must not be padded with whitespace";
                errors.push(FieldError::invalid(local_path.clone(), &json!(local), message));
            }
            if local.len() > 4095 {
                errors.push(FieldError::too_long(local_path, 4095));
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(local)) => {
            let message = "can only be set when AppArmor type is Localhost";
            errors.push(FieldError::invalid(local_path, &json!(local), message));
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => {
            let message = "type is required when appArmorProfile is set";
            errors.push(FieldError::required(path.child("type"), message));
        }
        (other, _) => {
            let supported = ["Localhost", "RuntimeDefault", "Unconfined"];
            errors.push(FieldError::not_supported(path.child("type"), &json!(other), &supported));
        }
    }
}
