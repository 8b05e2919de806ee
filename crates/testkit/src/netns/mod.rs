//! Test hosts: network namespaces as nodes, joined by a bridge, with Pods, servers and clients.
//!
//! ```text
//!   pod ──veth── host node-a1 ──veth──┐
//!                                     ├── bridge in the namespace `outside`, a client of its own
//!   pod ──veth── host node-b1 ──veth──┘
//! ```
//!
//! ```no_run
//! use evenkeel_testkit::netns::{Network, Port};
//!
//! let network = Network::new(&[("node-a1", "zone-a"), ("node-b1", "zone-b")]);
//! let web = network.host("node-b1").pod("web-1");
//! let _server = web.serve(&[Port::Http(8080), Port::Udp(53)]);
//! let answer = network.host("node-a1").http(web.at(8080)).unwrap();
//! assert_eq!((answer.pod.as_str(), answer.zone.as_str()), ("web-1", "zone-b"));
//! let tally = network.host("node-a1").http_many(web.at(8080), 100);
//! assert_eq!((tally.by_pod()["web-1"], tally.failures.len()), (100, 0));
//! ```
//!
//! The address plan, for host number `i` from 0 (its node is in [`Host`], `v4` and `v6`):
//!
//! | what | IPv4 | IPv6 |
//! |---|---|---|
//! | node | `172.30.0.{i+1}` | `fd00:ac::{i+1}` |
//! | Pods of the node | `10.244.{i}.0/24` | `fd00:10:244:{i}::/64` |
//! | all Pods ([`POD_CIDRS`]) | `10.244.0.0/16` | `fd00:10:244::/48` |
//! | `outside`, the default route of nodes | `172.30.0.254` | `fd00:ac::fe` |
//!
//! - [`Host`], [`Pod`] and [`Network::outside`] are places: each has the methods of [`Namespace`],
//!   which run code, clients and commands inside. A socket stays where it was created, so what
//!   [`Namespace::run`] returns may be used anywhere.
//! - [`Host::pod`] gives a Pod a namespace of its own: its traffic passes the node's `prerouting`
//!   and `postrouting` hooks, as in a cluster. [`Host::local_pod`] is only an address in the node's
//!   namespace, and [`Host::host_network_pod`] not even that.
//! - Every server answers with the Pod, its node and zone, and the client's address as it saw it
//!   ([`Answer`]): that is how masquerading is checked.
//! - Dropping a value removes it from the kernel, also after a panic. What a process left that was
//!   killed is removed by the next [`Network::new`].
//!
//! All of it needs root, and the command `ip`. Functions here panic where the kernel or `ip`
//! refuses, since no test can go on then; requests of clients return a [`Failure`].

mod client;
mod ip;
mod namespace;
mod network;
mod pod;
mod server;

pub use self::{
    client::{Answer, Client, Failure, Flow, Load, Protocol, Tally},
    namespace::Namespace,
    network::{Host, Network, POD_CIDRS},
    pod::Pod,
    server::{Port, Server, has_sctp},
};
