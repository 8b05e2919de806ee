//! Which policy to set: one that has an effect here and overloads no zone.

use evenkeel_model::{PodPhase, Selectable, label};

use super::{Advice, in_no_zone, nothing_to_gain};
use crate::{
    Policy,
    auto::bounds::{bounds, next_possible},
    explain::{Subject, load},
    policy::{CannotAct, can_act},
    version::{Expression, UnavailableBefore, expression},
};

/// How far above the present number of endpoints to look for one that suits Auto.
const REACH: u32 = 1000;

/// Which policy to set where none is set.
pub(super) fn ask(subject: &Subject<'_>) -> Advice {
    let (service, gates) = (&subject.state.service, subject.settings.gates);
    if subject.zones().len() < 2 {
        return nothing_to_gain(subject);
    }
    match can_act(service, Policy::PreferSameZone, gates) {
        Err(CannotAct::GateOff { gate }) => return enable(subject, gate, "PreferSameZone"),
        Err(why) => return Advice::CannotAct { why },
        Ok(()) => {}
    }
    let value = match prefer_same_zone(subject) {
        Ok(value) => value,
        Err(advice) => return advice,
    };
    match load::worst(subject) {
        None => Advice::SetPreferSameZone { value },
        Some((zone, load)) if auto_suits(subject) => {
            Advice::SetAuto { annotation: label::TOPOLOGY_MODE, zone, load }
        }
        Some((zone, load)) => Advice::SpreadPods { zone, load },
    }
}

/// The value of `spec.trafficDistribution` that keeps traffic in its zone on this API server.
fn prefer_same_zone(subject: &Subject<'_>) -> Result<&'static str, Advice> {
    match expression(Policy::PreferSameZone, subject.environment.server.version) {
        Ok(Expression::Field { value }) => Ok(value),
        Ok(_) => Ok("PreferSameZone"),
        Err(UnavailableBefore { policy, version }) => {
            Err(Advice::UpgradeServer { value: policy.as_str().into(), version })
        }
    }
}

/// How to get a feature: by its gate, or by a newer API server.
pub(super) fn enable(subject: &Subject<'_>, gate: &'static str, value: &str) -> Advice {
    match subject.environment.missing(gate) {
        Some(version) => Advice::UpgradeServer { value: value.into(), version },
        None => Advice::EnableFeatureGate { gate },
    }
}

/// Whether Auto would give hints to all families as they are.
fn auto_suits(subject: &Subject<'_>) -> bool {
    let can = can_act(&subject.state.service, Policy::Auto, subject.settings.gates).is_ok();
    let Ok(capacity) = &subject.capacity else {
        return false;
    };
    let suits = |family| {
        // As the producer counts, since it would have to allocate them.
        let ready = || subject.listed(family).filter(|e| e.is_ready());
        let n = u32::try_from(ready().count()).unwrap_or(u32::MAX);
        let threshold = subject.settings.assign_threshold;
        !ready().any(in_no_zone) && bounds(capacity, n, threshold).is_ok()
    };
    can && subject.families().into_iter().filter(|&f| has_ready(subject, f)).all(suits)
}

fn has_ready(subject: &Subject<'_>, family: evenkeel_model::AddressType) -> bool {
    subject.listed(family).any(Selectable::ready)
}

/// Pods that run or are to run, ready or not.
fn pods(subject: &Subject<'_>) -> u32 {
    let is_over = |phase| matches!(phase, PodPhase::Succeeded | PodPhase::Failed);
    let live = subject.state.pods.iter().filter(|pod| !pod.terminating && !is_over(pod.phase));
    u32::try_from(live.count()).unwrap_or(u32::MAX)
}

/// What to do where Auto can't allocate the `now` endpoints there are.
pub(super) fn instead_of_auto(subject: &Subject<'_>, now: u32) -> Advice {
    let (service, settings) = (&subject.state.service, subject.settings);
    let capacity = subject.capacity.as_ref().ok();
    let limit = now.saturating_add(REACH);
    let threshold = settings.assign_threshold;
    let next = capacity.and_then(|c| next_possible(c, now, threshold, limit));
    if let Some(next) = next.filter(|next| pods(subject) >= *next && now < *next) {
        return Advice::MakePodsReady { ready: now, pods: pods(subject), next };
    }
    let prefer = can_act(service, Policy::PreferSameZone, settings.gates);
    match (load::worst(subject), next, prefer) {
        (None, next, Ok(())) => match prefer_same_zone(subject) {
            Ok(value) => Advice::ScaleOrPreferZone { now, next, value },
            Err(advice) => next.map_or(advice, |next| Advice::Scale { now, next }),
        },
        (_, Some(next), _) => Advice::Scale { now, next },
        (Some((zone, load)), None, _) => Advice::SpreadPods { zone, load },
        (None, None, Err(why)) => Advice::CannotAct { why },
    }
}
