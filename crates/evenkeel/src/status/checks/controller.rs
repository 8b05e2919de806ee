//! Whether somebody writes slices, and how that goes.

use super::{Check, Group, named};
use crate::status::{
    LeaseName,
    facts::{Asked, Cluster, Failure, Lease, Metrics, Syncs},
};

/// Failures longer ago are history.
const RECENT_SECONDS: i64 = 3600;

/// KEP-2433, "Rollout, Upgrade and Rollback Planning": more than this is a reason to roll back.
const FAILED_PERCENT: u64 = 10;

const START: &str = "start `evenkeel controller`, or `evenkeel up`";

pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let Cluster { lease_name, lease, now, failures, metrics, .. } = cluster;
    vec![held(lease_name, lease, *now), recent(failures, *now), syncs(metrics)]
}

fn held(name: &LeaseName, lease: &Asked<Option<Lease>>, now: i64) -> Check {
    let lease = match lease {
        Err(problem) => {
            let text = format!("the lease {name} can't be read: {problem}");
            return Group::Controller.warning(text, "ask for permission to get leases there");
        }
        Ok(None) => {
            let text = format!("there is no lease {name}: no controller has run");
            return Group::Controller
                .failed(text, format!("{START}; one with another lease needs --lease"));
        }
        Ok(Some(lease)) => lease,
    };
    let holder = lease.holder.as_deref().filter(|holder| !holder.is_empty());
    let (Some(holder), Some(renewed)) = (holder, lease.renewed) else {
        let text = format!("nobody holds the lease {name}: the controller has stopped");
        return Group::Controller.failed(text, START);
    };
    let age = now.saturating_sub(renewed).max(0);
    match age <= lease.duration_seconds {
        true => Group::Controller.ok(format!("{holder} leads, and renewed its lease {age} s ago")),
        false => Group::Controller.failed(
            format!("{holder} holds the lease {name}, but renewed it {age} s ago"),
            format!("see whether it runs, and its log; then {START}"),
        ),
    }
}

fn recent(failures: &Asked<Vec<Failure>>, now: i64) -> Check {
    let failures = match failures {
        Ok(failures) => failures,
        Err(problem) => return Group::Controller.unknown("events", problem),
    };
    let is_recent =
        |failure: &&Failure| failure.at.is_none_or(|at| now.saturating_sub(at) <= RECENT_SECONDS);
    let recent: Vec<&Failure> = failures.iter().filter(is_recent).collect();
    let Some(first) = recent.first() else {
        return Group::Controller.ok("no Event tells of a failed sync in the last hour".to_owned());
    };
    let mut services: Vec<String> = recent.iter().map(|one| one.service.to_string()).collect();
    services.sort();
    services.dedup();
    Group::Controller.warning(
        format!("FailedToUpdateEndpointSlices: {}: {}", named(&services), first.message),
        format!("kubectl describe service -n {} {}", first.service.namespace, first.service.name),
    )
}

fn syncs(metrics: &Metrics) -> Check {
    let (url, Syncs { success, stale, error }) = match metrics {
        Metrics::NotAsked => {
            return Group::Controller.warning(
                "the controller's metrics were not looked at".to_owned(),
                "say where they are: --metrics URL; `kubectl port-forward` makes them reachable",
            );
        }
        Metrics::Unreachable { url, problem } => {
            return Group::Controller.warning(
                format!("the controller's metrics can't be read at {url}: {problem}"),
                "say where they are with --metrics URL, or see whether the controller runs",
            );
        }
        Metrics::Read { url, syncs } => (url, *syncs),
    };
    let all = success + stale + error;
    match error * 100 > all * FAILED_PERCENT {
        true => Group::Controller.failed(
            format!("{error} of {all} syncs failed, more than {FAILED_PERCENT} %"),
            format!("see the controller's log and Events; metrics: {url}"),
        ),
        false => Group::Controller.ok(format!("{error} of {all} syncs failed")),
    }
}
