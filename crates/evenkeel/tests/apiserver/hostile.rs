//! Peers that do everything wrong, over real TLS, each among others that do not.

mod answers;
mod bodies;
mod connections;
mod h2;
mod paths;
mod raw;
mod stuck;
