//! Defaults of a pod spec. Source: `pkg/apis/core/v1/defaults.go` and `zz_generated.defaults.go`.

use evenkeel_model::quantity::Amount;
use serde_json::{Map, Value, json};

use crate::kinds::read::{entry, flag, number, quantity, text};

const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// A whole Pod: its spec, defaults that only pods have, and the addresses in its status.
pub(crate) fn pod(object: &mut Value) {
    let pod_spec = entry(object, &["spec"]);
    spec(pod_spec);
    if number(pod_spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        pod_spec["terminationGracePeriodSeconds"] = json!(1);
    }
    for name in ["containers", "initContainers"] {
        each(pod_spec, name, requests_from_limits);
    }
    set_absent(pod_spec, "enableServiceLinks", json!(true));
    if flag(pod_spec, &["hostNetwork"]) {
        host_ports(pod_spec);
    }
    inside(object, "status", addresses);
}

/// The spec of a pod or of a template.
pub(crate) fn spec(spec: &mut Value) {
    if !spec.is_object() {
        *spec = json!({});
    }
    service_account(spec);
    set_empty(spec, "dnsPolicy", "ClusterFirst");
    set_empty(spec, "restartPolicy", "Always");
    set_absent(spec, "securityContext", json!({}));
    set_absent(spec, "terminationGracePeriodSeconds", json!(30));
    set_empty(spec, "schedulerName", "default-scheduler");
    each(spec, "volumes", volume);
    for name in CONTAINER_LISTS {
        each(spec, name, container);
    }
    inside(spec, "overhead", resource_list);
    inside(spec, "resources", requirements);
}

/// The deprecated name of the service account follows the new one.
fn service_account(spec: &mut Value) {
    let name = match text(spec, &["serviceAccountName"]) {
        "" => text(spec, &["serviceAccount"]),
        name => name,
    };
    if name.is_empty() {
        return;
    }
    let name = json!(name);
    spec["serviceAccount"] = name.clone();
    spec["serviceAccountName"] = name;
}

fn container(container: &mut Value) {
    let policy = pull_policy(text(container, &["image"]));
    set_empty(container, "imagePullPolicy", policy);
    set_empty(container, "terminationMessagePath", "/dev/termination-log");
    set_empty(container, "terminationMessagePolicy", "File");
    each(container, "ports", |port| set_empty(port, "protocol", "TCP"));
    each(container, "env", |variable| inside(variable, "valueFrom", env_source));
    inside(container, "resources", requirements);
    for name in PROBES {
        inside(container, name, probe);
    }
    inside(container, "lifecycle", |lifecycle| {
        for hook in ["postStart", "preStop"] {
            inside(lifecycle, hook, |hook| inside(hook, "httpGet", http_get));
        }
    });
}

fn env_source(source: &mut Value) {
    inside(source, "fieldRef", |selector| set_empty(selector, "apiVersion", "v1"));
    inside(source, "fileKeyRef", |selector| set_absent(selector, "optional", json!(false)));
    inside(source, "resourceFieldRef", divisor);
}

/// A divisor is always shown, `0` if not set.
fn divisor(selector: &mut Value) {
    set_absent(selector, "divisor", json!("0"));
}

fn probe(probe: &mut Value) {
    for (name, seconds) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if number(probe, &[name]).unwrap_or_default() == 0 {
            probe[name] = json!(seconds);
        }
    }
    inside(probe, "httpGet", http_get);
    inside(probe, "grpc", |action| set_absent(action, "service", json!("")));
}

fn http_get(action: &mut Value) {
    set_empty(action, "path", "/");
    set_empty(action, "scheme", "HTTP");
}

fn volume(volume: &mut Value) {
    if volume.as_object().is_some_and(|fields| !fields.keys().any(|name| name != "name")) {
        volume["emptyDir"] = json!({});
    }
    inside(volume, "hostPath", |source| set_absent(source, "type", json!("")));
    for name in ["secret", "configMap", "downwardAPI", "projected"] {
        inside(volume, name, |source| set_absent(source, "defaultMode", json!(0o644)));
    }
    inside(volume, "downwardAPI", |source| each(source, "items", env_source));
    inside(volume, "projected", |source| each(source, "sources", projection));
    remote_volume(volume);
}

fn projection(source: &mut Value) {
    inside(source, "downwardAPI", |downward| each(downward, "items", env_source));
    inside(source, "serviceAccountToken", |token| {
        set_absent(token, "expirationSeconds", json!(3600));
    });
}

/// Volumes that come from elsewhere.
fn remote_volume(volume: &mut Value) {
    for (name, field, value) in [
        ("iscsi", "iscsiInterface", "default"),
        ("rbd", "pool", "rbd"),
        ("rbd", "user", "admin"),
        ("rbd", "keyring", "/etc/ceph/keyring"),
        ("azureDisk", "cachingMode", "ReadWrite"),
        ("azureDisk", "fsType", "ext4"),
        ("azureDisk", "kind", "Shared"),
        ("scaleIO", "storageMode", "ThinProvisioned"),
        ("scaleIO", "fsType", "xfs"),
    ] {
        inside(volume, name, |source| set_empty(source, field, value));
    }
    inside(volume, "azureDisk", |disk| set_absent(disk, "readOnly", json!(false)));
    inside(volume, "image", |image| {
        let policy = pull_policy(text(image, &["reference"]));
        set_empty(image, "pullPolicy", policy);
    });
    inside(volume, "ephemeral", |source| {
        inside(source, "volumeClaimTemplate", |template| {
            set_empty(entry(template, &["spec"]), "volumeMode", "Filesystem");
        });
    });
}

