//! Metadata common to all kinds: names, labels, annotations, owners, finalizers, timestamps.
//!
//! A create runs [`prepare_create`], the kind's `prepare_create`, [`validate_create`], then the
//! kind's `validate_create`. An update runs [`prepare_update`], the kind's `prepare_update`,
//! [`validate_update`], then the kind's `validate_update`. Kubernetes runs some checks twice and
//! shows each text once: the joined list goes through [`distinct`]. Sources:
//! `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`, and `create.go`, `update.go` and
//! `meta.go` in `k8s.io/apiserver/pkg/registry/rest`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use crate::invalid::distinct;
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path, Shown, quoted},
    kinds::{
        Admission, Kind,
        names::{self, Check},
        read::{at, carry_over, entries, entry, list, number, remove, text},
    },
};

/// Maximum total size of all annotation keys and values, in bytes.
const ANNOTATIONS_MOST: usize = 256 * 1024;
/// A generated name has at most 63 characters, five of them random.
const GENERATED_BASE_MOST: usize = 63 - 5;
const STANDARD_FINALIZERS: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

// === preparing ===

/// Sets what the server owns in a new object and drops the client's values for it. A `generation`
/// set by the client is kept, unless the kind counts its own.
pub(crate) fn prepare_create(object: &mut Value, at: &Admission, uid: &str, suffix: &str) {
    for name in ["deletionGracePeriodSeconds", "deletionTimestamp", "managedFields", "selfLink"] {
        remove(object, &["metadata", name]);
    }
    *entry(object, &["metadata", "creationTimestamp"]) = json!(seconds(at.now));
    *entry(object, &["metadata", "uid"]) = json!(uid);
    let base = text(object, &["metadata", "generateName"]);
    if text(object, &["metadata", "name"]).is_empty() && !base.is_empty() {
        let name = generated_name(base, suffix);
        *entry(object, &["metadata", "name"]) = json!(name);
    }
}

/// Silently restores what an update may omit or cannot change.
pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    for name in ["managedFields", "selfLink"] {
        remove(new, &["metadata", name]);
    }
    for name in ["generation", "creationTimestamp"] {
        carry_over(new, old, &["metadata", name]);
    }
    if text(new, &["metadata", "uid"]).is_empty() {
        carry_over(new, old, &["metadata", "uid"]);
    }
    if !at(old, &["metadata", "deletionTimestamp"]).is_null() {
        carry_over(new, old, &["metadata", "deletionTimestamp"]);
    }
    if at(new, &["metadata", "deletionGracePeriodSeconds"]).is_null() {
        carry_over(new, old, &["metadata", "deletionGracePeriodSeconds"]);
    }
}

/// Drops duplicate owner references, as for every client's object, and returns the warnings.
pub(crate) fn drop_duplicate_owners(object: &mut Value) -> Option<String> {
    let owners = list(object, &["metadata", "ownerReferences"]);
    let mut seen = BTreeSet::new();
    let (kept, dropped): (Vec<&Value>, Vec<&Value>) =
        owners.iter().partition(|owner| seen.insert(owner.to_string()));
    if dropped.is_empty() {
        return None;
    }
    let dropped: Vec<String> =
        dropped.into_iter().map(|owner| text(owner, &["uid"]).to_owned()).collect();
    let kept = kept.into_iter().cloned().collect();
    *entry(object, &["metadata", "ownerReferences"]) = Value::Array(kept);
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        dropped.join(", ")
    ))
}

/// A time as in objects: whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn generated_name(base: &str, suffix: &str) -> String {
    let mut cut = base.len().min(GENERATED_BASE_MOST);
    while !base.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}{suffix}", &base[..cut])
}

// === validating ===

pub(crate) fn validate_create(kind: &Kind, object: &Value) -> Errors {
    let check = kind.strategy.name();
    let mut errors = checked(kind, object, check);
    errors.extend(well_known_finalizers(kind, object));
    if errors.is_empty() {
        errors.extend(checked(kind, object, Check::PathSegment));
    }
    distinct(errors)
}

