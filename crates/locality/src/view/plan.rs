//! From a client's outbounds and the policies in force to clusters, listeners and routes.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU16,
    sync::Arc,
    time::Duration,
};

use evenkeel_model::mesh::{
    Cluster, ClusterEndpoints, Direction, HashKey, Listener, MeshProtocol, PathMatch, ProxyConfig,
    Route, RouteAction, RouteMatch, RouteTable, Split, Traffic,
};

use super::{
    AssignmentKey, InForce, PlanReason, ServiceKey,
    in_force::{RuleInForce, in_force},
    matching::{Destination, Facts},
    mesh::MeshView,
    name,
    policies::PolicyEntry,
    shapes::{MadeFrom, ShapeKey},
};
use crate::{
    Client, Place, Strategy, TargetKind,
    resource::{BackendRef, Labels, Outbound},
};

/// What all proxies alike are told about where their traffic goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutboundPlan {
    /// Each list is in the order of names, listeners in that of addresses.
    pub config: ProxyConfig,
    /// The clusters that are sent by endpoint discovery, by name.
    pub assignments: Vec<(Arc<str>, Arc<AssignmentKey>)>,
    /// The policies for each destination and each backend.
    pub in_force: BTreeMap<(ServiceKey, Option<NonZeroU16>), Arc<InForce>>,
    pub reasons: Vec<PlanReason>,
}

/// Kuma's default.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

impl MeshView {
    pub(super) fn plan(
        &mut self,
        key: &ShapeKey,
        policies: &[Arc<PolicyEntry>],
    ) -> (OutboundPlan, MadeFrom) {
        let mut planner = Planner {
            mesh: self,
            policies,
            policy_ids: key.policies.clone(),
            client: key.client(),
            made_from: MadeFrom::default(),
            clusters: BTreeMap::new(),
            listeners: BTreeMap::new(),
            routes: BTreeMap::new(),
            in_force: BTreeMap::new(),
            reasons: BTreeSet::new(),
        };
        for outbound in &key.outbounds {
            planner.outbound(outbound);
        }
        planner.finish()
    }
}

pub(super) struct Planner<'m> {
    pub(super) mesh: &'m mut MeshView,
    policies: &'m [Arc<PolicyEntry>],
    policy_ids: Arc<[u64]>,
    client: Client,
    pub(super) made_from: MadeFrom,
    clusters: BTreeMap<Arc<str>, (Arc<Cluster>, Arc<AssignmentKey>)>,
    listeners: BTreeMap<SocketAddr, (Arc<Listener>, Arc<str>)>,
    routes: BTreeMap<Arc<str>, Arc<RouteTable>>,
    in_force: BTreeMap<(ServiceKey, Option<NonZeroU16>), Arc<InForce>>,
    pub(super) reasons: BTreeSet<PlanReason>,
}

/// A destination with all that is known of it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) service: ServiceKey,
    port: Option<NonZeroU16>,
    pub(super) subset: Labels,
    /// `None` if no instance is known.
    protocol: Option<MeshProtocol>,
    in_force: Arc<InForce>,
}

