//! Requests of the state-of-the-world variant.
//!
//! On a new stream, one version says what the client holds of all that it names. It is taken at its word,
//! so that a restarted server sends nothing again. That can be wrong in one case: the client dropped names,
//! took up the same ones again, and lost the stream before they were answered. It then waits for its fetch
//! timeout. The incremental variant does not have this gap.

use std::{collections::BTreeSet, time::Duration};

use envoy_types::pb::envoy::service::discovery::v3::DiscoveryRequest;

use crate::{
    resource::ResourceType,
    session::{Limits, Outcome, Refused, Stream, WILDCARD, type_state::TypeState},
};

/// A request that answers an old response is ignored: the answer to the latest one will name all that
/// the client wants by then.
pub(super) fn apply(
    stream: &mut Stream,
    now: Duration,
    request: &DiscoveryRequest,
) -> Result<Outcome, Refused> {
    let Some(kind) = ResourceType::from_type_url(&request.type_url) else {
        return Ok(stream.on_unknown_type(&request.type_url));
    };
    let limits = stream.limits;
    let state = stream.state_mut(kind);
    if !state.requested {
        begin(state, request, limits)?;
        return Ok(Outcome::Subscribed { kind });
    }
    let nonce = &request.response_nonce;
    if state.awaits(nonce) {
        let error = request.error_detail.as_ref().map(|error| error.message.as_str());
        let outcome = state.on_answer(now, error).unwrap_or(Outcome::Stale { kind });
        subscribe(state, request, limits)?;
        return Ok(outcome);
    }
    if !nonce.is_empty() && *nonce != state.last_nonce.to_string() {
        return Ok(Outcome::Stale { kind });
    }
    let changed = subscribe(state, request, limits)?;
    // A cluster that warms asks for its endpoints with what looks like another acknowledgement.
    let asks_again = !changed && !nonce.is_empty() && !kind.is_full_state();
    if asks_again && state.in_flight.is_none() {
        for name in state.held.names() {
            state.send_again(&name);
        }
    }
    Ok(Outcome::Subscribed { kind })
}

/// The first request says in one version what the client still holds from an earlier stream.
fn begin(state: &mut TypeState, request: &DiscoveryRequest, limits: Limits) -> Result<(), Refused> {
    state.requested = true;
    subscribe(state, request, limits)?;
    state.claim = request.version_info.parse().ok();
    state.answer_due = state.wildcard;
    state.pending.add_all(None);
    Ok(())
}

/// Takes over the names of a request. Returns whether they changed.
fn subscribe(
    state: &mut TypeState,
    request: &DiscoveryRequest,
    limits: Limits,
) -> Result<bool, Refused> {
    limits.check(state.kind, &request.resource_names)?;
    let mut names: BTreeSet<&str> = request.resource_names.iter().map(String::as_str).collect();
    let all =
        names.remove(WILDCARD) || (names.is_empty() && !state.named && state.kind.is_full_state());
    let mut changed = all != state.wildcard;
    if all && !state.wildcard {
        state.wildcard = true;
        state.answer_due = true;
        state.pending.add_all(None);
    }
    let subscribed = state.held.iter().filter(|(_, entry)| entry.subscribed);
    let dropped: Vec<_> = subscribed
        .map(|(head, _)| head.name.clone())
        .filter(|name| !names.contains(&**name))
        .collect();
    for name in &dropped {
        state.unsubscribe(name);
    }
    if !all && state.wildcard {
        state.drop_wildcard();
    }
    changed |= !dropped.is_empty();
    for name in names {
        if state.subscribe(name, limits)? {
            state.send_again(name);
            changed = true;
        }
    }
    Ok(changed)
}
