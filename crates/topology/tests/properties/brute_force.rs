//! The oracle: every way to hint endpoints for zones, tried one by one.

/// The fewest endpoints whose hint changes, over all ways to hint each endpoint for one zone such
/// that each zone has its minimum. `hinted` is the zone that each endpoint is hinted for now;
/// `None` is no hint that could stay. `None` as the result: there is no such way.
pub(crate) fn fewest_changes(hinted: &[Option<usize>], minimums: &[u32]) -> Option<usize> {
    let n_zones = minimums.len();
    let ways = n_zones.pow(u32::try_from(hinted.len()).expect("few endpoints"));
    (0..ways).filter_map(|way| changes(way, hinted, minimums)).min()
}

/// `way` in base `minimums.len()`: its digits are the zones.
fn changes(mut way: usize, hinted: &[Option<usize>], minimums: &[u32]) -> Option<usize> {
    let mut held = [0u32; 4];
    let mut changes = 0;
    for hint in hinted {
        let zone = way % minimums.len();
        way /= minimums.len();
        held[zone] += 1;
        changes += usize::from(*hint != Some(zone));
    }
    let enough = minimums.iter().zip(held).all(|(minimum, held)| held >= *minimum);
    enough.then_some(changes)
}

#[test]
fn the_fewest_changes_of_small_examples() {
    let of = |hinted: &[Option<usize>]| fewest_changes(hinted, &[2, 2]);
    assert_eq!(of(&[Some(0), Some(0), Some(1), Some(1)]), Some(0));
    assert_eq!(of(&[Some(0), Some(0), Some(0), Some(1)]), Some(1));
    assert_eq!(of(&[Some(0), Some(0), Some(0), None]), Some(2));
    assert_eq!(of(&[Some(0), Some(0), None]), None);
}
