//! The columns of custom resources in tables.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor`.

use evenkeel_structural::json_path::{Cell, JsonPath};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::table::{self, age, description};

/// `additionalPrinterColumns`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ColumnSpec {
    name: Box<str>,
    #[serde(rename = "type")]
    type_: Box<str>,
    #[serde(default)]
    format: Box<str>,
    #[serde(default)]
    description: Box<str>,
    #[serde(default)]
    priority: i32,
    json_path: Box<str>,
}

/// A column, and where its cells come from.
#[derive(Debug)]
pub(crate) struct CustomColumn {
    spec: ColumnSpec,
    path: JsonPath,
}

/// The columns after the name: those of the definition, or the age.
pub(super) fn of(specs: &[ColumnSpec]) -> Box<[CustomColumn]> {
    let of = |spec: &ColumnSpec| {
        let path = JsonPath::parse(&spec.json_path).ok()?;
        Some(CustomColumn { spec: spec.clone(), path })
    };
    // A path that does not parse ends the columns, as in Kubernetes.
    match specs.is_empty() {
        true => of(&age_column()).into_iter().collect(),
        false => specs.iter().map_while(of).collect(),
    }
}

fn age_column() -> ColumnSpec {
    ColumnSpec {
        name: "Age".into(),
        type_: "date".into(),
        format: "".into(),
        description: description::text(table::AGE.description).into(),
        priority: 0,
        json_path: ".metadata.creationTimestamp".into(),
    }
}

/// Go prints a float without a fraction as an integer.
fn whole(value: Value) -> Value {
    match value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0) {
        Some(number) if number.abs() < MOST_WHOLE => (number as i64).into(),
        _ => value,
    }
}

/// Up to here every integer has a float of its own.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl CustomColumn {
    pub(crate) fn definition(&self) -> Value {
        let ColumnSpec { name, type_, format, description, priority, .. } = &self.spec;
        let description = match &**description {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                self.spec.json_path
            ),
            own => own.to_owned(),
        };
        json!({
            "name": name, "type": type_, "format": format, "description": description, "priority": priority,
        })
    }

    pub(crate) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self.path.cell(&self.spec.type_, object) {
            Cell::Value(value) => whole(value),
            Cell::Age(time) => age::age(&time, now).into(),
        }
    }
}
