//! A merge patch of a Service, as `plan` and `migrate` print it.

use std::collections::BTreeMap;

use evenkeel_model::{Service, TrafficPolicy};
use serde::Serialize;

use crate::version::Expression;

/// A JSON merge patch of a Service: only what changes. A null removes what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Patch {
    #[serde(skip_serializing_if = "PatchMeta::is_empty")]
    pub metadata: PatchMeta,
    #[serde(skip_serializing_if = "PatchSpec::is_empty")]
    pub spec: PatchSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PatchMeta {
    pub annotations: BTreeMap<&'static str, Option<&'static str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchSpec {
    /// `None`: left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_traffic_policy: Option<TrafficPolicy>,
    /// `Some(Removed)`: removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_keys: Option<Removed>,
    /// `None`: left as it is. `Some(None)`: removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_distribution: Option<Option<&'static str>>,
}

/// A null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Removed;

// === impl Patch ===

impl Patch {
    pub fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.spec.is_empty()
    }

    /// The Service once it is patched. `topologyKeys` are not a part of it.
    pub fn apply(&self, service: &Service) -> Service {
        let mut patched = service.clone();
        for (name, value) in &self.metadata.annotations {
            match value {
                Some(value) => patched.annotations.insert((*name).into(), (*value).into()),
                None => patched.annotations.remove(*name),
            };
        }
        if let Some(policy) = self.spec.internal_traffic_policy {
            patched.exposure.internal = policy;
        }
        if let Some(value) = self.spec.traffic_distribution {
            patched.traffic_distribution = value.map(Into::into);
        }
        patched
    }

    pub(crate) fn remove_annotation(&mut self, name: &'static str, service: &Service) {
        if service.annotations.contains_key(name) {
            self.metadata.annotations.insert(name, None);
        }
    }

    /// Writes a policy; `other` is the annotation that would override or contradict it.
    pub(crate) fn set(&mut self, to: Expression, other: &'static str, service: &Service) {
        let field = match to {
            Expression::Annotation { name, value } => {
                if service.annotations.get(name).is_none_or(|present| **present != *value) {
                    self.metadata.annotations.insert(name, Some(value));
                }
                None
            }
            Expression::Field { value } => {
                self.remove_annotation(other, service);
                Some(value)
            }
            Expression::Unset => None,
        };
        if service.traffic_distribution.as_deref() != field {
            self.spec.traffic_distribution = Some(field);
        }
    }
}

// === impl PatchMeta, PatchSpec ===

impl PatchMeta {
    fn is_empty(&self) -> bool {
        self.annotations.is_empty()
    }
}

impl PatchSpec {
    fn is_empty(&self) -> bool {
        *self == PatchSpec::default()
    }
}
