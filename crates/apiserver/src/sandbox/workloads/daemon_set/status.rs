//! The status of a DaemonSet: counts of Nodes. Source: `k8s.io/kubernetes/pkg/controller/daemon`,
//! `updateDaemonSetStatus`.

use k8s_openapi::api::apps::v1::DaemonSetStatus;

use super::{DaemonSetState, eligible::Fit, placing::by_age};
use crate::sandbox::workloads::pods;

/// Of several Pods on a Node the one that would be kept counts.
pub(super) fn counted(look: &DaemonSetState<'_>) -> DaemonSetStatus {
    let (mut desired, mut current, mut misscheduled) = (0, 0, 0);
    let (mut ready, mut available, mut updated) = (0, 0, 0);
    for (node, fit) in &look.fits {
        let first = look.on(node).iter().copied().min_by_key(by_age);
        match (fit, first) {
            (Fit::Runs, None) => desired += 1,
            (Fit::Runs, Some(pod)) => {
                desired += 1;
                current += 1;
                ready += i32::from(pods::is_ready(pod));
                available += i32::from(look.is_available(pod));
                updated += i32::from(look.is_updated(pod));
            }
            (Fit::Stays | Fit::Not, Some(_)) => misscheduled += 1,
            (Fit::Stays | Fit::Not, None) => {}
        }
    }
    DaemonSetStatus {
        desired_number_scheduled: desired,
        current_number_scheduled: current,
        number_misscheduled: misscheduled,
        number_ready: ready,
        updated_number_scheduled: Some(updated),
        number_available: Some(available),
        number_unavailable: Some(desired - available),
        observed_generation: Some(look.set.metadata.generation.unwrap_or_default()),
        collision_count: None,
        conditions: None,
    }
}

/// A status with all numbers set, so that two can be compared.
pub(super) fn filled(status: Option<&DaemonSetStatus>) -> DaemonSetStatus {
    let status = status.cloned().unwrap_or_default();
    DaemonSetStatus {
        updated_number_scheduled: Some(status.updated_number_scheduled.unwrap_or_default()),
        number_available: Some(status.number_available.unwrap_or_default()),
        number_unavailable: Some(status.number_unavailable.unwrap_or_default()),
        observed_generation: Some(status.observed_generation.unwrap_or_default()),
        collision_count: None,
        conditions: None,
        ..status
    }
}
