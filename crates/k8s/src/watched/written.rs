//! The answer to a write.

use evenkeel_model::Version;
use serde::Deserialize;

use super::lenient::{self, Number};
use crate::convert::field;

/// The object that the API server answers a write with, of which only the version is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Written {
    #[serde(deserialize_with = "lenient::or_default")]
    metadata: Metadata,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<Number>,
}

impl Written {
    pub fn version(&self) -> Version {
        let Metadata { uid, resource_version, generation } = &self.metadata;
        Version {
            uid: field::text(uid.as_deref()),
            resource_version: field::text(resource_version.as_deref()),
            generation: generation.unwrap_or_default().0,
        }
    }
}
