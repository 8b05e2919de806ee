//! Hints as today's Kubernetes gives them: slice by slice.
//!
//! A slice that needs no write and whose hints fit stays as it is. All others start from same-zone
//! hints, and endpoints of zones with more than their part are given to zones with less. Where the
//! reference picks at random (the order of Go maps), the smallest zone name wins here.
//!
//! Known weaknesses, kept on purpose (this is the profile `kubernetes`): unchanged slices may leave
//! a zone below its minimum; an endpoint in a zone without ready nodes keeps a hint that no client
//! uses; more hints change than need to. O(endpoints · zones).

use evenkeel_model::{Endpoint, Hints, ZoneId};

use super::{Bounds, ZoneCounts, without_zone, zone_of};
use crate::{Capacity, Draft, NoHints, Role, capacity::NO_ZONE};

pub(super) fn assign(
    drafts: &mut [Draft<'_>],
    capacity: &Capacity,
    bounds: &[Bounds],
) -> Result<ZoneCounts, NoHints> {
    // Slices that are created come first, then those updated anyway, then those that hints move.
    let mut order = with_role(drafts, Role::Create);
    order.extend(with_role(drafts, Role::Update));
    let mut counts = keep_fitting_slices(drafts, capacity, bounds, &mut order);

    for &draft in &order {
        for endpoint in drafts[draft].change().iter_mut().filter(|e| e.is_ready()) {
            let zone = zone_of(endpoint).ok_or_else(|| without_zone(endpoint))?;
            counts.add(zone, 1);
            endpoint.hints = Some(Hints::zone(zone));
        }
    }

    let held: Vec<u32> =
        capacity.zones().iter().map(|zone| counts.get(zone.zone).unwrap_or(0)).collect();
    let (mut giving, mut receiving) = balance(bounds, &held, &vec![u32::MAX; held.len()]);
    let mut moved = vec![0i64; held.len()];
    for &draft in &order {
        let endpoints = drafts[draft].change();
        give_away(endpoints, capacity, &mut giving, &mut receiving, &mut moved);
    }
    Ok(settle(&counts, capacity, &moved))
}

/// Finds the unchanged slices that can stay, and the hints they hold. The others become updates
/// and join `order`.
fn keep_fitting_slices(
    drafts: &mut [Draft<'_>],
    capacity: &Capacity,
    bounds: &[Bounds],
    order: &mut Vec<usize>,
) -> ZoneCounts {
    let mut held = vec![0u32; bounds.len()];
    let mut touched = vec![false; bounds.len()];
    let unchanged = drafts.iter_mut().enumerate().filter(|(_, d)| d.role == Role::Unchanged);
    for (index, draft) in unchanged {
        match hints_of(&draft.slice.endpoints, capacity, bounds, &held) {
            Some(hints) => {
                for (idx, count) in hints.into_iter().enumerate() {
                    held[idx] += count;
                    touched[idx] |= count > 0;
                }
            }
            None => {
                draft.role = Role::Update;
                order.push(index);
            }
        }
    }
    let kept = (0..bounds.len()).filter(|&idx| touched[idx]);
    kept.map(|idx| (capacity.zones()[idx].zone, held[idx])).collect()
}

/// The hints that a slice holds for each zone, or `None` when it must be written: a ready endpoint
/// without a zone hint, a hint for a zone without capacity, or more than some zone may have.
fn hints_of(
    endpoints: &[Endpoint],
    capacity: &Capacity,
    bounds: &[Bounds],
    held: &[u32],
) -> Option<Vec<u32>> {
    let mut hints = vec![0u32; bounds.len()];
    for endpoint in endpoints.iter().filter(|e| e.is_ready()) {
        if endpoint.zone_hints().is_empty() {
            return None;
        }
        for &zone in endpoint.zone_hints() {
            match capacity.index_of(zone) {
                NO_ZONE => return None,
                idx => hints[usize::from(idx)] += 1,
            }
        }
    }
    let fits = |idx: usize| hints[idx] == 0 || hints[idx] + held[idx] <= bounds[idx].maximum;
    (0..bounds.len()).all(fits).then_some(hints)
}

fn with_role(drafts: &[Draft<'_>], role: Role) -> Vec<usize> {
    (0..drafts.len()).filter(|&i| drafts[i].role == role).collect()
}

/// How many endpoints each zone gives to others and gets from others. A zone gives at most what it
/// can spare (`can_give`). Half endpoints stay where they are.
pub(super) fn balance(bounds: &[Bounds], held: &[u32], can_give: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let excess = |idx: usize| f64::from(held[idx]) - bounds[idx].desired;
    let spare = |idx: usize| if can_give[idx] == 0 { 0.0 } else { excess(idx) };
    let mut surplus: Vec<f64> = (0..held.len()).map(spare).collect();
    let mut need: Vec<f64> = (0..held.len()).map(|idx| -excess(idx)).collect();
    let (mut giving, mut receiving) = (vec![0; held.len()], vec![0; held.len()]);
    while let (Some(from), Some(to)) = (most(&surplus), most(&need)) {
        let (give, get) = (surplus[from], need[to]);
        if (give < 1.0 && get < 1.0) || give < 0.5 || get < 0.5 {
            break;
        }
        giving[from] += 1;
        surplus[from] = if giving[from] == can_give[from] { 0.0 } else { give - 1.0 };
        receiving[to] += 1;
        need[to] = get - 1.0;
    }
    (giving, receiving)
}

/// The index of the greatest positive value, the first of equals.
fn most(values: &[f64]) -> Option<usize> {
    let (mut best, mut greatest) = (0, 0.0);
    for (idx, &value) in values.iter().enumerate() {
        if value > greatest {
            (best, greatest) = (idx, value);
        }
    }
    (greatest > 0.0).then_some(best)
}

fn give_away(
    endpoints: &mut [Endpoint],
    capacity: &Capacity,
    giving: &mut [u32],
    receiving: &mut [u32],
    moved: &mut [i64],
) {
    for endpoint in endpoints.iter_mut().filter(|e| e.is_ready()) {
        let home = endpoint.zone.map_or(NO_ZONE, |zone| capacity.index_of(zone));
        let Some(home) = Some(usize::from(home)).filter(|&h| h < giving.len() && giving[h] > 0)
        else {
            continue;
        };
        let Some(to) = receiving.iter().position(|&count| count > 0) else {
            return;
        };
        endpoint.hints = Some(Hints::zone(capacity.zones()[to].zone));
        giving[home] -= 1;
        receiving[to] -= 1;
        moved[home] -= 1;
        moved[to] += 1;
    }
}

/// The counts after endpoints were given away.
fn settle(counts: &ZoneCounts, capacity: &Capacity, moved: &[i64]) -> ZoneCounts {
    let after = |zone: ZoneId, count: u32| {
        let by = match capacity.index_of(zone) {
            NO_ZONE => 0,
            idx => moved[usize::from(idx)],
        };
        u32::try_from(i64::from(count) + by).expect("a zone gives only what it has")
    };
    let mut settled: ZoneCounts =
        counts.iter().map(|(zone, count)| (zone, after(zone, count))).collect();
    for (zone, &by) in capacity.zones().iter().zip(moved) {
        if counts.get(zone.zone).is_none() && by > 0 {
            settled.add(zone.zone, u32::try_from(by).expect("positive"));
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_zones_wins() {
        assert_eq!(most(&[0.0, 2.0, 2.0]), Some(1));
        assert_eq!(most(&[0.0, 0.0]), None);
    }
}
