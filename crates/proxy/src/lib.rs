//! The node's Service proxy: the rules that `evenkeel-nft` plans, in the kernel's nftables.

pub mod engine;
pub mod namespace;
pub mod netlink;

pub use crate::namespace::NetworkNamespace;
