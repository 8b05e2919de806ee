//! Annotations and the field.

use evenkeel_model::{AddressType, Service, ServiceState, Slice, label};
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::{
    Environment, Server,
    migrate::{AutoTarget, Effect, Migration, Outcome, migrate},
};

use crate::{EVENKEEL, FIELD, HINTS, KUBERNETES, MODE, OWN, On, annotations, codes, to};

fn migrated(on: On, service: &Service) -> Migration {
    on.migrate(service, None, AutoTarget::ByDataPlane)
}

#[test]
fn a_service_without_old_settings_is_up_to_date() {
    for service in [
        service("web"),
        service("web").distribution("PreferSameZone"),
        service("web").distribution("Unheard"),
        service("web").annotated(OWN, "Balanced"),
    ] {
        let got = migrated(On(KUBERNETES, 34), &service);
        assert_eq!((got.outcome, got.patch.is_empty()), (Outcome::UpToDate, true));
        assert!(got.from.is_empty() && got.to.is_empty() && got.notes.is_empty());
    }
}

#[test]
fn auto_becomes_what_the_data_plane_can_do_or_what_is_requested() {
    let balanced = "evenkeel.dev/traffic-distribution: Balanced";
    let zone = "spec.trafficDistribution: PreferSameZone";
    let lost = &["OverloadProtectionLost"][..];
    for (profile, target, setting, reasons) in [
        (KUBERNETES, AutoTarget::ByDataPlane, zone, lost),
        (EVENKEEL, AutoTarget::ByDataPlane, balanced, &["NeverGivesUp"]),
        (KUBERNETES, AutoTarget::Balanced, balanced, &["NeverGivesUp", "ReadByEvenkeelOnly"]),
        (EVENKEEL, AutoTarget::SameZone, zone, lost),
    ] {
        for (name, value) in [(HINTS, "auto"), (HINTS, "Auto"), (MODE, "auto"), (MODE, "Auto")] {
            let service = service("web").annotated(name, value);
            let got = On(profile, 34).migrate(&service, None, target);
            assert_eq!(to(&got), [setting], "{profile} {target:?}");
            assert_eq!(codes(&got), reasons, "{profile} {target:?}");
            assert_eq!(annotations(&got)[name], None);
            assert!(got.notes.iter().all(|note| note.effect == Effect::Changes));
        }
    }
}

#[test]
fn the_data_plane_is_that_of_the_slices() {
    let slice = |manager: &str| Slice {
        name: "web-1".into(),
        address_type: AddressType::IPv4,
        ports: Vec::new(),
        endpoints: Vec::new(),
        owner: None,
        shares: None,
        labels: [(label::MANAGED_BY.into(), manager.into())].into(),
    };
    let environment = Environment::new(None, Server::default(), |_| ()).unwrap();
    for (manager, place) in [(label::EVENKEEL, OWN), (label::BUILT_IN, FIELD)] {
        let slices = vec![slice(manager)];
        let state = ServiceState { slices, ..ServiceState::new(service("web").auto()) };
        let got = migrate(&state, None, AutoTarget::ByDataPlane, &environment);
        assert_eq!(got.to[0].place, place, "{manager}");
    }
}

#[test]
fn auto_stays_where_the_server_is_too_old_or_no_controller_is_known() {
    for profile in [KUBERNETES, EVENKEEL] {
        let got = migrated(On(profile, 30), &service("web").auto());
        assert_eq!(
            (got.outcome, codes(&got)[0].as_str()),
            (Outcome::LeftAlone, "UnavailableBefore")
        );
    }
    let close = migrated(On(KUBERNETES, 31), &service("web").auto());
    assert_eq!(to(&close), ["spec.trafficDistribution: PreferClose"]);
    let mut manual = service("web").auto();
    manual.selector = None;
    let got = migrated(On(KUBERNETES, 34), &manual);
    assert_eq!((got.outcome, codes(&got)[0].as_str()), (Outcome::LeftAlone, "NoSelector"));
    let mut headless = service("web").auto();
    headless.cluster_ip_none = true;
    let got = migrated(On(KUBERNETES, 30), &headless);
    assert_eq!((codes(&got)[0].as_str(), to(&got).len()), ("NoEffect", 0));
    assert_eq!(annotations(&got), [(MODE, None)].into());
}

