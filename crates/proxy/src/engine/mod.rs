//! What the proxy of a node decides: objects in, a [`Transaction`] out. No clock, no socket, no task.
//!
//! ```text
//!  Services, slices ─► View ─► Selector (this node) ─► Ruleset ─► Transaction
//!  Node, addresses ──────────────────┴───────────────────┘   └─► flows to remove, health checks
//! ```
//!
//! A [`sync`](Engine::sync) costs what the ports that changed cost. Nothing is decided before the
//! first list of every kind is complete: a ruleset from half a list would cut off the other half.

mod facts;
mod health_checks;
mod node_ports;
mod port_sync;
mod stale;

use core::net::IpAddr;
use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{
    Gone, Node, NodeId, OwnNode, PortId, Protocol, ProxyException, SeenService, SeenSlice,
    Topology, Viewpoint, Watched, Watermark,
};
use evenkeel_nft::{
    Adopted, Config, DetectLocal, Element, Family, Member, PortName, Ruleset, Transaction,
    ZoneShare,
};
use evenkeel_topology::{
    Settings,
    consumer::{ChangeKind, Delta, Selector, View},
};
use rustc_hash::FxHashMap;

use self::{
    facts::Tally,
    health_checks::HealthChecks,
    port_sync::{PortSync, is_lost},
};
use crate::report::InForce;

/// Another Service has an address or node port that this one requests.
pub const CONTESTED: &str = "FrontendContested";
pub use self::{
    facts::{Facts, Services},
    health_checks::HealthCheck,
    node_ports::NodePortAddresses,
    stale::Stale,
};

/// How an engine decides.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The name of this node.
    pub node: String,
    pub topology: Settings,
    pub nft: Config,
    /// Recognise Pods by the ranges of this Node (`spec.podCIDRs`).
    pub node_ranges: bool,
    pub families: Vec<Family>,
    pub node_ports: NodePortAddresses,
    /// The value of the label `service.kubernetes.io/service-proxy-name` of Services to serve; `None`:
    /// those without it.
    pub service_proxy_name: Option<String>,
}

type Table = Box<dyn FnOnce(&Config) -> Adopted + Send>;

pub struct Engine {
    settings: EngineSettings,
    names: Topology,
    view: View,
    selector: Selector,
    ruleset: Ruleset,
    node: Option<(Node, OwnNode)>,
    /// The Node is in the list that is being read, or was in the last one.
    is_node_listed: bool,
    node_id: NodeId,
    local_addresses: Vec<IpAddr>,
    /// The Node's addresses that frontends were made for.
    node_ips: Vec<IpAddr>,
    /// Which first lists are complete.
    listed: Listed,
    any_in_cluster: FxHashMap<PortId, bool>,
    health_checks: HealthChecks,
    tally: Tally,
    services_seen: Watermark,
    slices_seen: Watermark,
    in_force: InForce,
    stale: Stale,
    /// Tables that were in the kernel at the start, until the first sync.
    adopted: Vec<(Family, Table)>,
    is_started: bool,
    delta: Delta,
    members: (Vec<Member>, Vec<Member>),
    shares: Vec<ZoneShare>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Listed {
    services: bool,
    slices: bool,
    nodes: bool,
    addresses: bool,
}

// === impl Engine ===

impl Engine {
    pub fn new(settings: EngineSettings) -> Engine {
        let mut names = Topology::default();
        let node_id = names.nodes.intern(&settings.node);
        let viewpoint = Viewpoint { node: Some(node_id), zone: None };
        Engine {
            view: View::new(settings.topology.clone()),
            selector: Selector::new(viewpoint),
            ruleset: Ruleset::new(settings.nft.clone(), &settings.families),
            names,
            node: None,
            is_node_listed: false,
            node_id,
            local_addresses: Vec::new(),
            node_ips: Vec::new(),
            listed: Listed::default(),
            any_in_cluster: FxHashMap::default(),
            health_checks: HealthChecks::default(),
            tally: Tally::default(),
            services_seen: Watermark::default(),
            slices_seen: Watermark::default(),
            in_force: InForce::default(),
            stale: Stale::default(),
            adopted: Vec::new(),
            is_started: false,
            delta: Delta::default(),
            members: (Vec::new(), Vec::new()),
            shares: Vec::new(),
            settings,
        }
    }

    /// Names of zones and nodes, for objects that are converted.
    pub fn names_mut(&mut self) -> &mut Topology {
        &mut self.names
    }

    pub fn names(&self) -> &Topology {
        &self.names
    }

    pub fn ruleset(&self) -> &Ruleset {
        &self.ruleset
    }

