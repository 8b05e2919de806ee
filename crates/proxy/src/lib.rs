//! The node's Service proxy: the rules that `evenkeel-nft` plans, in the kernel's nftables.

pub mod netlink;
pub mod report;
