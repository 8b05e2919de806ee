//! `evenkeel xds` as a person runs it: real Envoys are its proxies, small servers the instances of
//! services, and what is measured is compared with what `/mesh/inspect` predicts.

#![expect(clippy::unwrap_used, reason = "tests")]

mod client;
mod cluster;
mod control_plane;
mod custom_resources;
mod folder;
mod hashing;
mod health;
mod inbound;
mod invalid;
mod outage;
mod promptly;
mod routes;
mod two_meshes;
mod typed;
mod use_cases;
