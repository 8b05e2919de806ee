//! What the client subscribed to by name, and what it holds.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    resource::{ByName, Head, ResourceType, Version},
    session::{Limits, Refused},
};

/// Sixteen bytes for each name; heads are shared with the resources and so by all streams.
#[derive(Debug, Default)]
pub(super) struct Held {
    entries: BTreeMap<ByName, Entry>,
    /// Of all entries that the client holds.
    version: Version,
    /// How many those are.
    n_held: usize,
    n_subscribed: usize,
    subscribed_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// By name, not only by a wildcard.
    pub(super) subscribed: bool,
    pub(super) had: Had,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Had {
    /// Nothing was sent, or it is to be sent again.
    Unsent,
    /// The client was told that there is none.
    Absent,
    /// The client brought it from an earlier stream.
    Claimed,
    Sent,
}

// === impl Had ===

impl Had {
    fn counts(self) -> bool {
        matches!(self, Self::Claimed | Self::Sent)
    }
}

// === impl Held ===

impl Held {
    pub(super) fn version(&self) -> Version {
        self.version
    }

    pub(super) fn len(&self) -> usize {
        self.n_held
    }

    pub(super) fn n_subscribed(&self) -> usize {
        self.n_subscribed
    }

    pub(super) fn get(&self, name: &str) -> Option<(&Arc<Head>, Entry)> {
        self.entries.get_key_value(name).map(|(key, entry)| (&key.0, *entry))
    }

    pub(super) fn has_subscribed(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.subscribed)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<Head>, Entry)> {
        self.entries.iter().map(|(key, entry)| (&key.0, *entry))
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.iter().map(|(head, _)| head.name.clone()).collect()
    }

    /// Subscribes to a name. Returns whether that is new.
    pub(super) fn subscribe(
        &mut self,
        kind: ResourceType,
        name: &str,
        limits: Limits,
    ) -> Result<bool, Refused> {
        if self.has_subscribed(name) {
            return Ok(false);
        }
        if self.n_subscribed >= limits.names {
            return Err(Refused::TooManyNames { kind, limit: limits.names });
        }
        if self.subscribed_bytes + name.len() > limits.name_bytes {
            return Err(Refused::NamesTooLong { kind, limit: limits.name_bytes });
        }
        self.n_subscribed += 1;
        self.subscribed_bytes += name.len();
        match self.entries.get_mut(name) {
            Some(entry) => entry.subscribed = true,
            None => {
                let head = Head { name: name.into(), version: Version::NONE };
                let entry = Entry { subscribed: true, had: Had::Unsent };
                self.entries.insert(ByName(Arc::new(head)), entry);
            }
        }
        Ok(true)
    }

    /// Ends a subscription by name; what is held stays known until [`Self::remove`].
    pub(super) fn unsubscribe(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name)
            && std::mem::take(&mut entry.subscribed)
        {
            self.n_subscribed -= 1;
            self.subscribed_bytes -= name.len();
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.unsubscribe(name);
        if let Some((key, entry)) = self.entries.remove_entry(name) {
            self.uncount(&key.0, entry);
        }
    }

    /// The client holds this now, or knows that it does not exist.
    pub(super) fn set(&mut self, head: Arc<Head>, had: Had) {
        let mut subscribed = false;
        if let Some((key, entry)) = self.entries.remove_entry(&*head.name) {
            subscribed = entry.subscribed;
            self.uncount(&key.0, entry);
        }
        if had.counts() {
            self.version = self.version.with(head.version);
            self.n_held += 1;
        }
        self.entries.insert(ByName(head), Entry { subscribed, had });
    }

    /// Forgets what was sent under this name, so that it is sent again.
    pub(super) fn forget(&mut self, name: &str) {
        self.mark(name, Had::Unsent);
    }

    pub(super) fn mark(&mut self, name: &str, had: Had) {
        if let Some((head, _)) = self.get(name) {
            let head = head.clone();
            self.set(head, had);
        }
    }

    /// The client does not hold this any more.
    fn uncount(&mut self, head: &Head, entry: Entry) {
        if entry.had.counts() {
            self.version = self.version.without(head.version);
            self.n_held -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Subscribe,
        Unsubscribe,
        Set(Had),
        Mark(Had),
        Remove,
    }

    fn op() -> impl Strategy<Value = Op> {
        let had = || prop::sample::select(vec![Had::Unsent, Had::Absent, Had::Claimed, Had::Sent]);
        prop_oneof![
            Just(Op::Subscribe),
            Just(Op::Unsubscribe),
            had().prop_map(Op::Set),
            had().prop_map(Op::Mark),
            Just(Op::Remove),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_held_is_counted_as_it_changes(
            ops in prop::collection::vec((op(), 0..4_u8), 0..60),
        ) {
            let (mut held, kind) = (Held::default(), ResourceType::Endpoint);
            for (op, index) in ops {
                let name = format!("r{index}");
                match op {
                    Op::Subscribe => {
                        let _ = held.subscribe(kind, &name, Limits::default());
                    }
                    Op::Unsubscribe => held.unsubscribe(&name),
                    Op::Set(had) => {
                        let version = Version::of(kind, &name, b"x");
                        held.set(Arc::new(Head { name: name.as_str().into(), version }), had);
                    }
                    Op::Mark(had) => held.mark(&name, had),
                    Op::Remove => held.remove(&name),
                }
                prop_assert_eq!(held.len(), held.iter().filter(|(_, e)| e.had.counts()).count());
            }
        }
    }
}
