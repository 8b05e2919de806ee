use evenkeel_testkit::{ServiceExt, World};
use evenkeel_topology::{
    Policy, Settings,
    whatif::{Benefit, ServiceTraffic, TrafficProfile, Why},
};

use crate::support::{close, equal, figures, forecast, forecast_behind_kube_proxy, world};

#[test]
fn the_safe_policy_with_the_least_cross_zone_traffic_is_recommended() {
    let equal = [("a", 4), ("b", 4), ("c", 4)];
    let cases: [(&[(&str, usize)], Policy); 4] = [
        // Even: the predictable one.
        (&[("a", 2), ("b", 2), ("c", 2)], Policy::PreferSameZone),
        // Uneven, but shared out it fits.
        (&[("a", 4), ("b", 1), ("c", 1)], Policy::Auto),
        // Uneven, and whole endpoints can't be shared out: 4 over 3 zones.
        (&[("a", 2), ("b", 1), ("c", 1)], Policy::Balanced),
        // A zone without endpoints spreads its traffic evenly: nothing is overloaded.
        (&[("a", 2), ("b", 2)], Policy::PreferSameZone),
    ];
    for (pods, policy) in cases {
        let world = world(&equal, pods, Settings::default());
        let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
        assert_eq!(got.policy, policy, "{pods:?}: {}", got.why.message);
    }
}

#[test]
fn a_policy_in_force_is_kept_within_the_keep_threshold() {
    let mut world = world(
        &[("a", 4), ("b", 4), ("c", 4)],
        &[("a", 4), ("b", 4), ("c", 3)],
        Settings::default(),
    );
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
    assert_eq!(got.policy, Policy::PreferSameZone, "122 % of the fair share is within 30 %");
    assert!(matches!(got.why.reason, Why::CurrentPolicyBest { .. }));
}

#[test]
fn an_overload_that_costs_more_to_avoid_is_a_trade_and_auto_without_hints_is_no_way_out() {
    let mut world = equal(&[("a", 2), ("b", 1), ("c", 1)]);
    world.settings.keep_threshold = 0.2;
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None);
    let recommended = &got.recommendation;
    assert_eq!(recommended.policy, Policy::PreferSameZone, "{}", recommended.why.message);
    let why = &recommended.why.reason;
    assert!(matches!(why, Why::CurrentPolicyOverloads { mostly_from: None, .. }), "{why:?}");
    let trades: Vec<Policy> = got.trades.iter().map(|trade| trade.policy).collect();
    assert_eq!(trades, [Policy::Balanced]);
}

#[test]
fn auto_without_effect_names_the_number_of_endpoints_it_needs() {
    let mut world = equal(&[("a", 2), ("b", 1), ("c", 1)]);
    world.service = world.service.auto();
    world.sync();
    let got = forecast_behind_kube_proxy(&world).recommendation;
    assert_eq!(got.policy, Policy::Auto);
    assert!(
        matches!(got.why.reason, Why::HintsUnavailable { possible_with: Some(6), .. }),
        "{got:?}"
    );
}

#[test]
fn what_is_missing_for_a_comparison_is_named() {
    let even = equal(&[("a", 1), ("b", 1), ("c", 1)]);
    let why = |world: &World, profile: &TrafficProfile| {
        forecast(world, profile, None).recommendation.why.reason
    };
    let idle = TrafficProfile { gb_per_month: Some(0.0), ..TrafficProfile::default() };
    assert_eq!(why(&even, &idle), Why::NoTraffic);
    assert_eq!(why(&equal(&[]), &TrafficProfile::default()), Why::NoReadyEndpoints);
    let mut nodeless = even.clone();
    nodeless.cluster.nodes.clear();
    assert_eq!(why(&nodeless, &TrafficProfile::default()), Why::NoClientZones);
}

