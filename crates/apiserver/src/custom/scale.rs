//! The subresource `scale` of custom resources: a Scale read from and written to configured paths.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/registry/customresource/{etcd,validator}.go`.

use evenkeel_structural::json_path::names;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::invalid::{Errors, FieldError, Path};

/// Where the numbers of a Scale are in an object: `.spec.replicas`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScalePaths {
    spec_replicas_path: Box<str>,
    status_replicas_path: Box<str>,
    label_selector_path: Option<Box<str>>,
}

impl ScalePaths {
    pub(crate) fn spec_replicas_path(&self) -> &str {
        &self.spec_replicas_path
    }

    /// The Scale of an object, and whether the object says how many replicas it wants.
    pub(crate) fn of(&self, object: &Value) -> Result<(Value, bool), String> {
        let wanted = number(object, &self.spec_replicas_path)?;
        let present = number(object, &self.status_replicas_path)?.unwrap_or_default();
        let selector = match &self.label_selector_path {
            Some(path) => text(object, path)?.unwrap_or_default(),
            None => "",
        };
        let mut scale = json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {},
            "spec": {},
            "status": {"replicas": int32(present)},
        });
        for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(name).filter(|value| !value.is_null()) {
                scale["metadata"][name] = value.clone();
            }
        }
        if let Some(wanted) = wanted.map(int32).filter(|wanted| *wanted != 0) {
            scale["spec"]["replicas"] = wanted.into();
        }
        if !selector.is_empty() {
            scale["status"]["selector"] = selector.into();
        }
        Ok((scale, wanted.is_some()))
    }

    /// Writes a number of replicas into an object.
    pub(crate) fn set(&self, object: &mut Value, replicas: i64) -> Result<(), String> {
        let path = &self.spec_replicas_path;
        let mut at = object;
        for name in names(path) {
            let Value::Object(members) = at else {
                return Err(format!(
                    "value cannot be set because {path} is not a map[string]interface{{}}"
                ));
            };
            at = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
        }
        *at = replicas.into();
        Ok(())
    }

    /// The errors of an object's numbers.
    pub(crate) fn validate_spec(&self, object: &Value) -> Errors {
        replicas(object, &self.spec_replicas_path)
    }

    pub(crate) fn validate_status(&self, object: &Value) -> Errors {
        let mut errors = replicas(object, &self.status_replicas_path);
        if let Some(path) = &self.label_selector_path
            && let Err(problem) = text(object, path)
        {
            errors.push(FieldError::invalid(Path::root(path), &json!(""), problem));
        }
        errors
    }
}

fn replicas(object: &Value, path: &str) -> Errors {
    let error =
        |value: i64, words: &str| vec![FieldError::invalid(Path::root(path), &json!(value), words)];
    match number(object, path) {
        Err(problem) => error(0, &problem),
        Ok(Some(value)) if value < 0 => error(value, "should be a non-negative integer"),
        Ok(Some(value)) if value > i64::from(i32::MAX) => {
            error(value, &format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => Errors::new(),
    }
}

/// As Go converts a number to `int32`.
fn int32(number: i64) -> i64 {
    i64::from(number as i32)
}

/// The value at a path; an error if something on the way is not an object.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let names: Vec<&str> = names(path).collect();
    let mut value = object;
    for (index, name) in names.iter().enumerate() {
        let Value::Object(members) = value else {
            if value.is_null() {
                return Ok(None);
            }
            let way = names[..index].join(".");
            return Err(format!(
                ".{way} accessor error: {value} is of the type {}, expected map[string]interface{{}}",
                go_type(value)
            ));
        };
        let Some(inner) = members.get(*name) else { return Ok(None) };
        value = inner;
    }
    Ok(Some(value))
}

fn number(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let Some(value) = at(object, path)? else { return Ok(None) };
    value.as_i64().map(Some).ok_or_else(|| mistyped(path, value, "int64"))
}

fn text<'a>(object: &'a Value, path: &str) -> Result<Option<&'a str>, String> {
    let Some(value) = at(object, path)? else { return Ok(None) };
    value.as_str().map(Some).ok_or_else(|| mistyped(path, value, "string"))
}

fn mistyped(path: &str, value: &Value, wanted: &str) -> String {
    let way = names(path).collect::<Vec<_>>().join(".");
    let shown = match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    };
    format!(".{way} accessor error: {shown} is of the type {}, expected {wanted}", go_type(value))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> ScalePaths {
        ScalePaths {
            spec_replicas_path: ".spec.replicas".into(),
            status_replicas_path: ".status.replicas".into(),
            label_selector_path: Some(".status.selector".into()),
        }
    }

    #[test]
    fn a_scale_is_read_from_and_written_to_its_paths() {
        let mut object = json!({"metadata": {"name": "a"}, "spec": {"replicas": 2}, "status": {"replicas": 1, "selector": "a=b"}});
        let (scale, is_set) = paths().of(&object).unwrap();
        assert!(is_set);
        assert_eq!(
            scale,
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"},
                "spec": {"replicas": 2}, "status": {"replicas": 1, "selector": "a=b"}})
        );
        paths().set(&mut object, 5).unwrap();
        assert_eq!(object["spec"]["replicas"], 5);
        let mut empty = json!({});
        assert!(!paths().of(&empty).unwrap().1);
        paths().set(&mut empty, 3).unwrap();
        assert_eq!(empty, json!({"spec": {"replicas": 3}}));
        assert!(paths().set(&mut json!({"spec": 1}), 3).is_err());
    }

    #[test]
    fn numbers_out_of_range_and_of_another_type_are_errors() {
        for (object, errors) in [
            (
                json!({"spec": {"replicas": -1}}),
                vec![".spec.replicas: Invalid value: -1: should be a non-negative integer"],
            ),
            (
                json!({"spec": {"replicas": 2_147_483_648_i64}}),
                vec![
                    ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647",
                ],
            ),
            (
                json!({"spec": {"replicas": "x"}}),
                vec![
                    ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64",
                ],
            ),
            (json!({"spec": {"replicas": 1}}), vec![]),
            (json!({}), vec![]),
        ] {
            let found: Vec<String> =
                paths().validate_spec(&object).iter().map(ToString::to_string).collect();
            assert_eq!(found, errors);
        }
    }
}
