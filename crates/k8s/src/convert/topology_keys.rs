//! `spec.topologyKeys` of Services, which Kubernetes had until 1.21.

use std::sync::Arc;

use serde_json::Value;

use crate::convert::{FieldError, selector::is_key};

const FIELD: &str = "spec.topologyKeys";
const ANY: &str = "*";

/// As many as Kubernetes allowed.
const MOST: usize = 16;

/// The keys, if the field is set. The rules are those of Kubernetes' own validation.
pub(crate) fn topology_keys(field: Option<&Value>) -> Result<Option<Vec<Arc<str>>>, FieldError> {
    let given = match field {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(given)) => given,
        Some(_) => return Err(FieldError::new(FIELD, "expected a list of keys of labels")),
    };
    if given.len() > MOST {
        let problem = format!("{} keys are more than {MOST}", given.len());
        return Err(FieldError::new(FIELD, problem));
    }
    let mut keys: Vec<Arc<str>> = Vec::with_capacity(given.len());
    for (index, value) in given.iter().enumerate() {
        let path = || format!("{FIELD}[{index}]");
        let Value::String(key) = value else {
            return Err(FieldError::new(path(), "expected the key of a label, or \"*\""));
        };
        if key != ANY && !is_key(key) {
            return Err(FieldError::unexpected(path(), key, "the key of a label, or \"*\""));
        }
        if keys.iter().any(|other| **other == **key) {
            return Err(FieldError::new(path(), format!("\"{key}\" is there twice")));
        }
        if key == ANY && index + 1 < given.len() {
            return Err(FieldError::new(path(), "\"*\" must be the last key"));
        }
        keys.push(key.as_str().into());
    }
    Ok(Some(keys))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_read_in_their_order() {
        let read = |value: Value| topology_keys(Some(&value)).unwrap();
        assert_eq!(topology_keys(None), Ok(None));
        assert_eq!(read(Value::Null), None);
        assert_eq!(read(json!([])), Some(vec![]));
        let keys = ["kubernetes.io/hostname", "example.org/Rack_1", "*"];
        assert_eq!(read(json!(keys)), Some(keys.map(Arc::from).to_vec()));
    }

    #[test]
    fn what_kubernetes_rejected_is_rejected() {
        let many: Vec<String> = (0..17).map(|n| format!("key-{n}")).collect();
        for (given, problem) in [
            (json!("*"), "spec.topologyKeys: expected a list of keys of labels"),
            (json!({"a": 1}), "spec.topologyKeys: expected a list of keys of labels"),
            (json!(many), "spec.topologyKeys: 17 keys are more than 16"),
            (json!(["a", 1]), "spec.topologyKeys[1]: expected the key of a label, or \"*\""),
            (json!([""]), "spec.topologyKeys[0]: \"\" is not the key of a label, or \"*\""),
            (json!(["a b"]), "spec.topologyKeys[0]: \"a b\" is not the key of a label, or \"*\""),
            (json!(["a", "a"]), "spec.topologyKeys[1]: \"a\" is there twice"),
            (json!(["*", "a"]), "spec.topologyKeys[0]: \"*\" must be the last key"),
        ] {
            assert_eq!(topology_keys(Some(&given)).unwrap_err().to_string(), problem);
        }
        let long = topology_keys(Some(&json!(["x".repeat(1 << 20)]))).unwrap_err();
        assert!(long.to_string().len() < 300, "{}", long.to_string().len());
    }
}
