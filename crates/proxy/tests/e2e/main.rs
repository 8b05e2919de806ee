//! Traffic through the kernel, end to end: nodes and Pods in network namespaces, the embedded API
//! server, the controller, and a proxy on each node.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]
#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is given")]

mod acknowledgement;
mod affinity;
mod balanced;
mod cluster;
mod distribution;
mod envoy;
mod families;
mod flows;
mod frontends;
mod http;
mod nodes;
mod policies;
mod skew;
mod space;
mod terminating;
mod zones;
