//! Forecasts against the slow way: give hints for real, select on every node, add up.

use evenkeel_model::label;
use evenkeel_topology::{Policy, Settings, whatif::TrafficProfile};
use proptest::prelude::*;

use crate::support::{ask, close, figures, forecast, select_everywhere, slow, world};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_forecast_is_what_selecting_on_every_node_adds_up_to(
        nodes in prop::collection::vec((0..3usize, 1..6u64), 3..8),
        pods in prop::collection::vec(0..5usize, 3),
        kubernetes in any::<bool>(),
    ) {
        let zones = ["a", "b", "c"];
        let nodes: Vec<(&str, u64)> = nodes.iter().map(|(z, cpu)| (zones[*z], *cpu)).collect();
        let has_nodes = |zone: &str| nodes.iter().any(|(z, _)| *z == zone);
        let pods: Vec<(&str, usize)> = zones
            .into_iter()
            .zip(pods)
            .filter(|(zone, _)| has_nodes(zone))
            .collect();
        prop_assume!(pods.iter().any(|(_, n)| *n > 0));
        let settings = if kubernetes { Settings::kubernetes() } else { Settings::default() };
        let world = world(&nodes, &pods, settings);
        let forecasts = forecast(&world, &TrafficProfile::default(), None);
        for policy in Policy::KUBERNETES.into_iter().filter(|&p| p != forecasts.current) {
            let (near, worst) = slow(&world, policy, 1000.0);
            let fast = figures(&forecasts, policy);
            prop_assert!(close(fast.in_zone_share, near), "{policy}: {fast:?} is not {near}");
            prop_assert!(close(fast.max_load, worst), "{policy}: {fast:?} is not {worst}");
            prop_assert!(close(fast.cross_zone_share, 1.0 - near), "{policy}: {fast:?}");
        }
    }

    #[test]
    fn the_policy_in_force_is_what_selecting_with_the_real_slices_adds_up_to(
        pods in prop::collection::vec(1..5usize, 3),
        policy in prop::sample::select(vec!["none", "Auto", "PreferSameZone", "PreferSameNode"]),
        // What happened to each endpoint since the controller was here.
        fates in prop::collection::vec(0..6usize, 15),
        foreign in any::<bool>(),
        kubernetes in any::<bool>(),
    ) {
        let settings = if kubernetes { Settings::kubernetes() } else { Settings::default() };
        let pods: Vec<(&str, usize)> = ["a", "b", "c"].into_iter().zip(pods).collect();
        let mut world = world(&[("a", 4), ("a", 2), ("b", 4), ("c", 5)], &pods, settings);
        ask(&mut world, policy);
        world.sync();
        let zone_a = world.cluster.topology.zones.find("a");
        let endpoints = world.slices.iter_mut().flat_map(|s| &mut s.endpoints);
        for (endpoint, fate) in endpoints.skip(1).zip(fates) {
            match fate {
                0 => endpoint.hints = None,
                1 => endpoint.hints = zone_a.map(evenkeel_model::Hints::zone),
                2 => endpoint.conditions.ready = None,
                3 => endpoint.conditions.ready = Some(false),
                _ => {}
            }
        }
        if foreign {
            world.slices[0].labels.insert(label::MANAGED_BY.into(), "somebody".into());
        }
        let forecasts = forecast(&world, &TrafficProfile::default(), None);
        let (near, worst) = select_everywhere(&world, 1000.0);
        let fast = figures(&forecasts, forecasts.current);
        prop_assert!(close(fast.in_zone_share, near), "{policy}: {fast:?} is not {near}");
        prop_assert!(close(fast.max_load, worst), "{policy}: {fast:?} is not {worst}");
        prop_assert!(close(fast.cross_zone_share, 1.0 - near), "{policy}: {fast:?}");
    }

    #[test]
    fn the_default_answer_never_sends_more_traffic_across_zones_than_the_policy_in_force(
        nodes in prop::collection::vec((0..3usize, 1..6u64), 3..8),
        pods in prop::collection::vec(0..5usize, 3),
        policy in prop::sample::select(vec!["none", "Auto", "PreferSameZone", "PreferSameNode"]),
        traffic in prop::collection::vec(0..9u32, 3),
        // What happened to each endpoint since the controller was here.
        fates in prop::collection::vec(0..6usize, 15),
        kubernetes in any::<bool>(),
    ) {
        let zones = ["a", "b", "c"];
        let nodes: Vec<(&str, u64)> = nodes.iter().map(|(z, cpu)| (zones[*z], *cpu)).collect();
        let pods: Vec<(&str, usize)> = zones
            .into_iter()
            .zip(pods)
            .filter(|(zone, _)| nodes.iter().any(|(z, _)| z == zone))
            .collect();
        let settings = if kubernetes { Settings::kubernetes() } else { Settings::default() };
        let mut world = world(&nodes, &pods, settings);
        ask(&mut world, policy);
        world.sync();
        for (endpoint, fate) in world.slices.iter_mut().flat_map(|s| &mut s.endpoints).zip(fates) {
            match fate {
                0 => endpoint.hints = None,
                1 => endpoint.conditions.ready = Some(false),
                _ => {}
            }
        }
        let by_zone = zones.into_iter().zip(traffic).map(|(z, gb)| (z.into(), f64::from(gb)));
        let profile = TrafficProfile { by_zone: by_zone.collect(), ..TrafficProfile::default() };
        for profile in [TrafficProfile::default(), profile] {
            let got = forecast(&world, &profile, None);
            let of = |policy| got.of(policy).expect("all policies");
            let (now, then) = (of(got.current), of(got.recommendation.policy));
            let default = then.settled().cross_zone_share;
            if got.changes() {
                prop_assert!(default <= now.figures.cross_zone_share + 1e-6, "{got:?}");
                prop_assert!(default <= now.settled().cross_zone_share + 1e-6, "{got:?}");
            }
            prop_assert!(got.saving().money.unwrap_or(0.0) >= -1e-6, "{got:?}");
            for trade in &got.trades {
                let dearer = of(trade.policy).settled();
                prop_assert!(dearer.cross_zone_share > default, "not a trade: {trade:?}");
                prop_assert!(!trade.benefits.is_empty());
            }
        }
    }
}