/// `Always` for an image that may change under its name (`latest`, or no tag at all), else
/// `IfNotPresent`.
fn pull_policy(image: &str) -> &'static str {
    match tag(image) {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    }
}

/// The tag of an image, `latest` if it has neither tag nor digest; `None` if it has only a digest,
/// or is not a valid reference. Source: the grammar of `github.com/distribution/reference`.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name[start..].find(':') {
        Some(colon) => (&name[..start + colon], Some(&name[start + colon + 1..])),
        None => (name, None),
    };
    let path = match repository.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => repository,
    };
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let component = |part: &str| {
        part.starts_with(word)
            && part.ends_with(word)
            && part.chars().all(|c| word(c) || matches!(c, '.' | '_' | '-'))
    };
    let tag_fits = |tag: &str| {
        tag.len() <= 128
            && tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && tag.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    if !path.split('/').all(component) || !tag.is_none_or(tag_fits) {
        return None;
    }
    match (tag, digest) {
        (Some(tag), _) => Some(tag),
        (None, None) => Some("latest"),
        (None, Some(_)) => None,
    }
}

fn requirements(resources: &mut Value) {
    inside(resources, "limits", resource_list);
    inside(resources, "requests", resource_list);
}

/// Rounds amounts up to thousandths.
fn resource_list(list: &mut Value) {
    for amount in list.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(rounded) = quantity(amount).and_then(Amount::rounded_to_milli) {
            *amount = json!(rounded.canonical());
        }
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(limits) = container["resources"]["limits"].as_object().cloned() else { return };
    let requests = entry(container, &["resources", "requests"]);
    if requests.is_null() {
        *requests = json!({});
    }
    for (name, amount) in limits {
        set_absent(requests, &name, amount);
    }
}

/// On the host's network, a container's port is the host's.
fn host_ports(spec: &mut Value) {
    let port = |port: &mut Value| {
        let of_container = number(port, &["containerPort"]).unwrap_or_default();
        if of_container != 0 && number(port, &["hostPort"]).unwrap_or_default() == 0 {
            port["hostPort"] = json!(of_container);
        }
    };
    for name in ["containers", "initContainers"] {
        each(spec, name, |container| each(container, "ports", port));
    }
}

/// `podIP` and the first of `podIPs` are the same; the older field wins.
fn addresses(status: &mut Value) {
    let one = text(status, &["podIP"]).to_owned();
    let first = status["podIPs"][0]["ip"].as_str().unwrap_or_default().to_owned();
    if status["podIPs"].as_array().is_some_and(|ips| !ips.is_empty())
        && (one.is_empty() || one == first)
    {
        if !first.is_empty() {
            status["podIP"] = json!(first);
        }
        return;
    }
    if !one.is_empty() {
        status["podIPs"] = json!([{"ip": one}]);
    }
}

// === reading and writing ===

fn each(value: &mut Value, name: &str, set: impl Fn(&mut Value)) {
    let Some(items) = value.get_mut(name).and_then(Value::as_array_mut) else { return };
    items.iter_mut().filter(|item| item.is_object()).for_each(set);
}

fn inside(value: &mut Value, name: &str, set: impl FnOnce(&mut Value)) {
    if let Some(field) = value.get_mut(name).filter(|field| field.is_object()) {
        set(field);
    }
}

fn set_absent(value: &mut Value, name: &str, default: Value) {
    let Some(fields) = value.as_object_mut() else { return };
    let field = fields.entry(name).or_insert(Value::Null);
    if field.is_null() {
        *field = default;
    }
}

fn set_empty(value: &mut Value, name: &str, default: &str) {
    if text(value, &[name]).is_empty()
        && let Some(fields) = value.as_object_mut()
    {
        fields.insert(name.to_owned(), json!(default));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_tag() {
        for (image, policy) in [
            ("x", "Always"),
            ("x:latest", "Always"),
            ("x:1", "IfNotPresent"),
            ("registry.example:5000/x", "Always"),
            ("registry.example:5000/a/x:2", "IfNotPresent"),
            ("x@sha256:aa", "IfNotPresent"),
            ("x:latest@sha256:aa", "Always"),
            ("Upper", "IfNotPresent"),
            ("", "IfNotPresent"),
            ("x:", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    #[test]
    fn requests_follow_limits_and_are_at_most_as_fine_as_a_thousandth() {
        let mut object = json!({"spec": {"containers": [
            {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "10u"}}}]}});
        pod(&mut object);
        assert_eq!(
            object["spec"]["containers"][0]["resources"],
            json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1m", "memory": "1Gi"}})
        );
    }

    #[test]
    fn the_older_address_wins() {
        for (status, after) in [
            (json!({"podIP": "1"}), json!({"podIP": "1", "podIPs": [{"ip": "1"}]})),
            (json!({"podIPs": [{"ip": "2"}]}), json!({"podIP": "2", "podIPs": [{"ip": "2"}]})),
            (
                json!({"podIP": "1", "podIPs": [{"ip": "2"}, {"ip": "3"}]}),
                json!({"podIP": "1", "podIPs": [{"ip": "1"}]}),
            ),
            (json!({}), json!({})),
        ] {
            let mut status = status;
            addresses(&mut status);
            assert_eq!(status, after);
        }
    }

    #[test]
    fn host_network_takes_the_ports_of_the_host() {
        let mut object = json!({"spec": {"hostNetwork": true, "serviceAccount": "old",
            "terminationGracePeriodSeconds": -5,
            "containers": [{"ports": [{"containerPort": 80}]}]}});
        pod(&mut object);
        assert_eq!(object["spec"]["containers"][0]["ports"][0]["hostPort"], 80);
        assert_eq!(object["spec"]["serviceAccountName"], "old");
        assert_eq!(object["spec"]["terminationGracePeriodSeconds"], 1);
    }
}
