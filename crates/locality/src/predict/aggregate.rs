//! Aggregate clusters: the priorities of several clusters, laid end to end.
//!
//! The aggregate divides the load over all priorities, with each member's own overprovisioning factor
//! and its own panic threshold for the whole. Which endpoints a priority then uses is decided by its
//! member as if it were alone, its own panic included. Source: measurements of Envoy 1.40.0.

use evenkeel_model::mesh::LoadAssignment;

use super::{
    Balancing, Prediction, ShareReason,
    count::{Counted, Level},
    load::{self, Load, Loads},
    reason, spread,
};

/// A cluster of an aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub assignment: &'a LoadAssignment,
    pub balancing: Balancing,
}

/// Shares of all traffic of an aggregate cluster. With `errors` they sum up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// In the order of the members; [`Prediction::share`] is what a member gets.
    pub members: Vec<Prediction>,
    /// Answered with 503, by all members together.
    pub errors: f64,
    /// Of the aggregate as a whole; those of the members are theirs.
    pub reasons: Vec<ShareReason>,
}

/// Predicts shares from the health that the members' assignments state. The panic threshold is that
/// of the aggregate cluster, in percent.
pub fn predict_aggregate(members: &[Member<'_>], panic_threshold: u8) -> Aggregate {
    let mut counts: Vec<usize> = Vec::with_capacity(members.len());
    let (mut levels, mut rest) = (Vec::new(), Vec::with_capacity(members.len()));
    for Member { assignment, balancing } in members {
        let mut counted = Counted::new(assignment, balancing.pick, |_, e| e.health);
        counts.push(counted.levels.len());
        levels.append(&mut counted.levels);
        rest.push(counted);
    }
    if levels.is_empty() {
        return Aggregate { members: Vec::new(), errors: 1.0, reasons: Vec::new() };
    }
    let loads = load::divide(&levels, panic_threshold);
    let reasons = reason::of_whole(&loads);
    let mut divided = levels.into_iter().zip(loads.levels);
    let predictions = members.iter().zip(rest).zip(counts).map(|((member, mut counted), n)| {
        let (levels, loads): (Vec<Level>, Vec<Load>) = divided.by_ref().take(n).unzip();
        let alone = load::divide(&levels, member.balancing.panic_threshold);
        counted.levels = levels;
        spread::spread(&counted, &member.balancing, &with_panic_of(&alone, loads))
    });
    let members: Vec<Prediction> = predictions.collect();
    let errors = members.iter().map(|member| member.errors).sum();
    Aggregate { members, errors, reasons }
}

/// Loads of the aggregate, and panic of the member alone. That all are scaled or in panic is a reason of
/// the aggregate.
fn with_panic_of(alone: &Loads, loads: Vec<Load>) -> Loads {
    let levels = loads.into_iter().zip(&alone.levels);
    let levels = levels.map(|(load, alone)| Load { panic: alone.panic, ..load }).collect();
    Loads { levels, total: 100, total_panic: false }
}
