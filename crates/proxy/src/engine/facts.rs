//! Figures about the state, for metrics.

use evenkeel_model::{Path, TrafficPolicy};
use evenkeel_topology::consumer::{Selector, View};

/// Counts that are exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub services: Services,
    /// Service ports with `internalTrafficPolicy: Local` that have endpoints, but none here.
    pub no_local_internal: usize,
    /// The same for `externalTrafficPolicy: Local`.
    pub no_local_external: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Services {
    pub ports: usize,
    pub endpoints: usize,
}

impl Facts {
    pub(super) fn of(view: &View, selector: &Selector) -> Facts {
        let mut facts = Facts::default();
        for (id, port) in view.ports() {
            facts.services.ports += 1;
            let n = port.endpoints().count();
            facts.services.endpoints += n;
            let exposure = port.service().exposure;
            if n == 0 || !exposure.uses_local() {
                continue;
            }
            let has_none = selector.members(view, id, Path::Local).next().is_none();
            let is_local = |policy| policy == TrafficPolicy::Local;
            facts.no_local_internal += usize::from(has_none && is_local(exposure.internal));
            facts.no_local_external +=
                usize::from(has_none && exposure.external.is_some_and(is_local));
        }
        facts
    }
}
