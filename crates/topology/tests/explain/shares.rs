//! Policy Balanced: the table, what it does, whether it is in force, and who applies it.

use std::collections::BTreeMap;

use evenkeel_model::{Service, SharesAnnotation, SharesError, ZoneShares, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{
    Environment, Profile, Server, Settings, SharesIgnored,
    balanced::PartReason,
    explain::{
        Advice, Explanation, RuleReason, ShareRow, SharesState, SharesView, Status, Warning,
    },
};

use crate::{explained, explained_in, state};

pub(crate) fn under(policy: &str) -> Service {
    service("web").annotated(label::TRAFFIC_DISTRIBUTION, policy)
}

/// A world whose slices Evenkeel's controller has written.
pub(crate) fn ours(cluster: Cluster, service: Service, spread: &[(&str, usize)]) -> World {
    let settings = Settings { controller_name: label::EVENKEEL.into(), ..Settings::default() };
    let mut world = World::new(cluster, service, settings).with_pods(spread);
    world.sync();
    world
}

/// As `--profile auto`: no node reports Evenkeel's proxy.
pub(crate) fn explained_auto(world: &World) -> Explanation {
    let environment = Environment::new(None, Server::default(), |_| ()).unwrap();
    explained_in(world, &state(world), &environment)
}

const TWO_ONE_ONE: [(&str, usize); 3] = [("a", 2), ("b", 1), ("c", 1)];

fn two_one_one() -> World {
    ours(Cluster::equal_zones(3), under("Balanced"), &TWO_ONE_ONE)
}

fn only(explanation: &Explanation) -> &SharesView {
    match explanation.families[0].shares.as_slice() {
        [view] => view,
        views => panic!("{} views", views.len()),
    }
}

type Parts<'a> = Vec<(&'a str, u16)>;

fn desired(view: &SharesView) -> BTreeMap<&str, Parts<'_>> {
    fn parts(row: &ShareRow) -> Parts<'_> {
        row.desired.iter().flatten().map(|part| (&*part.zone, part.part)).collect()
    }
    view.rows.iter().map(|row| (&*row.client_zone, parts(row))).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

fn set_shares(world: &mut World, shares: Option<SharesAnnotation>) {
    let carrier = world.slices.iter_mut().find(|slice| slice.shares.is_some()).unwrap();
    carrier.shares = shares;
}

fn table(world: &mut World, rows: &[(&str, &[(&str, u16)])]) -> SharesAnnotation {
    let zones = &mut world.cluster.topology.zones;
    let rows: Vec<_> = rows
        .iter()
        .map(|(client, parts)| {
            let client = zones.intern(client);
            (client, parts.iter().map(|(zone, part)| (zones.intern(zone), *part)).collect())
        })
        .collect();
    SharesAnnotation::Valid(ZoneShares::new(rows).into())
}

/// The example of the docs: 2, 1 and 1 endpoints in three equal zones.
#[test]
fn the_table_is_shown_with_what_it_does_and_why_parts_leave() {
    let explanation = explained(&two_one_one());
    let view = only(&explanation);
    assert_eq!(view.state.reason, SharesState::SharesUpToDate);
    let expected = BTreeMap::from([
        ("a", vec![("a", 1000)]),
        ("b", vec![("b", 750), ("a", 250)]),
        ("c", vec![("c", 750), ("a", 250)]),
    ]);
    assert_eq!(desired(view), expected);
    let leaving = view.rows[1].desired.as_ref().unwrap()[1].why.as_ref().unwrap();
    assert!(matches!(leaving.reason, PartReason::ZoneFull { endpoints: 1, .. }), "{leaving:?}");
    for figures in [&view.now, &view.in_force, &view.best] {
        let figures = figures.as_ref().unwrap();
        assert!(near(figures.in_zone_share, 5.0 / 6.0), "{figures:?}");
        assert!(near(figures.max_load, 1.0), "{figures:?}");
    }
    let from_b = &explanation.families[0].views[1];
    assert_eq!(from_b.rule.reason, RuleReason::ZoneShares { zone: "b".into() });
    assert_eq!(from_b.in_zone_share, Some(0.75));
    let shares: Vec<f64> = from_b.uses.iter().map(|used| used.share).collect();
    assert!(shares.iter().filter(|share| **share == 0.125).count() == 2, "{shares:?}");
    assert_eq!(explanation.advice.reason, Advice::NothingToDo);
    assert!(explanation.checks.iter().all(|check| check.status != Status::Failed));
}

