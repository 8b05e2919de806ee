//! What one writer knows about its objects.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;

/// A few random numbers, the same for the same seed (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

/// The last acknowledged state of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    Version { revision: u64, number: u64 },
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    kept: BTreeMap<String, Kept>,
    /// The write without a response yet: the number it writes, or none for a delete.
    pending: Option<(String, Option<u64>)>,
    /// Names whose state is unknown.
    abandoned: BTreeSet<String>,
    last_number: u64,
    last_revision: u64,
    /// Revisions acknowledged since the last call.
    acknowledged: Vec<u64>,
    pub(crate) n_found_unanswered: usize,
}

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

impl Model {
    /// Begins a write and returns the present state. Only existing objects can be deleted.
    pub(crate) fn begin(&mut self, name: &str, delete: bool) -> Kept {
        let before = self.kept.get(name).cloned().unwrap_or(Kept::Nothing);
        self.last_number += 1;
        let deletes = delete && before != Kept::Nothing;
        self.pending = Some((name.to_owned(), (!deletes).then_some(self.last_number)));
        before
    }

    /// The number that the write of `name` writes; none: it deletes.
    pub(crate) fn intended(&self, name: &str) -> Option<u64> {
        self.pending.as_ref().filter(|(pending, _)| pending == name)?.1
    }

    pub(crate) fn answered(&mut self, name: &str, object: Option<&ConfigMap>) {
        let (pending, intended) = self.pending.take().expect("a write was begun");
        assert_eq!((pending.as_str(), intended.is_some()), (name, object.is_some()));
        let kept = match (object, intended) {
            (Some(object), Some(number)) => {
                let revision = revision(object);
                assert!(revision > self.last_revision, "{name}: {revision} is not newer");
                self.last_revision = revision;
                self.acknowledged.push(revision);
                Kept::Version { revision, number }
            }
            _ => Kept::Nothing,
        };
        self.kept.insert(name.to_owned(), kept);
    }

    /// The write was rejected: nothing has changed.
    pub(crate) fn refused(&mut self) {
        self.pending = None;
    }

    /// The write has no response, and may still arrive: its name is not used any more.
    pub(crate) fn abandon(&mut self) {
        if let Some((name, _)) = self.pending.take() {
            self.kept.remove(&name);
            self.abandoned.insert(name);
        }
    }

    pub(crate) fn is_abandoned(&self, name: &str) -> bool {
        self.abandoned.contains(name)
    }

    pub(crate) fn take_acknowledged(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.acknowledged)
    }

    /// Checks the state after a start at `newest`, and adopts it.
    pub(crate) fn found<'a>(
        &mut self,
        objects: impl Iterator<Item = &'a ConfigMap>,
        newest: u64,
    ) -> Result<(), String> {
        if newest < self.last_revision {
            return Err(format!("{} was answered, {newest} is there", self.last_revision));
        }
        let mut found = BTreeMap::new();
        for object in objects {
            let name = object.metadata.name.clone().unwrap_or_default();
            if self.is_abandoned(&name) {
                continue;
            }
            let number = whole_number(object).ok_or_else(|| format!("{name} is not whole"))?;
            found.insert(name, Kept::Version { revision: revision(object), number });
        }
        let pending = self.pending.take();
        let names: Vec<String> = self.kept.keys().chain(found.keys()).cloned().collect();
        for name in names {
            let there = found.get(&name).cloned().unwrap_or(Kept::Nothing);
            let expected = self.kept.get(&name).cloned().unwrap_or(Kept::Nothing);
            if there == expected {
                continue;
            }
            let unanswered = pending.as_ref().filter(|(pending, _)| *pending == name);
            let may_be = match (unanswered, &there) {
                (Some((_, Some(number))), Kept::Version { number: found, revision }) => {
                    number == found && *revision > self.last_revision
                }
                (Some((_, None)), Kept::Nothing) => true,
                _ => false,
            };
            if !may_be {
                return Err(format!("{name} is {there:?}, {expected:?} was answered"));
            }
            self.n_found_unanswered += 1;
            self.kept.insert(name, there);
        }
        Ok(())
    }
}

/// An object that shows whether it is complete.
pub(crate) fn config_map(name: &str, number: u64, revision: Option<u64>) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.resource_version = revision.map(|revision| revision.to_string());
    object.data = Some([("number", number.to_string()), ("text", text(number))].map(owned).into());
    object
}

pub(crate) fn revision(object: &ConfigMap) -> u64 {
    let text = object.metadata.resource_version.as_deref();
    text.expect("every object has a revision").parse().expect("revisions are numbers")
}

/// The number in an object, if all of it belongs to that number.
pub(crate) fn whole_number(object: &ConfigMap) -> Option<u64> {
    let data = object.data.as_ref()?;
    let number = data.get("number")?.parse().ok()?;
    (data.len() == 2 && data.get("text") == Some(&text(number))).then_some(number)
}

/// Sometimes short, sometimes longer than a page.
fn text(number: u64) -> String {
    format!("{number}-").repeat((number % 13 * 200) as usize)
}

fn owned((key, value): (&str, String)) -> (String, String) {
    (key.to_owned(), value)
}
