//! What the explanations of all Services of a cluster share, computed once.

use std::sync::{Arc, OnceLock};

use evenkeel_model::{ServiceState, Slice, Snapshot, WithMessage, ZoneId, label};

use super::{
    Advice, Explanation, FamilyView, From, Subject, advice, capacity, checks, family_view,
    regions::{self, is_regional},
    warnings, zone_view,
};
use crate::{
    Capacity, DataPlane, Demand, Environment, NoHints, Profile, Proxies, Settings,
    analyze::{self, Finding, Severity},
    capacity::is_counted,
    demand,
    plan::NodeTable,
    policy,
};

/// A snapshot with the rules that hold for it.
#[derive(Debug)]
pub struct Context<'a> {
    snapshot: &'a Snapshot,
    environment: &'a Environment,
    nodes: NodeTable,
    capacity: Result<Capacity, NoHints>,
    demand: Demand,
    proxies: Proxies<'a>,
    /// The zones of worker nodes, sorted by name.
    pub(super) zones: Vec<ZoneId>,
    /// Worker nodes that are not ready, and all worker nodes.
    pub(super) unready: (usize, usize),
    cluster_findings: OnceLock<Vec<Finding>>,
}

impl<'a> Context<'a> {
    pub fn new(snapshot: &'a Snapshot, environment: &'a Environment) -> Self {
        let workers = || snapshot.nodes.iter().filter(|n| !n.control_plane);
        let mut zones: Vec<ZoneId> = workers().filter_map(|n| n.zone).collect();
        zones.sort_unstable_by_key(|&zone| snapshot.topology.zones.name(zone));
        zones.dedup();
        Context {
            // Both profiles measure alike.
            capacity: capacity(snapshot, environment.common()),
            demand: demand(&snapshot.nodes, &snapshot.topology),
            proxies: Proxies::of(snapshot),
            nodes: snapshot.nodes.iter().cloned().collect(),
            unready: (workers().filter(|n| !is_counted(n)).count(), workers().count()),
            zones,
            cluster_findings: OnceLock::new(),
            snapshot,
            environment,
        }
    }

    /// Explains one Service, as seen from all zones or from where `from` says.
    pub fn explain(&self, state: &ServiceState, from: &From) -> Explanation {
        let data_plane = self.environment.data_plane(state);
        let settings = self.settings(state, &data_plane);
        let subject = self.subject(state, &settings, data_plane.routing.profile);
        let families = families(&subject, Some(from));
        self.explanation(&subject, families, data_plane)
    }

    /// What is wrong with one Service, the most serious first.
    pub fn findings(&self, state: &ServiceState) -> Vec<Finding> {
        let data_plane = self.environment.data_plane(state);
        let settings = self.settings(state, &data_plane);
        let subject = self.subject(state, &settings, data_plane.routing.profile);
        let families = families(&subject, None);
        analyze::of_service(&subject, &families, &advice::advice(&subject, &families))
    }

    /// What is wrong with nodes and zones, whatever the Service. Found once: O(Services + nodes).
    pub fn cluster_findings(&self) -> &[Finding] {
        self.cluster_findings.get_or_init(|| self.find_in_cluster())
    }

    fn find_in_cluster(&self) -> Vec<Finding> {
        let needs_regions = |state: &ServiceState| {
            let gates = self.environment.server.version.gates();
            is_regional(policy::requested(&state.service, gates).policy)
        };
        let regions = self.snapshot.states().any(needs_regions);
        let regions = regions.then(|| regions::labels(self.snapshot, &self.demand));
        analyze::of_cluster(self.snapshot, self.capacity.as_ref().map(|_| ()), regions.as_ref())
    }

    fn explanation(
        &self,
        subject: &Subject<'_>,
        families: Vec<FamilyView>,
        data_plane: DataPlane,
    ) -> Explanation {
        let service = &subject.state.service;
        let advice = advice::advice(subject, &families);
        let mut findings = analyze::of_service(subject, &families, &advice);
        let worst = findings.first().filter(|f| f.severity == Severity::Error);
        let advice = match worst.filter(|f| f.problem.reason.is_cause()) {
            Some(finding) => Advice::FixFinding { fix: finding.fix.clone() },
            None => advice,
        };
        findings.extend_from_slice(self.cluster_findings());
        let alternative = advice::alternative(subject, &advice);
        let is_regional = is_regional(subject.requested.policy);
        let warnings = warnings::warnings(subject, &families);
        Explanation {
            namespace: Arc::clone(&service.key.namespace),
            service: Arc::clone(&service.key.name),
            data_plane,
            server: self.environment.server,
            in_force: self.proxies.in_force(subject.state).map(WithMessage::from),
            findings,
            policy: subject.requested.policy,
            because: subject.requested.why.clone().into(),
            internal_traffic_policy: service.exposure.internal,
            external_traffic_policy: service.exposure.external,
            zones: self.capacity.iter().flat_map(Capacity::zones).map(zone_view).collect(),
            regions: if is_regional { regions::regions(&self.demand) } else { Vec::new() },
            no_capacity: self.capacity.as_ref().err().cloned().map(WithMessage::from),
            checks: checks::checks(subject, &families),
            warnings: warnings.into_iter().map(WithMessage::from).collect(),
            advice: advice.into(),
            alternative: alternative.map(WithMessage::from),
            families,
        }
    }

    /// The settings for a Service. `--profile evenkeel` does not rename the controller of its slices:
    /// with another name, all of them would be written anew.
    fn settings(&self, state: &ServiceState, plane: &DataPlane) -> Settings {
        let mut settings = self.environment.settings(plane);
        let is_ours = |slice: &Slice| {
            slice.labels.get(label::MANAGED_BY).is_some_and(|name| **name == *label::EVENKEEL)
        };
        if plane.hints.profile == Profile::Evenkeel && state.slices.iter().any(is_ours) {
            settings.controller_name = label::EVENKEEL.into();
        }
        settings
    }

    fn subject<'s>(
        &'s self,
        state: &'s ServiceState,
        settings: &'s Settings,
        routing: Profile,
    ) -> Subject<'s> {
        Subject {
            snapshot: self.snapshot,
            state,
            nodes: &self.nodes,
            capacity: &self.capacity,
            demand: &self.demand,
            context: self,
            requested: self.environment.requested(&state.service, settings),
            routing,
            settings,
            environment: self.environment,
        }
    }
}

fn families(subject: &Subject<'_>, from: Option<&From>) -> Vec<FamilyView> {
    subject.families().into_iter().map(|family| family_view(subject, family, from)).collect()
}
