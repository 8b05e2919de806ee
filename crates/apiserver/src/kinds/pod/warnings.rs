//! Warnings about pod specs that are valid but probably unintended. Source:
//! `pkg/api/pod/warnings.go`.

mod paths;
mod ports;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    invalid::{Path, quoted},
    kinds::{
        addresses::ip_warnings,
        names::label_value,
        read::{entries, list, number, quantity, shown_quantity, text},
    },
    warnings::Warnings,
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

const OLD_NODE_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

const OLD_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const OLD_VOLUMES: &[(&str, &str, &str)] = &[
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The warnings for a pod, or for the template at `path`.
pub(crate) fn of(object: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Warnings::default();
    let spec = &object["spec"];
    let spec_path = path.child("spec");
    nodes(&mut warnings, spec, &spec_path);
    for (key, words) in OLD_ANNOTATIONS {
        if !object["metadata"]["annotations"][*key].is_null() {
            let path = path.child("metadata").child("annotations").key(key);
            warnings.push(format!("{path}: {words}"));
        }
    }
    volumes(&mut warnings, spec, &spec_path.child("volumes"));
    paths::overlaps(&mut warnings, spec);
    repeated(&mut warnings, spec, "hostAliases", "ip", &spec_path);
    repeated(&mut warnings, spec, "imagePullSecrets", "name", &spec_path);
    pull_secrets(&mut warnings, spec, &spec_path.child("imagePullSecrets"));
    fractions(&mut warnings, &spec["overhead"], &spec_path.child("overhead"));
    let containers: Vec<(&Value, Path)> = containers(spec, &spec_path);
    for (container, path) in &containers {
        resources(&mut warnings, container, &path.child("resources"));
        hidden_variables(&mut warnings, container, &path.child("env"));
    }
    ports::clashes(&mut warnings, &containers);
    ports::names(&mut warnings, &containers);
    if number(spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        let words = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{}: {words}", spec_path.child("terminationGracePeriodSeconds")));
    }
    affinity(&mut warnings, spec, &spec_path.child("affinity"));
    addresses(&mut warnings, spec, &spec_path);
    warnings.into_texts()
}

fn addresses(warnings: &mut Warnings, spec: &Value, path: &Path) {
    let servers = path.child("dnsConfig").child("nameservers");
    for (i, server) in list(spec, &["dnsConfig", "nameservers"]).iter().enumerate() {
        warnings.extend(ip_warnings(&servers.index(i), server.as_str().unwrap_or_default()));
    }
    for (i, alias) in list(spec, &["hostAliases"]).iter().enumerate() {
        let path = path.child("hostAliases").index(i).child("ip");
        warnings.extend(ip_warnings(&path, text(alias, &["ip"])));
    }
}

/// Init containers come first, as everywhere in Kubernetes.
fn containers<'a>(spec: &'a Value, path: &Path) -> Vec<(&'a Value, Path)> {
    let of_list = |name: &'static str| {
        let path = path.child(name);
        list(spec, &[name]).iter().enumerate().map(move |(i, container)| (container, path.index(i)))
    };
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(of_list).collect()
}

fn old_label(key: &str) -> Option<&'static str> {
    OLD_NODE_LABELS.iter().find(|(old, _)| *old == key).map(|(_, words)| *words)
}

fn nodes(warnings: &mut Warnings, spec: &Value, path: &Path) {
    for (key, _) in entries(spec, &["nodeSelector"]) {
        if let Some(words) = old_label(key) {
            warnings.push(format!("{}: {words}", path.child("nodeSelector").key(key)));
        }
    }
    node_affinity(
        warnings,
        &spec["affinity"]["nodeAffinity"],
        &path.child("affinity").child("nodeAffinity"),
    );
    for (i, constraint) in list(spec, &["topologySpreadConstraints"]).iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(i);
        let key = text(constraint, &["topologyKey"]);
        if let Some(words) = old_label(key) {
            warnings.push(format!("{}: {key} is {words}", path.child("topologyKey")));
        }
        null_selector(warnings, constraint, &path);
    }
}

fn node_affinity(warnings: &mut Warnings, affinity: &Value, path: &Path) {
    let required = path.child(REQUIRED).child("nodeSelectorTerms");
    for (i, term) in list(affinity, &[REQUIRED, "nodeSelectorTerms"]).iter().enumerate() {
        node_term(warnings, term, &required.index(i), false);
    }
    for (i, term) in list(affinity, &[PREFERRED]).iter().enumerate() {
        let path = path.child(PREFERRED).index(i).child("preference");
        node_term(warnings, &term["preference"], &path, true);
    }
}

