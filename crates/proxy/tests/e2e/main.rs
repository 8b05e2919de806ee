//! Traffic through the kernel, end to end: nodes and Pods in network namespaces, the embedded API
//! server, the controller, and a proxy on each node.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod cluster;
mod distribution;
mod families;
mod frontends;
mod http;
mod nodes;
mod policies;
mod skew;
mod space;
mod terminating;
mod zones;