    /// What the kernel has, to be taken over by the first sync if its rules are the same, and replaced
    /// otherwise.
    ///
    /// What rules should be there is known only then, so `table` is asked for with it.
    pub fn adopt(
        &mut self,
        family: Family,
        table: impl FnOnce(&Config) -> Adopted + Send + 'static,
    ) {
        self.adopted.push((family, Box::new(table)));
    }

    /// What the watch of Services tells.
    pub fn service(&mut self, seen: Watched<SeenService>) {
        self.services_seen.see(&seen, |seen| &seen.version);
        self.listed.services |= matches!(seen, Watched::Complete);
        let name = self.settings.service_proxy_name.as_deref();
        match seen {
            Watched::Listed(seen) if !seen.service.is_served_by(name) => {}
            Watched::Applied(seen) if !seen.service.is_served_by(name) => {
                self.view.delete_service(&seen.service.key);
            }
            Watched::Listed(seen) => self.view.watch_service(Watched::Listed(slim(seen))),
            Watched::Applied(seen) => self.view.watch_service(Watched::Applied(slim(seen))),
            seen => self.view.watch_service(seen),
        }
    }

    /// What the watch of slices tells.
    pub fn slice(&mut self, seen: Watched<SeenSlice>) {
        self.slices_seen.see(&seen, |seen| &seen.version);
        self.listed.slices |= matches!(seen, Watched::Complete);
        self.view.watch_slice(seen);
    }

    /// What the watch of this Node tells. A Node that is gone has no zone and no addresses.
    pub fn node(&mut self, seen: Watched<(Node, OwnNode)>) {
        match seen {
            Watched::Restarted => self.is_node_listed = false,
            Watched::Listed(node) if node.0.id == self.node_id => {
                (self.node, self.is_node_listed) = (Some(node), true);
            }
            Watched::Applied(node) if node.0.id == self.node_id => self.node = Some(node),
            Watched::Deleted(Gone { name, .. }) if *name == *self.settings.node => {
                self.node = None;
            }
            Watched::Complete => {
                self.listed.nodes = true;
                self.node = self.node.take().filter(|_| self.is_node_listed);
            }
            Watched::Listed(_) | Watched::Applied(_) | Watched::Deleted(_) => {}
        }
    }

    /// The addresses of this node's interfaces.
    pub fn addresses(&mut self, addresses: Vec<IpAddr>) {
        self.local_addresses = addresses;
        self.listed.addresses = true;
    }

    /// All that is needed for a ruleset is known.
    pub fn is_synced(&self) -> bool {
        let Listed { services, slices, nodes, addresses } = self.listed;
        services && slices && nodes && addresses
    }

    /// The Node, if it is there.
    pub fn own_node(&self) -> Option<&OwnNode> {
        self.node.as_ref().map(|(_, own)| own)
    }

    /// The zone of this node.
    pub fn zone(&self) -> Option<&str> {
        let zone = self.selector.viewpoint().zone?;
        Some(self.names.zones.name(zone))
    }

    /// Follows all changes. The caller commits the transaction, or else asks for [`Self::rebuild`].
    pub fn sync(&mut self) -> Transaction {
        if !self.is_synced() {
            return Transaction::default();
        }
        let is_first = !std::mem::replace(&mut self.is_started, true);
        let is_reconfigured = self.follow_config();
        if is_first {
            self.take_over();
        }
        self.follow_ports(is_first);
        self.follow_node_ports();
        self.follow_revisions();
        if is_first {
            self.check_all_udp();
        }
        match is_reconfigured && !is_first {
            true => self.ruleset.rebuild(),
            false => self.ruleset.take(),
        }
    }

    /// All rules, to replace what is there.
    pub fn rebuild(&mut self) -> Transaction {
        self.ruleset.rebuild()
    }

    /// Connections of UDP that may go to endpoints that are gone; to be asked for after the commit.
    pub fn take_stale(&mut self) -> Stale {
        std::mem::take(&mut self.stale)
    }

    /// Whether a UDP connection leads to where it should not.
    pub fn is_stale(&self, stale: &Stale, original: (IpAddr, u16), reply: (IpAddr, u16)) -> bool {
        stale.is_stale(&self.ruleset, &self.view, &self.node_port_ips(), original, reply)
    }

    /// What rules follow once the last transaction is committed.
    pub fn in_force(&self) -> &InForce {
        &self.in_force
    }

    pub fn health_checks(&self) -> impl Iterator<Item = HealthCheck> {
        self.health_checks.all()
    }

    /// The addresses at which node ports are served.
    pub fn node_port_ips(&self) -> Vec<IpAddr> {
        let own = self.own_node();
        self.settings.node_ports.resolve(&self.local_addresses, own)
    }

