//! `policy_validation.jsonl`: a policy as YAML; the errors that Kuma finds in it.

use evenkeel_locality::{Compat, Spec, strategy::WrittenIn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::diff;

#[derive(Deserialize)]
pub(super) struct Case {
    policy: String,
    #[serde(default)]
    parse_error: bool,
    errors: Vec<ErrorCase>,
}

#[derive(Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct ErrorCase {
    path: String,
    message: String,
}

/// The rules that hold only for Kuma itself.
const KUMA_ONLY: [&str; 2] = ["must be set when kind is", "MeshService traffic is local"];

pub(super) fn run(case: &Case) -> Vec<String> {
    let spec = match spec(&case.policy) {
        Ok(spec) => spec,
        Err(_) if case.parse_error => return Vec::new(),
        Err(problem) => return vec![problem],
    };
    if case.parse_error {
        return vec!["must be refused while decoding".to_owned()];
    }
    let mut diffs = Vec::new();
    for compat in [Compat::Kuma, Compat::Record] {
        let kept = |e: &&ErrorCase| {
            compat == Compat::Kuma || KUMA_ONLY.iter().all(|rule| !e.message.contains(rule))
        };
        let mut expected: Vec<_> = case.errors.iter().filter(kept).cloned().collect();
        let found = spec.validate(compat).into_iter();
        let mut found: Vec<_> =
            found.map(|e| ErrorCase { path: e.path, message: e.message }).collect();
        expected.sort();
        found.sort();
        diffs.extend(diff(&format!("{compat:?}"), &values(&expected), &values(&found)));
    }
    diffs
}

fn values(errors: &[ErrorCase]) -> Value {
    errors.iter().map(|e| json!({"path": e.path, "message": e.message})).collect()
}

fn spec(policy: &str) -> Result<Spec, String> {
    let mut value: Value = serde_saphyr::from_str(policy).map_err(|e| e.to_string())?;
    let object = value.as_object_mut().ok_or("the policy is no object")?;
    for name in ["type", "mesh", "name"] {
        object.remove(name);
    }
    Spec::decode(&value, WrittenIn::Resource).map_err(|errors| format!("{errors:?}"))
}
