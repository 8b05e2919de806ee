//! When Pods changed, more precisely than the whole seconds in objects.
//!
//! Only for changes since startup: older ones have the times in the object.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::{is_dying, phase_of, uid_of};

#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// By uid.
    seen: BTreeMap<Box<str>, Moment>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    running: Option<Timestamp>,
    dying: Option<Timestamp>,
}

impl Moments {
    /// When a Pod's containers started.
    pub(crate) fn running(&self, pod: &Pod) -> Option<Timestamp> {
        let seen = self.seen.get(uid_of(&pod.metadata)).and_then(|moment| moment.running);
        seen.or_else(|| pod.status.as_ref()?.start_time.as_ref().map(|time| time.0))
    }

    /// When its deletion was requested.
    pub(crate) fn dying(&self, pod: &Pod) -> Option<Timestamp> {
        let seen = self.seen.get(uid_of(&pod.metadata)).and_then(|moment| moment.dying);
        seen.or_else(|| {
            let end = pod.metadata.deletion_timestamp.as_ref()?.0;
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
            end.checked_sub(SignedDuration::from_secs(grace)).ok()
        })
    }

    pub(super) fn changed(&mut self, old: Option<&Pod>, new: Option<&Pod>, now: Timestamp) {
        let uid =
            |pod: Option<&Pod>| pod.map(|pod| uid_of(&pod.metadata)).unwrap_or_default().to_owned();
        let (before, after) = (uid(old), uid(new));
        if before != after {
            self.seen.remove(before.as_str());
        }
        let (Some(old), Some(new)) = (old, new) else { return };
        if before != after {
            return;
        }
        let started = phase_of(old) != "Running" && phase_of(new) == "Running";
        let dies = !is_dying(&old.metadata) && is_dying(&new.metadata);
        if started || dies {
            let moment = self.seen.entry(after.into()).or_default();
            moment.running = moment.running.or(started.then_some(now));
            moment.dying = moment.dying.or(dies.then_some(now));
        }
    }
}
