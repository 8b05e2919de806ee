//! Requests of the incremental variant.

use std::{sync::Arc, time::Duration};

use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;

use crate::{
    resource::{Head, ResourceType, Version},
    session::{Limits, Outcome, Refused, Stream, WILDCARD, held::Had, type_state::TypeState},
};

/// Subscriptions count in every request, also in one that answers an old response: they are differences.
pub(super) fn apply(
    stream: &mut Stream,
    now: Duration,
    request: &DeltaDiscoveryRequest,
) -> Result<Outcome, Refused> {
    let Some(kind) = ResourceType::from_type_url(&request.type_url) else {
        return Ok(stream.on_unknown_type(&request.type_url));
    };
    let limits = stream.limits;
    let state = stream.state_mut(kind);
    let first = !std::mem::replace(&mut state.requested, true);
    let outcome = answer(state, now, request);
    for name in &request.resource_names_unsubscribe {
        match name.as_str() {
            WILDCARD => state.drop_wildcard(),
            name => state.unsubscribe(name),
        }
    }
    if first {
        begin(state, request, limits)?;
    } else {
        subscribe(state, request, limits)?;
    }
    Ok(outcome)
}

fn answer(state: &mut TypeState, now: Duration, request: &DeltaDiscoveryRequest) -> Outcome {
    let kind = state.kind;
    if request.response_nonce.is_empty() {
        return Outcome::Subscribed { kind };
    }
    if state.awaits(&request.response_nonce) {
        let error = request.error_detail.as_ref().map(|error| error.message.as_str());
        return state.on_answer(now, error).unwrap_or(Outcome::Stale { kind });
    }
    Outcome::Stale { kind }
}

/// The first request says what the client still holds from an earlier stream.
fn begin(
    state: &mut TypeState,
    request: &DeltaDiscoveryRequest,
    limits: Limits,
) -> Result<(), Refused> {
    let names = &request.resource_names_subscribe;
    state.wildcard = names.iter().any(|name| name == WILDCARD)
        || (names.is_empty() && state.kind.is_full_state());
    for name in names.iter().filter(|name| *name != WILDCARD) {
        state.subscribe(name, limits)?;
    }
    limits.check(state.kind, request.initial_resource_versions.keys())?;
    for (name, version) in &request.initial_resource_versions {
        if state.wants(name) {
            let version = version.parse().unwrap_or(Version::NONE);
            state.held.set(Arc::new(Head { name: name.as_str().into(), version }), Had::Claimed);
        }
    }
    state.answer_due = state.wildcard && request.initial_resource_versions.is_empty();
    state.pending.add_all(None);
    Ok(())
}

/// A name that is subscribed again is sent again.
fn subscribe(
    state: &mut TypeState,
    request: &DeltaDiscoveryRequest,
    limits: Limits,
) -> Result<(), Refused> {
    for name in &request.resource_names_subscribe {
        if name == WILDCARD {
            state.wildcard = true;
            state.answer_due = true;
            state.pending.add_all(None);
        } else {
            state.subscribe(name, limits)?;
            state.send_again(name);
        }
    }
    Ok(())
}