/// Zone b alone: its endpoint gets 75 % of its own zone's traffic and a quarter of the others'.
#[test]
fn the_worst_mixture_of_nodes_is_found() {
    let explanation = explained(&two_one_one());
    let adoption = only(&explanation).adoption.as_ref().unwrap();
    assert_eq!(adoption.aware_zones, ["b".into()]);
    assert_eq!(&*adoption.max_load_zone, "b");
    assert!(near(adoption.max_load, 5.0 / 3.0), "{adoption:?}");
    let warning = explanation.warnings.iter().find_map(|warning| match &warning.reason {
        Warning::UnevenAdoption { .. } => Some(&warning.message),
        _ => None,
    });
    assert!(warning.unwrap().contains("an endpoint in b gets 167 %"), "{warning:?}");
}

/// Against every set of zones on uneven clusters: the separable maximum is the exact one.
#[test]
fn no_set_of_zones_is_worse_than_the_one_reported() {
    for (cores, spread) in [
        ([4, 4, 4, 4], [2, 1, 1, 0]),
        ([8, 4, 2, 1], [1, 1, 3, 2]),
        ([1, 1, 9, 3], [4, 0, 1, 1]),
        ([3, 5, 7, 2], [1, 2, 3, 4]),
    ] {
        let zones = ["a", "b", "c", "d"];
        let nodes: Vec<(&str, u64)> = zones.into_iter().zip(cores).collect();
        let pods: Vec<(&str, usize)> = zones.into_iter().zip(spread).collect();
        let pods: Vec<_> = pods.into_iter().filter(|(_, n)| *n > 0).collect();
        let world = ours(Cluster::of(&nodes), under("Balanced"), &pods);
        let explanation = explained(&world);
        let reported = only(&explanation).adoption.clone().unwrap();
        let worst = (0..16).map(|set| load_with(&world, set)).fold(0.0, f64::max);
        assert!(near(reported.max_load, worst), "{cores:?} {spread:?}: {reported:?} {worst}");
    }
}

/// The worst load of an endpoint while the zones in `set` apply zone shares, from views alone.
fn load_with(world: &World, set: u32) -> f64 {
    let (aware, unaware) = (explained(world), explained_auto(world));
    let mut loads: BTreeMap<&str, f64> = BTreeMap::new();
    let demand = world.cluster.demand();
    for (index, client) in demand.zones().iter().enumerate() {
        let from = if set & (1 << index) == 0 { &unaware } else { &aware };
        for used in &from.families[0].views[index].uses {
            *loads.entry(&used.endpoint.address).or_default() += used.share * client.part;
        }
    }
    loads.values().copied().fold(0.0, f64::max) * world.pods.len() as f64
}

#[test]
fn without_evenkeels_proxy_shares_are_said_to_have_no_effect() {
    let explanation = explained_auto(&two_one_one());
    let view = only(&explanation);
    assert_eq!(view.state.reason, SharesState::SharesUpToDate);
    let [now, in_force] = [&view.now, &view.in_force].map(|figures| figures.as_ref().unwrap());
    assert!(near(now.in_zone_share, 1.0 / 3.0), "{now:?}");
    assert!(near(in_force.in_zone_share, 5.0 / 6.0), "{in_force:?}");
    let rules = explanation.families[0].views.iter().map(|view| &view.rule.reason);
    assert!(rules.into_iter().all(|rule| *rule == RuleReason::AllNoHints));
    let warnings: Vec<_> = explanation.warnings.iter().map(|warning| &warning.reason).collect();
    assert!(warnings.contains(&&Warning::SharesNotHonoured { has_hints: false }), "{warnings:?}");
    assert!(matches!(explanation.advice.reason, Advice::AwaitProxy { .. }));
}

#[test]
fn a_lost_zone_passes_its_part_on() {
    let mut world = two_one_one();
    world.pods.iter_mut().filter(|pod| pod.name.contains("-b")).for_each(|pod| pod.ready = false);
    let endpoint = world.endpoint_mut("pod-b1");
    (endpoint.conditions.ready, endpoint.conditions.serving) = (Some(false), Some(false));
    let explanation = explained(&world);
    let row = &only(&explanation).rows[1];
    let parts: Vec<_> = row.in_force.iter().flatten().map(|p| (&*p.zone, p.passed_on)).collect();
    assert_eq!(parts, [("b", true), ("a", false)]);
    let now: Vec<_> = row.now.iter().map(|part| (&*part.zone, part.share)).collect();
    assert_eq!(now, [("a", 1.0)]);
}

