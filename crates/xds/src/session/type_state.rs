//! One type of resources on one stream.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use crate::{
    resource::{Head, Resource, ResourceType, Version},
    response::Nonce,
    session::{
        Acked, Changes, Limits, Outcome, Refused, Rejection, Source, SyncState, TypeStatus,
        held::{Had, Held},
        pending::Pending,
    },
};

/// A client's message of rejection is cut here.
const MESSAGE_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct TypeState {
    pub(super) kind: ResourceType,
    pub(super) requested: bool,
    /// All resources, whatever their names.
    pub(super) wildcard: bool,
    /// The client has named something on this stream: no names then means nothing, no longer all.
    pub(super) named: bool,
    pub(super) held: Held,
    pub(super) pending: Pending,
    /// An answer is due even if it is empty, because the client waits for it.
    pub(super) answer_due: bool,
    /// State of the world: what the client says it holds, until this is compared.
    pub(super) claim: Option<Version>,
    pub(super) in_flight: Option<InFlight>,
    pub(super) last_nonce: Nonce,
    /// Parts of a rejected response that are to be sent again on their own.
    pub(super) parts: VecDeque<Vec<Arc<str>>>,
    /// Gone from the source, to be removed when nothing uses it any more.
    pub(super) leaving: BTreeSet<Arc<str>>,
    pub(super) leaving_changes: Option<Changes>,
    /// State of the world, clusters only: what the last response held, since the next one must repeat
    /// those that are leaving.
    pub(super) full: BTreeMap<Arc<str>, Arc<Resource>>,
    pub(super) acked: Option<(Version, Duration)>,
    pub(super) rejection: Option<Rejection>,
    /// Something is due since then and waits for another type.
    pub(super) waiting_since: Option<Duration>,
}

/// A response that waits for its acknowledgement.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) nonce: Nonce,
    pub(super) sent: Duration,
    pub(super) version: Version,
    pub(super) changes: Option<Changes>,
    pub(super) updated: Vec<Arc<Head>>,
    /// In the order of names, like `updated`.
    pub(super) removed: Vec<Arc<str>>,
    /// Parts of it can be sent on their own.
    pub(super) divisible: bool,
}

/// How the client differs from the source.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub(super) update: Vec<Arc<Resource>>,
    /// Subscribed, never answered, and not there.
    pub(super) missing: Vec<Arc<str>>,
    /// Held by the client, and no longer there.
    pub(super) gone: Vec<Arc<str>>,
}

// === impl TypeState ===

impl TypeState {
    pub(super) fn new(kind: ResourceType) -> Self {
        Self {
            kind,
            requested: false,
            wildcard: false,
            named: false,
            held: Held::default(),
            pending: Pending::default(),
            answer_due: false,
            claim: None,
            in_flight: None,
            last_nonce: Nonce::default(),
            parts: VecDeque::new(),
            leaving: BTreeSet::new(),
            leaving_changes: None,
            full: BTreeMap::new(),
            acked: None,
            rejection: None,
            waiting_since: None,
        }
    }

    /// Something may have to be sent.
    pub(super) fn has_work(&self) -> bool {
        !self.pending.is_empty() || self.answer_due || !self.parts.is_empty()
    }

    /// The client uses the newest state.
    pub(super) fn is_settled(&self) -> bool {
        self.in_flight.is_none() && !self.has_work() && self.rejection.is_none()
    }

    /// Something new waits for an acknowledgement: its own, or that of the response before it.
    pub(super) fn brings_more(&self) -> bool {
        let flight = self.in_flight.as_ref();
        flight.is_some_and(|flight| !flight.updated.is_empty() || self.has_work())
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.wildcard || self.held.has_subscribed(name)
    }

    pub(super) fn concerns(&self, name: &str) -> bool {
        self.requested && (self.wildcard || self.held.get(name).is_some())
    }

    /// Subscribes to a name. Returns whether that is new.
    pub(super) fn subscribe(&mut self, name: &str, limits: Limits) -> Result<bool, Refused> {
        self.named = true;
        self.held.subscribe(self.kind, name, limits)
    }

    pub(super) fn send_again(&mut self, name: &str) {
        self.held.forget(name);
        if let Some((head, _)) = self.held.get(name) {
            let name = head.name.clone();
            self.pending.add(name, None);
        }
    }

    pub(super) fn unsubscribe(&mut self, name: &str) {
        if self.wildcard {
            // The client may have dropped it, but it is still part of all.
            self.held.unsubscribe(name);
            self.send_again(name);
        } else {
            self.drop_name(name);
        }
    }

    /// The client neither wants nor holds it.
    fn drop_name(&mut self, name: &str) {
        self.held.remove(name);
        self.settle_rejection(name);
    }

    /// What the client rejected under this name is no longer due.
    pub(super) fn settle_rejection(&mut self, name: &str) {
        let Some(rejection) = &mut self.rejection else { return };
        if let Ok(at) = rejection.names.binary_search_by(|n| (**n).cmp(name)) {
            rejection.names.remove(at);
            if rejection.names.is_empty() {
                self.rejection = None;
            }
        }
    }

    pub(super) fn drop_wildcard(&mut self) {
        self.wildcard = false;
        for name in self.held.names() {
            if !self.held.has_subscribed(&name) {
                self.drop_name(&name);
            }
        }
    }

