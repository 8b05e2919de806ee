//! The Lease as it is read and written. Its times are written for people and never read.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};

use super::{Seen, Settings, Step};

pub(super) fn seen(lease: &Lease) -> Seen {
    let spec = lease.spec.as_ref();
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Seen {
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        holder: spec.and_then(|spec| spec.holder_identity.clone()).unwrap_or_default(),
        duration: seconds.map(Duration::from_secs),
    }
}

/// The Lease to be written for a step; with `current`, under its version. `wall` is the time of day.
pub(super) fn written(
    step: Step,
    current: Option<&Lease>,
    settings: &Settings,
    wall: Timestamp,
) -> Lease {
    let mut lease = current.cloned().unwrap_or_else(|| new(settings));
    let spec = lease.spec.get_or_insert_default();
    let wall = unlike(spec.renew_time.as_ref(), wall);
    let is_released = step == Step::Release;
    spec.holder_identity =
        Some(if is_released { String::new() } else { settings.identity.clone() });
    spec.lease_duration_seconds = Some(if is_released { 1 } else { settings.seconds() });
    spec.renew_time = Some(wall.clone());
    if step != Step::Renew || spec.acquire_time.is_none() {
        spec.acquire_time = Some(wall);
    }
    let transitions = spec.lease_transitions.unwrap_or_default();
    spec.lease_transitions = Some(transitions.saturating_add(i32::from(step == Step::Take)));
    lease
}

fn new(settings: &Settings) -> Lease {
    let metadata = ObjectMeta {
        namespace: Some(settings.namespace.clone()),
        name: Some(settings.name.clone()),
        ..ObjectMeta::default()
    };
    Lease { metadata, spec: Some(LeaseSpec::default()) }
}

/// An update that changes nothing gives no new version, and others would see no sign of life: on a
/// clock that stands still, a microsecond makes the difference.
fn unlike(before: Option<&MicroTime>, wall: Timestamp) -> MicroTime {
    let microsecond = wall.as_microsecond();
    let is_same = before.is_some_and(|before| before.0.as_microsecond() == microsecond);
    let moved = Timestamp::from_microsecond(microsecond + i64::from(is_same));
    MicroTime(moved.unwrap_or(wall))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(identity: &str) -> Settings {
        Settings::new("kube-system", "x", identity)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Holder, seconds, acquired, renewed, transitions.
    fn check(lease: &Lease, expected: (&str, i32, i64, i64, i32)) {
        let spec = lease.spec.clone().unwrap();
        let second = |time: Option<MicroTime>| time.unwrap().0.as_second();
        let holder = spec.holder_identity.unwrap();
        let found = (
            holder.as_str(),
            spec.lease_duration_seconds.unwrap(),
            second(spec.acquire_time),
            second(spec.renew_time),
            spec.lease_transitions.unwrap(),
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn a_lease_through_its_life_is_as_client_go_writes_it() {
        let (one, two) = (settings("one"), settings("two"));
        let mut lease = written(Step::Create, None, &one, at(10));
        assert_eq!(lease.metadata.name.as_deref(), Some("x"));
        assert_eq!(lease.metadata.namespace.as_deref(), Some("kube-system"));
        check(&lease, ("one", 15, 10, 10, 0));
        lease.metadata.resource_version = Some("7".to_owned());
        lease.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        let lease = written(Step::Renew, Some(&lease), &one, at(12));
        check(&lease, ("one", 15, 10, 12, 0));
        let lease = written(Step::Take, Some(&lease), &two, at(5));
        check(&lease, ("two", 15, 5, 5, 1));
        let lease = written(Step::Release, Some(&lease), &two, at(6));
        check(&lease, ("", 1, 6, 6, 1));
        let lease = written(Step::Take, Some(&lease), &one, at(7));
        check(&lease, ("one", 15, 7, 7, 2));
        assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"));
        assert!(lease.metadata.labels.is_some_and(|labels| labels["a"] == "b"));
    }

    #[test]
    fn a_renewal_changes_the_lease_though_the_clock_stands_still() {
        let one = settings("one");
        let lease = written(Step::Create, None, &one, at(10));
        let renewed = written(Step::Renew, Some(&lease), &one, at(10));
        assert_ne!(renewed, lease);
    }

    #[test]
    fn what_others_wrote_is_read_without_trust() {
        let lease = |spec| Lease { spec, ..Lease::default() };
        let spec = |seconds| LeaseSpec {
            holder_identity: Some("one".to_owned()),
            lease_duration_seconds: seconds,
            lease_transitions: Some(i32::MAX),
            ..LeaseSpec::default()
        };
        assert_eq!(seen(&lease(None)).holder, "");
        assert_eq!(seen(&lease(Some(spec(None)))).duration, None);
        assert_eq!(seen(&lease(Some(spec(Some(-1))))).duration, None);
        assert_eq!(seen(&lease(Some(spec(Some(3))))).duration, Some(Duration::from_secs(3)));
        let taken = written(Step::Take, Some(&lease(Some(spec(None)))), &settings("two"), at(1));
        assert_eq!(taken.spec.unwrap().lease_transitions, Some(i32::MAX));
    }
}
