//! ConfigMap.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed,
    names,
    read::{at, entries, flag},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

pub(crate) static CONFIG_MAP: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("ConfigMap"),
    plural: fixed("configmaps"),
    singular: fixed("configmap"),
    short_names: Held::Static(&[fixed("cm")]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.ConfigMap"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        Column {
            name: "Data",
            type_: "string",
            format: "",
            priority: 0,
            description: "io.k8s.api.core.v1.ConfigMap#data",
            cell: |object, _| {
                json!(entries(object, &["data"]).chain(entries(object, &["binaryData"])).count())
            },
        },
        table::AGE,
    ],
    strategy: Held::Static(&ConfigMapStrategy),
    custom: None,
});

/// Maximum total size of the values of a ConfigMap or Secret: 1 MiB.
pub(super) const MOST_BYTES: usize = 1 << 20;

#[derive(Debug)]
struct ConfigMapStrategy;

impl Strategy for ConfigMapStrategy {
    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate(object)
    }

    fn validate_update(&self, _: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        let mut errors = immutable(new, old, &["data", "binaryData"]);
        errors.extend(validate(new));
        errors
    }
}

/// Fields that may not change once `immutable` is set, including `immutable` itself.
pub(super) fn immutable(new: &Value, old: &Value, fields: &[&str]) -> Errors {
    if !flag(old, &["immutable"]) {
        return Errors::new();
    }
    let forbidden = |field: &str| {
        let words = "field is immutable when `immutable` is set";
        FieldError::forbidden(Path::root(field), words)
    };
    let unset = (!flag(new, &["immutable"])).then(|| forbidden("immutable"));
    let same = |field: &str| entries(new, &[field]).eq(entries(old, &[field]));
    let changed = fields.iter().filter(|field| !same(field)).map(|field| forbidden(field));
    unset.into_iter().chain(changed).collect()
}

/// The decoded length of a base64 text. Line breaks do not count, as in Go.
pub(super) fn decoded_len(text: &str) -> usize {
    text.bytes().filter(|digit| !b"=\r\n".contains(digit)).count() * 3 / 4
}

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let mut size = 0;
    for (key, value) in entries(object, &["data"]) {
        let path = Path::root("data").key(key);
        errors.extend(wrong_key(&path, key));
        if !at(object, &["binaryData", key]).is_null() {
            let words = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(path, &json!(key), words));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(object, &["binaryData"]) {
        errors.extend(wrong_key(&Path::root("binaryData").key(key), key));
        size += decoded_len(value.as_str().unwrap_or_default());
    }
    if size > MOST_BYTES {
        // Kubernetes names the whole object by a path of one empty name, which is printed like
        // this.
        errors.push(FieldError::too_long(Path::root("[]"), MOST_BYTES));
    }
    errors
}

pub(super) fn wrong_key(path: &Path, key: &str) -> Errors {
    let wrong = names::config_map_key(key).into_iter();
    wrong.map(|words| FieldError::invalid(path.clone(), &json!(key), words)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn data_is_checked_by_key_and_by_size() {
        let at = facts::admission();
        for (object, wrong) in [
            (json!({"data": {"a.b-c_D": "x"}, "binaryData": {"e": "eA=="}}), vec![]),
            (
                json!({"data": {"k": "x"}, "binaryData": {"k": "eA=="}}),
                vec!["data[k]: Invalid value: \"k\": duplicate of key present in binaryData"],
            ),
            (
                json!({"data": {"a b": "x"}}),
                vec![
                    "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                ],
            ),
            (json!({"data": {"k": "x".repeat(MOST_BYTES)}}), vec![]),
            (
                json!({"data": {"k": "x".repeat(MOST_BYTES)}, "binaryData": {"l": "eA=="}}),
                vec!["[]: Too long: may not be more than 1048576 bytes"],
            ),
        ] {
            assert_eq!(facts::texts(&ConfigMapStrategy.validate_create(&object, &at)), wrong);
        }
    }

    #[test]
    fn an_immutable_config_map_keeps_its_data_but_not_its_labels() {
        let old = json!({"immutable": true, "data": {"k": "v"}});
        for (new, wrong) in [
            (json!({"immutable": true, "data": {"k": "v"}, "metadata": {"labels": {}}}), vec![]),
            (
                json!({"data": {"k": "w"}}),
                vec![
                    "immutable: Forbidden: field is immutable when `immutable` is set",
                    "data: Forbidden: field is immutable when `immutable` is set",
                ],
            ),
            (
                json!({"immutable": true, "data": {"k": "v"}, "binaryData": {"b": ""}}),
                vec!["binaryData: Forbidden: field is immutable when `immutable` is set"],
            ),
        ] {
            let at = facts::admission();
            let errors = ConfigMapStrategy.validate_update(Part::Main, &new, &old, &at);
            assert_eq!(facts::texts(&errors), wrong);
        }
    }
}