pub(crate) fn validate_update(kind: &Kind, new: &Value, old: &Value) -> Errors {
    let mut errors = checked(kind, new, Check::PathSegment);
    errors.extend(changed(new, old));
    errors.extend(well_known_finalizers(kind, new));
    distinct(errors)
}

/// The error for a write without a resourceVersion if the kind requires one.
pub(crate) fn missing_resource_version() -> FieldError {
    let path = Path::root("metadata").child("resourceVersion");
    FieldError::invalid(path, &json!(0), "must be specified for an update")
}

/// One error for each message of a check in [`names`].
pub(crate) fn invalid(path: &Path, value: &str, messages: Vec<String>) -> Errors {
    let value = json!(value);
    messages.into_iter().map(|text| FieldError::invalid(path.clone(), &value, text)).collect()
}

/// Keys and values of a map of labels, also of a selector.
pub(crate) fn labels(labels: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for (key, value) in entries(labels, &[]) {
        let value = value.as_str().unwrap_or_default();
        errors.extend(invalid(path, key, names::qualified_name(key)));
        errors.extend(invalid(path, value, names::label_value(value)));
    }
    errors
}

pub(crate) fn annotations(annotations: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut size = 0;
    for (key, value) in entries(annotations, &[]) {
        size += key.len() + value.as_str().unwrap_or_default().len();
        errors.extend(invalid(path, key, names::qualified_name(&key.to_lowercase())));
    }
    if size > ANNOTATIONS_MOST {
        errors.push(FieldError::too_long(path.clone(), ANNOTATIONS_MOST));
    }
    errors
}

fn checked(kind: &Kind, object: &Value, check: Check) -> Errors {
    let metadata = at(object, &["metadata"]);
    let path = Path::root("metadata");
    let mut errors = name(metadata, check, &path);
    errors.extend(namespace(kind, metadata, &path));
    errors.extend(generation(metadata, &path));
    errors.extend(labels(at(metadata, &["labels"]), &path.child("labels")));
    errors.extend(annotations(at(metadata, &["annotations"]), &path.child("annotations")));
    errors.extend(owners(metadata, &path.child("ownerReferences")));
    errors.extend(finalizers(metadata, &path.child("finalizers")));
    errors
}

fn name(metadata: &Value, check: Check, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let base = text(metadata, &["generateName"]);
    if !base.is_empty() {
        errors.extend(invalid(&path.child("generateName"), base, check.wrong(base, true)));
    }
    match text(metadata, &["name"]) {
        "" => errors
            .push(FieldError::required(path.child("name"), "name or generateName is required")),
        name => errors.extend(invalid(&path.child("name"), name, check.wrong(name, false))),
    }
    errors
}

fn namespace(kind: &Kind, metadata: &Value, path: &Path) -> Errors {
    let path = path.child("namespace");
    match (kind.namespaced, text(metadata, &["namespace"])) {
        (true, "") => vec![FieldError::required(path, "")],
        (true, name) => invalid(&path, name, names::dns1123_label(name)),
        (false, "") => Errors::new(),
        (false, _) => vec![FieldError::forbidden(path, "not allowed on this type")],
    }
}

fn generation(metadata: &Value, path: &Path) -> Errors {
    let generation = number(metadata, &["generation"]).unwrap_or_default();
    if generation >= 0 {
        return Errors::new();
    }
    let path = path.child("generation");
    vec![FieldError::invalid(path, &json!(generation), "must be greater than or equal to 0")]
}

fn owners(metadata: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let owners = list(metadata, &["ownerReferences"]);
    let mut controller: Option<(String, Shown)> = None;
    for (i, owner) in owners.iter().enumerate() {
        errors.extend(one_owner(owner, &path.index(i)));
        if owner["controller"] != json!(true) {
            continue;
        }
        let this = format!("{}/{}", text(owner, &["kind"]), text(owner, &["name"]));
        let Some((first, all)) = &controller else {
            let all: Vec<String> = owners.iter().map(printed_owner).collect();
            controller = Some((this, Shown::new(format!("[{}]", all.join(",")))));
            continue;
        };
        errors.push(FieldError {
            path: path.clone(),
            type_: FieldErrorType::Invalid(all.text()),
            detail: format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
            ),
        });
    }
    errors
}

