//! Whose rules hold for a Service.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use evenkeel_model::{AddressType, ServiceState, Slice, label};
use evenkeel_testkit::service;
use evenkeel_topology::{
    Environment, NodeHintRule, Policy, PolicyReason, Profile, Server, ServerVersion, Settings,
};

fn state(managers: &[&str], withdrawn: &[&str], opted_in: bool) -> ServiceState {
    let slice = |manager: &str, extra: Option<&str>| Slice {
        name: "s".into(),
        address_type: AddressType::IPv4,
        ports: Vec::new(),
        endpoints: Vec::new(),
        owner: None,
        shares: None,
        labels: [(label::MANAGED_BY, manager)]
            .into_iter()
            .filter(|(_, manager)| !manager.is_empty())
            .chain(extra.map(|name| (name, "true")))
            .map(|(name, value)| (Arc::from(name), Arc::from(value)))
            .collect(),
    };
    let used = managers.iter().map(|m| slice(m, None));
    let left = withdrawn.iter().map(|m| slice(m, Some(label::WITHDRAWN)));
    let mut service = service("web");
    service.opted_in = opted_in;
    ServiceState { slices: used.chain(left).collect(), ..ServiceState::new(service) }
}

/// Managers of slices in use and of withdrawn ones, whether it opted in; the profile and its reason.
type Case<'a> = (&'a [&'a str], &'a [&'a str], bool, Profile, &'a str);

fn auto(server: Server) -> Environment {
    Environment::new(None, server, |_| ()).unwrap()
}

#[test]
fn hints_follow_the_manager_of_the_slices() {
    let (ours, built_in) = (label::EVENKEEL, label::BUILT_IN);
    let cases: [Case<'_>; 9] = [
        (&[ours], &[], false, Profile::Evenkeel, ours),
        (&[built_in], &[], false, Profile::Kubernetes, built_in),
        (&["x.example"], &[], false, Profile::Kubernetes, "x.example"),
        (&["x.example", built_in], &[], false, Profile::Kubernetes, built_in),
        (&[built_in, ours], &[], false, Profile::Evenkeel, ours),
        (&[built_in], &[ours], false, Profile::Kubernetes, built_in),
        (&[""], &[], false, Profile::Kubernetes, "no slice names"),
        (&[], &[], false, Profile::Kubernetes, "no slice names"),
        (&[], &[], true, Profile::Evenkeel, label::SELECTOR),
    ];
    for (managers, withdrawn, opted_in, profile, because) in cases {
        let plane = auto(Server::default()).data_plane(&state(managers, withdrawn, opted_in));
        assert_eq!(plane.hints.profile, profile, "{managers:?}");
        assert!(plane.hints.because.message.contains(because), "{}", plane.hints.because.message);
        assert_eq!(plane.routing.profile, Profile::Kubernetes, "{managers:?}");
    }
}

#[test]
fn routing_is_that_of_kubernetes_whoever_writes_the_hints() {
    let environment = auto(Server::default());
    let plane = environment.data_plane(&state(&[label::EVENKEEL], &[], false));
    let settings = environment.settings(&plane);
    assert_eq!(settings.node_hint_rule, NodeHintRule::AllHaveOne);
    assert_eq!(settings.keep_threshold, Settings::default().keep_threshold);
    assert_eq!(&*settings.controller_name, label::EVENKEEL);
}

#[test]
fn a_requested_profile_holds_for_hints_and_routing() {
    for profile in [Profile::Evenkeel, Profile::Kubernetes] {
        let environment = Environment::new(Some(profile), Server::default(), |_| ()).unwrap();
        let plane = environment.data_plane(&state(&[label::BUILT_IN], &[], false));
        assert_eq!((plane.hints.profile, plane.routing.profile), (profile, profile));
    }
}

#[test]
fn explicit_settings_hold_under_both_profiles() {
    let adjust = |settings: &mut Settings| settings.assign_threshold = 0.1;
    let environment = Environment::new(None, Server::default(), adjust).unwrap();
    for manager in [label::EVENKEEL, label::BUILT_IN] {
        let plane = environment.data_plane(&state(&[manager], &[], false));
        assert_eq!(environment.settings(&plane).assign_threshold, 0.1, "{manager}");
    }
    let flapping = |settings: &mut Settings| settings.keep_threshold = 0.1;
    assert!(Environment::new(None, Server::default(), flapping).is_err());
}

#[test]
fn a_value_that_the_server_does_not_have_is_told_with_the_version_that_has_it() {
    for (value, minor, needs) in [
        ("PreferSameNode", 33, Some(34)),
        ("PreferSameZone", 33, Some(34)),
        ("PreferSameNode", 34, None),
        ("PreferClose", 30, Some(31)),
        ("PreferClose", 31, None),
    ] {
        let environment = auto(Server::given(ServerVersion::new(1, minor)));
        let mut state = state(&[label::BUILT_IN], &[], false);
        state.service.traffic_distribution = Some(value.into());
        let settings = environment.settings(&environment.data_plane(&state));
        let requested = environment.requested(&state.service, &settings);
        let unavailable = needs.map(|minor| PolicyReason::UnavailableBefore {
            value: value.into(),
            version: ServerVersion::new(1, minor),
        });
        match unavailable {
            Some(why) => assert_eq!((requested.policy, requested.why), (Policy::None, why)),
            None => assert_ne!(requested.policy, Policy::None, "{value} on 1.{minor}"),
        }
    }
}