    pub fn facts(&self) -> Facts {
        self.tally.all()
    }

    fn follow_revisions(&mut self) {
        let contested = self.ruleset.contested();
        let losers = contested.flat_map(|(_, _, losers)| losers.into_iter());
        let exception = |name: &PortName| ProxyException {
            service: name.service.clone(),
            reason: CONTESTED.into(),
        };
        self.in_force = InForce {
            services: self.services_seen.reached().cloned(),
            slices: self.slices_seen.reached().cloned(),
            exceptions: losers.map(exception).collect(),
            node_uid: self.own_node().map(|own| Arc::clone(&own.uid)),
        };
    }

    /// What rules depend on beside Services may have changed with the Node.
    fn follow_config(&mut self) -> bool {
        if !self.settings.node_ranges {
            return false;
        }
        let ranges = self.own_node().map(|own| own.pod_ranges.clone()).unwrap_or_default();
        let detect_local = match ranges.is_empty() {
            true => DetectLocal::Off,
            false => DetectLocal::Ranges(ranges),
        };
        let config = Config { detect_local, ..self.ruleset.config().clone() };
        self.ruleset.reconfigure(config)
    }

    fn follow_node_ports(&mut self) {
        let ips = self.node_port_ips();
        self.ruleset.set_node_port_ips(ips);
    }

    /// Follows ports and their endpoints, then looks from the zone that the Node is in now.
    fn follow_ports(&mut self, is_first: bool) {
        let zone = self.node.as_ref().and_then(|(node, _)| node.zone);
        let from = Viewpoint { node: Some(self.node_id), zone };
        let Engine { view, selector, ruleset, delta, .. } = self;
        let changes = view.changes();
        let mut port = PortSync {
            changes: &changes,
            node: self.node_id,
            own: self.node.as_ref().map(|(_, own)| own),
            names: &self.names,
            any_in_cluster: &mut self.any_in_cluster,
            stale: &mut self.stale,
            members: &mut self.members,
            shares: &mut self.shares,
            health_checks: &mut self.health_checks,
            tally: &mut self.tally,
        };
        if is_first {
            *selector = Selector::new(from);
        }
        for change in changes.ports() {
            selector.update(&changes, &change, delta);
            match change.kind {
                ChangeKind::Removed => port.remove(ruleset, change.id),
                ChangeKind::Added(_) => port.add(ruleset, selector, change.id, delta),
                ChangeKind::Changed { service, endpoints, .. } => {
                    if service {
                        port.set(ruleset, change.id);
                    }
                    if endpoints.iter().any(is_lost) {
                        port.note_udp(ruleset, change.id);
                    }
                    port.endpoints(ruleset, selector, change.id, delta, service);
                }
            }
        }
        let node_ips = port.own.map_or(&[][..], |own| &own.addresses);
        if self.node_ips != node_ips {
            self.node_ips = node_ips.to_vec();
            changes.view().ports().for_each(|(id, _)| port.set(ruleset, id));
        }
        if from != selector.viewpoint() {
            let mut deltas = Vec::new();
            selector.relocate(&changes, from, |id, delta| deltas.push((id, delta.clone())));
            for (id, delta) in &deltas {
                port.endpoints(ruleset, selector, *id, delta, false);
            }
        }
    }

    /// Connections to frontends that were in the kernel, and are not any more, may be stale.
    fn take_over(&mut self) {
        for (family, table) in std::mem::take(&mut self.adopted) {
            let table = table(self.ruleset.config());
            for frontend in table.elements.iter().filter_map(stale::udp_frontend) {
                self.stale.add(frontend);
            }
            self.ruleset.adopt(family, table);
        }
    }

    fn check_all_udp(&mut self) {
        let ports = self.view.ports().filter(|(_, port)| port.port().protocol == Protocol::Udp);
        for (id, _) in ports {
            self.ruleset.frontends(id).for_each(|frontend| self.stale.add(frontend));
        }
    }
}

/// Without what only controllers need: small maps take a third of a kilobyte each.
fn slim(mut seen: SeenService) -> SeenService {
    seen.service.labels = BTreeMap::new();
    seen.service.selector = seen.service.selector.map(|_| BTreeMap::new());
    seen.service.ports.shrink_to_fit();
    seen.service.families.shrink_to_fit();
    seen
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("node", &self.settings.node).finish_non_exhaustive()
    }
}

/// The elements of a ruleset, for who looks on.
impl Engine {
    pub fn elements(&self) -> Vec<Element> {
        self.ruleset.elements()
    }

    /// The text that `nft -f` would load.
    pub fn text(&self) -> String {
        self.ruleset.text()
    }
}