fn one_owner(owner: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    let version = text(owner, &["apiVersion"]);
    if version.is_empty() {
        errors.push(FieldError::required(path.child("apiVersion"), "must not be empty"));
    } else if version.matches('/').count() > 1 || version.ends_with('/') {
        errors.push(FieldError::invalid(
            path.child("apiVersion"),
            &json!(version),
            "must be <group>/<version> or <version>",
        ));
    }
    for name in ["kind", "name", "uid"] {
        if text(owner, &[name]).is_empty() {
            errors.push(FieldError::required(path.child(name), "must not be empty"));
        }
    }
    if version.trim_start_matches('/') == "v1" && text(owner, &["kind"]) == "Event" {
        errors.push(FieldError {
            path: path.clone(),
            type_: FieldErrorType::Invalid(printed_owner(owner)),
            detail: "/v1, Kind=Event is disallowed from being an owner".to_owned(),
        });
    }
    errors
}

/// An owner reference with its fields in the order in which Kubernetes declares them.
fn printed_owner(owner: &Value) -> String {
    let mut fields: Vec<String> = ["apiVersion", "kind", "name", "uid"]
        .iter()
        .map(|name| format!("{name:?}:{}", json!(text(owner, &[name]))))
        .collect();
    for name in ["controller", "blockOwnerDeletion"] {
        if !owner[name].is_null() {
            fields.push(format!("{name:?}:{}", owner[name]));
        }
    }
    format!("{{{}}}", fields.join(","))
}

fn finalizers(metadata: &Value, path: &Path) -> Errors {
    let given = strings(metadata, "finalizers");
    let mut errors: Errors =
        given.iter().flat_map(|name| invalid(path, name, names::qualified_name(name))).collect();
    if given.contains(&"orphan") && given.contains(&"foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path.clone(), &json!(given), detail));
    }
    errors
}

