//! Policies that send more traffic across zones than the recommended one, and what for.
//!
//! The recommended policy never costs more than today. What a more expensive policy would give in
//! return is listed beside it, so that whoever pays can decide. For each benefit, the cheapest
//! policy that has it is listed.

use std::{fmt, sync::Arc};

use evenkeel_model::{Reason, WithMessage};
use serde::Serialize;

use super::{Forecast, Money, TRACE, recommend::Subject};
use crate::{Policy, reason::percent};

/// A policy instead of the recommended one: more traffic across zones, for a benefit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trade {
    pub policy: Policy,
    pub in_zone_share: f64,
    /// More a month than the recommended policy, where traffic is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Money>,
    pub benefits: Vec<WithMessage<Benefit>>,
}

/// What a more expensive policy gives in return. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Benefit {
    /// The recommended policy overloads an endpoint; this one does not.
    NoOverload { load_before: f64, load_after: f64 },
    /// The recommended policy refuses this share of traffic; this one serves it.
    ServesRefused { share: f64 },
    /// When a zone is lost, the busiest endpoint takes less.
    LowerLoadOnZoneLoss { zone: Arc<str>, load_before: f64, load_after: f64 },
}

/// The trades against `default`, the policy that is recommended.
pub(super) fn trades(subject: &Subject<'_>, default: &Forecast) -> Vec<Trade> {
    let mut dearer: Vec<&Forecast> = subject.effective().collect();
    dearer.retain(|f| cross(f) > cross(default) + TRACE);
    dearer.sort_by(|a, b| cross(a).total_cmp(&cross(b)));
    let mut trades: Vec<Trade> = Vec::new();
    for find in [refused, overload, zone_loss] {
        let found = dearer.iter().find_map(|f| Some((*f, find(subject, default, f)?)));
        let Some((forecast, benefit)) = found else { continue };
        match trades.iter_mut().find(|trade| trade.policy == forecast.policy) {
            Some(trade) => trade.benefits.push(benefit.into()),
            None => trades.push(Trade {
                policy: forecast.policy,
                in_zone_share: forecast.settled().in_zone_share,
                costs: subject.costs_more(forecast, default),
                benefits: vec![benefit.into()],
            }),
        }
    }
    trades
}

fn refused(subject: &Subject<'_>, default: &Forecast, other: &Forecast) -> Option<Benefit> {
    let unserved = |f: &Forecast| f.settled().unserved_share;
    let share = unserved(default) - unserved(other);
    let serves_all = share > TRACE && unserved(other) <= TRACE && subject.is_safe(other);
    serves_all.then_some(Benefit::ServesRefused { share })
}

fn overload(subject: &Subject<'_>, default: &Forecast, other: &Forecast) -> Option<Benefit> {
    (!subject.is_safe(default) && subject.is_safe(other)).then(|| Benefit::NoOverload {
        load_before: default.settled().max_load,
        load_after: other.settled().max_load,
    })
}

/// Differences below the threshold that counts as overload are not worth a trade.
fn zone_loss(subject: &Subject<'_>, default: &Forecast, other: &Forecast) -> Option<Benefit> {
    let (before, after) = (default.worst_loss()?, other.worst_loss()?);
    let (load_before, load_after) = (before.figures.max_load, after.figures.max_load);
    (load_before - load_after > subject.settings.assign_threshold).then(|| {
        Benefit::LowerLoadOnZoneLoss { zone: Arc::clone(&before.zone), load_before, load_after }
    })
}

fn cross(forecast: &Forecast) -> f64 {
    forecast.settled().cross_zone_share
}

// === impl Benefit ===

impl Reason for Benefit {}

impl fmt::Display for Benefit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |load: f64| percent(load).round();
        let (load_before, load_after) = match self {
            Benefit::ServesRefused { share } => {
                return write!(f, "{} % of traffic is served instead of refused", whole(*share));
            }
            Benefit::NoOverload { load_before, load_after }
            | Benefit::LowerLoadOnZoneLoss { load_before, load_after, .. } => {
                (load_before, load_after)
            }
        };
        let (before, after) = (whole(*load_before), whole(*load_after));
        if let Benefit::LowerLoadOnZoneLoss { zone, .. } = self {
            write!(f, "if {zone} fails, ")?;
        }
        write!(f, "the busiest endpoint takes {after} % of its fair share instead of {before} %")
    }
}