    /// Compares names with the source, those of the next part of a rejected response first.
    pub(super) fn take_difference(&mut self, source: &impl Source) -> Difference {
        if let Some(part) = self.parts.pop_front() {
            for name in &part {
                self.held.forget(name);
            }
            return self.difference(part, source);
        }
        let names = if std::mem::take(&mut self.pending.all) {
            self.pending.names.clear();
            self.all_names(source)
        } else {
            std::mem::take(&mut self.pending.names)
        };
        self.difference(names, source)
    }

    fn all_names(&self, source: &impl Source) -> BTreeSet<Arc<str>> {
        let mut names: BTreeSet<Arc<str>> = self.held.names().into_iter().collect();
        if self.wildcard {
            source.each(self.kind, &mut |resource| {
                names.insert(resource.name().clone());
            });
        }
        names
    }

    fn difference(
        &mut self,
        names: impl IntoIterator<Item = Arc<str>>,
        source: &impl Source,
    ) -> Difference {
        let mut difference = Difference::default();
        for name in names {
            if !self.wants(&name) {
                self.drop_name(&name);
                continue;
            }
            let had = self.held.get(&name).map(|(head, entry)| (head.version, entry.had));
            match (source.get(self.kind, &name), had) {
                (Some(new), Some((version, had @ (Had::Claimed | Had::Sent))))
                    if new.version() == version =>
                {
                    self.held.set(new.head().clone(), had);
                }
                (Some(new), _) => difference.update.push(new),
                (None, Some((_, Had::Unsent))) => difference.missing.push(name),
                (None, Some((_, Had::Claimed | Had::Sent))) => difference.gone.push(name),
                (None, Some((_, Had::Absent)) | None) => {}
            }
        }
        difference
    }

    /// The latest response has this nonce and is not answered.
    pub(super) fn awaits(&self, nonce: &str) -> bool {
        self.in_flight.as_ref().is_some_and(|flight| nonce.parse() == Ok(flight.nonce.0))
    }

    /// An answer to the latest response.
    pub(super) fn on_answer(&mut self, now: Duration, error: Option<&str>) -> Option<Outcome> {
        let flight = self.in_flight.take()?;
        Some(match error {
            None => self.on_ack(now, &flight),
            Some(message) => self.on_nack(now, &flight, message),
        })
    }

    fn on_ack(&mut self, now: Duration, flight: &InFlight) -> Outcome {
        self.acked = Some((flight.version, now));
        if let Some(rejection) = &mut self.rejection {
            let settled = |name: &Arc<str>| {
                flight.updated.binary_search_by(|head| head.name.cmp(name)).is_ok()
                    || flight.removed.binary_search(name).is_ok()
            };
            rejection.names.retain(|name| !settled(name));
            if rejection.names.is_empty() || !flight.divisible {
                self.rejection = None;
            }
        }
        Outcome::Acked(Acked {
            kind: self.kind,
            version: flight.version,
            sent: flight.sent,
            acked: now,
            changes: flight.changes,
        })
    }

    fn on_nack(&mut self, now: Duration, flight: &InFlight, message: &str) -> Outcome {
        let message: Arc<str> = message[..message.floor_char_boundary(MESSAGE_BYTES)].into();
        // Those that the client no longer wants are nobody's concern.
        let rejected: Vec<Arc<str>> = flight
            .updated
            .iter()
            .map(|head| head.name.clone())
            .filter(|name| self.wants(name))
            .collect();
        if flight.divisible && flight.updated.len() > 1 {
            let (left, right) = rejected.split_at(rejected.len() / 2);
            let parts = [left, right].into_iter().filter(|part| !part.is_empty());
            parts.rev().for_each(|part| self.parts.push_front(part.to_vec()));
        }
        if flight.divisible && !flight.updated.is_empty() {
            self.remove_again(&flight.removed);
        }
        let outdated = rejected.is_empty() && !flight.updated.is_empty();
        let mut names: BTreeSet<Arc<str>> = rejected.into_iter().collect();
        names.extend(self.rejection.take().into_iter().flat_map(|earlier| earlier.names));
        let names: Vec<Arc<str>> = names.into_iter().collect();
        if !outdated || !names.is_empty() {
            let message = message.clone();
            self.rejection = Some(Rejection { at: now, message, names: names.clone() });
        }
        Outcome::Nacked { kind: self.kind, message, names }
    }

    /// These removals came with resources that the client rejected.
    fn remove_again(&mut self, removed: &[Arc<str>]) {
        for name in removed {
            let head = Head { name: name.clone(), version: Version::NONE };
            self.held.set(Arc::new(head), Had::Unsent);
            self.pending.add(name.clone(), None);
        }
    }

    pub(super) fn status(&self) -> TypeStatus {
        TypeStatus {
            kind: self.kind,
            state: self.sync_state(),
            acked: self.acked.map(|(version, _)| version),
            acked_at: self.acked.map(|(_, at)| at),
            n_resources: self.held.len(),
            n_subscribed: self.held.n_subscribed(),
        }
    }

    fn sync_state(&self) -> SyncState {
        if !self.requested {
            return SyncState::NotRequested;
        }
        if let Some(rejection) = &self.rejection {
            return SyncState::Nacked(rejection.clone());
        }
        let since = self.in_flight.as_ref().map(|flight| flight.sent).or(self.waiting_since);
        since.map_or(SyncState::Synced, |since| SyncState::Stale { since })
    }
}
