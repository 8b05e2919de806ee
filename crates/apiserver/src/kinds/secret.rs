//! Secret.

mod key_pair;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy,
    configmap::{MOST_BYTES, decoded_len, immutable, wrong_key},
    fixed, json_text,
    read::{at, carry_over, entries, entry, remove, text},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

pub(crate) static SECRET: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("Secret"),
    plural: fixed("secrets"),
    singular: fixed("secret"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.Secret"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[("type", |object| text(object, &["type"]).to_owned())],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        Column {
            name: "Type",
            type_: "string",
            format: "",
            priority: 0,
            description: "io.k8s.api.core.v1.Secret#type",
            cell: |object, _| json!(text(object, &["type"])),
        },
        Column {
            name: "Data",
            type_: "string",
            format: "",
            priority: 0,
            description: "io.k8s.api.core.v1.Secret#data",
            cell: |object, _| json!(entries(object, &["data"]).count()),
        },
        table::AGE,
    ],
    strategy: Held::Static(&SecretStrategy),
    custom: None,
});

const ACCOUNT: &str = "kubernetes.io/service-account.name";

#[derive(Debug)]
struct SecretStrategy;

impl Strategy for SecretStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        merge_string_data(object);
        if text(object, &["type"]).is_empty() {
            *entry(object, &["type"]) = json!("Opaque");
        }
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate(object)
    }

    fn prepare_update(&self, _: Part, new: &mut Value, old: &Value, _: &Admission) {
        if text(new, &["type"]).is_empty() {
            carry_over(new, old, &["type"]);
        }
    }

    fn validate_update(&self, _: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        let mut errors = Errors::new();
        if text(new, &["type"]) != text(old, &["type"]) {
            errors.push(FieldError::immutable(Path::root("type"), &new["type"]));
        }
        errors.extend(immutable(new, old, &["data"]));
        errors.extend(validate(new));
        errors
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        if text(new, &["type"]) != "kubernetes.io/tls" {
            return Vec::new();
        }
        let [certificate, key] = ["tls.crt", "tls.key"].map(|key| bytes(new, key));
        key_pair::wrong(&certificate, &key).into_iter().collect()
    }
}

/// `stringData` is write-only: it overwrites `data`, encoded.
fn merge_string_data(object: &mut Value) {
    let Some(Value::Object(texts)) = remove(object, &["stringData"]) else {
        return;
    };
    for (key, value) in texts {
        let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
        *entry(object, &["data", &key]) = json!(encoded);
    }
}

fn validate(object: &Value) -> Errors {
    let data = Path::root("data");
    let mut errors = Errors::new();
    let mut size = 0;
    for (key, value) in entries(object, &["data"]) {
        errors.extend(wrong_key(&data.key(key), key));
        size += decoded_len(value.as_str().unwrap_or_default());
    }
    if size > MOST_BYTES {
        errors.push(FieldError::too_long(data, MOST_BYTES));
    }
    errors.extend(wrong_content(object));
    errors
}

/// The requirements of the known types.
fn wrong_content(object: &Value) -> Errors {
    let path = |key: &str| Path::root("data").key(key);
    let required = |key: &str| FieldError::required(path(key), "");
    let missing = |key: &str| at(object, &["data", key]).is_null();
    match text(object, &["type"]) {
        "kubernetes.io/service-account-token" => {
            let annotations = Path::root("metadata").child("annotations");
            let none = text(object, &["metadata", "annotations", ACCOUNT]).is_empty();
            none.then(|| FieldError::required(annotations.key(ACCOUNT), "")).into_iter().collect()
        }
        "kubernetes.io/dockercfg" => wrong_json(object, ".dockercfg").into_iter().collect(),
        "kubernetes.io/dockerconfigjson" => {
            wrong_json(object, ".dockerconfigjson").into_iter().collect()
        }
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            vec![required("username"), required("password")]
        }
        "kubernetes.io/ssh-auth" if text(object, &["data", "ssh-privatekey"]).is_empty() => {
            vec![required("ssh-privatekey")]
        }
        "kubernetes.io/tls" => {
            ["tls.crt", "tls.key"].into_iter().filter(|key| missing(key)).map(required).collect()
        }
        _ => Errors::new(),
    }
}

fn wrong_json(object: &Value, key: &str) -> Option<FieldError> {
    let path = Path::root("data").key(key);
    if at(object, &["data", key]).is_null() {
        return Some(FieldError::required(path, ""));
    }
    let words = json_text::wrong_map(&bytes(object, key))?;
    Some(FieldError::invalid(path, &json!("<secret contents redacted>"), words))
}

fn bytes(object: &Value, key: &str) -> Vec<u8> {
    let mut encoded = text(object, &["data", key]).to_owned();
    encoded.retain(|digit| digit != '\r' && digit != '\n');
    STANDARD.decode(encoded).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    fn defaulted(mut object: Value) -> Value {
        SecretStrategy.default(&mut object, &facts::admission());
        object
    }

    #[test]
    fn string_data_goes_into_data() {
        let given = json!({"stringData": {"user": "x", "pass": "y"}, "data": {"pass": "cHc="}});
        let stored = json!({"data": {"pass": "eQ==", "user": "eA=="}, "type": "Opaque"});
        assert_eq!(defaulted(given), stored);
    }

    #[test]
    fn known_types_require_their_keys() {
        for (type_, data, wrong) in [
            ("kubernetes.io/tls", json!({"tls.crt": ""}), vec!["data[tls.key]: Required value"]),
            ("kubernetes.io/basic-auth", json!({"password": ""}), vec![]),
            (
                "kubernetes.io/basic-auth",
                json!({}),
                vec!["data[username]: Required value", "data[password]: Required value"],
            ),
            (
                "kubernetes.io/ssh-auth",
                json!({"ssh-privatekey": ""}),
                vec!["data[ssh-privatekey]: Required value"],
            ),
            ("kubernetes.io/dockercfg", json!({".dockercfg": "e30="}), vec![]),
            ("kubernetes.io/dockercfg", json!({}), vec!["data[.dockercfg]: Required value"]),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "eA=="}),
                vec![
                    "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'x' looking for beginning of value",
                ],
            ),
            (
                "kubernetes.io/service-account-token",
                json!({}),
                vec!["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
            ("my/type", json!({}), vec![]),
        ] {
            let object = json!({"type": type_, "data": data});
            assert_eq!(facts::texts(&validate(&object)), wrong, "{object}");
        }
    }

    #[test]
    fn a_secret_holds_a_mebibyte_and_keeps_its_type() {
        let large = json!({"data": {"k": STANDARD.encode(vec![0; MOST_BYTES + 1])}});
        assert_eq!(
            facts::texts(&validate(&large)),
            ["data: Too long: may not be more than 1048576 bytes"]
        );
        let (old, new) = (json!({"type": "Opaque"}), json!({"type": "x/y"}));
        let errors = SecretStrategy.validate_update(Part::Main, &new, &old, &facts::admission());
        assert_eq!(facts::texts(&errors), ["type: Invalid value: \"x/y\": field is immutable"]);
    }

    #[test]
    fn a_key_pair_that_is_none_brings_a_warning() {
        let object =
            json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": "eA=="}});
        assert_eq!(
            SecretStrategy.warnings(&object, None),
            ["tls: failed to find any PEM data in certificate input"]
        );
        assert!(SecretStrategy.warnings(&json!({"type": "Opaque"}), None).is_empty());
    }
}
