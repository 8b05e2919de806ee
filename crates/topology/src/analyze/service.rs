//! Problems of one Service, the most basic first: Pods, then values, then slices and zones.

use std::sync::Arc;

use evenkeel_model::{LabelValues, PodCause, PodProblem, Service, label};

use super::{Problem, own, problem::cause};
use crate::{
    Policy, PolicyReason,
    explain::{
        ANNOTATION_VALUES, Advice, FamilyView, Outcome, Subject, Warning, foreign_without_hints,
        zone_warnings,
    },
    nearest::nearest,
};

/// The problems of a Service. `advice` is what `explain` advises.
pub(super) fn problems(
    subject: &Subject<'_>,
    families: &[FamilyView],
    advice: &Advice,
) -> Vec<Problem> {
    let mut found = pods(subject);
    found.extend(values(subject));
    if subject.state.service.external_name {
        return found;
    }
    let endpoints: usize = families.iter().map(|f| f.endpoints).sum();
    let is_ready = families.iter().any(|f| f.ready > 0);
    if !is_ready && !found.iter().any(is_about_pods) {
        found.push(Problem::NoReadyEndpoints { endpoints });
    }
    found.extend(slices(subject, families));
    found.extend(own::shares(subject, families));
    if is_ready {
        found.extend(policy(subject, families, advice));
    }
    found
}

fn is_about_pods(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::SelectorMatchesNoPods { .. }
            | Problem::PodsPending { .. }
            | Problem::PodsNotReady { .. }
    )
}

fn pods(subject: &Subject<'_>) -> Vec<Problem> {
    let state = subject.state;
    if let Some(problem) = no_pods(subject) {
        return vec![problem];
    }
    let is_pending =
        |p: &&PodProblem| matches!(p.cause, PodCause::Unschedulable { .. } | PodCause::Pending);
    // Whoever starts is not in trouble while a sibling says what is wrong.
    let rank = |p: &&PodProblem| matches!(p.cause, PodCause::Pending);
    let of = state.pods.iter().filter(|pod| !pod.terminating).count();
    let pending: Vec<_> = state.pod_problems.iter().filter(is_pending).collect();
    let unready: Vec<_> = state.pod_problems.iter().filter(|p| !is_pending(p)).collect();
    let first = |all: &[&PodProblem]| {
        let first = all.iter().copied().min_by_key(rank)?;
        Some((all.len(), Arc::clone(&first.pod), Arc::from(cause(&first.cause))))
    };
    let pending =
        first(&pending).map(|(pods, pod, cause)| Problem::PodsPending { pods, of, pod, cause });
    let unready =
        first(&unready).map(|(pods, pod, cause)| Problem::PodsNotReady { pods, of, pod, cause });
    unready.into_iter().chain(pending).collect()
}

fn no_pods(subject: &Subject<'_>) -> Option<Problem> {
    let (state, snapshot) = (subject.state, subject.snapshot);
    let selector = state.service.selector.as_ref()?;
    if !snapshot.has_pods || !state.pods.is_empty() || state.service.external_name {
        return None;
    }
    let labels = snapshot.pod_labels.get(&state.service.key.namespace);
    let pair = |(key, value): (&Arc<str>, &Arc<str>)| format!("{key}={value}");
    let given: Vec<String> = selector.iter().map(pair).collect();
    let near = labels.and_then(|labels| {
        selector.iter().map(|(key, value)| nearest_pair(key, value, labels)).collect()
    });
    let near: Vec<String> = near.unwrap_or_default();
    // All pairs exist, but on no Pod together.
    let near = if near == given { Vec::new() } else { near };
    Some(Problem::SelectorMatchesNoPods {
        selector: given.join(",").into(),
        nearest: near.into_iter().map(Arc::from).collect(),
    })
}

/// The pair that Pods have in place of `key=value`: another value, another key, or both.
fn nearest_pair(key: &str, value: &str, labels: &LabelValues) -> Option<String> {
    let words = |values: &'_ std::collections::BTreeSet<Arc<str>>| {
        let near = nearest(value, values.iter().map(|v| &**v));
        near.map(str::to_owned).or_else(|| match values.len() {
            1 => values.first().map(ToString::to_string),
            _ => None,
        })
    };
    if let Some(values) = labels.get(key) {
        return Some(format!("{key}={}", words(values)?));
    }
    let near = nearest(key, labels.keys().map(|key| &**key));
    let with_value = || labels.iter().find(|(_, v)| v.contains(value)).map(|(key, _)| &**key);
    let key = near.or_else(with_value)?;
    Some(format!("{key}={}", words(labels.get(key)?)?))
}

