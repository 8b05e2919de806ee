//! Which slice carries the table.

use evenkeel_model::{ContainerPort, Protocol, TargetPort, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::Settings;
use proptest::prelude::*;

use crate::{carriers, named, under, world};

fn small_slices(spread: &[(&str, usize)]) -> World {
    let mut world = world(Cluster::equal_zones(3), under("Balanced")).with_pods(spread);
    world.settings.max_endpoints_per_slice = 3;
    world
}

#[test]
fn one_slice_of_many_carries_the_table() {
    let mut world = small_slices(&[("a", 5), ("b", 4), ("c", 3)]);
    world.sync();
    assert_eq!(world.slices.len(), 4);
    assert_eq!(carriers(&world).len(), 1);
}

#[test]
fn new_slices_leave_the_carrier_alone() {
    let mut world = small_slices(&[("a", 1), ("b", 1), ("c", 1)]);
    world.sync();
    let carrier = carriers(&world)[0].name.clone();
    world.add_pods("a", 9);
    let plan = world.sync();
    assert_eq!(carriers(&world)[0].name, carrier);
    assert!(plan.create.iter().all(|slice| slice.shares.is_none()));
}

#[test]
fn when_the_carrier_goes_another_slice_is_written_with_the_table() {
    let mut world = small_slices(&[("a", 3), ("b", 3), ("c", 3)]);
    world.sync();
    let carrier = carriers(&world)[0];
    let (name, before) = (carrier.name.clone(), carrier.shares.clone());
    let gone: Vec<_> =
        carrier.endpoints.iter().map(|e| e.target.as_ref().unwrap().name.clone()).collect();
    world.pods.retain(|pod| !gone.contains(&pod.name));
    let plan = world.sync();
    assert_eq!(plan.delete, [name]);
    assert_eq!(plan.update.iter().filter(|slice| slice.shares.is_some()).count(), 1);
    assert_eq!(carriers(&world).len(), 1);
    assert!(before.is_some());
}

#[test]
fn of_two_carriers_the_first_by_name_stays() {
    let mut world = small_slices(&[("a", 3), ("b", 3)]);
    world.sync();
    let shares = carriers(&world)[0].shares.clone();
    for slice in &mut world.slices {
        slice.shares = shares.clone();
    }
    world.sync();
    let left: Vec<_> = carriers(&world).iter().map(|slice| slice.name.clone()).collect();
    assert_eq!(left, [world.slices[0].name.clone()]);
}

// Pods of one Service that name different container ports for it are in slices of their own.
#[test]
fn each_set_of_ports_has_its_table() {
    let mut service = under("Balanced");
    service.ports[0].target = TargetPort::Name("web".into());
    let mut world = world(Cluster::equal_zones(3), service);
    world.add_pods("a", 3);
    world.add_pods("b", 1);
    for (index, pod) in world.pods.iter_mut().enumerate() {
        let port = if index < 2 { 8080 } else { 9090 };
        pod.ports = vec![ContainerPort { name: "web".into(), port, protocol: Protocol::Tcp }];
    }
    world.sync();
    let tables: Vec<_> = carriers(&world)
        .iter()
        .map(|slice| named(&world, slice.shares.as_ref().unwrap().valid().unwrap()))
        .collect();
    assert_eq!(tables.len(), 2);
    let only_a = tables.iter().filter(|table| !table["b"].contains_key("b")).count();
    assert_eq!(only_a, 1, "8080 is served in zone a only: {tables:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever comes and goes, one slice of those with ready endpoints carries the table, a second
    /// plan is empty, and the table has a row for each zone.
    #[test]
    fn there_is_always_one_table(rounds in proptest::collection::vec((0usize..3, 0usize..6, any::<bool>()), 1..8)) {
        let mut world = small_slices(&[("a", 2), ("b", 1), ("c", 1)]);
        for (zone, n, adds) in rounds {
            let zone = ["a", "b", "c"][zone];
            if adds { world.add_pods(zone, n) } else { world.remove_pods(zone, n) }
            world.sync();
            let ready = world.slices.iter().flat_map(|s| &s.endpoints).count();
            prop_assert_eq!(carriers(&world).len(), usize::from(ready > 0));
            for carrier in carriers(&world) {
                prop_assert!(!carrier.endpoints.is_empty());
                let table = named(&world, carrier.shares.as_ref().unwrap().valid().unwrap());
                prop_assert_eq!(table.len(), 3);
            }
            prop_assert!(world.sync().is_empty());
        }
    }

    /// A consumer that does not know the annotation is never worse off than under Auto: the slices have
    /// the same endpoints with the same hints.
    #[test]
    fn without_the_annotation_slices_are_those_of_auto(
        rounds in proptest::collection::vec((0usize..3, 0usize..9, any::<bool>()), 1..8),
        kubernetes in any::<bool>(),
    ) {
        let mut balanced = small_slices(&[("a", 3), ("b", 2), ("c", 2)]);
        if kubernetes {
            balanced.settings = Settings {
                max_endpoints_per_slice: 3,
                controller_name: label::EVENKEEL.into(),
                ..Settings::kubernetes()
            };
        }
        let mut auto = balanced.clone();
        auto.service = service("web").auto();
        for (zone, n, adds) in rounds {
            let zone = ["a", "b", "c"][zone];
            for world in [&mut balanced, &mut auto] {
                if adds { world.add_pods(zone, n) } else { world.remove_pods(zone, n) }
                world.sync();
            }
            let endpoints = |world: &World| -> Vec<_> {
                world.slices.iter().map(|slice| (slice.name.clone(), slice.endpoints.clone())).collect()
            };
            prop_assert_eq!(endpoints(&balanced), endpoints(&auto));
        }
    }
}
