//! All types of one stream: what is sent when.

use std::{sync::Arc, time::Duration};

use crate::{
    resource::{Head, ResourceType},
    response::{Nonce, Response, Variant},
    session::{
        Changes, Limits, Outcome, Source, TypeStatus,
        draft::{self, Draft},
        held::Had,
        type_state::{InFlight, TypeState},
    },
};

/// Listeners and routes wait this long for the acknowledgement of clusters.
pub const CLUSTER_WAIT: Duration = Duration::from_secs(15);

/// Type URLs that a stream asked for and nobody serves; more are not remembered.
const UNKNOWN_TYPES: usize = 16;

/// The state behind a [`Session`](crate::session::Session), of either variant.
#[derive(Debug)]
pub struct Stream {
    variant: Variant,
    pub(super) limits: Limits,
    nonce: Nonce,
    types: [TypeState; 4],
    unknown: Vec<Box<str>>,
}

// === impl Stream ===

impl Stream {
    pub(super) fn new(variant: Variant, limits: Limits) -> Self {
        Self {
            variant,
            limits,
            nonce: Nonce::default(),
            types: ResourceType::ALL.map(TypeState::new),
            unknown: Vec::new(),
        }
    }

    pub(super) fn state(&self, kind: ResourceType) -> &TypeState {
        &self.types[kind as usize]
    }

    pub(super) fn state_mut(&mut self, kind: ResourceType) -> &mut TypeState {
        &mut self.types[kind as usize]
    }

    pub(super) fn on_unknown_type(&mut self, url: &str) -> Outcome {
        let first = self.unknown.len() < UNKNOWN_TYPES && !self.unknown.iter().any(|u| **u == *url);
        if first {
            let end = url.floor_char_boundary(256);
            self.unknown.push(url[..end].into());
        }
        Outcome::UnknownType { first }
    }

    pub(super) fn on_change(&mut self, change: u64, kind: ResourceType, name: &Arc<str>) -> bool {
        let state = self.state_mut(kind);
        let concerned = state.concerns(name);
        if concerned {
            state.pending.add(name.clone(), Some(change));
        }
        concerned
    }

    pub(super) fn on_snapshot(&mut self, change: u64) {
        for state in self.types.iter_mut().filter(|state| state.requested) {
            state.pending.add_all(Some(change));
        }
    }

    pub(super) fn poll(&mut self, now: Duration, source: &impl Source) -> Option<Response> {
        use ResourceType::{Cluster, Endpoint, Listener, Route};
        self.additions(now, Cluster, source)
            .or_else(|| self.additions(now, Endpoint, source))
            .or_else(|| self.after_clusters(now, Listener, source))
            .or_else(|| self.after_clusters(now, Route, source))
            .or_else(|| self.removals(now, Cluster, source))
            .or_else(|| self.removals(now, Endpoint, source))
            .or_else(|| self.removals(now, Route, source))
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        let waiting = self.types.iter().filter(|state| state.in_flight.is_none());
        waiting.filter_map(|state| state.waiting_since).map(|since| since + CLUSTER_WAIT).min()
    }

    pub(super) fn status(&self, kind: ResourceType) -> TypeStatus {
        self.state(kind).status()
    }

    /// Like [`Self::additions`], unless clusters have to take effect first.
    fn after_clusters(
        &mut self,
        now: Duration,
        kind: ResourceType,
        source: &impl Source,
    ) -> Option<Response> {
        let clusters_in_flight = self.state(ResourceType::Cluster).brings_more();
        let state = self.state_mut(kind);
        if state.in_flight.is_none() && state.has_work() && clusters_in_flight {
            let since = *state.waiting_since.get_or_insert(now);
            if now < since + CLUSTER_WAIT {
                return None;
            }
        }
        self.additions(now, kind, source)
    }

    /// What is new or changed, and for listeners what is gone.
    fn additions(
        &mut self,
        now: Duration,
        kind: ResourceType,
        source: &impl Source,
    ) -> Option<Response> {
        if self.state(kind).pending.all {
            self.settle_claims(kind, source);
        }
        let variant = self.variant;
        let state = self.state_mut(kind);
        while state.in_flight.is_none() && state.has_work() {
            state.waiting_since = None;
            let from_part = !state.parts.is_empty();
            let difference = state.take_difference(source);
            let answer_due = !from_part && std::mem::take(&mut state.answer_due);
            let changes = if from_part { None } else { state.pending.changes.take() };
            if !difference.gone.is_empty() {
                state.leaving_changes = Changes::join(state.leaving_changes, changes);
            }
            if let Some(draft) = draft::draft(variant, state, difference, answer_due, source) {
                return Some(self.send(now, kind, draft, changes));
            }
        }
        None
    }

