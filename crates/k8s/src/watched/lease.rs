//! Leases of a watch, as far as they are reports of proxies.

use evenkeel_model::SeenReport;
use serde::Deserialize;

use super::{
    annotations::Annotations,
    lenient::{self, Number},
    metadata::Metadata,
};
use crate::{
    FieldError,
    convert::report::{LeaseFacts, from_facts},
};

/// A Lease with what the proxy of a node reports in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lease {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) metadata: Metadata<Annotations>,
    #[serde(deserialize_with = "lenient::or_default")]
    spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<Number>,
    #[serde(deserialize_with = "lenient::time")]
    renew_time: Option<i64>,
}

// === impl Lease ===

impl Lease {
    pub fn seen(&self) -> Result<SeenReport, FieldError> {
        let Spec { holder_identity, lease_duration_seconds, renew_time } = &self.spec;
        let facts = LeaseFacts {
            holder: holder_identity.as_deref(),
            seconds: lease_duration_seconds.map(|Number(seconds)| seconds),
            renewed: *renew_time,
        };
        from_facts(self.metadata.annotated_facts(), &facts, self.metadata.version())
    }
}
