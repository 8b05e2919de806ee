//! Where the traffic of a state goes that is only supposed, zone by zone: the flows behind the figures of a
//! forecast.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{ServiceState, ZoneId};

use super::{
    Needs, Scenario,
    case::Case,
    cluster::moved,
    scenario::{Demand, was_hinted},
};
use crate::Policy;

/// What is supposed; the default is the state as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supposed<'a> {
    pub policy: Option<Policy>,
    pub replicas: Option<u32>,
    /// The zone that is lost. Its clients move to the zones that are left.
    pub lost: Option<&'a str>,
}

/// Traffic of the clients of a zone; the empty name is no zone.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneFlow {
    pub from: Arc<str>,
    /// The zone of the endpoints; `None`: it finds none.
    pub to: Option<Arc<str>>,
    /// Of all traffic of the Service.
    pub part: f64,
}

impl Scenario<'_> {
    /// The flows whose sums are the figures of [`forecast`](Self::forecast): of the policy in force with the
    /// hints that are there, of anything else once it is applied. Sorted by names. `None`: there is no such
    /// zone. O(zones · endpoints).
    pub fn flows(&self, state: &ServiceState, supposed: &Supposed<'_>) -> Option<Vec<ZoneFlow>> {
        let traffic = self.profile.of_service(&state.service.key.to_string(), &self.zones);
        let mut case = Case::new(state, self.environment, traffic);
        if let Some(n) = supposed.replicas {
            case = case.scaled(n, self.snapshot);
        }
        let policy = self.effective(&case, supposed.policy.unwrap_or(case.current));
        let route = case.route(policy);
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        let between = Some(BTreeMap::new());
        let spread = match supposed.lost {
            None if policy == case.current && case.is_real => {
                let routing = route.in_force(&case.pool.carried);
                self.spread(&case, here, &case.pool.as_they_are(), &routing, between)
            }
            None => {
                let hinted = self.hint(&case, policy, &self.whole, case.pool.clone(), case.hinted);
                let routing = route.planned(hinted.shares.as_ref());
                self.spread(&case, here, &hinted.endpoints, &routing, between)
            }
            Some(name) => {
                let names = &self.snapshot.topology.zones;
                let mut zones = self.whole.named_zones().enumerate();
                let (index, lost) = zones.find(|(_, zone)| **names.name(*zone) == *name)?;
                let whole = self.hint(&case, policy, &self.whole, case.pool.clone(), case.hinted);
                let by_zone = moved(&case.traffic.by_zone, &self.zones, index);
                let here = Demand { cluster: &self.lost[index], by_zone: &by_zone };
                let (left, hinted) = (case.pool.without(lost), was_hinted(&whole.outcome));
                let hinted = self.hint(&case, policy, here.cluster, left, hinted);
                let routing = route.planned(hinted.shares.as_ref());
                self.spread(&case, here, &hinted.endpoints, &routing, between)
            }
        };
        let total = case.traffic.total();
        let name = |zone: ZoneId| Arc::clone(self.snapshot.topology.zones.name(zone));
        let flow = |((from, to), gb): ((ZoneId, Option<ZoneId>), f64)| ZoneFlow {
            from: name(from),
            to: to.map(name),
            part: gb / total,
        };
        let mut flows: Vec<ZoneFlow> = spread.between.into_iter().flatten().map(flow).collect();
        flows.retain(|flow| flow.part > 0.0);
        flows.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
        Some(flows)
    }

    /// A policy that can have no effect acts as none does.
    fn effective(&self, case: &Case<'_>, policy: Policy) -> Policy {
        let acts = self.cannot_act(case, policy).is_none()
            && Needs::controller(policy, &case.data_plane).is_none();
        if acts { policy } else { Policy::None }
    }
}
