//! Which policy to ask for: one that can act here, and would overload no zone.

use evenkeel_model::{Selectable, label};

use super::{Advice, in_no_zone, nothing_to_gain};
use crate::{
    Policy,
    auto::bounds::{bounds, next_possible},
    explain::{Subject, load},
    policy::{CannotAct, can_act},
};

/// How far beyond the number of endpoints now to look for one that suits Auto.
const REACH: u32 = 1000;

/// What to ask for where nothing is asked yet.
pub(super) fn ask(subject: &Subject<'_>) -> Advice {
    let (service, gates) = (&subject.state.service, subject.settings.gates);
    if subject.zones().len() < 2 {
        return nothing_to_gain(subject);
    }
    match can_act(service, Policy::PreferSameZone, gates) {
        Err(CannotAct::GateOff { gate }) => return Advice::TurnGateOn { gate },
        Err(why) => return Advice::CannotAct { why },
        Ok(()) => {}
    }
    match load::worst(subject) {
        None => Advice::AskForIt,
        Some((zone, load)) if auto_suits(subject) => {
            Advice::AskForAuto { annotation: label::TOPOLOGY_MODE, zone, load }
        }
        Some((zone, load)) => Advice::SpreadFirst { zone, load },
    }
}

/// Whether Auto would give hints to all families as they are.
fn auto_suits(subject: &Subject<'_>) -> bool {
    let can = can_act(&subject.state.service, Policy::Auto, subject.settings.gates).is_ok();
    let Ok(capacity) = &subject.capacity else {
        return false;
    };
    let suits = |family| {
        // As the producer counts: it is who would have to share them out.
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

/// What to do where Auto can't share out the `now` endpoints there are.
pub(super) fn instead_of_auto(subject: &Subject<'_>, now: u32) -> Advice {
    let (service, settings) = (&subject.state.service, subject.settings);
    let capacity = subject.capacity.as_ref().ok();
    let limit = now.saturating_add(REACH);
    let threshold = settings.assign_threshold;
    let next = capacity.and_then(|c| next_possible(c, now, threshold, limit));
    let prefer = can_act(service, Policy::PreferSameZone, settings.gates);
    match (load::worst(subject), next, prefer) {
        (None, next, Ok(())) => Advice::ScaleOrPreferZone { now, next },
        (_, Some(next), _) => Advice::Scale { now, next },
        (Some((zone, load)), None, _) => Advice::SpreadFirst { zone, load },
        (None, None, Err(why)) => Advice::CannotAct { why },
    }
}