    /// What is gone and was kept until nothing used it.
    fn removals(
        &mut self,
        now: Duration,
        kind: ResourceType,
        source: &impl Source,
    ) -> Option<Response> {
        let settled = |kind| self.state(kind).is_settled();
        let unused = settled(ResourceType::Listener) && settled(ResourceType::Route);
        let clusters_in_flight = self.state(ResourceType::Cluster).in_flight.is_some();
        let variant = self.variant;
        let state = self.state_mut(kind);
        let idle = state.leaving.is_empty() || state.in_flight.is_some();
        if idle || !unused || clusters_in_flight {
            return None;
        }
        let changes = state.leaving_changes.take();
        let names = std::mem::take(&mut state.leaving);
        let gone = |name: &Arc<str>| state.wants(name) && source.get(kind, name).is_none();
        let removed: Vec<Arc<str>> = names.into_iter().filter(gone).collect();
        if removed.is_empty() {
            return None;
        }
        let draft = match variant {
            Variant::Incremental => draft::removing(state, removed),
            Variant::StateOfTheWorld => draft::full_set(state, source),
        };
        Some(self.send(now, kind, draft, changes))
    }

    fn send(
        &mut self,
        now: Duration,
        kind: ResourceType,
        draft: Draft,
        changes: Option<Changes>,
    ) -> Response {
        self.nonce = Nonce(self.nonce.0 + 1);
        if kind == ResourceType::Cluster {
            self.send_endpoints_again(&draft.updated);
        }
        let (nonce, variant) = (self.nonce, self.variant);
        let state = self.state_mut(kind);
        let full = variant == Variant::StateOfTheWorld && kind.is_full_state();
        let version = state.held.version();
        state.last_nonce = nonce;
        state.in_flight = Some(InFlight {
            nonce,
            sent: now,
            version,
            changes,
            updated: draft.updated,
            removed: draft.removed.clone(),
            divisible: !full,
        });
        Response {
            variant,
            kind,
            nonce,
            version,
            tainted: state.rejection.is_some() && !full,
            resources: draft.resources,
            removed: draft.removed,
        }
    }

    /// Envoy warms a cluster that was sent, and takes endpoints only from a response after it.
    fn send_endpoints_again(&mut self, clusters: &[Arc<Head>]) {
        let endpoints = self.state_mut(ResourceType::Endpoint);
        for head in clusters {
            if endpoints.held.has_subscribed(&head.name) {
                endpoints.send_again(&head.name);
            }
        }
    }

    /// What the client says it has from an earlier stream counts, except for endpoints of clusters that
    /// were sent on this one. A version for all routes may be older than a listener that needs one of them
    /// again, so that it does not count if listeners were sent.
    fn settle_claims(&mut self, kind: ResourceType, source: &impl Source) {
        let doubtful = kind == ResourceType::Route && self.has_sent_listeners();
        let state = self.state_mut(kind);
        if let Some(claim) = state.claim.take()
            && !doubtful
        {
            draft::accept_if_current(state, claim, source);
        }
        if kind != ResourceType::Endpoint {
            return;
        }
        let sent = |name: &str| {
            let cluster = self.state(ResourceType::Cluster).held.get(name);
            cluster.is_some_and(|(_, entry)| entry.had == Had::Sent)
        };
        let claimed = self.state(kind).held.iter().filter(|(_, entry)| entry.had == Had::Claimed);
        let again: Vec<Arc<str>> =
            claimed.map(|(head, _)| head.name.clone()).filter(|name| sent(name)).collect();
        for name in again {
            self.state_mut(kind).held.forget(&name);
        }
    }

    fn has_sent_listeners(&self) -> bool {
        let mut listeners = self.state(ResourceType::Listener).held.iter();
        listeners.any(|(_, entry)| entry.had == Had::Sent)
    }
}
