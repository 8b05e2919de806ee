//! The network namespaces of `evenkeel up --proxy`: how they are named, recorded and removed.
//!
//! Each running `up --proxy` has a prefix of its own, the first free one of `evenkeel`, `evenkeel2`, ….
//! The namespace of a Node is `PREFIX-NODE`, and the bridge between them is in `PREFIX_bridge`,
//! which can be no Node's. Beside the prefix's lock, which the process holds while it runs, is a
//! record of all names, written before a namespace is created: so the next start knows what a
//! killed process left behind, and `evenkeel curl` where the Nodes of a cluster are.

mod claim;
pub(crate) mod ip;
mod record;

use evenkeel_k8s::live::LiveError;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt as _};

pub(crate) use self::{
    claim::{Claim, lock},
    record::Record,
};
use crate::error::Error;

/// Beside the names of `ip netns`, and gone with them at a restart of the machine.
pub(crate) const FOLDER: &str = "/run/evenkeel";

/// The first prefix.
pub(crate) const BASE: &str = "evenkeel";

/// What tells a cluster from all others: the uid of its namespace kube-system.
pub(crate) async fn cluster_uid(client: &Client) -> Result<String, Error> {
    let found = Api::<Namespace>::all(client.clone()).get_opt("kube-system").await;
    let failed = |source| LiveError::Failed { what: "Namespaces", source: Box::new(source) };
    Ok(found.map_err(failed)?.and_then(|namespace| namespace.uid()).unwrap_or_default())
}

/// Whether this process may create and enter network namespaces, by its user. Capabilities that are
/// missing show later, in what the kernel answers.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
