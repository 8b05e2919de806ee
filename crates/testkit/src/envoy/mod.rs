//! A real Envoy, servers for it to send requests to, and clients that count who answered.
//!
//! ```no_run
//! use evenkeel_testkit::envoy::{Envoy, Requests, Server};
//!
//! let server = Server::http("zone-1");
//! let bootstrap = format!("static_resources: {{ }} # a listener `web` on port 0 to {}", server.address());
//! let envoy = Envoy::start(&bootstrap);
//! let answers = Requests::new(100).http(envoy.listener("web"));
//! assert_eq!(answers.by_server["zone-1"], 100);
//! ```
//!
//! All is on loopback addresses and ports that the kernel chooses, so tests run beside each other. What
//! is started here is stopped when its value is dropped, also if a test panics. Everything panics
//! instead of returning errors; that of an Envoy contains the end of its log.

mod client;
mod place;
mod process;
mod server;

pub use self::{
    client::{Answers, Requests, get},
    place::{OVERRIDE, PACKAGE, VERSION, binary, folder, is_expected},
    process::Envoy,
    server::Server,
};
