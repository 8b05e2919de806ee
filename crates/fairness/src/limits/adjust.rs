//! Lending and borrowing: every few seconds the limits in force are adjusted to the demand.
//!
//! What a level needs is its demand, average plus deviation, smoothed: up at once, down with a
//! half-life of five minutes at one adjustment every ten seconds. The exempt level takes what it
//! used; what is left of N, the sum of the nominal limits, goes to the others. Each has a lower
//! bound, what it used of its nominal limit but at least its minimum; the upper is its maximum.
//! - Not even the minimums are left: each gets its minimum.
//! - Not the lower bounds: each gets the same fraction of the way from its minimum to its lower
//!   bound.
//! - Otherwise N is allocated in proportion to what the levels need, within the bounds; see
//!   [`allocate`]. N, not what is left of it: what the exempt level used is not deducted here.
//!
//! Where that has no solution (the maximums sum to less than N), the limits stay as they are.
//! Limits are rounded half up, so that they may miss the sum by a few.
//!
//! Source: Kubernetes today (KEP-1040). Bound: O(n log n) for n levels.

use super::{
    Limits,
    allocate::{AllocateError, Allocation, Class, allocate},
    demand::DemandStats,
};

/// How much of the smoothed demand is left after one adjustment without any.
const SMOOTHING: f64 = 0.977;

/// A level as the adjustment sees it, and what it knows of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelState {
    /// Its limit is what it uses.
    pub exempt: bool,
    pub limits: Limits,
    pub need: Need,
}

/// What a level needs, in seats; all of it is shown as gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    pub high_watermark: u32,
    pub average: f64,
    pub stdev: f64,
    pub smoothed: f64,
    /// The level's seats are proportional to this.
    pub target: f64,
}

/// How the limits were found.
#[derive(Clone, Debug, PartialEq)]
pub enum Adjustment {
    /// Each level has its minimum.
    Minimum,
    /// Each level has this fraction of the way from its minimum to what it used.
    Scarce { fraction: f64 },
    /// Each level has this proportion of its target, within its bounds.
    Fair { proportion: f64 },
    /// There is no fair proportion; the limits are as they were.
    Unchanged(AllocateError),
}

impl Adjustment {
    /// The gauge `seat_fair_frac`: 0 where the seats were not divided in proportion.
    pub fn fair_fraction(&self) -> f64 {
        match self {
            Adjustment::Fair { proportion } => *proportion,
            _ => 0.0,
        }
    }
}

/// Updates the demand of each level since the last adjustment, and sets the limits in force.
pub fn adjust<'l>(
    levels: impl IntoIterator<Item = (&'l mut LevelState, DemandStats)>,
) -> Adjustment {
    let mut levels: Vec<&mut LevelState> = levels
        .into_iter()
        .map(|(level, stats)| {
            level.observe(&stats);
            level
        })
        .collect();
    let all = sum(&levels, |level| level.limits.nominal);
    for level in levels.iter_mut().filter(|level| level.exempt) {
        level.limits.current = level.lower();
    }
    let exempt = sum(levels.iter().filter(|level| level.exempt), |level| level.limits.current);
    levels.retain(|level| !level.exempt);
    share(&mut levels, all, all.saturating_sub(exempt))
}

/// Divides the seats among levels that are not exempt: `all` if `remaining` is enough.
fn share(levels: &mut [&mut LevelState], all: u64, remaining: u64) -> Adjustment {
    let min = sum(&*levels, |level| level.limits.min);
    let lower = sum(&*levels, LevelState::lower);
    if remaining <= min {
        for level in levels {
            level.limits.current = level.limits.min;
        }
        return Adjustment::Minimum;
    }
    if remaining <= lower {
        let fraction = (remaining - min) as f64 / (lower - min) as f64;
        for level in levels {
            let used = f64::from(level.lower() - level.limits.min);
            level.limits.current = level.limits.min + rounded(used * fraction);
        }
        return Adjustment::Scarce { fraction };
    }
    let classes: Vec<Class> = levels.iter().map(|level| level.class()).collect();
    match allocate(all, &classes) {
        Ok(Allocation { allocations, fair_proportion }) => {
            for (level, seats) in levels.iter_mut().zip(allocations) {
                level.limits.current = rounded(seats);
            }
            Adjustment::Fair { proportion: fair_proportion }
        }
        Err(error) => Adjustment::Unchanged(error),
    }
}

impl LevelState {
    fn observe(&mut self, stats: &DemandStats) {
        let need = &mut self.need;
        need.high_watermark = stats.high_watermark;
        if !stats.duration.is_zero() {
            let envelope = stats.average + stats.stdev;
            let faded = SMOOTHING * need.smoothed + (1.0 - SMOOTHING) * envelope;
            (need.average, need.stdev) = (stats.average, stats.stdev);
            need.smoothed = envelope.max(faded);
        }
        self.need.target = self.need.smoothed.max(f64::from(self.lower()));
    }

    /// What it used, but at least its minimum, and at most its nominal limit if it has one.
    fn lower(&self) -> u32 {
        let Limits { nominal, min, .. } = self.limits;
        let most = if self.exempt { u32::MAX } else { nominal };
        self.need.high_watermark.min(most).max(min)
    }