#[test]
fn what_auto_overrides_is_replaced_and_said() {
    let all = service("web").auto().annotated(OWN, "RequireSameZone").distribution("PreferClose");
    let zone = migrated(On(KUBERNETES, 34), &all);
    assert_eq!(annotations(&zone), [(MODE, None), (OWN, None)].into());
    assert_eq!(zone.patch.spec.traffic_distribution, Some(Some("PreferSameZone")));
    assert_eq!(codes(&zone), ["OverloadProtectionLost", "Overridden", "Overridden"]);
    let balanced = migrated(On(EVENKEEL, 34), &all);
    assert_eq!(annotations(&balanced), [(MODE, None), (OWN, Some("Balanced"))].into());
    assert_eq!(balanced.patch.spec.traffic_distribution, Some(None));
    // What is there already is not written again.
    let there = service("web").auto().annotated(OWN, "Balanced");
    assert_eq!(annotations(&migrated(On(EVENKEEL, 34), &there)), [(MODE, None)].into());
}

/// The older annotation counts where both are set, whatever its value.
#[test]
fn both_annotations_are_migrated_by_the_one_that_counts() {
    let both = |hints: &str, mode: &str| {
        let service = service("web").annotated(HINTS, hints).annotated(MODE, mode);
        migrated(On(KUBERNETES, 34), &service)
    };
    let gone = [(HINTS, None), (MODE, None)].into();
    for (hints, mode, settings, reasons) in [
        ("Auto", "auto", 1, ["OverloadProtectionLost", "Overridden"]),
        ("auto", "Disabled", 1, ["OverloadProtectionLost", "Overridden"]),
        ("Disabled", "Auto", 0, ["DisabledIsDefault", "Overridden"]),
    ] {
        let got = both(hints, mode);
        assert_eq!(to(&got).len(), settings, "{hints} {mode}");
        assert_eq!(codes(&got), reasons, "{hints} {mode}");
        assert_eq!(annotations(&got), gone, "{hints} {mode}");
    }
    let unknown = both("AUTO", "Auto");
    assert_eq!(
        (unknown.outcome, codes(&unknown)),
        (Outcome::LeftAlone, vec!["UnknownValue".into()])
    );
    let kept = both("Auto", "example.org/near");
    assert_eq!(annotations(&kept), [(HINTS, None)].into());
    assert_eq!(codes(&kept), ["OverloadProtectionLost", "UnknownValue"]);
}

#[test]
fn disabled_is_removed_on_every_version() {
    for minor in [21, 30, 34] {
        for value in ["Disabled", "disabled"] {
            let service = service("web").annotated(HINTS, value);
            let got = migrated(On(KUBERNETES, minor), &service);
            assert_eq!(annotations(&got), [(HINTS, None)].into());
            assert_eq!((codes(&got), to(&got)), (vec!["DisabledIsDefault".to_owned()], vec![]));
        }
    }
}

#[test]
fn prefer_close_gets_its_new_name_where_the_server_has_it() {
    let service = service("web").distribution("PreferClose");
    for profile in [KUBERNETES, EVENKEEL] {
        let got = migrated(On(profile, 34), &service);
        assert_eq!(got.patch.spec.traffic_distribution, Some(Some("PreferSameZone")));
        assert_eq!(codes(&got), ["Renamed"]);
        let older = migrated(On(profile, 33), &service);
        assert_eq!((older.outcome, older.patch.is_empty()), (Outcome::LeftAlone, true));
        let text = &older.notes[0].because.message;
        assert_eq!(text, "Kubernetes before 1.34 has no other name for PreferClose");
    }
}
