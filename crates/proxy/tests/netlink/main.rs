//! The netlink layer against the kernel, each test in a network namespace of its own.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod conntrack;
mod namespace;
mod nftables;
mod route;
mod socket;
