//! Policy Balanced where Auto gives no hints or PreferSameZone would overload a zone.

use std::{fmt, fmt::Write, sync::Arc};

use evenkeel_model::{Reason, Selectable, ZoneId, ZoneShares, label};
use serde::Serialize;

use super::Advice;
use crate::{
    Policy, Profile,
    auto::ZoneCounts,
    balanced::{self, Figures},
    explain::Subject,
    policy::can_act,
    reason::percent,
    threshold,
};

/// The part of the traffic that Balanced must keep in its zone beyond what no policy keeps there.
const GAIN: f64 = 0.01;

/// What else would help, and what it needs. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Alternative {
    /// Balanced would help where nodes run Evenkeel's proxy. Until then it changes nothing.
    BalancedNeedsProxy { command: Arc<str>, in_zone_share: f64, max_load: f64 },
    /// Balanced would help with Evenkeel's controller for the slices and its proxy on the nodes.
    BalancedNeedsEvenkeel { in_zone_share: f64, max_load: f64 },
}

/// Balanced instead of `advice`, if it helps and takes effect.
pub(super) fn instead(subject: &Subject<'_>, advice: &Advice) -> Option<Advice> {
    if !subject.has_own_slices() || subject.routing != Profile::Evenkeel {
        return None;
    }
    let Figures { in_zone, worst, .. } = offer(subject, advice)?;
    Some(Advice::SetBalanced { command: command(subject), in_zone_share: in_zone, max_load: worst })
}

/// Balanced beside `advice`, if it would help and can't take effect yet.
pub(super) fn alternative(subject: &Subject<'_>, advice: &Advice) -> Option<Alternative> {
    let Figures { in_zone: in_zone_share, worst: max_load, .. } = offer(subject, advice)?;
    Some(if subject.has_own_slices() {
        Alternative::BalancedNeedsProxy { command: command(subject), in_zone_share, max_load }
    } else {
        Alternative::BalancedNeedsEvenkeel { in_zone_share, max_load }
    })
}

/// What Balanced would do to the traffic, where `advice` is to change the number or place of Pods and
/// Balanced keeps more traffic in its zone than no policy.
fn offer(subject: &Subject<'_>, advice: &Advice) -> Option<Figures> {
    let applies = matches!(advice, Advice::Scale { .. } | Advice::SpreadPods { .. });
    let (service, gates) = (&subject.state.service, subject.settings.gates);
    if !applies || can_act(service, Policy::Balanced, gates).is_err() {
        return None;
    }
    let settings = threshold::for_service(subject.settings, service);
    let count = |family| -> ZoneCounts {
        let ready = subject.endpoints(family).into_iter().filter(|e| e.ready());
        ready.map(|e| (e.zone.unwrap_or(ZoneId::EMPTY), 1)).collect()
    };
    let ready = subject.families().into_iter().map(count).find(|ready| !ready.is_empty())?;
    let decision = balanced::decide(subject.demand, &ready, None, true, &settings.tuning());
    let without = balanced::figures(&ZoneShares::default(), subject.demand, &ready);
    let helps = decision.shares.is_some() && decision.best.in_zone > without.in_zone + GAIN;
    helps.then_some(decision.best)
}

/// An annotation that requests Auto would take precedence, so it goes.
fn command(subject: &Subject<'_>) -> Arc<str> {
    let service = &subject.state.service;
    let (name, namespace) = (&service.key.name, &service.key.namespace);
    let mut command = format!("kubectl annotate service {name} -n {namespace}");
    if service.annotations.contains_key(label::TRAFFIC_DISTRIBUTION) {
        command += " --overwrite";
    }
    let _ = write!(command, " {}={}", label::TRAFFIC_DISTRIBUTION, Policy::Balanced);
    for auto in [label::TOPOLOGY_AWARE_HINTS, label::TOPOLOGY_MODE] {
        if service.annotations.contains_key(auto) {
            let _ = write!(command, " {auto}-");
        }
    }
    command.into()
}

/// `83 % of the traffic stays in its zone, and no endpoint gets more than 100 % of its fair share`.
pub(super) struct Effect {
    pub in_zone_share: f64,
    pub max_load: f64,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [stays, load] = [self.in_zone_share, self.max_load].map(|part| percent(part).round());
        write!(
            f,
            "{stays} % of the traffic stays in its zone, and no endpoint gets more than {load} % of its fair share"
        )
    }
}

// === impl Alternative ===

impl Reason for Alternative {}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Alternative::BalancedNeedsProxy { ref command, in_zone_share, max_load } => write!(
                f,
                "Or set policy Balanced: {command}. Where nodes run Evenkeel's proxy, {}; until then it changes nothing",
                Effect { in_zone_share, max_load }
            ),
            Alternative::BalancedNeedsEvenkeel { in_zone_share, max_load } => write!(
                f,
                "Policy Balanced works with the Pods as they are: {}. It needs Evenkeel's controller for the Service's EndpointSlices and Evenkeel's proxy on the nodes",
                Effect { in_zone_share, max_load }
            ),
        }
    }
}
