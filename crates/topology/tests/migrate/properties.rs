//! What holds for every combination of settings.

use evenkeel_model::{Service, TrafficPolicy};
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::{
    Gates, ServerVersion,
    migrate::{AutoTarget, Effect, Note, Outcome},
    policy::requested,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{EVENKEEL, HINTS, KUBERNETES, MODE, OWN, On};

const AUTO: &[&str] = &["Auto", "auto", "Disabled", "disabled", "AUTO", "example.org/near", ""];
const FIELD_VALUES: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode", "Unheard", ""];
const OWN_VALUES: &[&str] = &["Balanced", "RequireSameZone", "PreferClose", "Unheard"];
const KEYS: &[&str] = &[
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "example.org/rack",
    "*",
];

/// Both profiles, and versions 1.20 to 1.36.
fn on() -> impl Strategy<Value = On> {
    (select(vec![KUBERNETES, EVENKEEL]), 20u16..=36).prop_map(|(profile, minor)| On(profile, minor))
}

fn target() -> impl Strategy<Value = AutoTarget> {
    select(vec![AutoTarget::ByDataPlane, AutoTarget::Balanced, AutoTarget::SameZone])
}

fn any_service() -> impl Strategy<Value = Service> {
    let annotated = (option::of(select(AUTO)), option::of(select(AUTO)));
    let own = (option::weighted(0.3, select(OWN_VALUES)), option::of(select(FIELD_VALUES)));
    let shape = (0..8u8, any::<bool>(), any::<bool>());
    (annotated, own, shape).prop_map(|((hints, mode), (own, field), (shape, local, external))| {
        let mut service = service("web");
        for (name, value) in [(HINTS, hints), (MODE, mode), (OWN, own)] {
            if let Some(value) = value {
                service = service.annotated(name, value);
            }
        }
        service.traffic_distribution = field.map(Into::into);
        service.cluster_ip_none = shape == 0;
        service.external_name = shape == 1;
        if shape == 2 {
            service.selector = None;
        }
        if local {
            service.exposure.internal = TrafficPolicy::Local;
        }
        service.exposure.external = external.then_some(TrafficPolicy::Cluster);
        service
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn migrating_the_result_changes_nothing(
        service in any_service(),
        keys in option::of(vec(select(KEYS), 0..5)),
        on in on(),
        target in target(),
    ) {
        let first = on.migrate(&service, keys.as_deref(), target);
        let patched = first.patch.apply(&service);
        let left = keys.filter(|_| first.patch.spec.topology_keys.is_none());
        let second = on.migrate(&patched, left.as_deref(), target);
        prop_assert!(second.patch.is_empty(), "{first:#?}\n{second:#?}");
        prop_assert!(second.outcome != Outcome::ToChange);
        // What stays, stays for the same reasons.
        let stays = |notes: &[Note]| {
            let notes = notes.iter().filter(|note| note.effect == Effect::LeftAlone);
            notes.map(|note| note.because.message.clone()).collect::<Vec<_>>()
        };
        let (before, after) = (stays(&first.notes), stays(&second.notes));
        prop_assert!(before.iter().all(|note| after.contains(note)), "{before:?}: {after:?}");
    }

    #[test]
    fn no_value_is_set_that_the_server_rejects(
        service in any_service(),
        keys in option::of(vec(select(KEYS), 0..5)),
        on in on(),
        target in target(),
    ) {
        let got = on.migrate(&service, keys.as_deref(), target);
        if let Some(Some(value)) = got.patch.spec.traffic_distribution {
            prop_assert!(ServerVersion::new(1, on.1).values().contains(&value), "{value}");
        }
        prop_assert_eq!(got.patch.is_empty(), got.outcome != Outcome::ToChange);
        prop_assert_eq!(got.outcome == Outcome::UpToDate, got.from.is_empty());
        prop_assert_eq!(got.from.is_empty(), got.notes.is_empty());
    }

    /// Where nothing is said to change, the requested policy is the same under every set of gates.
    #[test]
    fn what_is_said_to_be_the_same_is_the_same(
        service in any_service(),
        on in on(),
        target in target(),
    ) {
        let got = on.migrate(&service, None, target);
        if got.notes.iter().any(|note| note.effect == Effect::Changes) {
            return Ok(());
        }
        let patched = got.patch.apply(&service);
        let gates = ServerVersion::new(1, on.1).gates();
        // The proxies of such Services never ask.
        if service.cluster_ip_none || service.external_name {
            return Ok(());
        }
        prop_assert_eq!(requested(&service, gates).policy, requested(&patched, gates).policy);
        let all = Gates::ALL_ON;
        prop_assert_eq!(requested(&service, all).policy, requested(&patched, all).policy);
    }
}
