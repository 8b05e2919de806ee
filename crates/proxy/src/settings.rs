//! What a proxy is told at its start.

use std::net::SocketAddr;

use evenkeel_k8s::watch::WatchSettings;
use evenkeel_nft::{Config, Family};

use crate::{
    NetworkNamespace,
    engine::{EngineSettings, NodePortAddresses},
};

#[derive(Clone, Debug)]
pub struct Settings {
    pub engine: EngineSettings,
    /// The network namespace whose tables are programmed; `None`: that of the process. Requests to the
    /// API server stay in that of the process.
    pub namespace: Option<NetworkNamespace>,
    /// The address of `/healthz` and `/livez`.
    pub healthz: Option<SocketAddr>,
    /// The address of `/metrics`.
    pub metrics: Option<SocketAddr>,
    pub watches: WatchSettings,
    /// The address of the API server, for log lines.
    pub address: Option<String>,
    /// Replace a table of the same name that somebody else made.
    pub adopt: bool,
    /// Refuse changes of the tables by others, where the kernel can.
    pub own: bool,
    /// The namespace of the Leases in which proxies report; `None`: no reports.
    pub reports: Option<String>,
}

impl Settings {
    /// For a node with this name, all else by default.
    pub fn new(node: &str) -> Settings {
        Settings {
            engine: EngineSettings {
                node: node.to_owned(),
                topology: evenkeel_topology::Settings::default(),
                nft: Config::default(),
                node_ranges: false,
                families: Family::ALL.to_vec(),
                node_ports: NodePortAddresses::Primary,
                service_proxy_name: None,
            },
            namespace: None,
            healthz: None,
            metrics: None,
            watches: WatchSettings::default(),
            address: None,
            adopt: false,
            own: true,
            reports: None,
        }
    }
}
