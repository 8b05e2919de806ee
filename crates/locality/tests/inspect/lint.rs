use crate::setup::{client, instance, only_zone, resource, strategy, view_of};
use evenkeel_locality::{
    Compat, Finding, Severity, Strategies, lint_plans, lint_resources, view::PlanReason,
};

#[test]
fn policies_are_checked_against_the_zones_of_dataplanes() {
    let resources = [
        resource(&instance("b1", "10.0.0.1", "backend", &["kuma.io/zone=zone-1"])),
        resource(&instance("b2", "10.0.0.2", "backend", &[])),
        resource(&strategy("typo", "backend", &only_zone("zone-9"))),
        resource(&strategy("fine", "backend", &only_zone("zone-2"))),
    ];
    let unknown = |zone: Option<&std::sync::Arc<str>>| {
        let found = lint_resources(&resources, zone, Compat::Record);
        let unknown = found.into_iter().filter_map(|found| match found.finding {
            Finding::UnknownZone { zone, .. } => Some((found.policy.name, found.to, zone)),
            _ => None,
        });
        unknown.map(|(policy, to, zone)| format!("{policy} {to} {zone}")).collect::<Vec<_>>()
    };
    assert_eq!(unknown(None), ["fine 0 zone-2", "typo 0 zone-9"]);
    assert_eq!(unknown(Some(&"zone-2".into())), ["typo 0 zone-9"]);
}

#[test]
fn what_is_deleted_or_replaced_is_checked_no_more() {
    let key = |value| resource(value).key;
    let (near, far) = (
        instance("b1", "10.0.0.1", "backend", &["kuma.io/zone=zone-1"]),
        instance("b2", "10.0.0.2", "backend", &["kuma.io/zone=zone-2"]),
    );
    let policy = strategy("to-zone-2", "backend", &only_zone("zone-2"));
    let mut strategies = Strategies::new(None);
    let n_unknown = |strategies: &Strategies| {
        let found = strategies.findings(Compat::Record).into_iter();
        found.filter(|found| matches!(found.finding, Finding::UnknownZone { .. })).count()
    };
    for value in [&near, &far, &policy] {
        strategies.apply(&resource(value));
    }
    assert_eq!(n_unknown(&strategies), 0);
    strategies.delete(&key(&far));
    assert_eq!(n_unknown(&strategies), 1);
    strategies.apply(&resource(&strategy("to-zone-2", "backend", &only_zone("zone-1"))));
    assert_eq!(n_unknown(&strategies), 0);
    strategies.apply(&resource(&policy));
    strategies.delete(&key(&policy));
    assert_eq!(strategies.findings(Compat::Record), []);
}

/// Thirty clients with two outbounds on one address each.
#[test]
fn a_reason_of_many_plans_is_told_once() {
    let of = |n: usize| {
        let mut client = client(&format!("c{n:02}"), "zone-1", &["backend", "other"]);
        client["networking"]["outbound"][1]["port"] = 10_000.into();
        client
    };
    let mut view = view_of(&(0..30).map(of).collect::<Vec<_>>());
    let found = lint_plans(&mut view);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(matches!(found[0].reason, PlanReason::AddressTaken { .. }), "{found:?}");
    assert_eq!((found[0].n_proxies, found[0].proxies.len()), (30, 20));
    assert_eq!(found[0].severity(), Severity::Warning);
    assert_eq!(lint_plans(&mut view_of(&[client("fine", "zone-1", &["backend"])])), []);
}