fn node_term(warnings: &mut Warnings, term: &Value, path: &Path, values_checked: bool) {
    for (i, expression) in list(term, &["matchExpressions"]).iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        let key = text(expression, &["key"]);
        if let Some(words) = old_label(key) {
            warnings.push(format!("{}: {key} is {words}", path.child("key")));
        }
        let values = list(expression, &["values"]).iter().filter_map(Value::as_str).enumerate();
        for (j, value) in values.filter(|_| values_checked) {
            for words in label_value(value) {
                let path = path.child("values").index(j);
                warnings.push(format!("{path}: {value} is invalid, {words}"));
            }
        }
    }
}

fn null_selector(warnings: &mut Warnings, term: &Value, path: &Path) {
    if !term["labelSelector"].is_object() {
        let path = path.child("labelSelector");
        warnings.push(format!("{path}: a null labelSelector results in matching no pod"));
    }
}

fn volumes(warnings: &mut Warnings, spec: &Value, path: &Path) {
    for (i, volume) in list(spec, &["volumes"]).iter().enumerate() {
        for (name, shown, words) in OLD_VOLUMES {
            if volume[*name].is_object() {
                warnings.push(format!("{}: {words}", path.index(i).child(shown)));
            }
        }
    }
}

fn repeated(warnings: &mut Warnings, spec: &Value, name: &str, field: &str, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, item) in list(spec, &[name]).iter().enumerate() {
        let value = text(item, &[field]);
        if !seen.insert(value) {
            let path = path.child(name).index(i).child(field);
            warnings.push(format!("{path}: duplicate {field} {}", quoted(value)));
        }
    }
}

fn pull_secrets(warnings: &mut Warnings, spec: &Value, path: &Path) {
    for (i, secret) in list(spec, &["imagePullSecrets"]).iter().enumerate() {
        if text(secret, &["name"]).is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", path.index(i).child("name")));
        }
    }
}

fn resources(warnings: &mut Warnings, container: &Value, path: &Path) {
    for name in ["memory", "ephemeral-storage"] {
        for list in ["limits", "requests"] {
            fraction(warnings, &container["resources"][list], name, &path.child(list));
        }
    }
}

fn fractions(warnings: &mut Warnings, amounts: &Value, path: &Path) {
    for name in ["memory", "ephemeral-storage"] {
        fraction(warnings, amounts, name, path);
    }
}

fn fraction(warnings: &mut Warnings, amounts: &Value, name: &str, path: &Path) {
    if quantity(&amounts[name]).is_some_and(|amount| !amount.is_whole()) {
        let shown = quoted(&shown_quantity(&amounts[name]));
        let words = format!("fractional byte value {shown} is invalid, must be an integer");
        warnings.push(format!("{}: {words}", path.key(name)));
    }
}

fn hidden_variables(warnings: &mut Warnings, container: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, variable) in list(container, &["env"]).iter().enumerate() {
        let name = text(variable, &["name"]);
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = text(variable, &["value"]);
        if variable["valueFrom"].is_object() || value == reference || !value.contains(&reference) {
            let words = "which may be dropped when using apply";
            let name = quoted(name);
            warnings
                .push(format!("{}: hides previous definition of {name}, {words}", path.index(i)));
        }
    }
}

fn affinity(warnings: &mut Warnings, spec: &Value, path: &Path) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (i, term) in list(spec, &["affinity", kind, REQUIRED]).iter().enumerate() {
            null_selector(warnings, term, &path.child(kind).child(REQUIRED).index(i));
        }
        for (i, term) in list(spec, &["affinity", kind, PREFERRED]).iter().enumerate() {
            let path = path.child(kind).child(PREFERRED).index(i).child("podAffinityTerm");
            null_selector(warnings, &term["podAffinityTerm"], &path);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_things_are_pointed_out() {
        for (spec, expected) in [
            (
                json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}),
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
            ),
            (
                json!({"containers": [{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]}),
                "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
            ),
            (
                json!({"containers": [{"ports": [{"containerPort": 80}]}, {"ports": [{"containerPort": 80}]}]}),
                "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
            ),
            (
                json!({"containers": [{"resources": {"limits": {"memory": "1500m"}}}]}),
                "spec.containers[0].resources.limits[memory]: fractional byte value \"1500m\" is invalid, must be an integer",
            ),
            (
                json!({"topologySpreadConstraints": [{"topologyKey": "x"}]}),
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            ),
        ] {
            assert_eq!(of(&json!({"spec": spec}), &Path::none()), [expected]);
        }
    }
}
