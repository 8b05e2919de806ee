//! Auto in the default profile: no zone is left out, none is overloaded.

use evenkeel_model::{AddressType, Slice};
use evenkeel_testkit::World;
use evenkeel_topology::{
    auto::{ZoneCounts, in_force},
    overload::is_overloaded,
    plan::HintOutcome,
};
use proptest::prelude::*;

use crate::{
    generate::{config, spec},
    spec::{Asks, Spec},
};

fn check(spec: Spec) -> Result<(), TestCaseError> {
    let mut world = Spec { kubernetes: false, asks: Asks::Auto, ..spec }.build();
    let before = world.clone();
    let plan = world.sync();
    for family in &plan.families {
        match &family.hints {
            HintOutcome::Auto(counts) => check_hinted(&before, &world, family.family, counts)?,
            HintOutcome::AutoRefused(_) => {
                let slices = world.slices.iter();
                let mut left =
                    slices.filter(|s| s.address_type == family.family).flat_map(|s| &s.endpoints);
                prop_assert!(left.all(|e| e.hints.is_none()));
            }
            other => prop_assert!(false, "{:?} for Auto", other),
        }
    }
    Ok(())
}

fn check_hinted(
    before: &World,
    after: &World,
    family: AddressType,
    counts: &ZoneCounts,
) -> Result<(), TestCaseError> {
    let of_family = |s: &&Slice| s.address_type == family;
    let capacity = after.cluster.measure(&after.settings).expect("hinted");
    let mut seen = ZoneCounts::default();
    for endpoint in
        after.slices.iter().filter(of_family).flat_map(|s| &s.endpoints).filter(|e| e.is_ready())
    {
        let hints = endpoint.zone_hints();
        prop_assert_eq!(hints.len(), 1);
        prop_assert_eq!(endpoint.node_hints().len(), 0);
        seen.add(hints[0], 1);
    }
    for zone in capacity.zones() {
        prop_assert!(seen.get(zone.zone).is_some(), "nothing for {}", zone.name);
        prop_assert_eq!(seen.get(zone.zone), counts.get(zone.zone));
    }
    prop_assert_eq!(seen.total(), counts.total());

    let existing = || before.slices.iter().filter(of_family);
    let owned = existing().filter(|s| s.owner.as_ref() == Some(&before.service.uid));
    // Slices of an earlier Service count here, so that the test doesn't say whether they should.
    let in_force = in_force(owned.flat_map(|s| &s.endpoints))
        || in_force(existing().flat_map(|s| &s.endpoints));
    for threshold in [after.settings.threshold(in_force), after.settings.keep_threshold] {
        prop_assert!(!is_overloaded(&seen, Some(&capacity), threshold));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_zone_has_hints_and_none_is_overloaded(spec in spec()) {
        check(spec)?;
    }
}
