//! In one sentence: what to change to get in-zone traffic.

mod ask;
mod balanced;
mod code;

use std::sync::Arc;

use evenkeel_model::{Endpoint, Selectable, Service, TrafficPolicy, ZoneId, label};

use self::ask::{ask, enable, instead_of_auto};
pub use self::{balanced::Alternative, code::Advice};
use super::{
    Client, Coverage, FamilyView, Outcome, RuleReason, Subject, View,
    own::{ANNOTATION_VALUES, annotation_of_evenkeel},
};
use crate::{
    NoHints, Policy, PolicyReason, Profile,
    policy::{CannotAct, can_act, hints_count},
};

type Step = fn(&Subject<'_>, &[FamilyView]) -> Option<Advice>;

/// What stands in the way, from the most basic to the finest.
const STEPS: [Step; 8] = [
    about_nature,
    about_endpoints,
    about_policy,
    about_manager,
    about_refusal,
    about_slices,
    about_zones,
    about_proxy,
];

pub(super) fn advice(subject: &Subject<'_>, families: &[FamilyView]) -> Advice {
    let found = STEPS.iter().find_map(|step| step(subject, families));
    let found = found.unwrap_or(Advice::NothingToDo);
    balanced::instead(subject, &found).unwrap_or(found)
}

/// What else would help.
pub(super) fn alternative(subject: &Subject<'_>, advice: &Advice) -> Option<Alternative> {
    balanced::alternative(subject, advice)
}

/// Services that no policy can do anything for.
fn about_nature(subject: &Subject<'_>, _: &[FamilyView]) -> Option<Advice> {
    let (service, gates) = (&subject.state.service, subject.settings.gates);
    match can_act(service, Policy::PreferSameZone, gates) {
        Err(why @ (CannotAct::ExternalName | CannotAct::Headless)) => {
            Some(Advice::CannotAct { why })
        }
        _ => None,
    }
}

fn about_endpoints(subject: &Subject<'_>, families: &[FamilyView]) -> Option<Advice> {
    if families.iter().any(|f| f.ready > 0) {
        return None;
    }
    let state = subject.state;
    let waiting = families.iter().any(|f| !f.hints.missing_pods.is_empty())
        || (state.slices.is_empty() && state.pods.iter().any(|p| p.ready && !p.terminating));
    Some(if waiting { Advice::CheckController } else { Advice::MakeEndpointsReady })
}

fn about_policy(subject: &Subject<'_>, _: &[FamilyView]) -> Option<Advice> {
    let service = &subject.state.service;
    if service.exposure.internal == TrafficPolicy::Local {
        return Some(instead_of_local(subject));
    }
    if service.selector.is_none() {
        return own_hints(subject);
    }
    if subject.requested.policy != Policy::None {
        return None;
    }
    Some(match (&subject.requested.why, ask(subject)) {
        (PolicyReason::GateOff { gate, .. }, _) => Advice::EnableFeatureGate { gate },
        (PolicyReason::UnavailableBefore { value, version }, _) => {
            Advice::UpgradeServer { value: Arc::clone(value), version: *version }
        }
        (PolicyReason::UnknownValue { value, place }, Advice::SetPreferSameZone { .. }) => {
            let known = match *place {
                label::TRAFFIC_DISTRIBUTION => ANNOTATION_VALUES,
                _ => subject.environment.server.version.values(),
            };
            Advice::UseKnownValue { value: Arc::clone(value), known }
        }
        (_, advice) => advice,
    })
}

fn instead_of_local(subject: &Subject<'_>) -> Advice {
    let mut relaxed: Service = subject.state.service.clone();
    relaxed.exposure.internal = TrafficPolicy::Cluster;
    match can_act(&relaxed, Policy::PreferSameNode, subject.settings.gates) {
        Ok(()) => Advice::RelaxLocalPolicy,
        Err(_) => Advice::CannotAct { why: CannotAct::Local },
    }
}

/// Hints that the writer of the slices has to give.
fn own_hints(subject: &Subject<'_>) -> Option<Advice> {
    let mut endpoints = subject.state.slices.iter().flat_map(|s| &s.endpoints);
    if !endpoints.any(lacks_hint) {
        return None;
    }
    Some(match subject.zones().as_slice() {
        _ if !hints_count(&subject.state.service, subject.settings.gates) => {
            enable(subject, "ServiceTrafficDistribution", "hints of a Service without a selector")
        }
        [] | [_] => nothing_to_gain(subject),
        _ => Advice::SetHintsManually,
    })
}

/// There is no other zone that traffic could be kept out of.
fn nothing_to_gain(subject: &Subject<'_>) -> Advice {
    let zone = subject.zones().first().copied();
    let name = |zone: ZoneId| Arc::clone(subject.snapshot.topology.zones.name(zone));
    Advice::NothingToGain { zone: zone.map(name) }
}

/// Another controller manages the slices and ignores the annotation that sets the policy.
fn about_manager(subject: &Subject<'_>, _: &[FamilyView]) -> Option<Advice> {
    let annotation = annotation_of_evenkeel(subject)?;
    Some(Advice::UseEvenkeelController { annotation, manager: subject.other_manager()? })
}

fn about_refusal(subject: &Subject<'_>, families: &[FamilyView]) -> Option<Advice> {
    let why = families.iter().find_map(|f| match &f.hints.desired.reason {
        Outcome::Refused { why } => Some(why),
        _ => None,
    })?;
    let ready = families.iter().map(|f| f.ready).max().unwrap_or(0);
    Some(match why {
        NoHints::NodeWithoutZone { node } => Advice::LabelNode { node: Arc::clone(node) },
        NoHints::NodeWithoutCpu { node } => Advice::CheckNodeCpu { node: Arc::clone(node) },
        NoHints::EndpointWithoutZone { address } => {
            Advice::FixEndpointZone { address: Arc::clone(address) }
        }
        NoHints::OneZoneOnly { zone } => Advice::NothingToGain { zone: Some(Arc::clone(zone)) },
        NoHints::NoReadyNodes => Advice::RestoreNodes,
        NoHints::NodesUnknown => Advice::ProvideNodes,
        NoHints::NotEnoughEndpoints { endpoints, .. } | NoHints::Overload { endpoints, .. } => {
            instead_of_auto(subject, *endpoints)
        }
        NoHints::TooManyZones { .. } | NoHints::NoLongerRequested => {
            instead_of_auto(subject, u32::try_from(ready).unwrap_or(u32::MAX))
        }
    })
}

fn about_slices(subject: &Subject<'_>, families: &[FamilyView]) -> Option<Advice> {
    let without_hints = |f: &FamilyView| f.hints.desired.reason.is_without_hints();
    let needs_hints = !families.iter().all(without_hints);
    if let Some(advice) = foreign_without_hints(subject).filter(|_| needs_hints) {
        return Some(advice);
    }
    let behind = |f: &FamilyView| {
        let hints = &f.hints;
        let differ = !hints.differences.is_empty() || !hints.missing_pods.is_empty();
        let shares = f.shares.iter().any(|view| view.state.reason.is_wrong());
        differ || shares || !hints.stale.is_empty()
    };
    if families.iter().any(behind) {
        return Some(Advice::CheckController);
    }
    if !needs_hints {
        return None;
    }
    let mut listed = families.iter().flat_map(|f| subject.listed(f.family));
    if let Some(endpoint) = listed.find(|e| lacks_hint(e) && in_no_zone(e)) {
        let address = endpoint.address().map(ToString::to_string).unwrap_or_default();
        return Some(match subject.zones().as_slice() {
            [] => nothing_to_gain(subject),
            _ => Advice::FixEndpointZone { address: address.into() },
        });
    }
    let hinted = |f: &FamilyView| matches!(f.hints.in_force, Coverage::All | Coverage::NoEndpoints);
    (!families.iter().all(hinted)).then_some(Advice::CheckController)
}

/// A slice that no endpoint controller manages, with a ready endpoint that has no zone hint.
pub(crate) fn foreign_without_hints(subject: &Subject<'_>) -> Option<Advice> {
    let foreign = subject.state.slices.iter().filter(|s| !subject.manages(s));
    let slice = foreign.filter(|s| s.endpoints.iter().any(lacks_hint)).min_by_key(|s| &s.name)?;
    let manager = slice.labels.get(label::MANAGED_BY).cloned();
    let manager = manager.unwrap_or_else(|| "no controller".into());
    Some(Advice::AddHintsToForeignSlice { slice: Arc::clone(&slice.name), manager })
}

fn lacks_hint(endpoint: &Endpoint) -> bool {
    endpoint.ready() && !endpoint.has_zone_hint()
}

fn in_no_zone(endpoint: &Endpoint) -> bool {
    endpoint.zone.is_none_or(|zone| zone == ZoneId::EMPTY)
}

/// Zones whose clients have to go elsewhere.
fn about_zones(subject: &Subject<'_>, families: &[FamilyView]) -> Option<Advice> {
    if subject.requested.policy == Policy::PreferSameRegion {
        return None;
    }
    let is_far = |view: &&View| {
        let is_refused = matches!(view.rule.reason, RuleReason::RequiredZoneEmpty { .. });
        is_refused || view.in_zone_share == Some(0.0)
    };
    let far = families.iter().flat_map(|f| &f.views).filter(is_far);
    let mut zones: Vec<Arc<str>> = far
        .filter_map(|view| match &view.client {
            Client::Zone { zone } => Some(Arc::clone(zone)),
            _ => None,
        })
        .collect();
    zones.sort_unstable();
    zones.dedup();
    (!zones.is_empty()).then_some(Advice::AddEndpoints { zones })
}

/// What only Evenkeel's proxy does, while none runs.
fn about_proxy(subject: &Subject<'_>, families: &[FamilyView]) -> Option<Advice> {
    let has_table = |f: &FamilyView| {
        let mut rows = f.shares.iter().flat_map(|view| &view.rows);
        rows.any(|row| row.desired.is_some())
    };
    let policy = subject.requested.policy;
    let needs_proxy = policy == Policy::RequireSameZone || families.iter().any(has_table);
    let is_missing = subject.routing == Profile::Kubernetes;
    (needs_proxy && is_missing).then_some(Advice::AwaitProxy { policy })
}