/// Three Pods, two, one: near traffic overloads the one, and a lost zone makes it worse.
#[test]
fn zone_loss_safety_is_named_as_a_trade_with_its_price() {
    let mut world = equal(&[("a", 3), ("b", 2), ("c", 1)]);
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let priced = TrafficProfile { gb_per_month: Some(1000.0), ..TrafficProfile::default() };
    let got = forecast(&world, &priced, None);
    assert_eq!(got.recommendation.policy, Policy::PreferSameZone);
    let [trade] = got.trades.as_slice() else { panic!("{:?}", got.trades) };
    let auto = figures(&got, Policy::Auto);
    assert_eq!(trade.policy, Policy::Auto);
    assert!(close(trade.in_zone_share, auto.in_zone_share));
    assert_eq!(trade.costs.as_ref().map(ToString::to_string).as_deref(), Some("3.33 USD"));
    let benefits: Vec<&str> = trade.benefits.iter().map(|b| b.message.as_str()).collect();
    assert_eq!(
        benefits,
        [
            "the busiest endpoint takes 100 % of its fair share instead of 200 %",
            "if a fails, the busiest endpoint takes 200 % of its fair share instead of 300 %",
        ]
    );
    assert!(matches!(trade.benefits[1].reason, Benefit::LowerLoadOnZoneLoss { .. }));
}

#[test]
fn an_overload_that_costs_nothing_to_avoid_is_avoided() {
    // Zone a has two nodes and one Pod on each of them but for the second, which has three.
    let nodes = [("a", 4), ("a", 4), ("b", 4), ("b", 4)];
    let mut world = world(&nodes, &[("a", 3), ("b", 3)], Settings::default());
    world.service = world.service.distribution("PreferSameNode");
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None);
    assert_eq!(got.recommendation.policy, Policy::PreferSameZone);
    let why = &got.recommendation.why.reason;
    assert!(matches!(why, Why::NoOverload { .. }), "{why:?}");
    assert_eq!(got.trades, []);
}

#[test]
fn a_daemon_set_that_prefers_the_same_node_is_left_alone() {
    let nodes = [("a", 4), ("a", 1), ("b", 4), ("c", 4)];
    let mut world = world(&nodes, &[("a", 3), ("b", 1), ("c", 1)], Settings::default());
    world.service = world.service.distribution("PreferSameNode");
    world.sync();
    let compared = forecast(&world, &TrafficProfile::default(), None).recommendation.why.reason;
    assert!(!matches!(compared, Why::BackedByDaemonSet), "{compared:?}");
    world.pods.iter_mut().for_each(|pod| pod.daemon_set = true);
    let got = forecast(&world, &TrafficProfile::default(), None);
    assert_eq!(got.recommendation.policy, Policy::PreferSameNode);
    assert_eq!(got.recommendation.why.reason, Why::BackedByDaemonSet);
    assert_eq!(got.trades, []);
    world.pods[0].daemon_set = false;
    let mixed = forecast(&world, &TrafficProfile::default(), None).recommendation.why.reason;
    assert!(!matches!(mixed, Why::BackedByDaemonSet), "one Pod is of another owner: {mixed:?}");
}

#[test]
fn nothing_is_priced_until_traffic_is_given() {
    let world = equal(&[("a", 2), ("b", 2), ("c", 2)]);
    let unknown = forecast(&world, &TrafficProfile::default(), None);
    assert_eq!(unknown.gb_per_month, None);
    for forecast in &unknown.policies {
        let lost = forecast.zone_lost.iter().map(|lost| &lost.figures);
        for figures in lost.chain([&forecast.figures]) {
            assert_eq!((figures.cost, figures.cross_zone_gb), (None, None), "{figures:?}");
        }
    }
    assert_eq!((unknown.saving().money, close(unknown.saving().share, 2.0 / 3.0)), (None, true));
    assert!(!unknown.recommendation.why.message.contains("saves"));
    // The file is about another Service: this one's traffic is still unknown.
    let other = ServiceTraffic { gb_per_month: Some(5.0), ..ServiceTraffic::default() };
    let services = [("default/other".into(), other)].into();
    let of_other = TrafficProfile { services, ..TrafficProfile::default() };
    assert_eq!(forecast(&world, &of_other, None).gb_per_month, None);
    let given = TrafficProfile { gb_per_month: Some(1000.0), ..TrafficProfile::default() };
    let got = forecast(&world, &given, None);
    assert!(close(got.saving().money.unwrap_or_default(), 1000.0 * 2.0 / 3.0 * 0.02));
    assert!(got.recommendation.why.message.contains("saves 13.33 USD a month"));
}
