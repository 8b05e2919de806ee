//! The change of one Service port, carried into the ruleset.

use evenkeel_model::{Candidate, NodeId, OwnNode, Path, PortId, Protocol, Selectable, Topology};
use evenkeel_nft::{Family, Frontend, InUse, Member, PortSpec, Ruleset, ZoneShare};
use evenkeel_topology::consumer::{Changes, Delta, EndpointChange, Selector};
use rustc_hash::FxHashMap;

use super::{Stale, facts::Tally, health_checks::HealthChecks};

/// Carries the change of one port into the ruleset.
pub(super) struct PortSync<'a> {
    pub changes: &'a Changes<'a>,
    pub node: NodeId,
    pub own: Option<&'a OwnNode>,
    pub names: &'a Topology,
    pub any_in_cluster: &'a mut FxHashMap<PortId, bool>,
    pub stale: &'a mut Stale,
    pub members: &'a mut (Vec<Member>, Vec<Member>),
    pub shares: &'a mut Vec<ZoneShare>,
    pub health_checks: &'a mut HealthChecks,
    pub tally: &'a mut Tally,
}

impl PortSync<'_> {
    pub(super) fn add(
        &mut self,
        ruleset: &mut Ruleset,
        selector: &Selector,
        id: PortId,
        delta: &Delta,
    ) {
        self.count(selector, id, delta);
        let Some(spec) = self.spec(id) else { return };
        let (cluster, local) = self.in_use(ruleset, selector, id, delta);
        ruleset.add_port(id, spec, cluster, local, delta.any_in_cluster);
        self.note_udp(ruleset, id);
    }

    pub(super) fn set(&mut self, ruleset: &mut Ruleset, id: PortId) {
        let Some(spec) = self.spec(id) else { return };
        self.note_udp(ruleset, id);
        ruleset.set_port(id, spec);
        self.note_udp(ruleset, id);
    }

    fn spec(&self, id: PortId) -> Option<PortSpec> {
        let port = self.changes.view().port(id)?;
        let family = Family::of_slices(port.family())?;
        let node_ip = self
            .own
            .and_then(|own| own.addresses.iter().copied().find(|ip| Family::of(*ip) == family));
        Some(PortSpec::of(port.service(), port.port(), family, node_ip))
    }

    pub(super) fn remove(&mut self, ruleset: &mut Ruleset, id: PortId) {
        self.note_udp(ruleset, id);
        self.any_in_cluster.remove(&id);
        self.health_checks.remove(id);
        self.tally.remove(id);
        ruleset.remove_port(id);
    }

    /// Connections of a UDP port may go elsewhere now.
    pub(super) fn note_udp(&mut self, ruleset: &Ruleset, id: PortId) {
        let is_udp = |frontend: &Frontend| frontend.protocol() == Protocol::Udp;
        ruleset.frontends(id).filter(is_udp).for_each(|frontend| self.stale.add(frontend));
    }

    pub(super) fn endpoints(
        &mut self,
        ruleset: &mut Ruleset,
        selector: &Selector,
        id: PortId,
        delta: &Delta,
        is_forced: bool,
    ) {
        let any = delta.any_in_cluster;
        let had_any = self.count(selector, id, delta);
        if had_any != any {
            self.note_udp(ruleset, id);
        }
        if delta.is_empty() && had_any == any && !is_forced {
            return;
        }
        let (cluster, local) = self.in_use(ruleset, selector, id, delta);
        ruleset.set_endpoints(id, cluster, local, any);
    }

    /// Counts a port. Returns whether it had an endpoint somewhere before.
    fn count(&mut self, selector: &Selector, id: PortId, delta: &Delta) -> bool {
        let view = self.changes.view();
        self.health_checks.count(id, view, self.node);
        self.tally.count(id, view, selector);
        self.any_in_cluster.insert(id, delta.any_in_cluster).unwrap_or(false)
    }

    /// The endpoints in use for traffic to the cluster and for traffic that must stay on this node.
    fn in_use(
        &mut self,
        ruleset: &mut Ruleset,
        selector: &Selector,
        id: PortId,
        delta: &Delta,
    ) -> (InUse<'_>, InUse<'_>) {
        let view = self.changes.view();
        let (cluster, local) = &mut *self.members;
        for (path, members) in [(Path::Cluster, &mut *cluster), (Path::Local, &mut *local)] {
            members.clear();
            members.extend(selector.members(view, id, path).map(|(member, _)| {
                let endpoint = view.port(id).and_then(|port| port.endpoint(member.backend));
                let is_local = endpoint.is_some_and(|e| e.on_node() == Some(self.node));
                Member { backend: member.backend, zone: member.zone, is_local }
            }));
        }
        for member in cluster.iter().chain(&*local) {
            ruleset.name_zone(member.zone, self.names.zones.name(member.zone));
        }
        self.shares.clear();
        // The endpoints of a zone have equal weights, which are bounded each.
        self.shares.extend(delta.cluster.weights.iter().filter(|zone| zone.ready > 0).map(
            |zone| {
                let part = u64::from(zone.weight) * u64::from(zone.ready);
                ZoneShare { zone: zone.zone, part: u32::try_from(part).unwrap_or(u32::MAX) }
            },
        ));
        let cluster = InUse { members: cluster, shares: self.shares };
        (cluster, InUse { members: local, shares: &[] })
    }
}

/// An endpoint that connections may go to has ended. Whether this node would still have chosen it is
/// no matter: connections outlive changes of hints, shares and readiness.
pub(super) fn is_lost(change: &EndpointChange) -> bool {
    let is_usable =
        |endpoint: &Option<Candidate>| endpoint.as_ref().is_some_and(Selectable::is_usable);
    is_usable(&change.before) && !is_usable(&change.after)
}
