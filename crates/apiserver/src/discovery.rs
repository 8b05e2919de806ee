//! Discovery: the documents of `/api` and `/apis`, plain or aggregated, and the few others at the
//! root.
//!
//! Everything is derived from the table of kinds, and a short table of resources that can only be
//! created.

mod accept;
mod aggregated;
mod fingerprint;
mod legacy;
mod resource;
mod root;

pub(crate) use self::{
    accept::{AGGREGATED_PROTOBUF_TYPE, AGGREGATED_TYPE, DiscoveryFormat, negotiate},
    aggregated::aggregated,
    fingerprint::etag,
    legacy::{group, groups, resources, versions},
    root::{paths, version},
};

#[cfg(test)]
mod tests;
