//! A real server on a loopback port, with real TLS clients.

mod client;
mod credentials;
mod peers;
mod places;
mod stopping;
mod unread;