/// Values and annotations that nothing knows.
fn values(subject: &Subject<'_>) -> Vec<Problem> {
    let service = &subject.state.service;
    let mut found = Vec::new();
    for name in [label::TOPOLOGY_AWARE_HINTS, label::TOPOLOGY_MODE] {
        let value = service.annotations.get(name);
        let known = ["Auto", "Disabled"];
        let is_known = |v: &str| matches!(v, "Auto" | "auto" | "Disabled" | "disabled");
        if let Some(value) = value.filter(|value| !is_known(value)) {
            let nearest = nearest(value, known);
            let place = format!("annotation {name}").into();
            found.push(Problem::UnknownValue { place, value: Arc::clone(value), nearest });
        }
    }
    match &subject.requested.why {
        PolicyReason::UnknownValue { place, value } => {
            let known = match *place {
                label::TRAFFIC_DISTRIBUTION => ANNOTATION_VALUES,
                _ => subject.environment.server.version.values(),
            };
            let nearest = nearest(value, known.to_vec());
            let place = match *place {
                label::TRAFFIC_DISTRIBUTION => format!("annotation {place}").into(),
                place => Arc::from(place),
            };
            let value = Arc::clone(value);
            found.push(Problem::UnknownValue { place, value, nearest });
        }
        PolicyReason::UnavailableBefore { value, version } => {
            let value = Arc::clone(value);
            found.push(Problem::UnavailableBefore { value, version: *version });
        }
        _ => {}
    }
    found.extend(unknown_annotations(service));
    found.extend(own::annotations(subject));
    found
}

fn unknown_annotations(service: &Service) -> impl Iterator<Item = Problem> {
    let known = [label::TRAFFIC_DISTRIBUTION, label::SELECTOR, label::OVERLOAD_THRESHOLD];
    // The embedded API server's own note on the Service `kubernetes`.
    let is_known = move |name: &str| known.contains(&name) || name == "evenkeel.dev/feature-gates";
    let ours = service.annotations.keys().filter(|name| name.starts_with("evenkeel.dev/"));
    ours.filter(move |name| !is_known(name)).map(move |name| {
        let nearest = nearest(name, known);
        Problem::UnknownAnnotation { annotation: Arc::clone(name), nearest }
    })
}

fn slices(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Problem> {
    let sum = |of: fn(&FamilyView) -> usize| families.iter().map(of).sum::<usize>();
    let hints = sum(|f| f.hints.differences.len());
    let missing_pods = sum(|f| f.hints.missing_pods.len());
    let stale_endpoints = sum(|f| f.hints.stale.len());
    let mut found = Vec::new();
    if hints + missing_pods + stale_endpoints > 0 {
        found.push(Problem::SlicesOutdated { hints, missing_pods, stale_endpoints });
    }
    let needs_hints = subject.requested.policy != Policy::None
        && !families.iter().all(|f| f.hints.desired.reason.is_without_hints());
    let foreign = foreign_without_hints(subject).filter(|_| needs_hints);
    if let Some(Advice::AddHintsToForeignSlice { slice, manager }) = foreign {
        found.push(Problem::ForeignSliceWithoutHints { slice, manager });
    }
    found
}

fn policy(subject: &Subject<'_>, families: &[FamilyView], advice: &Advice) -> Vec<Problem> {
    let refused = families.iter().find_map(|f| match &f.hints.desired.reason {
        Outcome::Refused { why } => Some(Problem::HintsRefused { why: why.clone() }),
        _ => None,
    });
    let mut found: Vec<Problem> = refused.into_iter().collect();
    if subject.requested.policy != Policy::None && !subject.state.service.cluster_ip_none {
        found.extend(zone_warnings(subject).into_iter().filter_map(|warning| match warning {
            Warning::ZoneWithoutEndpoint { zone } => Some(Problem::ZoneWithoutEndpoint { zone }),
            Warning::ZoneOverloaded { zone, endpoints, load } => {
                Some(Problem::ZoneOverloaded { zone, endpoints, load })
            }
            _ => None,
        }));
        found.extend(own::policy(subject, families));
    }
    let is_set = !matches!(subject.requested.why, PolicyReason::NotSet);
    let worth = matches!(
        advice,
        Advice::SetPreferSameZone { .. } | Advice::SetAuto { .. } | Advice::SetBalanced { .. }
    );
    if worth && !is_set {
        found.push(Problem::NoTopologyPreference);
    }
    found
}
