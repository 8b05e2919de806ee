//! Label selectors of workloads.

use evenkeel_model::labels::LabelSelector;
use serde_json::{Value, json};

use crate::kinds::{names, read::list};

/// `None` if the selector is invalid; an absent one matches nothing.
pub(crate) fn compiled(selector: &Value) -> Option<LabelSelector> {
    match selector.is_object() {
        true => LabelSelector::compile(selector, names::LABELS),
        false => Some(LabelSelector::nothing()),
    }
}

/// A selector as JSON in declaration order, as shown in errors.
pub(crate) fn printed(selector: &Value) -> String {
    if !selector.is_object() {
        return "null".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(labels) = selector["matchLabels"].as_object().filter(|labels| !labels.is_empty()) {
        parts.push(format!("\"matchLabels\":{}", json!(labels)));
    }
    if !list(selector, &["matchExpressions"]).is_empty() {
        parts.push(format!("\"matchExpressions\":{}", selector["matchExpressions"]));
    }
    format!("{{{}}}", parts.join(","))
}
