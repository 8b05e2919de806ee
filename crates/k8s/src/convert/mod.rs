//! One Kubernetes object to one model object, and slices and conditions back.
//!
//! ```text
//!   k8s-openapi's object ──┐
//!                          ├──Facts──► checks ──► model        slice ──► object to create
//!   object of a watch ─────┘                                   slice, conditions ──► patch
//! ```
//!
//! Objects come in two shapes: whole ones (from files, or listed once) and the slim ones of
//! [`watched`](crate::watched). A trait for each kind names the facts that are read; every rule
//! about them is in one place. EndpointSlices need no trait: a whole one is first brought into the
//! form of a watch's.
//!
//! Manifests and lists stay whole until then, slices too: two documents of one name that differ in
//! any field are a mistake that is told with the field, as is a wrong type in a field that nobody
//! reads. The slim form has neither those fields nor a way back to JSON.
//!
//! Where Kubernetes has a default, an absent field means that default. What the API server would
//! refuse is a [`FieldError`]: it can only come from a file, and there it is a mistake. The one
//! exception is the annotation `evenkeel.dev/selector`, which no API server looks into.

pub(crate) mod endpoint_slice;
pub(crate) mod field;
pub(crate) mod metadata;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod report;
pub(crate) mod service;
pub(crate) mod service_facts;
pub(crate) mod zone_shares;

mod frontends;
mod ip;
mod patch;
mod selector;
mod to_endpoint_slice;
mod topology_keys;

pub(crate) use self::topology_keys::topology_keys;
pub use self::{
    endpoint_slice::endpoint_slice,
    field::FieldError,
    ip::{parse_cidr, parse_ip},
    node::node,
    patch::{conditions_patch, relabel_patch, slice_patch},
    pod::pod,
    report::{report, report_lease, report_lease_name, report_patch},
    service::service,
    to_endpoint_slice::{new_slice, to_endpoint_slice},
    zone_shares::{zone_shares, zone_shares_text},
};
