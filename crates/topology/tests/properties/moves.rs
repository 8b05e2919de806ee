//! Every endpoint that a zone loses although it stays ready is told of, with a reason that holds.

use evenkeel_model::{Address, ZoneId};
use evenkeel_testkit::World;
use evenkeel_topology::{MoveReason, Policy, policy};
use proptest::prelude::*;

use crate::{
    generate::{config, spec},
    spec::Spec,
};

/// Ready endpoints and the zones they are meant for.
fn meant(world: &World) -> Vec<(Address, Vec<ZoneId>)> {
    let endpoints = world.slices.iter().flat_map(|slice| &slice.endpoints);
    let ready = endpoints.filter(|e| e.is_ready());
    ready.filter_map(|e| Some((e.address()?.clone(), e.zone_hints().to_vec()))).collect()
}

fn lost(before: &World, after: &World) -> Vec<(Address, ZoneId)> {
    let now = meant(after);
    let mut lost = Vec::new();
    for (address, zones) in meant(before) {
        // Where it is listed several times, in slices made by hand, nothing can be told.
        let mut same = now.iter().filter(|(other, _)| *other == address);
        let (Some((_, new)), None) = (same.next(), same.next()) else { continue };
        lost.extend(zones.iter().filter(|z| !new.contains(z)).map(|z| (address.clone(), *z)));
    }
    lost
}

/// Whether an endpoint is hinted for the zone it is in.
fn own_zone(world: &World, address: &Address) -> Option<bool> {
    let mut endpoints = world.slices.iter().flat_map(|slice| &slice.endpoints);
    let endpoint = endpoints.find(|e| e.address() == Some(address))?;
    Some(endpoint.zone_hints().first() == endpoint.zone.as_ref())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn each_loss_has_its_reason(spec in spec(), gone in any::<prop::sample::Index>(), pods in 0..3usize) {
        let mut world = Spec { kubernetes: false, ..spec }.build();
        world.sync();
        let before = world.clone();
        if world.cluster.nodes.len() > 1 && pods != 1 {
            let index = gone.index(world.cluster.nodes.len());
            world.cluster.nodes[index].ready = !world.cluster.nodes[index].ready;
        }
        for _ in 0..pods.min(world.pods.len()) {
            world.pods.remove(gone.index(world.pods.len()));
        }
        let plan = world.sync();
        let told = plan.families.iter().flat_map(|family| &family.moves);
        let told: Vec<_> = told.map(|m| (m.endpoint.clone(), m.from)).collect();
        for loss in lost(&before, &world) {
            prop_assert!(told.contains(&loss), "{loss:?} is not among {told:?}");
        }
        let requested = policy::requested(&world.service, world.settings.gates).policy;
        for one in plan.families.iter().flat_map(|family| &family.moves) {
            let holds = match &one.why {
                MoveReason::ZoneBelowMinimum { had, minimum, .. } => {
                    had < minimum && requested == Policy::Auto
                }
                MoveReason::Locality => own_zone(&world, &one.endpoint) == Some(true),
                MoveReason::ZoneBelowPart { .. } => {
                    own_zone(&world, &one.endpoint) == Some(false)
                }
                MoveReason::ZoneWithoutCapacity | MoveReason::HintsRefused { .. } => {
                    requested == Policy::Auto
                }
                MoveReason::NoLongerRequested => requested == Policy::None,
                MoveReason::OwnZone => requested != Policy::Auto && requested != Policy::None,
                _ => false,
            };
            prop_assert!(holds, "{one:?}");
        }
    }
}
