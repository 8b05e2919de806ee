//! Which table is written: the best one, or that in force while it is good enough.
//!
//! A new table is a write of a slice and a re-sync of every consumer, so that the one in force stays
//! while, on the present demand and ready endpoints and by the rules of consumers,
//!
//! - every client zone has a row;
//! - no endpoint's load is more than `keep_excess` of its fair part above what it may take (or above
//!   what the best table gives, where rounding costs more);
//! - no more than `keep_in_zone` of the traffic leaves its zone that need not, and no more than that
//!   its region.
//!
//! Where every slice of the group is written anyway, the best table costs no write and is taken.

use evenkeel_model::ZoneShares;

use super::{figures, round, solve, solve::sane};
use crate::{auto::ZoneCounts, balanced::Figures, demand::Demand};

/// Figures within this are equal: less is an error of floating point.
const EQUAL: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// How much more than its fair part of the traffic an endpoint may take: 0.2 is 20 %.
    pub allowance: f64,
    /// How much more than that it may take while the table in force is kept.
    pub keep_excess: f64,
    /// How much more of the traffic than needed may leave its zone while the table in force is kept.
    pub keep_in_zone: f64,
}

/// The table for one group of slices.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// `None`: fewer than two client zones, or no ready endpoint. There is no annotation then.
    pub shares: Option<ZoneShares>,
    /// These are the shares in force.
    pub kept: bool,
    /// What `shares` does to the traffic; without shares, all ready endpoints serving equally.
    pub figures: Figures,
    /// What the best shares would do.
    pub best: Figures,
}

/// Decides for one group of slices. `written_anyway`: every slice of the group is written.
pub fn decide(
    demand: &Demand,
    ready: &ZoneCounts,
    in_force: Option<&ZoneShares>,
    written_anyway: bool,
    tuning: &Tuning,
) -> Decision {
    if demand.zones().len() < 2 || ready.iter().all(|(_, n)| n == 0) {
        let figures = figures(&ZoneShares::default(), demand, ready);
        return Decision { shares: None, kept: false, figures, best: figures };
    }
    let shares = round(&solve(demand, ready, tuning.allowance));
    let best = figures(&shares, demand, ready);
    if let Some(in_force) = in_force {
        if *in_force == shares {
            return Decision { shares: Some(shares), kept: true, figures: best, best };
        }
        let figures = figures(in_force, demand, ready);
        if !written_anyway && is_good_enough(in_force, &figures, demand, &best, tuning) {
            return Decision { shares: Some(in_force.clone()), kept: true, figures, best };
        }
    }
    Decision { shares: Some(shares), kept: false, figures: best, best }
}

fn is_good_enough(
    shares: &ZoneShares,
    figures: &Figures,
    demand: &Demand,
    best: &Figures,
    tuning: &Tuning,
) -> bool {
    let most = (1.0 + sane(tuning.allowance) + tuning.keep_excess).max(best.worst);
    demand.zones().iter().all(|zone| shares.row(zone.zone).is_some())
        && figures.worst <= most + EQUAL
        && figures.in_zone >= best.in_zone - tuning.keep_in_zone - EQUAL
        && figures.in_region >= best.in_region - tuning.keep_in_zone - EQUAL
}

// === impl Tuning ===

impl Default for Tuning {
    fn default() -> Self {
        Tuning { allowance: 0.0, keep_excess: 0.10, keep_in_zone: 0.03 }
    }
}
