//! The desired ruleset, and what changed in it since it was last taken.
//!
//! It is fed with ports of Services and their endpoints in use, and writes down each element that this
//! adds or takes away. [`Ruleset::take`] gives these as one [`Transaction`]. Its cost is that of the
//! ports that changed; a port of n endpoints and f frontends costs O(n · f), and the transaction has
//! only the elements that differ.
//!
//! Two ports may want the same frontend, such as a node port. The first by name has it, so that all
//! nodes agree and restarts change nothing; the others wait ([`Ruleset::contested`]).
//!
//! A proxy that starts gives its ruleset what the kernel has ([`Ruleset::adopt`]): endpoints then
//! get the slots that they have there, and the first transaction is the difference.

mod adopt;
mod claims;
mod counters;
mod elements;
mod references;

use core::net::IpAddr;
use std::sync::Arc;

use evenkeel_model::{Path, PortId, ServiceKey, ZoneId};
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::adopt::Adopted;
use self::{
    adopt::Seeds,
    claims::Claims,
    elements::{Lanes, frontend_elements},
    references::References,
};
use crate::{
    ChainId, Change, Config, Create, Data, Element, Family, Frontend, Key, Pool, PortName,
    PortSpec, Remove, SetId, Transaction, Verb, Verdict,
    pool::{Member, ZoneShare},
};

/// Chains that no Service needs any more are kept up to this number: most are needed again.
const MOST_IDLE_CHAINS: usize = 256;

/// The ruleset of a node.
#[derive(Debug)]
pub struct Ruleset {
    config: Config,
    families: Vec<Family>,
    ports: FxHashMap<PortId, Port>,
    claims: Claims,
    cluster_ips: References<IpAddr>,
    local_endpoints: References<IpAddr>,
    chains: References<(Family, ChainId)>,
    counters: References<(Family, Arc<str>)>,
    node_port_ips: Vec<IpAddr>,
    zone_names: FxHashMap<ZoneId, Arc<str>>,
    pending: Transaction,
    /// Families whose table is to be created.
    missing: Vec<Family>,
    seeds: Seeds,
}

#[derive(Debug)]
struct Port {
    spec: PortSpec,
    pools: Pools,
}

/// What a counter counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counted {
    pub service: ServiceKey,
    /// The zone of the endpoints.
    pub zone: Arc<str>,
}

/// The endpoints of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pools {
    cluster: Pool,
    local: Pool,
    /// There is an endpoint somewhere, though perhaps not for this node.
    any_in_cluster: bool,
}

/// The endpoints in use for one kind of traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct InUse<'a> {
    pub members: &'a [Member],
    /// Empty: all are alike.
    pub shares: &'a [ZoneShare],
}

// === impl Ruleset ===

