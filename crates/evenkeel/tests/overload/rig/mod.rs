//! What the tests of overload and their benchmark share: the binary as a process of its own, users
//! with tokens, clients that load it and clients that are measured meanwhile.

pub(crate) mod caller;
pub(crate) mod client;
pub(crate) mod metrics;
pub(crate) mod server;
pub(crate) mod tally;
pub(crate) mod thrash;
pub(crate) mod users;
pub(crate) mod work;
