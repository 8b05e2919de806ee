//! Which port has which frontend.

use std::sync::Arc;

use evenkeel_model::PortId;
use rustc_hash::FxHashMap;

use crate::{Frontend, PortName};

#[derive(Debug, Default)]
pub(super) struct Claims {
    owners: FxHashMap<Frontend, (PortId, Arc<PortName>)>,
    /// Ports that want a frontend that another has.
    waiting: FxHashMap<Frontend, Vec<PortId>>,
}

impl Claims {
    pub(super) fn owner(&self, frontend: Frontend) -> Option<PortId> {
        self.owners.get(&frontend).map(|(owner, _)| *owner)
    }

    /// `None`: another port has the frontend. Otherwise this one has it now, and the port that it was
    /// taken from is returned.
    pub(super) fn claim(
        &mut self,
        frontend: Frontend,
        id: PortId,
        name: &Arc<PortName>,
    ) -> Option<Option<PortId>> {
        let loser = match self.owners.get(&frontend) {
            Some((owner, other)) if other <= name => {
                if *owner != id {
                    self.waiting.entry(frontend).or_default().push(id);
                }
                return None;
            }
            Some((owner, _)) => Some(*owner),
            None => None,
        };
        if let Some(loser) = loser {
            self.waiting.entry(frontend).or_default().push(loser);
        }
        self.owners.insert(frontend, (id, Arc::clone(name)));
        Some(loser)
    }

    /// Returns the port that has the frontend next.
    pub(super) fn release(
        &mut self,
        frontend: Frontend,
        id: PortId,
        name: impl Fn(PortId) -> Option<Arc<PortName>>,
    ) -> Option<PortId> {
        let is_owner = self.owner(frontend) == Some(id);
        if is_owner {
            self.owners.remove(&frontend);
        }
        let waiting = self.waiting.get_mut(&frontend)?;
        waiting.retain(|waiting| *waiting != id);
        let next = is_owner
            .then(|| waiting.iter().filter_map(|id| Some((name(*id)?, *id))).min())
            .flatten();
        if let Some((name, next)) = &next {
            waiting.retain(|waiting| waiting != next);
            self.owners.insert(frontend, (*next, Arc::clone(name)));
        }
        if waiting.is_empty() {
            self.waiting.remove(&frontend);
        }
        next.map(|(_, next)| next)
    }

    pub(super) fn contested(&self) -> impl Iterator<Item = (Frontend, PortId, &[PortId])> {
        self.waiting.iter().filter_map(|(frontend, waiting)| {
            Some((*frontend, self.owner(*frontend)?, waiting.as_slice()))
        })
    }
}
