//! `evenkeel proxy` as a process on the real kernel: killed at any moment, refused, without
//! privileges. Needs root, and the commands `ip`, `nft` and `setpriv`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod away;
mod kill;
mod process;
mod refusals;
mod shape;
mod world;
