//! What the rules of a table depend on beside Services and their endpoints.

use evenkeel_model::Cidr;

use crate::rule::InterfaceName;

/// The table that a proxy owns by default.
pub const TABLE: &str = "evenkeel";

/// One before kube-proxy's and everybody else's `dstnat`: of chains at the same priority the one
/// that was registered last would win.
pub const PRIORITY_DESTINATION: i32 = -101;

/// One before everybody else's `srcnat`.
pub const PRIORITY_SOURCE: i32 = 99;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The name of the tables.
    pub table: String,
    /// The bit of the packet mark for connections that are to be masqueraded, from 0 to 31.
    pub mark_bit: u8,
    pub detect_local: DetectLocal,
    /// Masquerade all connections to cluster IPs.
    pub masquerade_all: bool,
    /// Of the hashes of IPv6 clients with session affinity. Secret, so that nobody can look for a
    /// client with the hash of another.
    pub seed: u32,
    /// Count connections by Service port and zone of their endpoint.
    pub zone_counters: bool,
}

/// How traffic of the cluster's Pods is recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DetectLocal {
    /// Not at all: no traffic counts as from outside the cluster.
    #[default]
    Off,
    /// By their addresses.
    Ranges(Vec<Cidr>),
    /// By the interface that it comes through.
    Interface(InterfaceName),
}

// === impl Config ===

impl Config {
    pub fn mark(&self) -> u32 {
        1u32.checked_shl(self.mark_bit.into()).unwrap_or(0)
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            table: TABLE.to_owned(),
            mark_bit: 14,
            detect_local: DetectLocal::Off,
            masquerade_all: false,
            seed: 0,
            zone_counters: false,
        }
    }
}
