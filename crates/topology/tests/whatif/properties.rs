//! Forecasts against the slow way: give hints for real, select on every node, add up.

use evenkeel_model::label;
use evenkeel_testkit::ServiceExt;
use evenkeel_topology::{
    NodeHintRule, Policy, Settings,
    whatif::{Figures, TrafficProfile},
};
use proptest::prelude::*;

use crate::support::{
    Seen, ask, close, figures, forecast, forecast_behind_kube_proxy, select_everywhere, slow,
    slow_by_hints, world,
};

fn every_policy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(Policy::ALL.map(Policy::as_str).to_vec())
}

fn agrees(fast: &Figures, seen: Seen) -> bool {
    let crossing = if fast.unserved_share > 1.0 - 1e-9 { 0.0 } else { 1.0 - seen.in_zone };
    let in_region = fast.regions.as_ref().map_or(seen.in_region, |r| r.in_region_share);
    close(fast.in_zone_share, seen.in_zone)
        && close(fast.cross_zone_share, crossing)
        && close(fast.max_load, seen.worst)
        && close(fast.unserved_share, seen.unserved)
        && close(in_region, seen.in_region)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_forecast_is_what_selecting_on_every_node_adds_up_to(
        nodes in prop::collection::vec((0..3usize, 1..6u64), 3..8),
        pods in prop::collection::vec(0..5usize, 3),
        regions in prop::collection::vec(0..2usize, 3),
        threshold in prop::option::of(0..60u32),
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
        let mut world = world(&nodes, &pods, settings);
        for (zone, region) in zones.into_iter().zip(regions) {
            world.cluster.set_region(zone, ["east", "west"][region]);
        }
        if let Some(percent) = threshold {
            world.service =
                world.service.annotated(label::OVERLOAD_THRESHOLD, &format!("{percent}%"));
        }
        let forecasts = forecast(&world, &TrafficProfile::default(), None);
        for policy in Policy::ALL.into_iter().filter(|&p| p != forecasts.current) {
            let (fast, seen) = (figures(&forecasts, policy), slow(&world, policy));
            prop_assert!(agrees(fast, seen), "{policy}: {fast:?} is not {seen:?}");
        }
    }

    #[test]
    fn behind_kube_proxy_a_forecast_is_what_hints_alone_add_up_to(
        cpu in prop::collection::vec(1..6u64, 4),
        pods in prop::collection::vec(1..5usize, 4),
        regions in prop::collection::vec(0..2usize, 4),
    ) {
        let zones = ["a", "b", "c", "d"];
        let nodes: Vec<(&str, u64)> = zones.into_iter().zip(cpu).collect();
        // Clients of d have no endpoint of their own.
        let pods: Vec<(&str, usize)> = zones[..3].iter().copied().zip(pods).collect();
        let settings =
            Settings { node_hint_rule: NodeHintRule::AllHaveOne, ..Settings::default() };
        let mut world = world(&nodes, &pods, settings);
        for (zone, region) in zones.into_iter().zip(regions) {
            world.cluster.set_region(zone, ["east", "west"][region]);
        }
        let forecasts = forecast_behind_kube_proxy(&world);
        for policy in Policy::ALL.into_iter().filter(|&p| p != forecasts.current) {
            let (fast, seen) = (figures(&forecasts, policy), slow_by_hints(&world, policy));
            prop_assert!(agrees(fast, seen), "{policy}: {fast:?} is not {seen:?}");
        }
        let recommended = forecasts.recommendation.policy;
        prop_assert!(recommended != Policy::Balanced, "its shares have no effect");
    }

    #[test]
    fn the_policy_in_force_is_what_selecting_with_the_real_slices_adds_up_to(
        pods in prop::collection::vec(1..5usize, 3),
        policy in every_policy(),
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
        let seen = select_everywhere(&world);
        let fast = figures(&forecasts, forecasts.current);
        prop_assert!(agrees(fast, seen), "{policy}: {fast:?} is not {seen:?}");
    }

    #[test]
    fn the_default_answer_never_sends_more_traffic_across_zones_than_the_policy_in_force(
        nodes in prop::collection::vec((0..3usize, 1..6u64), 3..8),
        pods in prop::collection::vec(0..5usize, 3),
        policy in every_policy(),
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
            prop_assert_eq!(got.policies.len(), Policy::ALL.len());
            if got.changes() {
                prop_assert!(got.recommendation.policy != Policy::RequireSameZone, "{got:?}");
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