#[test]
fn a_broken_table_is_named_and_hints_decide() {
    let mut world = two_one_one();
    let error = SharesError::ShareSumWrong { client: "b".into(), sum: 1100 };
    set_shares(&mut world, Some(SharesAnnotation::Invalid(error.clone())));
    let explanation = explained(&world);
    let view = only(&explanation);
    assert_eq!(view.state.reason, SharesState::SharesInvalid { error: error.clone() });
    let ignored = view.rows[0].ignored.as_ref().unwrap();
    assert_eq!(ignored.reason, SharesIgnored::SharesInvalid { error });
    assert!(view.in_force.is_none());
    let from_b = &explanation.families[0].views[1];
    assert_eq!(from_b.rule.reason, RuleReason::AllNoHints);
    assert!(from_b.shares_ignored.is_some());
    assert_eq!(explanation.advice.reason, Advice::CheckController);
}

#[test]
fn a_table_that_is_missing_or_outdated_is_told_from_one_in_force() {
    let mut world = two_one_one();
    set_shares(&mut world, None);
    assert_eq!(only(&explained(&world)).state.reason, SharesState::SharesMissing);

    let mut world = two_one_one();
    let rows: &[(&str, &[(&str, u16)])] = &[("a", &[("a", 1000)]), ("b", &[("c", 1000)])];
    let wrong = table(&mut world, rows);
    set_shares(&mut world, Some(wrong));
    let explanation = explained(&world);
    let view = only(&explanation);
    let zones = vec!["b".into(), "c".into()];
    assert_eq!(view.state.reason, SharesState::SharesOutdated { zones });
    let ignored = view.rows[2].ignored.as_ref().map(|ignored| &ignored.reason);
    assert_eq!(ignored, Some(&SharesIgnored::SharesRowMissing { zone: "c".into() }));
    assert!(view.in_force.as_ref().unwrap().max_load > 1.3);
}

/// Within the bounds the controller keeps what is there, and so it is the desired table.
#[test]
fn a_table_that_is_kept_is_up_to_date() {
    let mut world = two_one_one();
    let rows: &[(&str, &[(&str, u16)])] = &[
        ("a", &[("a", 1000)]),
        ("b", &[("b", 760), ("a", 240)]),
        ("c", &[("c", 750), ("a", 250)]),
    ];
    let close = table(&mut world, rows);
    set_shares(&mut world, Some(close));
    for explanation in [explained(&world), explained_auto(&world)] {
        let view = only(&explanation);
        assert_eq!(view.state.reason, SharesState::SharesUpToDate);
        assert!(view.in_force.as_ref().unwrap().max_load > view.best.as_ref().unwrap().max_load);
    }
}

#[test]
fn nothing_is_expected_of_a_controller_that_does_not_write_shares() {
    let settings = Settings::default();
    let mut world = World::new(Cluster::equal_zones(3), under("Balanced"), settings);
    world = world.with_pods(&TWO_ONE_ONE);
    world.sync();
    world.slices.iter_mut().for_each(|slice| slice.shares = None);
    let explanation = explained_auto(&world);
    let manager = label::BUILT_IN.into();
    assert_eq!(only(&explanation).state.reason, SharesState::SharesNotWritten { manager });
    assert!(matches!(explanation.advice.reason, Advice::UseEvenkeelController { .. }));
}

#[test]
fn one_zone_needs_no_table() {
    let world = ours(Cluster::equal_zones(1), under("Balanced"), &[("a", 2)]);
    let explanation = explained(&world);
    assert_eq!(only(&explanation).state.reason, SharesState::SharesNotNeeded);
    assert_eq!(explanation.warnings, []);
}

#[test]
fn profile_evenkeel_is_what_decides_and_not_the_name() {
    let environment = Environment::new(Some(Profile::Evenkeel), Server::default(), |_| ()).unwrap();
    let world = two_one_one();
    let explanation = explained_in(&world, &state(&world), &environment);
    assert_eq!(only(&explanation).state.reason, SharesState::SharesUpToDate);
    let from_b = &explanation.families[0].views[1];
    assert_eq!(from_b.rule.reason, RuleReason::ZoneShares { zone: "b".into() });
}
