//! What every kind has.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What conversions read of the metadata of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta<'a> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) uid: Option<&'a str>,
    pub(crate) labels: Option<&'a BTreeMap<String, String>>,
    pub(crate) annotations: Option<&'a BTreeMap<String, String>>,
    /// `deletionTimestamp` is set.
    pub(crate) deleting: bool,
}

impl<'a> Meta<'a> {
    pub(crate) fn label(self, key: &str) -> Option<&'a str> {
        self.labels?.get(key).map(String::as_str)
    }

    pub(crate) fn annotation(self, key: &str) -> Option<&'a str> {
        self.annotations?.get(key).map(String::as_str)
    }
}

impl<'a> From<&'a ObjectMeta> for Meta<'a> {
    fn from(given: &'a ObjectMeta) -> Self {
        Meta {
            namespace: given.namespace.as_deref(),
            name: given.name.as_deref(),
            uid: given.uid.as_deref(),
            labels: given.labels.as_ref(),
            annotations: given.annotations.as_ref(),
            deleting: given.deletion_timestamp.is_some(),
        }
    }
}
