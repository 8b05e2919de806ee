//! One Kubernetes object to one model object, and slices back. One file for each kind.
//!
//! Where Kubernetes has a default, an absent field means that default. What the API server would
//! refuse is a [`FieldError`]: it can only come from a file, and there it is a mistake.

mod endpoint_slice;
mod field;
mod ip;
mod node;
mod pod;
mod service;
mod to_endpoint_slice;

pub use self::{
    endpoint_slice::endpoint_slice, field::FieldError, ip::parse_ip, node::node, pod::pod,
    service::service, to_endpoint_slice::to_endpoint_slice,
};