impl Planner<'_> {
    fn outbound(&mut self, outbound: &Outbound) {
        let address = outbound.listen;
        let service = outbound.backend.name.clone();
        if let Some((_, kept)) = self.listeners.get(&address) {
            let (left_out, kept) = (service, kept.clone());
            self.reasons.insert(PlanReason::AddressTaken { address, left_out, kept });
            return;
        }
        let to = self.target(&outbound.backend);
        let traffic = match to.speaks_http() {
            true => Traffic::Http {
                route_table: self.route_table(&to),
                protocol: to.protocol.unwrap_or(MeshProtocol::Http),
            },
            false => Traffic::Tcp(self.tcp_split(&to)),
        };
        let listener = Listener {
            name: name::outbound(address),
            address,
            direction: Direction::Outbound,
            traffic,
        };
        let listener = self.mesh.shapes.listeners.intern(listener);
        self.listeners.insert(address, (listener, service));
    }

    fn finish(self) -> (OutboundPlan, MadeFrom) {
        let Planner { clusters, listeners, routes, in_force, reasons, made_from, .. } = self;
        let assignments = clusters.iter().map(|(name, (_, key))| (name.clone(), key.clone()));
        let assignments = assignments.collect();
        let of_policies = in_force.values().flat_map(|in_force| in_force.reasons.iter().cloned());
        let reasons: BTreeSet<PlanReason> = of_policies.chain(reasons).collect();
        let config = ProxyConfig {
            clusters: clusters.into_values().map(|(cluster, _)| cluster).collect(),
            listeners: listeners.into_values().map(|(listener, _)| listener).collect(),
            routes: routes.into_values().collect(),
        };
        let reasons = reasons.into_iter().collect();
        (OutboundPlan { config, assignments, in_force, reasons }, made_from)
    }

    // === Destinations ===

    pub(super) fn target(&mut self, backend: &BackendRef) -> Target {
        let key = |kind| ServiceKey { kind, ..self.mesh.key_of(backend.kind, &backend.name) };
        let (plain, multi_zone) =
            (key(TargetKind::MeshService), key(TargetKind::MeshMultiZoneService));
        let as_written = key(backend.kind);
        let is_multi_zone = !self.facts(&multi_zone).exists;
        let service = match backend.kind {
            TargetKind::MeshMultiZoneService if is_multi_zone => plain,
            _ => as_written,
        };
        let facts = self.facts(&service);
        let in_force = self.in_force(&service, backend.port, &facts, is_multi_zone);
        let port = facts.ports.iter().find(|port| Some(port.port) == backend.port);
        Target {
            service,
            port: backend.port,
            subset: backend.tags.clone(),
            protocol: port.and_then(|port| port.protocol).or(facts.protocol),
            in_force,
        }
    }

    fn facts(&mut self, key: &ServiceKey) -> Arc<Facts> {
        if let Some(facts) = self.made_from.facts.get(key) {
            return facts.clone();
        }
        let facts = self.mesh.known_facts(key);
        self.made_from.facts.insert(key.clone(), facts.clone());
        facts
    }

    fn in_force(
        &mut self,
        service: &ServiceKey,
        port: Option<NonZeroU16>,
        facts: &Arc<Facts>,
        is_multi_zone: bool,
    ) -> Arc<InForce> {
        let key = (self.policy_ids.clone(), service.clone(), port);
        let is_current =
            |known: &&Arc<InForce>| known.facts == *facts && known.is_multi_zone == is_multi_zone;
        let known = self.mesh.shapes.in_force.get(&key).filter(is_current).cloned();
        let in_force = known.unwrap_or_else(|| {
            let to =
                Destination { kind: service.kind, name: &service.name, port, facts, is_multi_zone };
            let compat = self.mesh.settings.compat;
            let strategies = &mut self.mesh.shapes.strategies;
            let in_force = Arc::new(in_force(self.policies, &to, facts, compat, strategies));
            self.mesh.work += self.policies.len() as u64;
            self.mesh.keep_in_force(key, &in_force);
            in_force
        });
        self.in_force.insert((service.clone(), port), in_force.clone());
        in_force
    }

    pub(super) fn assignment_key(&mut self, to: &Target) -> Arc<AssignmentKey> {
        let strategy = to.in_force.strategy.clone();
        self.made_from.uses_node |= *strategy.strategy() == Strategy::Topology { by_node: true };
        self.mesh.shapes.keys.intern(AssignmentKey {
            service: to.service.clone(),
            port: to.port,
            subset: to.subset.clone(),
            place: Place::of(&self.client, strategy.strategy()),
            strategy,
        })
    }

    /// The cluster's name, unless another destination has it.
    pub(super) fn add_cluster(
        &mut self,
        to: &Target,
        key: Arc<AssignmentKey>,
    ) -> Result<Arc<str>, PlanReason> {
        let ServiceKey { kind, name, .. } = &to.service;
        let cluster_name = name::cluster(*kind, name, to.port, &to.subset);
        match self.clusters.get(&cluster_name) {
            Some((_, known)) if **known == *key => return Ok(cluster_name),
            Some(_) => return Err(PlanReason::ClusterNameTaken { cluster: cluster_name }),
            None => {}
        }
        let cluster = self.mesh.shapes.clusters.intern(to.cluster(&cluster_name));
        self.clusters.insert(cluster_name.clone(), (cluster, key));
        Ok(cluster_name)
    }

    // === Traffic ===

    fn tcp_split(&mut self, to: &Target) -> Split {
        let in_force = to.in_force.clone();
        let rule = in_force.tcp.iter().flatten().next();
        let clusters = self.split(to, rule.and_then(|rule| rule.backends.as_deref()));
        let hashes = in_force.hash_policies.iter();
        let hash_source_ip = hashes.into_iter().any(|policy| policy.key == HashKey::SourceIp);
        Split { clusters: clusters.unwrap_or_default(), hash_source_ip }
    }

    fn route_table(&mut self, to: &Target) -> Arc<str> {
        let ServiceKey { kind, name, .. } = &to.service;
        let table_name = name::route_table(&name::cluster(*kind, name, to.port, &to.subset));
        if self.routes.contains_key(&table_name) {
            return table_name;
        }
        let in_force = to.in_force.clone();
        let mut routes = Vec::new();
        for rule in in_force.http.iter().flatten() {
            let action = self.action(to, rule.backends.as_deref(), rule);
            let matches = match rule.matches.is_empty() {
                true => vec![RouteMatch::default()],
                false => rule.matches.clone(),
            };
            let with_action =
                matches.into_iter().map(|matches| Route { matches, action: action.clone() });
            routes.extend(with_action);
        }
        routes.sort_by_key(|route| std::cmp::Reverse(specificity(&route.matches)));
        let has_default = routes.last().is_some_and(|r| r.matches == RouteMatch::default());
        if !has_default {
            let hash_policies = in_force.hash_policies.clone();
            let rule = RuleInForce { matches: Vec::new(), backends: None, hash_policies };
            let action = self.action(to, None, &rule);
            routes.push(Route { matches: RouteMatch::default(), action });
        }
        let table = RouteTable { name: table_name.clone(), routes };
        let table = self.mesh.shapes.routes.intern(table);
        self.routes.insert(table_name.clone(), table);
        table_name
    }

    fn action(
        &mut self,
        to: &Target,
        backends: Option<&[(BackendRef, u32)]>,
        rule: &RuleInForce,
    ) -> RouteAction {
        match self.split(to, backends) {
            Ok(clusters) => RouteAction::Forward {
                split: Split { clusters, hash_source_ip: false },
                hash_policies: rule.hash_policies.clone(),
                timeout: None,
            },
            Err(why) => RouteAction::Unavailable { why: why.to_string().into() },
        }
    }
}

