//! MeshMultiZoneService: the MeshServices with certain labels as one service.

use serde_json::Value;

use super::{Labels, ServicePort};
use crate::{Errors, FieldPath, decode::Fields};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshMultiZoneService {
    /// Of MeshServices; never empty.
    pub match_labels: Labels,
    pub ports: Vec<ServicePort>,
}

impl MeshMultiZoneService {
    pub(super) fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields = Fields::of(value, path, &["selector", "ports"], errors)?;
        let match_labels = fields.nested("selector", errors, |value, path, errors| {
            let selector = Fields::of(value, path, &["meshService"], errors)?;
            selector.nested("meshService", errors, |value, path, errors| {
                let of_services = Fields::of(value, path, &["matchLabels"], errors)?;
                Some(of_services.text_map("matchLabels", errors))
            })
        });
        let match_labels = match_labels.unwrap_or_default();
        if match_labels.is_empty() {
            let selector = fields.path.field("selector");
            let path = selector.field("meshService");
            errors.push(&path.field("matchLabels"), "must not be empty");
        }
        let ports = fields.list("ports", errors, ServicePort::decode_plain).unwrap_or_default();
        Some(MeshMultiZoneService { match_labels, ports })
    }
}
