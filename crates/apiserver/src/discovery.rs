//! What the server serves, as clients ask for it: the documents of `/api` and `/apis`, whole or
//! aggregated, and the few others at the root.
//!
//! All of it follows from the table of kinds, and a short one of resources that are only actions.

mod accept;
mod aggregated;
mod fingerprint;
mod legacy;
mod resource;
mod root;

pub(crate) use self::{
    accept::{AGGREGATED_TYPE, Form, negotiate},
    aggregated::aggregated,
    fingerprint::etag,
    legacy::{group, groups, resources, versions},
    root::{paths, version},
};

#[cfg(test)]
mod tests;
