//! The oracle: every way to hint endpoints for zones, tried one by one.

/// An endpoint that may be hinted anew: the zone it is in and the zone it is hinted for now, where
/// these are zones with capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Movable {
    pub(crate) home: Option<usize>,
    pub(crate) hinted: Option<usize>,
}

/// How many endpoints are hinted away from their zone, and how many hints change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    pub(crate) away: usize,
    pub(crate) changes: usize,
}

/// The fewest endpoints away and then the fewest changes, over all ways to hint each endpoint for
/// one zone such that zone `z` has `floors[z]` hints, `fixed[z]` of them elsewhere. `None`: there is
/// no such way.
pub(crate) fn best(endpoints: &[Movable], fixed: &[u32], floors: &[u32]) -> Option<Cost> {
    let ways = floors.len().pow(u32::try_from(endpoints.len()).expect("few endpoints"));
    (0..ways).filter_map(|way| cost(way, endpoints, fixed, floors)).min()
}

/// `way` in base `floors.len()`: its digits are the zones.
fn cost(mut way: usize, endpoints: &[Movable], fixed: &[u32], floors: &[u32]) -> Option<Cost> {
    let mut held = [0u32; 4];
    held[..fixed.len()].copy_from_slice(fixed);
    let mut cost = Cost { away: 0, changes: 0 };
    for &Movable { home, hinted } in endpoints {
        let zone = way % floors.len();
        way /= floors.len();
        held[zone] += 1;
        cost.away += usize::from(home.is_some_and(|home| home != zone));
        cost.changes += usize::from(hinted != Some(zone));
    }
    floors.iter().zip(held).all(|(floor, held)| held >= *floor).then_some(cost)
}

/// The fewest slices that must be written besides, so that every zone can have its minimum.
/// `movable`: endpoints in slices that are written anyway; `slices`: the hints of each other one.
pub(crate) fn fewest_slices(movable: u32, slices: &[Vec<usize>], minimums: &[u32]) -> usize {
    let enough = |way: &u32| {
        let (mut held, mut movable) = ([0u32; 4], movable);
        for (index, hints) in slices.iter().enumerate() {
            match way & (1 << index) {
                0 => hints.iter().for_each(|&zone| held[zone] += 1),
                _ => movable += u32::try_from(hints.len()).expect("few endpoints"),
            }
        }
        let lack = minimums.iter().zip(held).map(|(minimum, held)| minimum.saturating_sub(held));
        lack.sum::<u32>() <= movable
    };
    let ways = (0..1u32 << slices.len()).filter(enough);
    ways.map(|way| way.count_ones() as usize).min().expect("all of them are enough")
}

#[test]
fn the_best_of_small_examples() {
    let of = |endpoints: &[(usize, usize)], fixed: &[u32]| {
        let movable = |&(home, hinted)| Movable { home: Some(home), hinted: Some(hinted) };
        let best = best(&endpoints.iter().map(movable).collect::<Vec<_>>(), fixed, &[2, 2])?;
        Some((best.away, best.changes))
    };
    assert_eq!(of(&[(0, 0), (0, 0), (1, 1), (1, 1)], &[0, 0]), Some((0, 0)));
    assert_eq!(of(&[(0, 1), (0, 0), (1, 0), (1, 1)], &[0, 0]), Some((0, 2)));
    assert_eq!(of(&[(0, 0), (0, 0), (0, 1)], &[0, 1]), Some((1, 0)));
    assert_eq!(of(&[(0, 0)], &[1, 1]), None);
}

#[test]
fn the_fewest_slices_of_small_examples() {
    assert_eq!(fewest_slices(0, &[vec![0, 0], vec![1, 1]], &[2, 2]), 0);
    assert_eq!(fewest_slices(1, &[vec![0, 0], vec![0, 1]], &[2, 2]), 0);
    assert_eq!(fewest_slices(0, &[vec![0, 0], vec![0, 1]], &[2, 2]), 1);
    assert_eq!(fewest_slices(0, &[vec![0], vec![0], vec![0], vec![0]], &[2, 2]), 2);
}