    fn class(&self) -> Class {
        let (lower, upper) = (self.lower().into(), self.limits.max.into());
        Class { target: self.need.target, lower, upper }
    }
}

fn sum<'l, 's: 'l>(
    levels: impl IntoIterator<Item = &'l &'s mut LevelState>,
    seats: impl Fn(&LevelState) -> u32,
) -> u64 {
    levels.into_iter().map(|level| u64::from(seats(level))).sum()
}

/// Half up; a float to integer cast saturates.
fn rounded(seats: f64) -> u32 {
    seats.round() as u32
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn level(min: u32, nominal: u32, max: u32) -> LevelState {
        let limits = Limits { nominal, min, max, max_seats: None, current: nominal };
        LevelState { limits, ..LevelState::default() }
    }

    fn steady(seats: u32) -> DemandStats {
        DemandStats {
            duration: Duration::from_secs(10),
            average: seats.into(),
            stdev: 0.0,
            high_watermark: seats,
        }
    }

    fn run(levels: &mut [LevelState], demand: &[u32]) -> (Adjustment, Vec<u32>) {
        let demand = demand.iter().map(|seats| steady(*seats));
        let adjustment = adjust(levels.iter_mut().zip(demand));
        (adjustment, levels.iter().map(|level| level.limits.current).collect())
    }

    #[test]
    fn idle_levels_lend_to_busy_ones_within_the_bounds() {
        let mut levels = [level(5, 10, 25), level(5, 10, 15)];
        let (adjustment, current) = run(&mut levels, &[40, 1]);
        assert_eq!(adjustment, Adjustment::Fair { proportion: 0.375 });
        assert_eq!(adjustment.fair_fraction(), 0.375);
        assert_eq!(current, [15, 5]);
        assert_eq!((levels[0].need.target, levels[1].need.target), (40.0, 5.0));
    }

    #[test]
    fn an_exempt_level_takes_what_it_used_and_the_others_get_at_least_their_minimum() {
        let exempt = LevelState { exempt: true, ..level(0, 0, 20) };
        let table = [
            // All of N is allocated: what the exempt level used is not deducted.
            ([3, 8, 8], Adjustment::Fair { proportion: 1.25 }, [3, 10, 10]),
            ([4, 8, 8], Adjustment::Scarce { fraction: 1.0 }, [4, 8, 8]),
            ([5, 10, 10], Adjustment::Scarce { fraction: 0.5 }, [5, 8, 8]),
            ([10, 10, 10], Adjustment::Minimum, [10, 5, 5]),
            ([900, 10, 10], Adjustment::Minimum, [900, 5, 5]),
        ];
        for (used, adjustment, current) in table {
            let mut levels = [exempt, level(5, 10, 30), level(5, 10, 30)];
            assert_eq!(run(&mut levels, &used), (adjustment, current.to_vec()), "{used:?}");
            // Kubernetes shows the target of some other level here.
            assert_eq!(levels[0].need.target, f64::from(used[0]));
        }
    }

    #[test]
    fn limits_stay_where_the_maximums_do_not_reach_the_sum() {
        let exempt = LevelState { exempt: true, ..level(0, 30, 60) };
        let mut levels = [exempt, level(5, 10, 12)];
        let (adjustment, current) = run(&mut levels, &[7, 9]);
        let error = AllocateError::UpperBelowSum { upper: 12.0, required: 40 };
        assert_eq!(adjustment, Adjustment::Unchanged(error));
        assert_eq!((adjustment.fair_fraction(), current), (0.0, vec![7, 10]));
    }

    #[test]
    fn demand_rises_at_once_and_halves_in_five_minutes() {
        let mut levels = [level(5, 10, 20)];
        run(&mut levels, &[100]);
        assert_eq!(levels[0].need.smoothed, 100.0);
        for _ in 0..30 {
            run(&mut levels, &[0]);
        }
        assert!((levels[0].need.smoothed - 50.0).abs() < 0.5, "{:?}", levels[0].need);
    }

    #[test]
    fn a_window_of_no_length_changes_the_high_watermark_only() {
        let mut levels = [level(5, 10, 20)];
        run(&mut levels, &[8]);
        let stats = DemandStats { duration: Duration::ZERO, ..steady(3) };
        adjust(levels.iter_mut().map(|level| (level, stats)));
        let Need { high_watermark, average, smoothed, .. } = levels[0].need;
        assert_eq!((high_watermark, average, smoothed), (3, 8.0, 8.0));
    }

    #[test]
    fn no_levels_and_extreme_limits_are_no_trouble() {
        assert_eq!(adjust([]), Adjustment::Minimum);
        let most = level(0, u32::MAX, u32::MAX);
        let mut levels = [most, most, LevelState { exempt: true, ..most }];
        let (_, current) = run(&mut levels, &[u32::MAX, u32::MAX, u32::MAX]);
        assert_eq!(current, [u32::MAX, u32::MAX, u32::MAX]);
    }
}
