//! EndpointSlices.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Serialize;

use crate::{Endpoint, Protocol, SharesAnnotation};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum AddressType {
    IPv4,
    IPv6,
    #[serde(rename = "FQDN")]
    Fqdn,
}

/// A port of a slice. `None` as the port means "all ports", which only hand-made slices use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointPort {
    pub name: Arc<str>,
    pub protocol: Protocol,
    pub port: Option<u16>,
    pub app_protocol: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub name: Arc<str>,
    pub address_type: AddressType,
    pub ports: Vec<EndpointPort>,
    pub endpoints: Vec<Endpoint>,
    /// UID of the owning Service. A slice left behind by a deleted Service of the same name has
    /// another one.
    pub owner: Option<Arc<str>>,
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// From the annotation `evenkeel.dev/zone-shares`.
    pub shares: Option<SharesAnnotation>,
}

impl fmt::Display for AddressType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressType::IPv4 => "IPv4",
            AddressType::IPv6 => "IPv6",
            AddressType::Fqdn => "FQDN",
        })
    }
}
