//! Planning on the outcome of a plan writes nothing, and says nothing new.

use evenkeel_testkit::World;
use evenkeel_topology::{
    EnabledEvent, HintEvent, NoHints, Plan, capacity::NO_ZONE, overload::is_overloaded,
    plan::HintOutcome,
};
use proptest::prelude::*;

use crate::{
    generate::{config, spec},
    spec::Spec,
};

/// `first` and `second` are plans of the same world, one on the outcome of the other.
fn check(world: &World, first: &Plan, second: &Plan) -> Result<(), TestCaseError> {
    prop_assert!(second.is_empty(), "{:?} after {:?}", second, first.families);
    // A refusal is told at every sync; whoever sends Events counts them.
    let told = |e: &&HintEvent| !e.is_warning();
    let news: Vec<&HintEvent> = second.events.iter().filter(told).collect();
    // Kubernetes remembers hints by Service: a family that is refused makes it forget the others.
    let forgets = world.settings.enabled_event == EnabledEvent::WhenNotRemembered;
    prop_assert!(news.is_empty() || (forgets && !families_agree(second)), "{:?}", news);
    Ok(())
}

/// Whether all families have hints or none has.
fn families_agree(plan: &Plan) -> bool {
    let hinted = |hints: &HintOutcome| matches!(hints, HintOutcome::Auto(_));
    let first = hinted(&plan.families[0].hints);
    plan.families.iter().all(|f| hinted(&f.hints) == first)
}

/// Today's Kubernetes writes at every sync where it hints an endpoint for a zone without capacity,
/// where it leaves a zone below its minimum (another is above its maximum then), where it counts an
/// endpoint for several zones, and where it finds an endpoint without zone after it has begun.
/// `kubernetes.rs` has an example of each.
fn settles_in_kubernetes(world: &World, plan: &Plan) -> bool {
    let capacity = world.cluster.measure(&world.settings);
    plan.families.iter().all(|family| match &family.hints {
        HintOutcome::Auto(counts) => {
            let capacity = capacity.as_ref().expect("hints were given");
            let has_capacity = |zone| capacity.index_of(zone) != NO_ZONE;
            let slices = world.slices.iter();
            let endpoints =
                slices.filter(|s| s.address_type == family.family).flat_map(|s| &s.endpoints);
            let ready = endpoints.filter(|e| e.is_ready()).count();
            counts.iter().all(|(zone, _)| has_capacity(zone))
                && counts.total() as usize == ready
                && !is_overloaded(counts, Some(capacity), world.settings.keep_threshold)
        }
        HintOutcome::AutoRefused(why) => !matches!(why, NoHints::EndpointWithoutZone { .. }),
        _ => true,
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn planning_twice_changes_nothing_the_second_time(spec in spec()) {
        let mut world = Spec { kubernetes: false, ..spec }.build();
        let (first, second) = (world.sync(), world.sync());
        check(&world, &first, &second)?;
    }

    #[test]
    fn nor_does_it_in_the_kubernetes_profile_but_for_its_known_weaknesses(spec in spec()) {
        let mut world = Spec { kubernetes: true, ..spec }.build();
        let (first, second) = (world.sync(), world.sync());
        if settles_in_kubernetes(&world, &first) {
            check(&world, &first, &second)?;
        }
    }
}
