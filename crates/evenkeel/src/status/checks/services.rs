//! Whether every Service has slices, of one controller only, and conditions that are current.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{ServiceKey, label};

use super::{Check, Code, Group, named};
use crate::status::facts::{Cluster, Condition, Service, Slice};

/// A controller may take this long for a new Service.
const NEW_SECONDS: i64 = 10;

/// Conditions listed one by one.
const CONDITIONS: usize = 10;

const PREFIX: &str = "evenkeel.dev/";

pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let (services, slices) = match (&cluster.services, &cluster.slices) {
        (Ok(services), Ok(slices)) => (services, slices),
        (Err(problem), _) => {
            return vec![Group::Services.not_listed(Code::ServicesNotListed, "services", problem)];
        }
        (_, Err(problem)) => {
            let what = "endpointslices";
            return vec![Group::Services.not_listed(Code::SlicesNotListed, what, problem)];
        }
    };
    let mut checks = vec![one_manager(slices), have_slices(services, slices, cluster.now)];
    checks.extend(conditions(services, slices));
    checks
}

/// Empty slices are ignored: either controller leaves one behind where it withdraws.
fn one_manager(slices: &[Slice]) -> Check {
    let mut managers: BTreeMap<&ServiceKey, BTreeSet<&str>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.endpoints > 0 && is_known(slice)) {
        managers.entry(&slice.service).or_default().insert(&slice.manager);
    }
    let both: Vec<&ServiceKey> =
        managers.into_iter().filter(|(_, found)| found.len() > 1).map(|(key, _)| key).collect();
    match both.is_empty() {
        true => Group::Services.ok(
            Code::OneSliceManager,
            "no Service has EndpointSlices of two controllers".to_owned(),
        ),
        false => Group::Services.failed(
            Code::TwoSliceManagers,
            format!(
                "Evenkeel and kube-controller-manager both write EndpointSlices of {}",
                named(&both)
            ),
            "switch one of them off (see deploy/README.md), or run Evenkeel with --services \
             annotated",
        ),
    }
}

/// A controller may not have got to it yet.
pub(super) fn is_new(service: &Service, now: i64) -> bool {
    service.created.is_some_and(|created| now.saturating_sub(created) < NEW_SECONDS)
}

fn have_slices(services: &[Service], slices: &[Slice], now: i64) -> Check {
    let known: BTreeSet<&ServiceKey> =
        slices.iter().filter(|slice| is_known(slice)).map(|slice| &slice.service).collect();
    let is_new = |service: &&Service| is_new(service, now);
    let selecting = services.iter().filter(|service| service.has_selector);
    let (with, without): (Vec<&Service>, Vec<&Service>) =
        selecting.partition(|service| known.contains(&service.key));
    let (new, missed): (Vec<&Service>, Vec<&Service>) = without.into_iter().partition(is_new);
    if !missed.is_empty() {
        let missed: Vec<&ServiceKey> = missed.iter().map(|service| &service.key).collect();
        return Group::Services.failed(
            Code::ServicesWithoutSlices,
            format!("no EndpointSlices for {}", named(&missed)),
            "check that a controller is running and that its --services covers them",
        );
    }
    let message = match (with.len(), new.len()) {
        (0, 0) => "no Service has a selector".to_owned(),
        (with, 0) => format!("all {with} Services with a selector have EndpointSlices"),
        (with, new) => format!("{with} Services have EndpointSlices; {new} created just now"),
    };
    Group::Services.ok(Code::ServicesHaveSlices, message)
}

fn conditions(services: &[Service], slices: &[Slice]) -> Vec<Check> {
    let ours = slices.iter().filter(|slice| slice.manager == label::EVENKEEL);
    let ours: BTreeSet<&ServiceKey> = ours.map(|slice| &slice.service).collect();
    let with: Vec<&Service> = services.iter().filter(|one| !one.conditions.is_empty()).collect();
    let (stale, current): (Vec<&Service>, Vec<&Service>) =
        with.into_iter().partition(|one| is_stale(one, ours.contains(&one.key)));
    let mut checks = are_true(&current);
    if stale.is_empty() && !current.is_empty() {
        let message = "no Service has stale conditions".to_owned();
        checks.push(Group::Services.ok(Code::NoStaleConditions, message));
    }
    if !stale.is_empty() {
        let keys: Vec<&ServiceKey> = stale.iter().map(|service| &service.key).collect();
        checks.push(Group::Services.warning(
            Code::StaleConditions,
            format!("conditions of an earlier controller mode on {}", named(&keys)),
            "a running controller removes them; without one, remove them from status.conditions",
        ));
    }
    checks
}

/// Whether a controller in another mode wrote some of the conditions, and none updates them: the
/// Service has conditions of two modes, or no slices of Evenkeel at all.
fn is_stale(Service { conditions, .. }: &Service, has_slices: bool) -> bool {
    let is_prefixed = |condition: &Condition| condition.kind.starts_with(PREFIX);
    let n_prefixed = conditions.iter().filter(|condition| is_prefixed(condition)).count();
    // A Service that can't be planned is told so, and gets no slices.
    let is_invalid = |condition: &Condition| condition.reason == "InvalidService";
    let is_mixed = (1..conditions.len()).contains(&n_prefixed);
    is_mixed || (!has_slices && !conditions.iter().any(is_invalid))
}

fn are_true(services: &[&Service]) -> Vec<Check> {
    let mut warnings = Vec::new();
    for Service { key: ServiceKey { namespace, name }, conditions, .. } in services {
        for condition in conditions.iter().filter(|condition| !condition.status) {
            let Condition { kind, reason, message, .. } = condition;
            warnings.push(Group::Services.warning(
                Code::ConditionFalse,
                format!("{namespace}/{name}: {kind} is False ({reason}): {message}"),
                format!("run `evenkeel explain {name} -n {namespace}`"),
            ));
        }
    }
    if warnings.is_empty() && !services.is_empty() {
        let message = format!("traffic distribution is in effect for {} Services", services.len());
        return vec![Group::Services.ok(Code::ConditionsTrue, message)];
    }
    let more = warnings.len().saturating_sub(CONDITIONS);
    warnings.truncate(CONDITIONS);
    if more > 0 {
        warnings.push(Group::Services.warning(
            Code::ConditionFalse,
            format!("{more} more conditions are False"),
            "run `kubectl get services -A -o yaml` and look at status.conditions",
        ));
    }
    warnings
}

fn is_known(slice: &Slice) -> bool {
    [label::EVENKEEL, label::BUILT_IN].contains(&slice.manager.as_str())
}
