//! Warnings for a node: deprecated fields, and address ranges in unusual notation.

use std::net::IpAddr;

use serde_json::Value;

use super::super::{
    names,
    read::{at, list, text},
};
use crate::invalid::quoted;

pub(super) fn of(node: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if !at(node, &["spec", "configSource"]).is_null() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if !text(node, &["spec", "externalID"]).is_empty() {
        let words = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
        warnings.push(words.to_owned());
    }
    for (index, value) in list(node, &["spec", "podCIDRs"]).iter().enumerate() {
        let path = format!("spec.podCIDRs[{index}]");
        warnings.extend(of_cidr(&path, value.as_str().unwrap_or_default()));
    }
    warnings
}

/// Ambiguous or unusual ranges were rejected before; only the notation of IPv6 addresses remains.
fn of_cidr(path: &str, value: &str) -> Option<String> {
    let (ip @ IpAddr::V6(_), prefix) = names::sloppy_cidr(value)? else {
        return None;
    };
    let canonical = format!("{ip}/{prefix}");
    let shown = [quoted(value), quoted(&canonical)];
    (canonical != value).then(|| {
        format!(
            "{path}: IPv6 CIDR value {} should be in RFC 5952 canonical format ({})",
            shown[0], shown[1]
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unusual_notation_of_a_range_is_a_warning() {
        let node = json!({"spec": {"externalID": "x", "podCIDRs": ["10.0.0.0/8", "FD00::/64"]}});
        assert_eq!(
            of(&node),
            [
                "spec.externalID: this field is deprecated, and is unused by Kubernetes",
                "spec.podCIDRs[1]: IPv6 CIDR value \"FD00::/64\" should be in RFC 5952 canonical format (\"fd00::/64\")",
            ]
        );
    }
}
