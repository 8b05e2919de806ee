//! Whether Services under Balanced have zone shares that can be used.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{ServiceKey, label};
use evenkeel_topology::Policy;

use super::{Check, Code, Group, named, services::is_new};
use crate::{
    error::counted,
    status::facts::{Cluster, Service, Shares, Slice},
};

/// What the slices of one Service show.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    is_ready: bool,
    has_shares: bool,
}

/// Nothing is said where no Service is under Balanced and no slice has zone shares.
pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let (Ok(services), Ok(slices)) = (&cluster.services, &cluster.slices) else {
        return Vec::new();
    };
    let ours: Vec<&Slice> =
        slices.iter().filter(|slice| slice.manager == label::EVENKEEL).collect();
    let balanced: Vec<&Service> =
        services.iter().filter(|service| service.policy == Policy::Balanced).collect();
    let mut checks: Vec<Check> = broken(&ours).into_iter().collect();
    if !balanced.is_empty() && has_zones(cluster) {
        checks.extend(in_force(&balanced, &ours, cluster.now));
    }
    checks
}

fn broken(ours: &[&Slice]) -> Option<Check> {
    let broken: Vec<String> = ours
        .iter()
        .filter_map(|slice| match &slice.shares {
            Shares::Invalid(problem) => Some(format!("{} ({problem})", slice.service)),
            Shares::None | Shares::Valid => None,
        })
        .collect();
    (!broken.is_empty()).then(|| {
        Group::Services.warning(
            Code::ZoneSharesBroken,
            format!("zone shares that can't be used: {}", named(&broken)),
            "a running controller writes them anew; until then consumers follow hints",
        )
    })
}

/// Zone shares need two zones that have a Node.
fn has_zones(cluster: &Cluster) -> bool {
    let nodes = cluster.nodes.as_ref().map_or(&[][..], Vec::as_slice);
    let zones: BTreeSet<&str> = nodes.iter().filter_map(|node| node.zone.as_deref()).collect();
    zones.len() > 1
}

fn in_force(balanced: &[&Service], ours: &[&Slice], now: i64) -> Option<Check> {
    let mut seen: BTreeMap<&ServiceKey, Seen> = BTreeMap::new();
    for slice in ours {
        let seen = seen.entry(&slice.service).or_default();
        seen.is_ready |= slice.ready > 0;
        seen.has_shares |= slice.shares != Shares::None;
    }
    // Of those that another controller manages, or whose endpoints are not ready, none is expected.
    let expected = balanced.iter().filter_map(|service| {
        let seen = seen.get(&service.key).filter(|seen| seen.is_ready)?;
        Some((&service.key, seen.has_shares || is_new(service, now)))
    });
    let (written, missing): (Vec<_>, Vec<_>) = expected.partition(|(_, is_written)| *is_written);
    let missing: Vec<&ServiceKey> = missing.into_iter().map(|(key, _)| key).collect();
    match missing.first() {
        Some(first) => Some(Group::Services.warning(
            Code::ZoneSharesMissing,
            format!("Services under Balanced without zone shares: {}", named(&missing)),
            format!("run `evenkeel explain {} -n {}`", first.name, first.namespace),
        )),
        None if written.is_empty() => None,
        None => Some(Group::Services.ok(
            Code::ZoneSharesInForce,
            format!("zone shares are written for {}", counted(written.len(), "Service")),
        )),
    }
}
