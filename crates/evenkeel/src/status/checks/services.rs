//! Whether every Service has slices, and of one controller only.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{ServiceKey, label};

use super::{Check, Group, named};
use crate::status::facts::{Cluster, Service, Slice};

/// A controller may take this long over a new Service.
const NEW_SECONDS: i64 = 10;

/// So many conditions are listed one by one.
const CONDITIONS: usize = 10;

pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let (services, slices) = match (&cluster.services, &cluster.slices) {
        (Ok(services), Ok(slices)) => (services, slices),
        (Err(problem), _) => return vec![Group::Services.unknown("services", problem)],
        (_, Err(problem)) => return vec![Group::Services.unknown("endpointslices", problem)],
    };
    let mut checks = vec![one_manager(slices), have_slices(services, slices, cluster.now)];
    checks.extend(conditions(services));
    checks
}

/// Empty slices are no sign of life: either controller leaves one behind where it withdraws.
fn one_manager(slices: &[Slice]) -> Check {
    let mut managers: BTreeMap<&ServiceKey, BTreeSet<&str>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.endpoints > 0 && is_known(slice)) {
        managers.entry(&slice.service).or_default().insert(&slice.manager);
    }
    let both: Vec<&ServiceKey> =
        managers.into_iter().filter(|(_, found)| found.len() > 1).map(|(key, _)| key).collect();
    match both.is_empty() {
        true => Group::Services.ok("no Service has slices of two controllers".to_owned()),
        false => Group::Services.failed(
            format!("ours and Kubernetes' own controller both write slices of {}", named(&both)),
            "switch one of them off, see deploy/README.md, or run ours with --services annotated",
        ),
    }
}

fn have_slices(services: &[Service], slices: &[Slice], now: i64) -> Check {
    let known: BTreeSet<&ServiceKey> =
        slices.iter().filter(|slice| is_known(slice)).map(|slice| &slice.service).collect();
    let is_new = |service: &&Service| {
        service.created.is_some_and(|created| now.saturating_sub(created) < NEW_SECONDS)
    };
    let selecting = services.iter().filter(|service| service.has_selector);
    let (with, without): (Vec<&Service>, Vec<&Service>) =
        selecting.partition(|service| known.contains(&service.key));
    let (new, missed): (Vec<&Service>, Vec<&Service>) = without.into_iter().partition(is_new);
    if !missed.is_empty() {
        let missed: Vec<&ServiceKey> = missed.iter().map(|service| &service.key).collect();
        return Group::Services.failed(
            format!("no controller has written slices of {}", named(&missed)),
            "see whether one runs, and which Services are its own (--services)",
        );
    }
    Group::Services.ok(match (with.len(), new.len()) {
        (0, 0) => "there is no Service with a selector yet".to_owned(),
        (with, 0) => format!("each of {with} Services with a selector has slices"),
        (with, new) => format!("{with} Services have slices, and {new} are too new to have any"),
    })
}

fn conditions(services: &[Service]) -> Vec<Check> {
    let mut asking = 0;
    let mut warnings = Vec::new();
    for service in services.iter().filter(|service| !service.conditions.is_empty()) {
        asking += 1;
        for condition in service.conditions.iter().filter(|condition| !condition.status) {
            let ServiceKey { namespace, name } = &service.key;
            let (kind, reason, message) = (&condition.kind, &condition.reason, &condition.message);
            warnings.push(Group::Services.warning(
                format!("{namespace}/{name}: {kind} is False: {reason}: {message}"),
                format!("evenkeel explain {name} -n {namespace}"),
            ));
        }
    }
    let more = warnings.len().saturating_sub(CONDITIONS);
    if warnings.is_empty() && asking > 0 {
        return vec![
            Group::Services.ok(format!("{asking} Services that ask for a policy have it")),
        ];
    }
    warnings.truncate(CONDITIONS);
    if more > 0 {
        let help = "kubectl get services -A -o yaml, status.conditions";
        warnings.push(Group::Services.warning(format!("and {more} more such conditions"), help));
    }
    warnings
}

fn is_known(slice: &Slice) -> bool {
    [label::EVENKEEL, label::BUILT_IN].contains(&slice.manager.as_str())
}
