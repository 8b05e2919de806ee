//! EndpointSlices of a watch.
//!
//! The one form in which slices are read: whole objects, which commands and tests have, are brought
//! into it ([`whole`]), so that every rule about slices is written once, in
//! [`convert`](crate::convert::endpoint_slice). What a slice of the model keeps as a text is read
//! into an `Arc<str>` at once, and lists that nearly always have one item into a [`Few`].

use evenkeel_model::{Few, SeenSlice, Topology, label};
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use super::{
    annotations::Annotations,
    lenient::{self, Number, Text},
    metadata::{Metadata, Owners},
};
use crate::{
    FieldError,
    convert::{endpoint_slice::slice, field},
};

mod whole;

/// An EndpointSlice.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EndpointSlice {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) metadata: Metadata<Annotations, Owners>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) address_type: String,
    #[serde(deserialize_with = "lenient::list")]
    pub(crate) ports: Vec<Port>,
    #[serde(deserialize_with = "lenient::list")]
    pub(crate) endpoints: Vec<Endpoint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Port {
    pub(crate) name: Option<String>,
    pub(crate) port: Option<Number>,
    pub(crate) protocol: Option<String>,
    pub(crate) app_protocol: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Endpoint {
    #[serde(deserialize_with = "lenient::few")]
    pub(crate) addresses: Few<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) conditions: EndpointConditions,
    pub(crate) hostname: Option<Text>,
    pub(crate) target_ref: Option<Target>,
    pub(crate) node_name: Option<String>,
    pub(crate) zone: Option<String>,
    /// Present but empty hints are not the same as absent ones.
    pub(crate) hints: Option<Hints>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EndpointConditions {
    pub(crate) ready: Option<bool>,
    pub(crate) serving: Option<bool>,
    pub(crate) terminating: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Target {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) kind: Text,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) namespace: Text,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) name: Text,
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) uid: Text,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Hints {
    #[serde(deserialize_with = "lenient::few")]
    pub(crate) for_zones: Few<Hinted>,
    #[serde(deserialize_with = "lenient::few")]
    pub(crate) for_nodes: Few<Hinted>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Hinted {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(crate) name: String,
}

// === impl EndpointSlice ===

impl EndpointSlice {
    /// When the change happened that it was last written for.
    pub fn trigger_time(&self) -> Option<Timestamp> {
        self.metadata.annotations.0.get(label::TRIGGER_TIME)?.parse().ok()
    }

    pub fn seen(&self, topology: &mut Topology) -> Result<SeenSlice, FieldError> {
        Ok(SeenSlice {
            namespace: field::text(self.metadata.object.namespace.as_deref()),
            slice: slice(topology, self)?,
            version: self.metadata.version(),
            deleting: self.metadata.deleting,
        })
    }
}
