//! Peers that do everything wrong, over real TLS, each among others that do not.

mod bodies;
mod connections;
mod frames;
mod h2;
mod paths;
pub(crate) mod raw;
mod strangers;
mod stuck;
mod unread;