impl Target {
    /// Connections of unknown protocol are HTTP if there are routes for it. A MeshTCPRoute counts
    /// where there is no MeshHTTPRoute.
    fn speaks_http(&self) -> bool {
        let InForce { http, tcp, .. } = &*self.in_force;
        match self.protocol {
            None => http.is_some(),
            Some(MeshProtocol::Tcp) => false,
            Some(_) => http.is_some() || tcp.is_none(),
        }
    }

    fn cluster(&self, name: &Arc<str>) -> Cluster {
        let protocol = self.protocol.unwrap_or_default();
        let in_force = &*self.in_force;
        let health_checks: Vec<_> =
            in_force.health_check.for_protocol(protocol).into_iter().collect();
        let outlier_detection = in_force.breaker.outlier_detection.clone();
        let readiness_alone = health_checks.is_empty() && outlier_detection.is_none();
        let of_breaker = outlier_detection.as_ref();
        let of_breaker = of_breaker.and_then(|detection| detection.healthy_panic_threshold);
        let of_policies = in_force.health_check.healthy_panic_threshold.or(of_breaker);
        Cluster {
            name: name.clone(),
            protocol,
            connect_timeout: CONNECT_TIMEOUT,
            endpoints: ClusterEndpoints::Discovered,
            load_balancer: in_force.load_balancer.clone(),
            locality_weighted: in_force.strategy.strategy().locality_weighted(),
            // An endpoint that is not ready is known not to answer.
            panic_threshold: if readiness_alone { Some(0) } else { of_policies },
            health_checks,
            outlier_detection,
            limits: in_force.breaker.limits.clone(),
        }
    }
}

/// The order of routes: whole paths, expressions, longer prefixes, then what else must match.
fn specificity(matches: &RouteMatch) -> (u8, usize, bool, usize, usize) {
    let (class, length) = match &matches.path {
        PathMatch::Exact(path) => (3, path.len()),
        PathMatch::Regex(path) => (2, path.len()),
        PathMatch::Prefix(path) => (1, path.len()),
        PathMatch::Any => (0, 0),
    };
    (class, length, matches.method.is_some(), matches.headers.len(), matches.query.len())
}
