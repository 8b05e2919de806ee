//! Topics that need the sandbox.

pub(crate) mod accounts;
pub(crate) mod nodes;
pub(crate) mod rollouts;