/// Kubernetes' own kinds accept three finalizers without a domain. Leases, Events and kinds for
/// custom resources do not check.
fn well_known_finalizers(kind: &Kind, object: &Value) -> Errors {
    let looks = ["", "apps", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io"];
    if !looks.contains(&&*kind.group) || kind.kind == "Event" {
        return Errors::new();
    }
    let path = Path::root("metadata").child("finalizers");
    let given = strings(&object["metadata"], "finalizers");
    let unknown = given
        .iter()
        .enumerate()
        .filter(|(_, name)| !name.contains('/') && !STANDARD_FINALIZERS.contains(name));
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    unknown.map(|(i, name)| FieldError::invalid(path.index(i), &json!(name), detail)).collect()
}

fn changed(new: &Value, old: &Value) -> Errors {
    let path = Path::root("metadata");
    let mut errors = Errors::new();
    if !at(old, &["metadata", "deletionTimestamp"]).is_null() {
        errors.extend(new_finalizers(new, old, &path.child("finalizers")));
    }
    let generations = [new, old].map(|object| number(object, &["metadata", "generation"]));
    if generations[0].unwrap_or_default() < generations[1].unwrap_or_default() {
        let value = json!(generations[0].unwrap_or_default());
        let path = path.child("generation");
        errors.push(FieldError::invalid(path, &value, "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        let (new, old) = (text(new, &["metadata", name]), text(old, &["metadata", name]));
        if new != old {
            errors.push(FieldError::immutable(path.child(name), &json!(new)));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, old) = (at(new, &["metadata", name]), at(old, &["metadata", name]));
        if new != old {
            errors.push(FieldError::immutable(path.child(name), new));
        }
    }
    errors
}

fn new_finalizers(new: &Value, old: &Value, path: &Path) -> Errors {
    let old: BTreeSet<&str> = strings(&old["metadata"], "finalizers").into_iter().collect();
    let new: BTreeSet<&str> = strings(&new["metadata"], "finalizers").into_iter().collect();
    let added: Vec<String> =
        new.iter().filter(|name| !old.contains(*name)).map(|name| quoted(name)).collect();
    if added.is_empty() {
        return Errors::new();
    }
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    vec![FieldError::forbidden(path.clone(), detail)]
}

fn strings<'a>(value: &'a Value, name: &str) -> Vec<&'a str> {
    list(value, &[name]).iter().map(|value| value.as_str().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::{endpointslice::ENDPOINT_SLICE, service::SERVICE},
        settings::Features,
    };

    fn admission() -> Admission {
        Admission {
            now: "2026-01-01T00:00:00.987Z".parse().unwrap(),
            features: Features::default(),
        }
    }

    fn wrong(metadata: &Value) -> Vec<String> {
        let mut metadata = metadata.clone();
        for (name, value) in [("name", json!("a")), ("namespace", json!("n"))] {
            let place = entry(&mut metadata, &[name]);
            if place.is_null() {
                *place = value;
            }
        }
        let errors = validate_create(&SERVICE, &json!({"metadata": metadata}));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn metadata_is_checked_in_the_words_of_kubernetes() {
        for (metadata, texts) in [
            (json!({}), &[][..]),
            (
                json!({"name": ""}),
                &["metadata.name: Required value: name or generateName is required"],
            ),
            (
                json!({"namespace": "a.b"}),
                &["metadata.namespace: Invalid value: \"a.b\": must not contain dots"],
            ),
            (
                json!({"generation": -1}),
                &["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
            ),
            (
                json!({"labels": {"a": "x", "/b": "y"}}),
                &["metadata.labels: Invalid value: \"/b\": prefix part must be non-empty"],
            ),
            (json!({"annotations": {"UPPER.example.com/A": "any"}}), &[]),
            (
                json!({"annotations": {"a": "x".repeat(256 * 1024)}}),
                &["metadata.annotations: Too long: may not be more than 262144 bytes"],
            ),
            (
                json!({"finalizers": ["orphan", "foregroundDeletion"]}),
                &[
                    "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set",
                ],
            ),
            (
                json!({"finalizers": ["mine"]}),
                &[
                    "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified",
                ],
            ),
            (
                json!({"ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u"}]}),
                &[
                    "metadata.ownerReferences[0].apiVersion: Invalid value: \"a/b/c\": must be <group>/<version> or <version>",
                ],
            ),
        ] {
            assert_eq!(wrong(&metadata), texts, "{metadata}");
        }
    }

    #[test]
    fn a_new_object_is_the_servers_to_stamp() {
        let base = "x".repeat(70);
        let mut object = json!({"metadata": {
            "generateName": base, "uid": "mine", "selfLink": "/x", "generation": 9,
            "deletionTimestamp": "2020-01-01T00:00:00Z", "managedFields": [],
        }});
        prepare_create(&mut object, &admission(), "u", "abcde");
        assert_eq!(
            object["metadata"],
            json!({
                "generateName": base, "name": format!("{}abcde", "x".repeat(58)), "uid": "u",
                "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 9,
            })
        );
    }

    #[test]
    fn an_update_keeps_what_it_may_not_change() {
        let old = json!({"metadata": {
            "name": "a", "namespace": "n", "uid": "u", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-02T00:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": ["x.io/f"],
        }});
        let mut new = json!({"metadata": {
            "name": "a", "namespace": "n", "generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z",
            "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["x.io/f"],
        }});
        prepare_update(&mut new, &old);
        assert_eq!(new, old);
        assert!(validate_update(&ENDPOINT_SLICE, &new, &old).is_empty());
        *entry(&mut new, &["metadata", "uid"]) = json!("v");
        *entry(&mut new, &["metadata", "finalizers"]) = json!(["x.io/f", "x.io/h", "x.io/g"]);
        let texts: Vec<String> =
            validate_update(&ENDPOINT_SLICE, &new, &old).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x.io/g\", \"x.io/h\"}",
                "metadata.uid: Invalid value: \"v\": field is immutable",
            ]
        );
    }

    #[test]
    fn a_missing_version_is_printed_as_a_number() {
        assert_eq!(
            missing_resource_version().to_string(),
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        );
    }
}