impl Ruleset {
    /// Whose tables are to be created, in these families.
    pub fn new(config: Config, families: &[Family]) -> Ruleset {
        Ruleset {
            config,
            families: families.to_vec(),
            ports: FxHashMap::default(),
            claims: Claims::default(),
            cluster_ips: References::default(),
            local_endpoints: References::default(),
            chains: References::default(),
            counters: References::default(),
            node_port_ips: Vec::new(),
            zone_names: FxHashMap::default(),
            pending: Transaction::default(),
            missing: families.to_vec(),
            seeds: Seeds::default(),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The name of a zone, for its counters. To be told before endpoints of the zone are.
    pub fn name_zone(&mut self, zone: ZoneId, name: &str) {
        if self.config.zone_counters && !self.zone_names.contains_key(&zone) {
            self.zone_names.insert(zone, name.into());
        }
    }

    /// Sets what rules depend on beside Services. Returns whether it changed: then the caller asks for
    /// [`Self::rebuild`].
    pub fn reconfigure(&mut self, config: Config) -> bool {
        let is_new = self.config != config;
        self.config = config;
        is_new
    }

    /// Takes in a port, new or changed. Its endpoints stay.
    pub fn set_port(&mut self, id: PortId, spec: PortSpec) {
        if self.ports.get(&id).is_some_and(|port| port.spec == spec) {
            return;
        }
        let pools = match self.ports.contains_key(&id) {
            true => self.withdraw(id),
            false => Pools::default(),
        };
        self.insert(id, Port { spec, pools });
    }

    /// Takes in a port with its endpoints in use. For a new one this costs less than first one and then
    /// the other.
    pub fn add_port(
        &mut self,
        id: PortId,
        spec: PortSpec,
        cluster: InUse<'_>,
        local: InUse<'_>,
        any_in_cluster: bool,
    ) {
        if self.ports.contains_key(&id) {
            self.set_port(id, spec);
            self.set_endpoints(id, cluster, local, any_in_cluster);
            return;
        }
        let port = Port { spec, pools: Pools::default() };
        let pools = self.next_pools(&port, cluster, local, any_in_cluster);
        self.count_local(&pools, Verb::Add);
        self.insert(id, Port { pools, ..port });
    }

    /// Shows the frontends of a port that it can have.
    fn insert(&mut self, id: PortId, port: Port) {
        let name = Arc::clone(&port.spec.name);
        let frontends: Vec<Frontend> = port.spec.frontends.iter().map(|f| f.frontend).collect();
        self.ports.insert(id, port);
        for frontend in frontends {
            if !self.families.contains(&frontend.family()) {
                continue;
            }
            if let Some(loser) = self.claims.claim(frontend, id, &name) {
                if let Some(other) = loser {
                    self.show(other, frontend, Verb::Delete);
                }
                self.show(id, frontend, Verb::Add);
            }
        }
    }

    /// Takes out a port.
    pub fn remove_port(&mut self, id: PortId) {
        if self.ports.contains_key(&id) {
            let pools = self.withdraw(id);
            self.count_local(&pools, Verb::Delete);
            self.ports.remove(&id);
        }
    }

    /// Sets the endpoints in use of a port.
    pub fn set_endpoints(
        &mut self,
        id: PortId,
        cluster: InUse<'_>,
        local: InUse<'_>,
        any_in_cluster: bool,
    ) {
        let Some(port) = self.ports.get(&id) else { return };
        let pools = self.next_pools(port, cluster, local, any_in_cluster);
        if pools == port.pools {
            return;
        }
        self.count_local(&pools, Verb::Add);
        let port = self.ports.get_mut(&id).expect("it was there above");
        let old = std::mem::replace(&mut port.pools, pools);
        self.count_local(&old, Verb::Delete);
        self.differ(id, &old);
    }

    fn next_pools(
        &self,
        port: &Port,
        cluster: InUse<'_>,
        local: InUse<'_>,
        any_in_cluster: bool,
    ) -> Pools {
        let seeded = self.seeds.pools(port, cluster.members, local.members);
        let old = seeded.as_ref().unwrap_or(&port.pools);
        Pools {
            cluster: old.cluster.next(cluster.members, cluster.shares),
            local: old.local.next(local.members, local.shares),
            any_in_cluster,
        }
    }

    /// The addresses at which this node serves node ports.
    pub fn set_node_port_ips(&mut self, ips: impl IntoIterator<Item = IpAddr>) {
        let mut ips: Vec<IpAddr> =
            ips.into_iter().filter(|ip| self.families.contains(&Family::of(*ip))).collect();
        ips.sort_unstable();
        ips.dedup();
        let old = std::mem::replace(&mut self.node_port_ips, ips);
        let gone = old.iter().filter(|ip| !self.node_port_ips.contains(ip));
        let new = self.node_port_ips.iter().filter(|ip| !old.contains(ip));
        let gone = gone.map(|ip| (Verb::Delete, *ip));
        let changed: Vec<_> = gone.chain(new.map(|ip| (Verb::Add, *ip))).collect();
        for (verb, ip) in changed {
            self.push(Change { verb, element: address(SetId::NodePortIps, ip) });
        }
    }

    /// The endpoints in use of a port, whatever their order.
    pub fn members(&self, id: PortId, path: Path) -> impl Iterator<Item = Member> {
        let port = self.ports.get(&id);
        let pool = port.map(|port| match path {
            Path::Cluster => &port.pools.cluster,
            Path::Local => &port.pools.local,
        });
        pool.into_iter().flat_map(|pool| pool.slots().map(|slot| slot.member))
    }

    /// Frontends that several ports want, with the one that has it and those that wait.
    pub fn contested(&self) -> impl Iterator<Item = (Frontend, &PortName, Vec<&PortName>)> {
        let name = |id: PortId| self.ports.get(&id).map(|port| &*port.spec.name);
        self.claims.contested().filter_map(move |(frontend, owner, waiting)| {
            Some((frontend, name(owner)?, waiting.iter().filter_map(|id| name(*id)).collect()))
        })
    }

    pub fn spec(&self, id: PortId) -> Option<&PortSpec> {
        self.ports.get(&id).map(|port| &port.spec)
    }

    /// The frontends that a port has.
    pub fn frontends(&self, id: PortId) -> impl Iterator<Item = Frontend> {
        let specs = self.ports.get(&id).into_iter().flat_map(|port| &port.spec.frontends);
        specs.map(|spec| spec.frontend).filter(move |f| self.claims.owner(*f) == Some(id))
    }

    /// The port that has a frontend.
    pub fn owner(&self, frontend: Frontend) -> Option<PortId> {
        self.claims.owner(frontend)
    }

    /// What changed since this was last called, or since the start. The caller commits it, or else
    /// asks for [`Self::rebuild`].
    pub fn take(&mut self) -> Transaction {
        self.follow_references();
        let mut transaction = std::mem::take(&mut self.pending);
        transaction.settle();
        let missing = std::mem::take(&mut self.missing);
        let tables = missing.iter().map(|family| Create::Table(*family));
        transaction.create.splice(0..0, tables);
        let seeds = std::mem::take(&mut self.seeds);
        seeds.finish(&mut transaction, &missing);
        transaction
    }

    /// All of it, to replace whatever is there.
    pub fn rebuild(&mut self) -> Transaction {
        self.pending = Transaction::default();
        self.seeds = Seeds::default();
        self.missing.clear();
        self.chains.forget_idle();
        self.counters.forget_idle();
        let tables = self.families.iter().map(|family| Create::Table(*family));
        let chains = self.chains.keys().map(|(family, chain)| Create::Chain(*family, *chain));
        let counters =
            self.counters.keys().map(|(family, name)| Create::Counter(*family, Arc::clone(name)));
        let create = tables.chain(chains).chain(counters).collect();
        let add = |element| Change { verb: Verb::Add, element };
        let elements = self.elements().into_iter().map(add).collect();
        let mut transaction = Transaction { create, elements, remove: Vec::new() };
        transaction.settle();
        transaction
    }

    /// All elements, in no particular order.
    pub fn elements(&self) -> Vec<Element> {
        let mut elements = Vec::new();
        let mut add = |element| elements.push(element);
        for (id, port) in &self.ports {
            for frontend in self.frontends(*id) {
                let lanes = Lanes { old: None, new: Some(&port.pools) };
                let context = self.context(&port.spec);
                frontend_elements(&context, frontend, lanes, &mut |_, element| add(element));
            }
        }
        self.cluster_ips.keys().for_each(|ip| add(address(SetId::ClusterIps, *ip)));
        self.local_endpoints.keys().for_each(|ip| add(hairpin(*ip)));
        self.node_port_ips.iter().for_each(|ip| add(address(SetId::NodePortIps, *ip)));
        elements
    }

    /// The chains that pick, and are there.
    pub fn chains(&self, family: Family) -> Vec<ChainId> {
        let of_family = self.chains.keys().filter(|(of, _)| *of == family);
        let mut chains: Vec<ChainId> = of_family.map(|(_, chain)| *chain).collect();
        chains.sort_unstable();
        chains
    }

    /// What each counter counts: connections to a Service that went to a zone.
    pub fn counted(&self) -> FxHashMap<Arc<str>, Counted> {
        let mut counted = FxHashMap::default();
        let Some(zones) = self.config.zone_counters.then_some(&self.zone_names) else {
            return counted;
        };
        for Port { spec, pools } in self.ports.values() {
            let slots = pools.cluster.slots().chain(pools.local.slots());
            let used: FxHashSet<ZoneId> = slots.map(|slot| slot.member.zone).collect();
            for zone in used.iter().filter_map(|zone| zones.get(zone)) {
                let service = spec.name.service.clone();
                let of = Counted { service, zone: Arc::clone(zone) };
                counted.insert(counters::name(&spec.name, zone), of);
            }
        }
        counted
    }

    pub fn counter_names(&self, family: Family) -> Vec<Arc<str>> {
        let of_family = self.counters.keys().filter(|(of, _)| *of == family);
        let mut names: Vec<Arc<str>> = of_family.map(|(_, name)| Arc::clone(name)).collect();
        names.sort_unstable();
        names
    }

    /// The ruleset as text for `nft -f`.
    pub fn text(&self) -> String {
        let mut elements = self.elements();
        elements.sort_by_key(Element::key);
        let mut text = String::new();
        for family in &self.families {
            let (counters, chains) = (self.counter_names(*family), self.chains(*family));
            crate::text::table(&mut text, &self.config, *family, counters, chains, &elements)
                .expect("writing to a String does not fail");
        }
        text
    }

    /// Takes all that a port shows out, and its frontends from it. What is left: its endpoints.
    fn withdraw(&mut self, id: PortId) -> Pools {
        let frontends: Vec<Frontend> =
            self.ports[&id].spec.frontends.iter().map(|spec| spec.frontend).collect();
        for frontend in frontends {
            if self.claims.owner(frontend) == Some(id) {
                self.show(id, frontend, Verb::Delete);
            }
            let name = |id: PortId| self.ports.get(&id).map(|port| Arc::clone(&port.spec.name));
            if let Some(next) = self.claims.release(frontend, id, name) {
                self.show(next, frontend, Verb::Add);
            }
        }
        let port = self.ports.get_mut(&id).expect("the caller has looked");
        std::mem::take(&mut port.pools)
    }

    /// Writes down all elements of one frontend of a port.
    fn show(&mut self, id: PortId, frontend: Frontend, verb: Verb) {
        let Some(port) = self.ports.get(&id) else { return };
        let pools = Some(&port.pools);
        let lanes = match verb {
            Verb::Add => Lanes { old: None, new: pools },
            Verb::Delete => Lanes { old: pools, new: None },
        };
        let mut changes = Vec::new();
        let context = self.context(&port.spec);
        let is_cluster_ip = context.is_cluster_ip(frontend);
        frontend_elements(&context, frontend, lanes, &mut |verb, element| {
            changes.push(Change { verb, element });
        });
        changes.into_iter().for_each(|change| self.write_down(change));
        if let (true, Frontend::Address { ip, .. }) = (is_cluster_ip, frontend)
            && self.cluster_ips.count(ip, verb)
        {
            let element = address(SetId::ClusterIps, ip);
            self.push(Change { verb, element });
        }
    }

    /// Writes down what differs from the old endpoints of a port.
    fn differ(&mut self, id: PortId, old: &Pools) {
        let port = &self.ports[&id];
        let context = self.context(&port.spec);
        let mut changes = Vec::new();
        for frontend in self.frontends(id) {
            let lanes = Lanes { old: Some(old), new: Some(&port.pools) };
            frontend_elements(&context, frontend, lanes, &mut |verb, element| {
                changes.push(Change { verb, element });
            });
        }
        changes.into_iter().for_each(|change| self.write_down(change));
    }

    fn context<'a>(&'a self, spec: &'a PortSpec) -> elements::Context<'a> {
        let zones = self.config.zone_counters.then_some(&self.zone_names);
        elements::Context { spec, zones }
    }

    fn write_down(&mut self, change: Change) {
        let Change { verb, element } = &change;
        match &element.data {
            Data::Verdict(Verdict::Goto(chain @ ChainId::Pick(_))) => {
                self.chains.count((element.family, *chain), *verb);
            }
            Data::Counter(name) => {
                self.counters.count((element.family, Arc::clone(name)), *verb);
            }
            _ => {}
        }
        self.push(change);
    }

    fn push(&mut self, change: Change) {
        if !self.seeds.covers(&change) {
            self.pending.elements.push(change);
        }
    }

    /// Counts the endpoints of this node.
    fn count_local(&mut self, pools: &Pools, verb: Verb) {
        let local = pools.cluster.slots().chain(pools.local.slots());
        for slot in local.filter(|slot| slot.member.is_local) {
            let ip = slot.member.backend.ip;
            if self.local_endpoints.count(ip, verb) {
                self.push(Change { verb, element: hairpin(ip) });
            }
        }
    }

    /// Chains and counters that are to be created, and those that nothing needs any more.
    fn follow_references(&mut self) {
        // These are elements, which are written down when they are counted.
        self.cluster_ips.forget_touched();
        self.local_endpoints.forget_touched();
        let Ruleset { chains, counters, pending: Transaction { create, remove, .. }, .. } = self;
        let missing = chains.take_missing().into_iter();
        create.extend(missing.map(|(family, chain)| Create::Chain(family, chain)));
        let missing = counters.take_missing().into_iter();
        create.extend(missing.map(|(family, name)| Create::Counter(family, name)));
        let idle = chains.take_idle(MOST_IDLE_CHAINS).into_iter();
        remove.extend(idle.map(|(family, chain)| Remove::Chain(family, chain)));
        let idle = counters.take_idle(0).into_iter();
        remove.extend(idle.map(|(family, name)| Remove::Counter(family, name)));
    }
}

fn address(set: SetId, ip: IpAddr) -> Element {
    Element::new(Family::of(ip), set, Key::new().address(ip), Data::None)
}

fn hairpin(ip: IpAddr) -> Element {
    Element::new(Family::of(ip), SetId::Hairpin, Key::new().address(ip).address(ip), Data::None)
}
