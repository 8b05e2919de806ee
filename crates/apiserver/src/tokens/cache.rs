//! Tokens found valid, so that a signature is not verified on every request.
//!
//! The cache is bounded: entries are kept in two generations, and when the younger one is full the
//! older one is dropped. A token in use moves to the younger one. Lookup is by the end of the token,
//! which is its signature, and then by all of it: who could guess a signature byte by byte would not
//! need the cache.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;

use super::validate::Valid;

/// Entries per generation.
const ENTRIES: usize = 2_048;
/// Longer tokens are verified each time.
const LONGEST: usize = 4 << 10;
/// The part of a token that finds it. It is random, and no attacker can choose it.
const TAIL: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Cache {
    generations: RwLock<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: Entries,
    old: Entries,
}

type Entries = HashMap<[u8; TAIL], Entry>;

#[derive(Clone, Debug)]
struct Entry {
    token: Box<str>,
    valid: Arc<Valid>,
}

impl Cache {
    pub(super) fn get(&self, token: &str) -> Option<Arc<Valid>> {
        let tail = tail(token)?;
        let generations = self.generations.read();
        if let Some(valid) = found(&generations.young, &tail, token) {
            return Some(valid);
        }
        let valid = found(&generations.old, &tail, token)?;
        drop(generations);
        self.put(token, valid.clone());
        Some(valid)
    }

    pub(super) fn put(&self, token: &str, valid: Arc<Valid>) {
        let Some(tail) = tail(token).filter(|_| token.len() <= LONGEST) else { return };
        let mut generations = self.generations.write();
        if generations.young.len() >= ENTRIES && !generations.young.contains_key(&tail) {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.old.remove(&tail);
        generations.young.insert(tail, Entry { token: token.into(), valid });
    }

    pub(super) fn remove(&self, token: &str) {
        let Some(tail) = tail(token) else { return };
        let mut generations = self.generations.write();
        generations.young.remove(&tail);
        generations.old.remove(&tail);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let generations = self.generations.read();
        generations.young.len() + generations.old.len()
    }
}

fn found(entries: &Entries, tail: &[u8; TAIL], token: &str) -> Option<Arc<Valid>> {
    let entry = entries.get(tail)?;
    (*entry.token == *token).then(|| entry.valid.clone())
}

fn tail(token: &str) -> Option<[u8; TAIL]> {
    token.as_bytes().last_chunk().copied()
}
