//! The endpoints that a Service's own topology gives to a client, as groups.
//!
//! Only these endpoints are sent, at priority 0, in one group for each zone. A group's weight is the sum
//! of its endpoints' weights, so that Envoy splits traffic as the node proxy does: by zone shares
//! where the Service has them, and otherwise alike among all. A zone with share 0 has no endpoint
//! in the selection, and so no group. O(e · log e).

use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

use evenkeel_model::{
    Rule,
    mesh::{EndpointHealth, Group, LoadAssignment, MeshEndpoint},
};

use super::{AssignReason, Assigned, group::text_key};

type Weighted = (Vec<Arc<MeshEndpoint>>, u64);

/// Groups selected endpoints, each with its weight. `n_ready` counts the ready ones of the Service in each
/// zone, selected or not.
pub(crate) fn assign_selected(
    selected: impl IntoIterator<Item = (Arc<MeshEndpoint>, u32)>,
    rule: Rule,
    n_ready: &BTreeMap<Option<Arc<str>>, usize>,
) -> Assigned {
    let mut zones: BTreeMap<Option<Arc<str>>, Weighted> = BTreeMap::new();
    for (endpoint, weight) in selected {
        let (endpoints, sum) = zones.entry(endpoint.zone.clone()).or_default();
        *sum += u64::from(weight);
        endpoints.push(healthy(endpoint));
    }
    let not_selected = n_ready.iter().filter(|(zone, _)| !zones.contains_key(*zone));
    let not_selected = not_selected.map(|(zone, n)| AssignReason::NotSelected {
        zone: zone.clone().unwrap_or_default(),
        rule: rule.name(),
        endpoints: *n,
    });
    let not_selected: Vec<AssignReason> = not_selected.collect();
    let scale = Scale::of(zones.values().map(|(_, sum)| *sum));
    let (groups, mut reasons): (Vec<Group>, Vec<AssignReason>) =
        zones.into_iter().map(|(zone, weighted)| group(zone, weighted, &scale, rule)).unzip();
    reasons.extend(not_selected);
    let assignment = LoadAssignment { groups, overprovisioning_factor: None };
    Assigned { assignment, locality_weighted: true, reasons }
}

fn group(
    zone: Option<Arc<str>>,
    (mut endpoints, sum): Weighted,
    scale: &Scale,
    rule: Rule,
) -> (Group, AssignReason) {
    endpoints.sort_by_cached_key(|e| (text_key(e.address.ip()), e.address.port()));
    let weight = scale.weight(sum);
    let reason = AssignReason::Selected {
        zone: zone.clone().unwrap_or_default(),
        rule: rule.name(),
        weight: weight.get(),
        endpoints: endpoints.len(),
    };
    let weight = Some(weight);
    (Group { priority: 0, weight, zone, sub_zone: "".into(), endpoints }, reason)
}

/// What is selected is used, whatever a policy would make of its state.
fn healthy(endpoint: Arc<MeshEndpoint>) -> Arc<MeshEndpoint> {
    match endpoint.health {
        EndpointHealth::Healthy => endpoint,
        _ => Arc::new(MeshEndpoint {
            health: EndpointHealth::Healthy,
            ..MeshEndpoint::clone(&endpoint)
        }),
    }
}

/// Makes weights small: Envoy refuses those whose sum is above 32 bits.
struct Scale {
    divisor: u64,
}

impl Scale {
    fn of(sums: impl Iterator<Item = u64> + Clone) -> Self {
        let common = sums.clone().fold(0, gcd).max(1);
        let total: u64 = sums.clone().map(|sum| sum / common).sum();
        // Each is at least 1 after the division, so room is left for that.
        let limit = u64::from(u32::MAX) - sums.count() as u64;
        Scale { divisor: common * total.div_ceil(limit).max(1) }
    }

    fn weight(&self, sum: u64) -> NonZeroU32 {
        let weight = u32::try_from(sum / self.divisor).unwrap_or(u32::MAX);
        NonZeroU32::new(weight).unwrap_or(NonZeroU32::MIN)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
