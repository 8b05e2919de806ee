//! The kinds that a process serves, and random writes to them.

use std::ops::Bound;

use evenkeel_store::{
    batch::{Expect, NewObject, Write},
    journal::Journal,
    state::State,
};
use parking_lot::RwLock;

use super::{
    super::simulated::Chance,
    BUILT_IN, CUSTOM, Occurrences,
    model::{Model, Name, Named},
};
use crate::writer::Committer;

/// What is defined besides the built-in kinds.
#[derive(Debug)]
pub(super) struct Kinds {
    pub(super) defined: Vec<Name>,
}

impl Kinds {
    /// Those with objects, at a start.
    pub(super) fn found(state: &State) -> Kinds {
        let has_objects =
            |name: &Name| state.resource(name).is_some_and(|resource| state.count(resource) > 0);
        Kinds { defined: CUSTOM.into_iter().filter(has_objects).collect() }
    }

    pub(super) fn define(
        &mut self,
        chance: &mut Chance,
        committer: &mut Committer<impl Journal>,
        state: &RwLock<State>,
        model: &Model,
        met: &mut Occurrences,
    ) -> Result<(), String> {
        // One that was written and is gone, if there is one: that is rare.
        let is_gone =
            |name: &Name| state.read().resource(name).is_none() && model.has_written(name);
        let gone = CUSTOM.into_iter().find(is_gone);
        let any = CUSTOM[chance.below(CUSTOM.len() as u64) as usize];
        let name = gone.unwrap_or(any);
        let known = state.read().resource(name);
        let id = committer.register(name).map_err(|error| error.to_string())?;
        if known.is_some_and(|known| known != id) {
            return Err(format!("{name} had id {known:?} and has {id:?}"));
        }
        met.defined += u64::from(known.is_none());
        met.defined_again += u64::from(known.is_none() && model.has_written(name));
        if !self.defined.contains(&name) {
            self.defined.push(name);
        }
        Ok(())
    }

    /// Deletes the objects of a kind, which is not written to afterwards.
    pub(super) fn undefine(
        &mut self,
        chance: &mut Chance,
        state: &State,
        met: &mut Occurrences,
    ) -> Vec<Named> {
        if self.defined.is_empty() {
            return Vec::new();
        }
        let name = self.defined.swap_remove(chance.below(self.defined.len() as u64) as usize);
        let resource = state.resource(name).expect("it is defined");
        let deletes = state.range(resource, Bound::Unbounded).map(|object| {
            let (key, expect) = (object.key.clone(), Expect::Revision(object.revision));
            (name, Write { resource, key, expect, object: None })
        });
        let deletes: Vec<Named> = deletes.collect();
        met.undefined += u64::from(!deletes.is_empty());
        deletes
    }

    pub(super) fn random_writes(&self, chance: &mut Chance, state: &State) -> Vec<Named> {
        (0..chance.below(4) + 1).map(|_| self.random_write(chance, state)).collect()
    }

    fn random_write(&self, chance: &mut Chance, state: &State) -> Named {
        let pick = |chance: &mut Chance, of: &[Name]| of[chance.below(of.len() as u64) as usize];
        let name = match self.defined.is_empty() || chance.one_in(2) {
            true => pick(chance, &BUILT_IN),
            false => pick(chance, &self.defined),
        };
        let resource = state.resource(name).expect("it is defined");
        let key: Box<str> = format!("default/name-{}", chance.below(6)).into();
        let known = state.object(resource, &key).map_or(0, |object| object.revision);
        let expect = match chance.below(7) {
            0 | 1 => Expect::Absent,
            2 => Expect::Revision(known.saturating_sub(1)),
            // The revision that the first write of the batch may have created.
            3 => Expect::Revision(state.revision() + 1),
            _ if known == 0 => Expect::Absent,
            _ => Expect::Revision(known),
        };
        let length = if chance.one_in(10) { chance.below(6000) } else { chance.below(600) };
        let fill = b'a' + chance.below(3) as u8;
        let object = (!chance.one_in(4)).then(|| NewObject {
            labels: [("app".into(), format!("{}", chance.below(9)).into())].into(),
            fields: ["Running".into(), "node-1".into()].into(),
            encoded: vec![fill; if chance.one_in(5) { 1 } else { length as usize }].into(),
        });
        (name, Write { resource, key, expect, object })
    }
}
