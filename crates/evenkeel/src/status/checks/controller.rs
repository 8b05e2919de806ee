//! Whether a controller is active, and whether its syncs succeed.

use super::{Check, Code, Group, named};
use crate::{
    controller::LEASE_NAME,
    status::facts::{Cluster, Failure, Fetched, Lease, Metrics, Syncs, current_lease},
};

/// Older failures are ignored.
const RECENT_SECONDS: i64 = 3600;

/// KEP-2433, "Rollout, Upgrade and Rollback Planning": more than this is a reason to roll back.
const FAILED_PERCENT: u64 = 10;

const START: &str = "start `evenkeel controller` or `evenkeel up`";

pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let Cluster { leases, now, failures, metrics, .. } = cluster;
    let mut checks = lease(leases, *now);
    checks.extend([recent(failures, *now), syncs(metrics)]);
    checks
}

/// One check of the Lease in use, and one for each other that should not be there.
fn lease(leases: &Fetched<Vec<Lease>>, now: i64) -> Vec<Check> {
    let leases = match leases {
        Err(problem) => {
            return vec![Group::Controller.not_listed(Code::LeasesNotListed, "leases", problem)];
        }
        Ok(leases) => leases,
    };
    let Some(current) = current_lease(leases, now) else {
        return vec![Group::Controller.failed(
            Code::LeaseNotFound,
            format!("lease {LEASE_NAME} not found in any namespace: no controller has run"),
            format!("{START}; use --lease for one with another name"),
        )];
    };
    let others = leases.iter().filter(|lease| lease.name != current.name);
    let mut checks = vec![held(current, now)];
    if current.is_fresh(now) {
        checks.extend(others.map(|other| superfluous(current, other, now)));
    }
    checks
}

fn held(lease: &Lease, now: i64) -> Check {
    let Lease { name, holder, .. } = lease;
    let holder = holder.as_deref().unwrap_or_default();
    match lease.age(now) {
        None => Group::Controller.failed(
            Code::LeaseNotHeld,
            format!("lease {name} has no holder: the controller has stopped"),
            START,
        ),
        Some(age) if lease.is_fresh(now) => Group::Controller.ok(
            Code::LeaderActive,
            format!("{holder} is leader; lease {name} renewed {} ago", ago(age)),
        ),
        Some(age) => Group::Controller.failed(
            Code::LeaseExpired,
            format!("lease {name} of {holder} has expired: last renewed {} ago", ago(age)),
            format!("check that the controller is running and read its log; or {START}"),
        ),
    }
}

/// Beside a Lease that is held, any other is left over, or belongs to a second controller.
fn superfluous(current: &Lease, other: &Lease, now: i64) -> Check {
    let Lease { name, holder, .. } = other;
    let holder = holder.as_deref().unwrap_or_default();
    if other.is_fresh(now) {
        return Group::Controller.failed(
            Code::SeveralLeaders,
            format!("a second controller is active: {holder} holds lease {name} too"),
            format!("stop one of them, or let both use the lease {}", current.name),
        );
    }
    let message = match other.age(now) {
        Some(age) => format!("stale lease {name} of {holder}: last renewed {} ago", ago(age)),
        None => format!("stale lease {name} without a holder"),
    };
    let help = format!(
        "run `kubectl delete lease -n {} {}` unless a controller uses it",
        name.namespace, name.name
    );
    Group::Controller.warning(Code::StaleLease, message, help)
}

fn recent(failures: &Fetched<Vec<Failure>>, now: i64) -> Check {
    let failures = match failures {
        Ok(failures) => failures,
        Err(problem) => {
            return Group::Controller.not_listed(Code::EventsNotListed, "events", problem);
        }
    };
    let is_recent =
        |failure: &&Failure| failure.at.is_none_or(|at| now.saturating_sub(at) <= RECENT_SECONDS);
    let recent: Vec<&Failure> = failures.iter().filter(is_recent).collect();
    let Some(Failure { service, message, .. }) = recent.first() else {
        let message = "no failed syncs in the last hour".to_owned();
        return Group::Controller.ok(Code::NoRecentSyncFailures, message);
    };
    let mut services: Vec<String> = recent.iter().map(|one| one.service.to_string()).collect();
    services.sort();
    services.dedup();
    Group::Controller.warning(
        Code::RecentSyncFailures,
        format!("failed syncs in the last hour: {}: {message}", named(&services)),
        format!("run `kubectl describe service -n {} {}`", service.namespace, service.name),
    )
}

fn syncs(metrics: &Metrics) -> Check {
    let (url, Syncs { success, stale, error }) = match metrics {
        Metrics::NotChecked => {
            return Group::Controller.warning(
                Code::MetricsNotChecked,
                "controller metrics were not checked".to_owned(),
                "set --metrics URL; `kubectl port-forward` makes them reachable",
            );
        }
        Metrics::Unreachable { url, problem } => {
            return Group::Controller.warning(
                Code::MetricsUnreachable,
                format!("cannot read controller metrics at {url}: {problem}"),
                "check that the controller is running, or set --metrics URL",
            );
        }
        Metrics::Read { url, syncs } => (url, *syncs),
    };
    let all = success + stale + error;
    let message = format!("{error} of {all} syncs failed");
    match error * 100 > all * FAILED_PERCENT {
        true => Group::Controller.failed(
            Code::SyncErrorsHigh,
            format!("{message}, more than {FAILED_PERCENT} %"),
            format!("check the controller's log and Events; metrics: {url}"),
        ),
        false => Group::Controller.ok(Code::SyncErrorsLow, message),
    }
}

/// A duration in its largest whole unit.
fn ago(seconds: i64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    let (unit, name) = unit.unwrap_or((1, "s"));
    format!("{} {name}", seconds / unit)
}
