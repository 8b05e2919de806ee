//! What needs somebody who plays the rest of a cluster.

pub(crate) mod accounts;
pub(crate) mod nodes;
pub(crate) mod rollouts;
